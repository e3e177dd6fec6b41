package sim

import (
	"errors"
	"fmt"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/wire"
)

// stateVersion is the first byte of an encoded state. A state of another version is refused.
const stateVersion = 3

// walker encodes or decodes the state; each of its methods serves both directions. Layout, all signed varints:
//
//	version
//	world: ns, shared, rng, number of assets {symbol, level, vol, rng}
//	number of pairs {code, due ns, rng, found [id, seq, stock, slow, offset, last, impact, meta,
//	  bids, asks: number of quotes {id, price, open}, worst first]}
type walker struct{ *wire.Coder }

// unsigned encodes or decodes an unsigned number as a signed one.
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

// count encodes or decodes a number of entries. The entries follow and take at least one byte each.
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

// turn encodes or decodes the time of the agents' next step, and whether they have found their pair.
func (w walker) turn(a *agents) {
	w.I64(&a.dueNs)
	w.unsigned((*uint64)(&a.rng))
	w.flag(&a.found)
}

// pair encodes or decodes what the agents know of their pair.
func (w walker) pair(id *int64, a *agents) {
	w.I64(id)
	w.unsigned((*uint64)(&a.seq))
	w.ints(&a.stock, &a.slow, &a.offset, &a.last, &a.impact, &a.meta)
	for side := range a.ladders {
		l := &a.ladders[side]
		n := w.count(l.n)
		if w.Reading() {
			if n > ladderMost {
				w.Fail("a ladder of %d quotes", n)
				return
			}
			*l = ladder{}
			for len(l.ring) < n {
				l.grow()
			}
			l.n = n
		}
		for i := range n {
			q := l.at(i)
			w.unsigned((*uint64)(&q.id))
			w.ints(&q.price, &q.open)
		}
	}
}

// AppendState appends the state on which the agents' decisions depend. A market that decodes it decides exactly
// as this one would. The caller must call it on the loop's goroutine, between commands.
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

// DecodeState restores the bytes of AppendState. The core must be at the same position of the journal. Newly
// configured pairs and assets start fresh; ones no longer configured are dropped. After an error the market
// must not be used.
func (m *Market) DecodeState(data []byte) error {
	if len(data) == 0 {
		return errState
	}
	if data[0] != stateVersion {
		return fmt.Errorf("sim: the encoded state has version %d, and this program reads %d alone",
			data[0], stateVersion)
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
		a = &agents{Pair: Pair{Code: code}} // the pair is no longer configured: its state is decoded and dropped
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

// pair returns the agents of the pair with this code, nil when there is none.
func (m *Market) pair(code string) *agents {
	for _, a := range m.pairs {
		if a.Code == code {
			return a
		}
	}
	return nil
}
