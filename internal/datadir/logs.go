package datadir

import (
	"cmp"
	"crypto/sha256"
	"fmt"
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
func (d *Dir) identify() (err error) {
	for _, id := range []*wal.ID{&d.meta.History, &d.meta.Directory} {
		if *id == (wal.ID{}) && err == nil {
			*id, err = wal.NewID(d.random)
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
	o.Name, o.Identity = name, wal.Identity{History: d.meta.History, Directory: d.meta.Directory}
	if boot := cmp.Or(d.boot, bootID()); boot != "" { // without one every start counts as one after a power cut
		sum := sha256.Sum256([]byte(boot))
		o.Boot = wal.ID(sum[:len(o.Boot)])
	}
	if at, ok := d.meta.Logs[name]; ok {
		chain, err := strconv.ParseUint(at.Chain, 16, 64)
		if err != nil {
			return o, &DamagedError{d.Sub("meta.json"), fmt.Sprintf("logs.%s.chain: %v", name, err)}
		}
		o.Known = &wal.Known{Position: wal.Position{Seq: at.Seq, Chain: chain}, Last: d.clean}
	}
	o.Ended = func(at wal.Position) { d.noteEnd(name, at) }
	return o, nil
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
func (d *Dir) KeepEnds() error { return d.change(func(*Meta) {}) }

// AcceptLoss stores that a log ends at a place although it once was longer, with an incident, and
// begins a new epoch: seqs and ids are given out again.
func (d *Dir) AcceptLoss(name string, at wal.Position, in Incident) error {
	epoch, err := d.newEpoch()
	if err != nil {
		return err
	}
	return d.change(func(m *Meta) {
		m.Epoch = epoch
		m.note(name, at)
		m.add(in)
	})
}
