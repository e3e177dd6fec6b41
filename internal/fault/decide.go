package fault

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// Active is a rule in force and its counters. Any goroutine may call its methods.
type Active struct {
	Rule
	ID      uint64
	Ended   chan struct{} // closed when the rule is removed
	Answers *Store        // of a Stale rule

	identity uint64
	matched  atomic.Uint64
	applied  atomic.Uint64
	skipped  atomic.Uint64
	idle     atomic.Uint64
}

// Match is a request or message that a rule may concern. An empty member is unknown.
type Match struct {
	Listener, Method, Route, Key, Channel string
	NowNs                                 int64 // process clock
	// Names reports whether the request or message names a pair. It runs only for rules of a pair.
	Names func(pair string) bool
}

// Decision is the outcome of a match: whether the fault happens, and a number that chooses its size.
type Decision struct {
	Happens bool
	size    uint64
}

// Selects reports whether the rule concerns m. It counts nothing.
func (a *Active) Selects(m *Match) bool {
	return m.NowNs >= a.FromNs && (a.UntilNs == 0 || m.NowNs < a.UntilNs) &&
		a.SelectsRoute(m.Listener, m.Method, m.Route) && selects(a.Channel, m.Channel) &&
		(a.Key == "" || a.Key == m.Key) &&
		(a.Pair == "" || m.Names(a.Pair))
}

// Decide counts a match of the rule and decides whether the fault happens. Happens is false when the rule does not
// concern m. A fault that then cannot happen is taken back with Undo or Skip.
func (a *Active) Decide(m *Match) Decision {
	if !a.Selects(m) {
		return Decision{}
	}
	n := a.matched.Add(1)
	h := hash(a.Seed, a.identity, n)
	if chosen, _ := bits.Mul64(h, certain); int64(chosen) >= a.PPM {
		return Decision{}
	}
	if applied := a.applied.Add(1); a.Count != 0 && applied > a.Count {
		a.Undo()
		return Decision{}
	}
	return Decision{Happens: true, size: hash(h, a.identity, n)}
}

// Below returns a number from 0 to n-1 that the decision chooses.
func (d Decision) Below(n uint64) uint64 {
	chosen, _ := bits.Mul64(d.size, n)
	return chosen
}

// Pieces returns how a Slow rule sends a body: the bytes of a piece, and the time from one to the next.
func (a *Active) Pieces() (bytes int, every time.Duration) {
	if a.Rate == 0 {
		return a.Chunk, a.Every
	}
	bytes = max(a.Rate/piecesPerSecond, 1)
	return bytes, time.Duration(bytes) * time.Second / time.Duration(a.Rate)
}

// piecesPerSecond is the number of pieces in which the bytes of a second come.
const piecesPerSecond = 10

// Undo records that a fault on which Decide had decided did not happen: there was nothing that could have it.
func (a *Active) Undo() { a.applied.Add(^uint64(0)) }

// Skip records that a fault on which Decide had decided did not happen because a limit was reached.
func (a *Active) Skip() {
	a.Undo()
	a.skipped.Add(1)
}

// DelayOf returns the delay that a decision chooses.
func (a *Active) DelayOf(d Decision) time.Duration {
	switch a.Distribution {
	case Constant:
		return a.Delay
	case Uniform:
		part, _ := bits.Mul64(d.size, uint64(a.Max-a.Delay)+1)
		return a.Delay + time.Duration(part)
	case Exponential:
		u := (float64(d.size>>11) + 0.5) / (1 << 53) // above 0 and below 1
		return min(time.Duration(-math.Log(u)*float64(a.Delay)), a.Max)
	case distributions:
	}
	panic("BUG: fault: an unknown distribution")
}

// Counts are the counters of a rule: matches, faults, and faults left out because a limit was reached.
type Counts struct{ Matched, Applied, Skipped uint64 }

// Counts returns a copy of the counters.
func (a *Active) Counts() Counts {
	return Counts{a.matched.Load(), a.applied.Load(), a.skipped.Load()}
}

// Idle returns the number of documents in which the rule has found nothing to change.
func (a *Active) Idle() uint64 { return a.idle.Load() }

// hash mixes three numbers; each bit of the result depends on all of their bits.
func hash(seed, rule, n uint64) uint64 {
	x := mix(seed ^ 0x9e3779b97f4a7c15)
	return mix(mix(x^rule) + n*0xbf58476d1ce4e5b9)
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func identityOf(r *Rule) uint64 {
	h := fnv.New128a()
	_, _ = h.Write([]byte(r.identity())) // never fails
	return binary.BigEndian.Uint64(h.Sum(nil))
}
