package hive

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

// What a command does must not depend on whether ticks came before it.
func TestTheHiveIsTheSameWithAndWithoutTicks(t *testing.T) {
	passed := 0
	for seed := range uint64(30) {
		ticking := newRig(t, func(o *Options) { o.QuorumCents = 200 })
		lazy := newRig(t, func(o *Options) { o.QuorumCents = 200 })
		lazy.lazy = true
		for _, r := range []*rig{ticking, lazy} {
			rng, open := rand.New(rand.NewPCG(seed, 6)), 0
			for n := uint32(1); n <= 4; n++ {
				r.spawn(n)
			}
			for range 300 {
				token := firstAgentNFT + rng.Uint64N(4)
				switch rng.IntN(7) {
				case 0:
					r.must(propose(token, rng.IntN(2) == 0))
					open++
				case 1:
					payload := fmt.Sprintf(`{"slippageCapBps":%d}`, 50+rng.IntN(100))
					r.do(act("queen-1", token, Override, payload))
				case 2:
					r.toNs(r.now + rng.Int64N(3*daySec)*secondNs)
				case 3:
					f := fact(uint32(token-firstAgentNFT)+1, startSec)
					f.SwapSec = r.now/secondNs - rng.Int64N(daySec)
					r.fold(f)
				default:
					proposal := fmt.Sprintf("prop-%d", max(1, open-rng.IntN(4)))
					r.do(vote(token, proposal, byte(rng.IntN(20)), VoteKind(rng.IntN(3))))
				}
			}
			r.lazy = false
			r.toNs(r.now + 3*daySec*secondNs)
			r.check()
			status := ProposalPassed
			passed += int(r.s.View().Proposals(ProposalQuery{Page: Page{1, 1, 0}, Status: &status}).TotalItems)
		}
		if ticking.ticks < 10 || hashOf(ticking.s) != hashOf(lazy.s) {
			t.Fatalf("seed %d: another hive without the %d ticks", seed, ticking.ticks)
		}
	}
	if passed < 30 {
		t.Errorf("only %d proposals passed", passed)
	}
}

// A Tick carries out at most maxDue changes; the next ones carry out the rest. A command carries out all of them, and
// the hive is the same.
func TestATickCarriesOutABoundedNumberOfChanges(t *testing.T) {
	r := newRig(t, func(o *Options) { o.QuorumCents = 100 })
	const tokens, each = 300, 2
	for n := uint32(1); n <= tokens; n++ {
		token := r.spawn(n)
		for i := range each {
			id := r.open(propose(token, true))
			if i == 0 {
				r.must(vote(token, id, 1, Yes))
			}
		}
	}
	once, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt)
	if err != nil {
		t.Fatal(err)
	}
	r.lazy = true
	r.now += 30 * daySec * secondNs
	left := func() int { return r.s.closeQueue.Len() + r.s.idleQueue.Len() }
	ticks, all := 0, 0
	for before := left(); before > 0; before = left() {
		due := r.s.NextNs()
		res := r.s.Tick(r.now)
		if done := before - left(); done != res.Due || done == 0 || done > maxDue || done < maxDue && left() > 0 {
			t.Fatalf("a tick carried out %d changes: %+v", done, res)
		}
		if next := r.s.NextNs(); r.s.nowNs < due || r.s.nowNs > r.now || next != 0 && r.s.nowNs > next {
			t.Fatalf("the first change was due at %d, the last made at %d, the next is due at %d", due, r.s.nowNs, next)
		}
		if err := r.s.Check(); err != nil {
			t.Fatal(err)
		}
		if again, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt); err != nil || hashOf(again) != hashOf(r.s) {
			t.Fatalf("with %d changes left, the state does not come back: %v", left(), err)
		}
		ticks, all = ticks+1, all+res.Due
	}
	cmd := act("queen-1", firstAgentNFT, Observation, "{}")
	res, err := once.Do(r.now, cmd)
	if err != nil || res.Due != all || ticks < 3 || res.Entry.TimeNs != r.now {
		t.Fatalf("%+v, %v; %d changes in %d ticks", res, err, all, ticks)
	}
	if r.must(cmd); hashOf(r.s) != hashOf(once) {
		t.Fatal("the hive is another one without ticks")
	}
}

func TestTheHiveBeginsOnce(t *testing.T) {
	r := &rig{t: t, s: New(DefaultOptions()), now: start}
	r.refused(act("queen-1", 0, Observation, ""), refuse.Conflict, "")
	r.must(Begin{Seed: 1, GenesisNs: start})
	r.refused(Begin{Seed: 2, GenesisNs: start}, refuse.Conflict, "")
	r.check()
}

// A refusal changes nothing but what was due.
func TestARefusedCommandCarriesOutWhatIsDue(t *testing.T) {
	ticking, lazy := newRig(t), newRig(t)
	lazy.lazy = true
	for _, r := range []*rig{ticking, lazy} {
		r.open(propose(r.spawn(1), true))
		r.now = start + 30*daySec*secondNs
		due := 0
		if r.lazy {
			due = 2 // the proposal closes, the worker becomes idle
		}
		res, rej := r.do(act("queen-9", 0, Observation, ""))
		if d, _ := r.s.View().Proposal("prop-1"); rej == nil || d.Status != ProposalRejected || res.Due != due {
			t.Fatalf("%v, %s, %+v", rej, d.Status, res)
		}
		if r.s.LastNs() != start+7*daySec*secondNs {
			t.Errorf("the last change was at +%d ns", r.s.LastNs()-start)
		}
		r.check()
	}
	if hashOf(ticking.s) != hashOf(lazy.s) {
		t.Error("the refused command changed something")
	}
}

// crowded returns a hive with many workers, proposals and voters of the first proposal.
func crowded(tb testing.TB, workers, proposals, voters int) *rig {
	r := newRig(tb)
	for n := 1; n <= workers; n++ {
		r.s.Fold(fact(uint32(n), startSec))
	}
	for i := range proposals {
		work(tb, r, propose(firstAgentNFT+uint64(i*workers/proposals), false))
	}
	for i := range voters {
		r.s.voters[1][[16]byte{byte(i), byte(i >> 8), byte(i >> 16), 1}] = struct{}{}
	}
	return r
}

// work carries out a command as the machine does, nil: a Tick, and returns the bytes that it allocated.
func work(tb testing.TB, r *rig, cmd Command) uint64 {
	tb.Helper()
	before := allocated()
	if cmd == nil {
		r.s.Tick(r.now)
	} else if _, err := r.s.Do(r.now, r.withLedger(cmd)); err != nil {
		tb.Fatal(err)
	}
	return allocated() - before
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A command copies the nodes on a path of each tree that it changes: a few levels more in a large hive.
func TestNoCommandCostsMoreInALargeHive(t *testing.T) {
	few, many := crowded(t, 10, 10, 10), crowded(t, 1<<17, 1<<12, 1<<17)
	who := byte(0)
	for name, cmd := range map[string]func() Command{
		"act":     func() Command { return act("worker-1", firstAgentNFT, ConfigUpdate, `{"slippageCapBps":70}`) },
		"propose": func() Command { return propose(firstAgentNFT, true) },
		"vote": func() Command {
			who++
			return vote(firstAgentNFT, "prop-1", who, Yes)
		},
		"tick": func() Command { return nil },
	} {
		var bytes [2]uint64
		for i, r := range []*rig{few, many} {
			for range 20 {
				bytes[i] += work(t, r, cmd()) / 20
			}
		}
		t.Logf("%s: %d bytes in a small hive, %d in a large one", name, bytes[0], bytes[1])
		if bytes[1] > 3*bytes[0]+20_000 {
			t.Errorf("%s: %d bytes in a small hive, %d in a large one", name, bytes[0], bytes[1])
		}
	}
}

func benchmark(b *testing.B, cmd func(i int) Command) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := crowded(b, n, n/10, n)
			for i := 0; b.Loop(); i++ {
				if _, err := r.s.Do(r.now, r.withLedger(cmd(i))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPropose(b *testing.B) {
	benchmark(b, func(i int) Command { return propose(firstAgentNFT+uint64(i%1000), true) })
}

func BenchmarkVote(b *testing.B) {
	benchmark(b, func(i int) Command {
		v := vote(firstAgentNFT, "prop-1", 1, Yes)
		v.User = [16]byte{byte(i), byte(i >> 8), byte(i >> 16), 2}
		v.Counted = tokens(1_000_000)
		return v
	})
}

// The most that one Tick closes, all passed.
func BenchmarkDue(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		r := crowded(b, 1000, maxDue, 0)
		for n := range uint32(maxDue) {
			p := r.s.editProposal(n + 1)
			p.Tally[Yes] = 1_000_00
			r.s.putProposal(p)
		}
		b.StartTimer()
		if r.s.Tick(start + 7*daySec*secondNs); r.s.closeQueue.Len() != 0 {
			b.Fatal(r.s.closeQueue.Len())
		}
	}
}

// A list of all entries takes 64 MB. What an entry adds must not depend on that.
func TestALongListOfEntriesNeverMoves(t *testing.T) {
	var l idList
	most, before := uint64(0), allocated()
	const n = 1 << 20
	for id := uint64(1); id <= n; id++ {
		l.append(id)
		if id%idChunk == 0 {
			now := allocated()
			most, before = max(most, now-before), now
		}
	}
	if most > 100_000 {
		t.Errorf("%d ids allocated %d bytes", idChunk, most)
	}
	for _, last := range []uint64{0, 1, 4, 5, idChunk, idChunk + 1, n - 1, n, n + 1} {
		if list := l.upTo(last); list.n != int(min(last, n)) || list.n > 0 && list.at(list.n-1) != uint64(list.n) {
			t.Errorf("up to %d: %d ids", last, list.n)
		}
	}
}

func BenchmarkDecodeSnapshot(b *testing.B) {
	r := newRig(b)
	for n := uint32(1); n <= 1000; n++ {
		r.spawn(n)
	}
	chatter(r, rand.New(rand.NewPCG(1, 1)), 50_000, 1000)
	snap := r.s.AppendSnapshot(nil)
	for b.Loop() {
		if _, err := DecodeSnapshot(snap, r.s.opt); err != nil {
			b.Fatal(err)
		}
	}
}
