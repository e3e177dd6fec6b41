package hive

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"tickhive/internal/refuse"
)

// What a record does must not depend on whether ticks came before it.
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
			r.must(Tick{})
			r.check()
			r.s.seq = 0 // ticks are records
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

// One record carries out at most MaxDue changes; until the proposals are closed, no command but a Tick is accepted.
func TestARecordCarriesOutABoundedNumberOfChanges(t *testing.T) {
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
	r.lazy = true
	r.now += 30 * daySec * secondNs
	left := func() (int, int) { return r.s.closeQueue.Len(), r.s.idleQueue.Len() }
	for {
		closings, workers := left()
		before := closings + workers
		res, rej := r.do(act("queen-1", firstAgentNFT, Observation, "{}"))
		switch {
		case closings > MaxDue:
			if rej == nil || rej.Code != refuse.Unavailable {
				t.Fatalf("with %d proposals to close: %v", closings, rej)
			}
			r.must(Tick{})
		case rej != nil:
			t.Fatal(rej)
		case res.Entry.TimeNs != r.now:
			t.Fatalf("%+v", res.Entry)
		}
		closings, workers = left()
		// A close makes an idle worker active, or an inactive one idle, so it may count twice here.
		if done := before - closings - workers; done > 2*MaxDue || done == 0 {
			t.Fatalf("one record carried out %d changes", done)
		}
		if err := r.s.Check(); err != nil {
			t.Fatal(err)
		}
		if again, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt); err != nil || hashOf(again) != hashOf(r.s) {
			t.Fatalf("with %d changes left, the state does not come back: %v", closings+workers, err)
		}
		if closings+workers == 0 {
			break
		}
	}
	r.check()
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

// work carries out a command as the store does, and returns the bytes that it allocated.
func work(tb testing.TB, r *rig, cmd Command) uint64 {
	tb.Helper()
	before := allocated()
	rec, err := r.s.Plan(r.now, cmd)
	if err != nil {
		tb.Fatal(err)
	}
	AppendRecord(nil, &rec)
	r.s.Apply(&rec)
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
		"tick": func() Command { return Tick{} },
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
				rec, err := r.s.Plan(r.now, cmd(i))
				if err != nil {
					b.Fatal(err)
				}
				r.s.Apply(&rec)
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

// The most that one record closes, all passed.
func BenchmarkDue(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		r := crowded(b, 1000, MaxDue, 0)
		for n := range uint32(MaxDue) {
			p := r.s.editProposal(n + 1)
			p.Tally[Yes] = 1_000_00
			r.s.putProposal(p)
		}
		b.StartTimer()
		rec, err := r.s.Plan(start+8*daySec*secondNs, Tick{})
		if err != nil || len(rec.Closes) != MaxDue {
			b.Fatal(err, len(rec.Closes))
		}
		r.s.Apply(&rec)
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
