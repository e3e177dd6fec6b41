package bench

import (
	"fmt"

	"tickhive/bench/limits/floor/wl"
	"tickhive/bench/proc"
	"tickhive/bench/report"
	"tickhive/engine"
)

// Variants of the workloads of E1: the orders of users (docs/internals/performance.md#e1a), and commands that are read
// ahead together, as the loop does with the commands of a slice.

// users is the number of accounts of E1a.
const users = 100

// withUsers makes the orders those of users accounts as trading clients send them: buyers and sellers have different
// accounts, so all orders trade that would trade without accounts; half of the orders have client ids.
func (r *coreRun) withUsers() *coreRun {
	r.ids = make([]engine.ClientID, 4096)
	return r
}

// withQueue makes n commands wait for each other, so that they can be read ahead, as in a busy loop.
func (r *coreRun) withQueue(n int) *coreRun {
	r.queue, r.ahead = make([]engine.Command, 0, n), make([]*engine.Command, n)
	for i := range r.ahead {
		r.ahead[i] = &r.queue[:n][i]
	}
	return r
}

// userOf returns the account of an order whose number has the hash h.
func userOf(h uint64, side engine.Side) engine.AccountID {
	return engine.AccountID(1 + h%(users/2) + users/2*uint64(side))
}

// own gives an order an account, the account's settings and, if its number is even, a client id.
func (r *coreRun) own(cmd *engine.Command, id uint64) {
	h := mixed(id)
	cmd.Account = userOf(h, cmd.Side)
	cmd.STP, cmd.MakerFee, cmd.TakerFee, cmd.Discount = engine.CancelTaker, 100_000, 200_000, 1_000_000
	if cmd.Client = nil; id%2 == 0 {
		cmd.Client = &r.ids[id/2%uint64(len(r.ids))]
		*cmd.Client = engine.ClientID{Hash: [2]uint64{h, ^h}}
	}
}

// mixed returns a hash of an order's number whose bits are all well mixed (the finalizer of SplitMix64).
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// next returns the next command. The caller sets each member that commands of the run differ in: it has those of an
// earlier one.
func (r *coreRun) next() *engine.Command {
	cmd := &r.one
	if n := len(r.queue); n < cap(r.queue) {
		r.queue = r.queue[:n+1]
		cmd = &r.queue[n]
	}
	return cmd
}

// submit applies what next has returned, or all that waits when the queue is full.
func (r *coreRun) submit() {
	if cap(r.queue) == 0 {
		r.apply(&r.one)
	} else if len(r.queue) == cap(r.queue) {
		r.flush()
	}
}

// flush applies the queued commands.
func (r *coreRun) flush() {
	for i := range r.queue {
		if i%engine.LookAhead == 0 {
			r.core.Warm(r.ahead[:len(r.queue)], i)
		}
		r.apply(&r.queue[i])
	}
	r.queue = r.queue[:0]
}

// coreVariants are the measures of the workload's variants.
type coreVariants struct{ ahead, owned, both *report.Measure }

func newCoreVariants(r *Run, name, with string) (v coreVariants) {
	v.ahead = r.S.Cost(name+" core, commands read ahead", "ns/op",
		with+fmt.Sprintf(", %d queued, %d read ahead", publishEvery, engine.LookAhead)).Against("floor")
	if name == "w2" {
		v.ahead.Aim("E1", 1.8)
	}
	v.owned = r.S.Cost(name+" core, orders of users", "ns/op",
		with+fmt.Sprintf(", %d accounts, cancel_taker, rates, client ids on half of the orders", users),
	).Against("built-in account").Aim("E1a", 1.3)
	v.both = r.S.Cost(name+" core, orders of users, read ahead", "ns/op", with).Against("built-in account")
	return v
}

// round measures the variants once, against the floor and the built-in account's cost of the same round.
func (v coreVariants) round(name string, w *wl.Workload, want wl.Stats, base, builtin float64) error {
	for _, x := range []struct {
		m         *report.Measure
		c         *coreRun
		reference float64
	}{
		{v.ahead, newCoreRun(nil).withQueue(publishEvery), base},
		{v.owned, newCoreRun(nil).withUsers(), builtin},
		{v.both, newCoreRun(nil).withUsers().withQueue(publishEvery), builtin},
	} {
		x.c.run(w.Preload)
		cost := proc.CPUNs(func() { x.c.run(w.Ops) }) / float64(len(w.Ops))
		if err := checked(name, x.c.stats, want); err != nil {
			return err
		}
		x.m.Round(cost, x.reference)
	}
	return nil
}
