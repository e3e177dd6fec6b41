package stream

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// random runs a cluster by a seed: several nodes campaign, crash and write; several readers follow, and begin again
// with a snapshot of another one. At the end the adversary stops, and everything has to settle.
type random struct {
	*cluster
	rng     *rand.Rand
	readers []follower
	mix     struct{ takeovers, voids, copies, drops, timeouts, stale, crashes, acked, denied, reads int }
}

func newRandom(seed uint64, bug planted) *random {
	rng := rand.New(rand.NewPCG(seed, 1))
	r := &random{rng: rng, cluster: newCluster(2+rng.IntN(4), rng.IntN(3) > 0, bug), readers: make([]follower, 3)}
	for i := range r.readers {
		r.readers[i].Reader = *NewReader(State{}, 1, testKeys)
	}
	return r
}

// run returns when an invariant is broken, or everything has settled.
func (r *random) run(steps int) {
	for range steps {
		if r.act(); r.failed != "" {
			return
		}
	}
	if r.settleAll(); r.failed != "" {
		return
	}
	for i := range r.readers {
		r.follow(i, len(r.log))
		if !slices.Equal(r.readers[i].executed, r.truth.executed) {
			r.fail(disagree, "reader %d", i)
		}
	}
	r.mix.acked, r.mix.denied = len(r.acked), len(r.denied)
	for i := 1; i < len(r.states); i++ {
		if r.states[i].Prev == r.states[i-1].Prev {
			r.mix.voids++
		} else if r.states[i].Term != r.states[i-1].Term {
			r.mix.takeovers++
		}
	}
}

// act is one choice of the adversary.
func (r *random) act() {
	n := r.rng.IntN(len(r.nodes))
	w := r.nodes[n].w
	switch p := r.rng.IntN(100); {
	case w == nil || w.Status() == Fenced:
		if p < 6 || r.truth.State().Term == 0 {
			r.campaign(n, uint64(max(0, len(r.log)-r.rng.IntN(3)*r.rng.IntN(2))), 1+r.rng.IntN(4))
		}
	case p < 1:
		r.mix.crashes++
		r.nodes[n] = node{}
	case p < 22 && w.Status() == Leading:
		r.add(n)
	case p < 42:
		r.publish(n)
	case p < 44 && w.flying > 0:
		r.mix.timeouts++
		r.timeout(n, w.window[r.rng.IntN(w.flying)].number)
	case p < 60:
		stale := r.rng.IntN(10) == 0
		if stale {
			r.mix.stale++
		}
		r.resolve(n, stale)
	}
	if i := r.rng.IntN(2 + len(r.out)); i < len(r.out) {
		switch p := r.rng.IntN(20); {
		case p == 0:
			r.mix.drops++
			drop(&r.out, i)
		case p == 1 && r.out[i].copies < 2:
			r.mix.copies++
			r.deliver(i, true)
		case p < 12:
			r.deliver(0, false) // in order
		default:
			r.deliver(i, false)
		}
	}
	if i := r.rng.IntN(2 + len(r.back)); i < len(r.back) {
		if r.rng.IntN(20) == 0 {
			r.mix.drops++
			drop(&r.back, i)
		} else {
			r.answer(i * r.rng.IntN(2))
		}
	}
	r.read(r.rng.IntN(len(r.readers)))
}

// read lets a reader go on, or begin again with the state of another one.
func (r *random) read(i int) {
	if r.rng.IntN(50) == 0 {
		from := r.readers[r.rng.IntN(len(r.readers))]
		r.readers[i] = follower{*NewReader(from.State(), 1, testKeys), slices.Clone(from.executed)}
	}
	r.follow(i, r.rng.IntN(4))
}

// follow lets a reader read at most n messages.
func (r *random) follow(i, n int) {
	f := &r.readers[i]
	for ; n > 0 && f.State().Seq < uint64(len(r.log)); n-- {
		r.mix.reads++
		seq := f.State().Seq + 1
		if _, _, err := f.read(seq, r.log[seq-1], r.bug); err != nil {
			r.fail(broken, "%v", err)
			return
		}
	}
	if k := len(f.executed); k > len(r.truth.executed) || !slices.Equal(f.executed, r.truth.executed[:k]) {
		r.fail(disagree, "reader %d at %d", i, f.State().Seq)
	}
}

// settleAll delivers everything and loses nothing more. Then at most one node leads, and nothing is open.
func (r *random) settleAll() {
	r.calm()
	for _, nd := range r.nodes {
		if nd.w != nil {
			nd.w.Beat(0) // shows a writer that it is fenced
		}
	}
	r.calm()
	leading := 0
	for n, nd := range r.nodes {
		switch {
		case nd.w == nil || nd.w.Status() == Fenced:
		case nd.w.Status() == Campaigning:
			r.fail(unsettled, "node %d still campaigns", n)
		case nd.reported != len(nd.added) || nd.w.Unconfirmed() > 0:
			r.fail(unsettled, "node %d: %d of %d acknowledged", n, nd.reported, len(nd.added))
		default:
			leading++
		}
	}
	if leading > 1 {
		r.fail(unsettled, "%d nodes lead", leading)
	}
}

// calm goes on until no node publishes anything.
func (r *random) calm() {
	for range 1000 {
		for len(r.out) > 0 {
			r.deliver(0, false)
		}
		for len(r.back) > 0 {
			r.answer(0)
		}
		for n := range r.nodes {
			w := r.nodes[n].w
			if w == nil {
				continue
			}
			if w.flying > 0 { // its publication or its answer was lost
				r.timeout(n, w.window[0].number)
			}
			for w.doubt && w.Status() != Fenced && r.failed == "" {
				r.resolve(n, false)
			}
			for r.publish(n) {
			}
		}
		if r.failed != "" || len(r.out) == 0 {
			return
		}
	}
	r.fail(unsettled, "after 1000 rounds")
}

// TestRandomSchedulesKeepTheInvariants runs many nodes and readers for longer than a search can.
func TestRandomSchedulesKeepTheInvariants(t *testing.T) {
	seeds, steps := uint64(3000), 250
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		seeds, steps = 20_000, 400
	}
	sum := random{}.mix
	for seed := range seeds {
		r := newRandom(seed, sound)
		if r.run(steps); r.failed != "" {
			t.Fatalf("seed %d: %s: %s", seed, r.failed, r.detail)
		}
		m := r.mix
		sum.takeovers, sum.voids, sum.copies = sum.takeovers+m.takeovers, sum.voids+m.voids, sum.copies+m.copies
		sum.drops, sum.timeouts, sum.stale = sum.drops+m.drops, sum.timeouts+m.timeouts, sum.stale+m.stale
		sum.crashes, sum.acked, sum.denied = sum.crashes+m.crashes, sum.acked+m.acked, sum.denied+m.denied
		sum.reads += m.reads
	}
	t.Logf("%d seeds: %+v", seeds, sum)
	n := int(seeds)
	if sum.takeovers < 2*n || sum.voids < n || sum.copies < n/2 || sum.drops < n || sum.acked < 5*n || sum.denied < n {
		t.Errorf("the mix is too thin: %+v", sum)
	}
}

func TestRandomSchedulesFindPlantedBugs(t *testing.T) {
	for name, bug := range map[string]planted{
		"acknowledgements of any number": anyAck, "no rule of validity": believeAll,
		"commands without an answer are refused": denyUnknown, "a takeover does not read to its term": blindTerm,
	} {
		for seed := uint64(0); ; seed++ {
			r := newRandom(seed, bug)
			if r.run(250); r.failed == lost || r.failed == twice || r.failed == refused {
				t.Logf("%s: seed %d: %s: %s", name, seed, r.failed, r.detail)
				break
			}
			if seed == 200 {
				t.Errorf("%s: not found in %d seeds", name, seed)
				break
			}
		}
	}
}
