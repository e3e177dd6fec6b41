package datadir

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"strconv"

	"github.com/tickhive/tickhive/internal/wal"
)

// LogName is the name of the log and of its folder.
const LogName = "engine"

// LogEnd is the place that the log has reached. The zero LogEnd is of a directory without a log.
type LogEnd struct {
	Seq   uint64 `json:"seq"`
	Chain string `json:"chain"` // checksum chain of the records up to Seq, 16 hex digits
}

// identify gives the directory its identities.
func (m *Meta) identify(random io.Reader) (err error) {
	for _, id := range []*wal.ID{&m.History, &m.Directory} {
		if *id == (wal.ID{}) && err == nil {
			*id, err = wal.NewID(random)
		}
	}
	return err
}

// LogOptions adds to the options of the log what the directory knows about it: its identity, the
// place that it has reached, and the machine's boot. Without a directory it adds nothing.
func (d *Dir) LogOptions(o wal.Options) (wal.Options, error) {
	if !d.Stored() {
		return o, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	o.Boot = bootOf(d.logBoot)
	o.Ended, o.BeforeWrite = d.noteEnd, d.Settle
	o, err := d.meta.LogOptions(o)
	if o.Known != nil {
		o.Known.Last = d.clean // meta.Clean is the current process's
	}
	return o, err
}

// LogOptions adds to the options of the log what meta.json knows about it.
func (m *Meta) LogOptions(o wal.Options) (wal.Options, error) {
	o.Name, o.Identity = LogName, wal.Identity{History: m.History, Directory: m.Directory}
	if m.End == (LogEnd{}) {
		return o, nil
	}
	chain, err := strconv.ParseUint(m.End.Chain, 16, 64)
	if err != nil {
		return o, fmt.Errorf("data directory: meta.json: end.chain: %w", err)
	}
	o.Known = &wal.Known{Position: wal.Position{Seq: m.End.Seq, Chain: chain}, Last: m.Clean}
	return o, nil
}

// MachineBoot identifies the time since this machine was switched on; zero: unknown.
func MachineBoot() wal.ID { return bootOf(bootID()) }

func bootOf(text string) (id wal.ID) {
	if text != "" { // without one every start counts as one after a power cut
		sum := sha256.Sum256([]byte(text))
		copy(id[:], sum[:])
	}
	return id
}

// noteEnd notes the place that the log has reached. The next change of meta.json stores it.
func (d *Dir) noteEnd(at wal.Position) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.meta.note(at)
}

func (m *Meta) note(at wal.Position) {
	m.End = LogEnd{Seq: at.Seq, Chain: fmt.Sprintf("%016x", at.Chain)}
}

// KeepEnd stores the place that the log has reached.
func (d *Dir) KeepEnd() error { return d.atStart(func(*Meta) {}) }

// AcceptLoss stores the position at which the log ends that was longer once, and the incident. Unless the stream has
// what was shown (covered), it begins a new epoch, because seqs and ids are given out again. After an error the loss
// must not be accepted: no later start would find it.
func (d *Dir) AcceptLoss(at wal.Position, in Incident, covered bool) error {
	epoch := ""
	if !covered {
		var err error
		if epoch, err = newEpoch(d.random); err != nil {
			return err
		}
	}
	err := d.change(func(m *Meta) {
		m.Epoch = cmp.Or(epoch, m.Epoch)
		m.note(at)
		m.add(in)
	})
	if err != nil {
		return remedied(err)
	}
	d.owed = covered
	return nil
}

// Covered reports whether the stream of the epoch has everything that clients have seen: what the log has lost is no
// loss.
func (d *Dir) Covered() bool { return d.acked }
