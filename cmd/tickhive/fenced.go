package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/vfs"
)

// fencedTime is the time that requests under way have when another node has become the writer. Those that wait for the
// stream are answered at once.
const fencedTime = 300 * time.Millisecond

// trustLazySync is the setting of --trust-lazy-sync.
const trustLazySync = "stream.trust_lazy_sync=true"

// checkReplaceable refuses --promote and --trust-lazy-sync where they can have no effect.
func (s *serveCmd) checkReplaceable(c *config.Config) error {
	switch {
	case s.TrustLazySync && !c.Replaceable():
		return usage("--trust-lazy-sync: only a writer that waits for a stream on servers of its own asks them: set " +
			"--journal nats://HOST:PORT,... and --ack quorum")
	case !s.Promote:
		return nil
	case !c.Replaceable():
		return usage("--promote: only a writer that waits for a stream on servers of its own can be replaced: set " +
			"--journal nats://HOST:PORT,... and --ack quorum")
	}
	return nil
}

// write serves as a writer until the process ends or another node becomes the writer. Then it goes on as a replica of
// the new writer, on the same sockets, with its directory as a copy. With --promote it goes on as a standby, also if
// another node was the writer before this start already.
func (s *serveCmd) write(
	p *program, cfg *config.Config, o exchange.Options, a announcement, signals processSignals,
) error {
	kept := &listen.Kept{Open: listen.At}
	defer kept.Close()
	o.Hooks.Listen = kept.Listen
	switch led, err := s.lead(p, cfg, o, a, signals); {
	case !errors.Is(err, node.ErrFenced) || !led && !s.Promote:
		return err
	case s.Promote:
		o.Log.Warn("another node is the writer: this one follows as a standby")
	default:
		o.Log.Warn("another node is the writer: this one follows as a replica until it is stopped; its data " +
			"directory becomes a copy, and starts as the writer's with --promote alone")
	}
	return s.follow(p, cfg, kept, signals)
}

// lead serves as the writer. led reports that it was the writer, so clients know its addresses. The directory of a node
// that followed does not lead.
func (s *serveCmd) lead(p *program, cfg *config.Config, o exchange.Options, a announcement, signals processSignals,
) (led bool, err error) {
	switch _, isCopy, err := copyEpoch(cfg.Data.Dir); {
	case err != nil:
		return false, err
	case isCopy && !s.Promote:
		return false,
			fmt.Errorf("%s is the copy of a node that followed: %w. Start this machine as a standby: the same "+
				"command with --promote", cfg.Data.Dir, node.ErrFenced)
	case isCopy:
		return false, node.ErrFenced
	}
	a.led = &led
	err = serve(p, o, a, signals)
	return led, err
}

// follow goes on as a replica, once the stream can be read.
func (s *serveCmd) follow(p *program, cfg *config.Config, kept *listen.Kept, signals processSignals) error {
	r, flags, err := s.replica(cfg)
	if err != nil {
		return err
	}
	for {
		if again, err := p.awaitStream(r.run(p, flags, kept, signals), signals); !again {
			return err
		}
	}
}

// awaitStream reports whether a node that was the writer, and cannot follow for the reason err, tries again: the stream
// could not be read. It waits for a second. When the process is stopped meanwhile, err is nil.
func (p *program) awaitStream(err error, signals processSignals) (again bool, _ error) {
	if !errors.Is(err, jet.ErrUnavailable) {
		return false, err
	}
	fmt.Fprintf(p.err, "tickhive: the stream cannot be read now: %v\n", err)
	select {
	case <-signals.stop:
		return false, nil
	case <-time.After(time.Second):
		return true, nil
	}
}

// replica returns the replica as which a writer with this configuration goes on, and its flags.
func (s *serveCmd) replica(cfg *config.Config) (r *replicaCmd, flags serveFlags, err error) {
	r = &replicaCmd{
		From: cfg.Journal.Stream, ConfigFile: s.ConfigFile, Set: append([]string(nil), s.Set...), Promote: s.Promote,
		Quiet: s.Quiet,
	}
	epoch, isCopy, err := copyEpoch(cfg.Data.Dir)
	if !isCopy && err == nil {
		var meta datadir.Meta
		meta, err = datadir.ReadMeta(cfg.Data.Dir)
		epoch = meta.Epoch
	}
	if err != nil {
		return r, flags, err
	}
	r.Set, r.DataDir = append(r.Set, "replica.epoch="+epoch), cfg.Data.Dir
	// A path in a writer's settings is relative to its data directory, but in a replica's settings to the working
	// directory.
	for key, path := range map[string]string{
		"cluster.key_file": cfg.KeyFile(), "internal.token_file": cfg.Internal.TokenFile,
	} {
		if path != "" && !filepath.IsAbs(path) {
			r.Set = append(r.Set, key+"="+filepath.Join(cfg.Data.Dir, path))
			r.keep = append(r.keep, path)
		}
	}
	flags = serveFlags{
		Listen: s.Listen, InternalListen: s.InternalListen, BinanceListen: s.BinanceListen,
		InternalToken: s.InternalToken, InternalHosts: s.InternalHosts, LogLevel: s.LogLevel, Sim: s.Sim,
		Quiet: s.Quiet,
	}
	return r, flags, nil
}

// openCopy opens the copy of a node. A data directory of the same exchange, which the node left as the writer, becomes
// a copy in its place: the stream has everything that was acknowledged. keep names the files of the directory that are
// not the copy's.
func openCopy(ctx context.Context, dir string, f *exchange.FollowOptions, keep []string, log *slog.Logger,
) (*node.Copy, error) {
	meta, err := datadir.ReadMeta(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case meta.Epoch != f.Genesis.Epoch:
		return nil, fmt.Errorf("%s is the data directory of another exchange or epoch: name another directory", dir)
	default:
		d := exchange.Demotion{
			Machine: node.OwnMachine(), Dir: dir, Stream: f.Log, Keys: f.Keys, Genesis: f.Genesis,
		}
		tail, err := d.Run(ctx)
		if err != nil {
			return nil, err
		}
		if tail != "" {
			log.Warn("the records that the stream does not have, which were never acknowledged, are kept; remove them "+
				"when they are not needed", "dir", tail)
		}
	}
	return node.OpenCopy(dir, node.CopyOptions{
		Machine: node.OwnMachine(),
		Log:     exchange.EngineLogOptions(), Genesis: f.Genesis, Other: keep,
		Aside: func(to string, why error) {
			log.Warn("the copy of this node cannot be continued: it is kept, and a new one begins; remove it when it "+
				"is not needed", "dir", to, "reason", why)
		},
	})
}

// copyEpoch returns the epoch of the copy in a directory that is no data directory; isCopy is false for any other one.
func copyEpoch(dir string) (epoch string, isCopy bool, err error) {
	if _, err := datadir.ReadMeta(dir); !errors.Is(err, fs.ErrNotExist) || !node.IsCopy(vfs.OS{}, dir) {
		return "", false, nil // a start says what is wrong with meta.json
	}
	state, err := node.ReadCopyState(vfs.OS{}, dir)
	return state.Genesis.Epoch, true, err
}

// stopContext limits how long a failed exchange waits for the requests under way.
func stopContext(err error) (context.Context, context.CancelFunc) {
	if errors.Is(err, node.ErrFenced) {
		return context.WithTimeout(context.Background(), fencedTime)
	}
	return context.WithCancel(context.Background())
}
