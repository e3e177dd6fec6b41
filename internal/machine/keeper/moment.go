package keeper

import (
	"io"
	"runtime"

	"tickhive/internal/machine"
	"tickhive/internal/wire"
)

// Moment is a position of a running market, of which a snapshot can be written later. One goroutine uses it. The log
// must keep every record (KeepAll) until then.
type Moment struct {
	keeper *Keeper
	pos    uint64
	extras map[string][]byte
	live   []machine.PairState
}

// Moment returns the present position of the market. At it, on the loop's goroutine and between two commands, it calls
// then.
func (k *Keeper) Moment(then func(pos uint64)) (m *Moment, err error) {
	m = &Moment{keeper: k}
	m.pos, m.extras, m.live, err = k.capture(then)
	return m, err
}

// Write writes the snapshot of the market at the moment, as machine.State.Write does. A second market replays the log
// up to it; snapshots and state hashes wait meanwhile.
func (m *Moment) Write(w io.Writer) error {
	k := m.keeper
	k.lock()
	defer k.mu.Unlock()
	f, err := k.follow(m.pos)
	for arrived := false; err == nil && !arrived; {
		arrived, err = f.advance()
	}
	if err == nil && k.o.Core != nil {
		err = f.compare(m.live)
	}
	if err != nil {
		return err
	}
	return f.market.Write(wire.Pausing(w, runtime.Gosched), m.extras)
}
