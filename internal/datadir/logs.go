package datadir

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"strconv"

	"tickhive/internal/wal"
)

// LogEnd is the place that a log has reached.
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

// LogOptions adds to the options of a store's log what the directory knows about it: its identity, the
// place that it has reached, and the machine's boot. Without a directory it adds nothing.
func (d *Dir) LogOptions(name string, o wal.Options) (wal.Options, error) {
	if !d.Stored() {
		return o, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	o.Boot = bootOf(d.logBoot)
	o.Ended, o.BeforeWrite = func(at wal.Position) { d.noteEnd(name, at) }, d.Settle
	o, err := d.meta.LogOptions(name, o)
	if o.Known != nil {
		o.Known.Last = d.clean // meta.Clean is the current process's
	}
	return o, err
}

// LogOptions adds to the options of a store's log what meta.json knows about it.
func (m *Meta) LogOptions(name string, o wal.Options) (wal.Options, error) {
	o.Name, o.Identity = name, wal.Identity{History: m.History, Directory: m.Directory}
	at, ok := m.Logs[name]
	if !ok {
		return o, nil
	}
	chain, err := strconv.ParseUint(at.Chain, 16, 64)
	if err != nil {
		return o, fmt.Errorf("data directory: meta.json: logs.%s.chain: %w", name, err)
	}
	o.Known = &wal.Known{Position: wal.Position{Seq: at.Seq, Chain: chain}, Last: m.Clean}
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

// noteEnd notes the place that a log has reached. The next change of meta.json stores it.
func (d *Dir) noteEnd(name string, at wal.Position) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.meta.note(name, at)
}

func (m *Meta) note(name string, at wal.Position) {
	logs := maps.Clone(m.Logs)
	if logs == nil {
		logs = map[string]LogEnd{}
	}
	logs[name] = LogEnd{Seq: at.Seq, Chain: fmt.Sprintf("%016x", at.Chain)}
	m.Logs = logs
}

// KeepEnds stores the places that the logs have reached.
func (d *Dir) KeepEnds() error { return d.atStart(func(*Meta) {}) }

// AcceptLoss stores the position at which a log ends that was longer once, and the incident. It begins a
// new epoch, because seqs and ids are given out again. After an error the loss must not be accepted: no later
// start would find it.
func (d *Dir) AcceptLoss(name string, at wal.Position, in Incident) error {
	epoch, err := newEpoch(d.random)
	if err != nil {
		return err
	}
	err = d.change(func(m *Meta) {
		m.Epoch = epoch
		m.note(name, at)
		m.add(in)
	})
	if err != nil {
		return remedied(err)
	}
	return nil
}
