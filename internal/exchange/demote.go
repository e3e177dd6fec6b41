package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/wal"
)

// maxTails is the number of tails that are kept beside a directory. Older ones are removed: a node that must not stop
// to follow would otherwise fill the disk, and what they have was never acknowledged.
const maxTails = 8

const tailMiddle = ".tail-"

// Demotion makes the data directory of a writer that another node has replaced a copy of the stream, in its place. The
// records that the stream does not have were neither shown nor acknowledged; they are kept beside the directory.
type Demotion struct {
	node.Machine
	Dir     string
	Stream  jet.Log
	Keys    *stream.Keys
	Genesis node.Genesis // of the stream
}

// Run demotes the directory. tail is the directory that has what the stream does not; empty: the stream has all.
//
// Errors: *vfs.LockedError; node.ErrOtherChain when the stream has nothing of the directory's log.
func (d *Demotion) Run(ctx context.Context) (tail string, err error) {
	idle, err := datadir.OpenIdle(d.FS, d.Dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, idle.Unlock()) }()
	log := EngineLog(idle.Sub(datadir.LogName))
	log.FS = d.FS
	var identity wal.Identity
	if log.Options, identity, err = datadir.IdleLog(idle, log.Options); err != nil {
		return "", err
	}
	known, err := newestKnown(log)
	if err != nil {
		return "", err
	}
	c, err := d.FindCommon(ctx, d.Stream, d.Keys, identity.History, known, func(from uint64) (*wal.Reader, error) {
		return wal.OpenReader(log.FS, log.Dir, log.Options, from)
	})
	if err != nil {
		return "", fmt.Errorf("%s and the stream: %w", d.Dir, err)
	}
	if c.Tail {
		if tail, err = d.cut(idle, log, c.Cut); err != nil {
			return "", err
		}
	}
	state := node.CopyState{Identity: identity, Genesis: d.Genesis, At: c.At, End: c.At.End}
	if err := node.WriteCopy(d.FS, d.Dir, &state); err != nil {
		return tail, err
	}
	return tail, datadir.Demote(idle)
}

// newestKnown returns the state of the stream that the newest snapshot of a log knows.
func newestKnown(log keeper.LogDir) (at stream.State, err error) {
	found, err := wal.LoadNewest(log.FS, log.Dir, log.Options, func(wal.SnapshotMeta, io.Reader) error { return nil })
	if err != nil || !found.OK {
		return at, err
	}
	return knownBy(found.Meta)
}

// knownBy returns the state of the stream that a snapshot knows; the zero State: none.
func knownBy(m wal.SnapshotMeta) (at stream.State, err error) {
	if len(m.Head) == 0 {
		return at, nil
	}
	h, err := node.ParseHead(m)
	return h.Stream, err
}

// cut moves what the log has behind a position to a directory beside its own.
func (d *Demotion) cut(idle *datadir.Dir, log keeper.LogDir, at wal.Position) (tail string, err error) {
	base := filepath.Clean(d.Dir) + tailMiddle
	if err := dropTails(base); err != nil {
		return "", err
	}
	tail = base + time.Unix(0, d.Clock.NowNs()).UTC().Format("20060102T150405.000000000")
	if err := datadir.CutAt(idle, at); err != nil {
		return "", err
	}
	return tail, wal.CutBack(log.FS, log.Dir, log.Options, at, tail)
}

// dropTails removes the oldest directories with a prefix, so that there is room for one more. A simulated disk has
// none.
func dropTails(base string) error {
	entries, err := os.ReadDir(filepath.Dir(base))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var all []string // by name, which is by time
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(base)) {
			all = append(all, filepath.Join(filepath.Dir(base), e.Name()))
		}
	}
	for _, old := range all[:max(0, len(all)-maxTails+1)] {
		err = errors.Join(err, os.RemoveAll(old))
	}
	return err
}
