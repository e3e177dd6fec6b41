package sim

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tickhive/engine"
)

// stateVersion is the first byte of an encoded state.
const stateVersion = 1

// AppendState appends all state that the agents' decisions depend on: a market restored from it
// continues as if it had never stopped. The caller calls it on the loop's goroutine, between
// commands. Layout, all varints:
//
//	version
//	world: ns, shared, rng, number of assets {symbol, level, vol, rng}
//	number of pairs {code, due ns, rng, found [id, seq, stock, slow, offset, last,
//	  bids, asks: number of quotes {id, price, open}, worst first]}
func (m *Market) AppendState(dst []byte) []byte {
	dst = append(dst, stateVersion)
	w := &m.world
	dst = appendInts(dst, w.ns, w.shared, int64(w.rng), int64(len(w.assets)))
	for i := range w.assets {
		a := &w.assets[i]
		dst = appendText(dst, a.symbol)
		dst = appendInts(dst, a.level, a.vol, int64(a.rng))
	}
	dst = appendInts(dst, int64(len(m.pairs)))
	for _, a := range m.pairs {
		dst = appendText(dst, a.Code)
		dst = appendInts(dst, a.dueNs, int64(a.rng), flag(a.found))
		if !a.found {
			continue
		}
		dst = appendInts(dst, int64(a.id), int64(a.seq), a.stock, a.slow, a.offset, a.last)
		for side := range a.ladders {
			l := &a.ladders[side]
			dst = appendInts(dst, int64(l.n))
			for i := range l.n {
				q := l.at(i)
				dst = appendInts(dst, int64(q.id), q.price, q.open)
			}
		}
	}
	return dst
}

func appendInts(dst []byte, values ...int64) []byte {
	for _, v := range values {
		dst = binary.AppendVarint(dst, v)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendVarint(dst, int64(len(s))), s...)
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

var errState = errors.New("sim: the encoded state is damaged")

// DecodeState restores what AppendState wrote, over a core that was restored to the same
// position. Pairs and assets that are newly configured start fresh; those that are no longer
// configured are left out. After an error the market must not be used; create a new one.
func (m *Market) DecodeState(data []byte) error {
	if len(data) == 0 || data[0] != stateVersion {
		return errors.New("sim: the encoded state is of another version")
	}
	r := reader{data: data[1:]}
	w := &m.world
	w.ns, w.shared, w.rng = r.int(), r.int(), rng(r.int())
	for range r.count() {
		symbol := r.text()
		level, vol, seed := r.int(), r.int(), rng(r.int())
		if i := w.find(symbol); i >= 0 {
			w.assets[i].level, w.assets[i].vol, w.assets[i].rng = clamp(level, priceBound), vol, seed
		}
	}
	for range r.count() {
		if err := m.decodePair(&r); err != nil {
			return err
		}
	}
	if r.bad || len(r.data) != 0 {
		return errState
	}
	m.choose()
	return nil
}

func (m *Market) decodePair(r *reader) error {
	code := r.text()
	a := m.pair(code)
	if a == nil {
		a = &agents{Pair: Pair{Code: code}} // decoded and discarded
	}
	configured := a.Reference != 0
	a.dueNs, a.rng = r.int(), rng(r.int())
	if r.int() == 0 || r.bad {
		return nil
	}
	if configured {
		m.meet(a)
		if !a.found {
			return fmt.Errorf("sim: the state knows pair %s, the engine does not", code)
		}
	}
	id := engine.PairID(r.int())
	if configured && id != a.id {
		return fmt.Errorf("sim: pair %s has another number in the state than in the engine", code)
	}
	a.seq = engine.Seq(r.int())
	a.stock, a.slow, a.offset, a.last = r.int(), r.int(), r.int(), r.int()
	for side := range a.ladders {
		n := r.count()
		if n > ladderRoom {
			return errState
		}
		a.ladders[side] = ladder{n: n}
		for i := range n {
			*a.ladders[side].at(i) = quote{engine.OrderID(r.int()), r.int(), r.int()}
		}
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

// reader reads varints; after an error it returns zeros and bad is set.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

// count reads the number of following entries, each of which takes at least one byte.
func (r *reader) count() int {
	n := r.int()
	if n < 0 || n > int64(len(r.data)) {
		r.bad, r.data = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count()
	if r.bad {
		return ""
	}
	s := string(r.data[:n])
	r.data = r.data[n:]
	return s
}
