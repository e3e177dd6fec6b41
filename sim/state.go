package sim

import (
	"errors"
	"fmt"

	"tickhive/engine"
	"tickhive/internal/wire"
)

// stateVersion is the first byte of an encoded state.
const stateVersion = 1

// walker names the fields of the state for both directions. Layout, all signed varints:
//
//	version
//	world: ns, shared, rng, number of assets {symbol, level, vol, rng}
//	number of pairs {code, due ns, rng, found [id, seq, stock, slow, offset, last,
//	  bids, asks: number of quotes {id, price, open}, worst first]}
type walker struct{ *wire.Coder }

// unsigned codes a number as a signed one.
func (w walker) unsigned(p *uint64) {
	v := int64(*p)
	if w.I64(&v); w.Reading() {
		*p = uint64(v)
	}
}

func (w walker) ints(values ...*int64) {
	for _, p := range values {
		w.I64(p)
	}
}

func (w walker) flag(p *bool) {
	v := int64(0)
	if *p {
		v = 1
	}
	if w.I64(&v); w.Reading() {
		*p = v != 0
	}
}

// count codes the number of following entries, each of which takes at least one byte.
func (w walker) count(n int) int {
	v := int64(n)
	if w.I64(&v); w.Reading() && (v < 0 || v > int64(w.Left())) {
		w.Fail("%d entries do not fit into %d bytes", v, w.Left())
		return 0
	}
	return int(v)
}

func (w walker) text(p *string) {
	b := make([]byte, w.count(len(*p)))
	copy(b, *p)
	if w.Fixed(b); w.Reading() {
		*p = string(b)
	}
}

func (w walker) asset(a *asset) {
	w.ints(&a.level, &a.vol)
	w.unsigned((*uint64)(&a.rng))
}

// turn codes the time of the next step of a pair's agents, and whether they know the pair.
func (w walker) turn(a *agents) {
	w.I64(&a.dueNs)
	w.unsigned((*uint64)(&a.rng))
	w.flag(&a.found)
}

// pair codes the agents' knowledge of their pair.
func (w walker) pair(id *int64, a *agents) {
	w.I64(id)
	w.unsigned((*uint64)(&a.seq))
	w.ints(&a.stock, &a.slow, &a.offset, &a.last)
	for side := range a.ladders {
		l := &a.ladders[side]
		n := w.count(l.n)
		if w.Reading() {
			if n > ladderRoom {
				w.Fail("a ladder of %d quotes", n)
				return
			}
			*l = ladder{n: n}
		}
		for i := range n {
			q := l.at(i)
			w.unsigned((*uint64)(&q.id))
			w.ints(&q.price, &q.open)
		}
	}
}

// AppendState appends all state that the agents' decisions depend on: a market restored from it
// continues as if it had never stopped. The caller calls it on the loop's goroutine, between
// commands.
func (m *Market) AppendState(dst []byte) []byte {
	w := walker{wire.Writer(append(dst, stateVersion))}
	w.world(&m.world)
	w.count(len(m.world.assets))
	for i := range m.world.assets {
		a := &m.world.assets[i]
		w.text(&a.symbol)
		w.asset(a)
	}
	w.count(len(m.pairs))
	for _, a := range m.pairs {
		w.text(&a.Code)
		if w.turn(a); a.found {
			id := int64(a.id)
			w.pair(&id, a)
		}
	}
	return w.Bytes()
}

func (w walker) world(v *world) {
	w.ints(&v.ns, &v.shared)
	w.unsigned((*uint64)(&v.rng))
}

var errState = errors.New("sim: the encoded state is damaged")

// DecodeState restores what AppendState wrote, over a core that was restored to the same
// position. Pairs and assets that are newly configured start fresh; those that are no longer
// configured are left out. After an error the market must not be used; create a new one.
func (m *Market) DecodeState(data []byte) error {
	if len(data) == 0 || data[0] != stateVersion {
		return errors.New("sim: the encoded state is of another version")
	}
	w := walker{wire.Reader(data[1:])}
	w.world(&m.world)
	for range w.count(0) {
		var read asset
		w.text(&read.symbol)
		w.asset(&read)
		if i := m.world.find(read.symbol); i >= 0 {
			a := &m.world.assets[i]
			a.level, a.vol, a.rng = clamp(read.level, priceBound), read.vol, read.rng
		}
	}
	for range w.count(0) {
		if err := m.decodePair(w); err != nil {
			return err
		}
	}
	if err := w.End(); err != nil {
		return fmt.Errorf("%w: %w", errState, err)
	}
	m.choose()
	return nil
}

func (m *Market) decodePair(w walker) error {
	var code string
	w.text(&code)
	a := m.pair(code)
	if a == nil {
		a = &agents{Pair: Pair{Code: code}} // decoded and discarded
	}
	configured := a.Reference != 0
	known := a.found
	w.turn(a)
	found := a.found
	a.found = known
	if !found || w.Err() != nil {
		return nil
	}
	if configured {
		m.setUp(a)
		if !a.found {
			return fmt.Errorf("sim: the state knows pair %s, the engine does not", code)
		}
	}
	var id int64
	w.pair(&id, a)
	if configured && w.Err() == nil && engine.PairID(id) != a.id {
		return fmt.Errorf("sim: pair %s has another number in the state than in the engine", code)
	}
	return nil
}

// pair returns the agents of a code, nil when it is not configured.
func (m *Market) pair(code string) *agents {
	for _, a := range m.pairs {
		if a.Code == code {
			return a
		}
	}
	return nil
}
