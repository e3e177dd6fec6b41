package hive

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// busy returns a hive that has at least one of everything.
func busy(t testing.TB) *rig {
	r := newRig(t, func(o *Options) { o.QuorumCents = 200 })
	for n := uint32(1); n <= 5; n++ {
		r.spawn(n)
	}
	r.must(propose(10001, true))
	r.must(propose(10002, true))
	third := propose(10003, false)
	third.Checkpoint = 7
	r.must(third)
	r.must(propose(10004, true))
	for who := range byte(3) {
		v := vote(10001, "prop-1", who, Yes)
		v.Comment = "c"
		r.must(v)
		v = vote(10003, "prop-3", who, No)
		v.Checkpoint, v.Counted = 7, tokens(7)
		r.must(v)
	}
	chatter(r, rand.New(rand.NewPCG(9, 9)), 40, 5)
	f := fact(4, startSec)
	f.BoostSec = startSec + 40*daySec
	r.fold(f)
	r.to(startSec + 2*daySec)
	r.must(act("queen-1", 10002, Suspension, `{"suspended":true}`))
	r.must(act("queen-1", 10005, Override, `{"signalSubscriptions":["x","y"]}`))
	return r
}

func TestEveryCutOfARecordIsRefused(t *testing.T) {
	seen := map[RecordKind]bool{}
	for _, raw := range busy(t).records {
		rec, _ := DecodeRecord(raw)
		seen[rec.Kind] = true
		for n := range raw {
			if _, err := DecodeRecord(raw[:n]); err == nil {
				t.Errorf("kind %d: %d of %d bytes decode", rec.Kind, n, len(raw))
			}
		}
	}
	if len(seen) != int(recordKinds) {
		t.Errorf("only %d kinds were seen", len(seen))
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, raw := range busy(f).records {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := DecodeRecord(b)
		if err != nil {
			return
		}
		raw := AppendRecord(nil, &rec)
		again, err := DecodeRecord(raw)
		if err != nil || !bytes.Equal(AppendRecord(nil, &again), raw) {
			t.Fatalf("%x decodes, but %x does not come back: %v", b, raw, err)
		}
	})
}

func FuzzDecodeSnapshot(f *testing.F) {
	r := busy(f)
	f.Add(r.s.AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSnapshot(b, r.s.opt)
		if err != nil {
			return
		}
		again, err := DecodeSnapshot(s.AppendSnapshot(nil), r.s.opt)
		if err != nil || hashOf(again) != hashOf(s) {
			t.Fatalf("a state that decodes does not come back: %v", err)
		}
	})
}

func TestASnapshotWithAChangedEntryIsRefused(t *testing.T) {
	r := busy(t)
	r.check()
	good := r.s.AppendSnapshot(nil)
	at := bytes.Index(good, []byte(`"vote":"yes"`))
	bad := bytes.Clone(good)
	copy(bad[at:], `"vote":"no!"`)
	if _, err := DecodeSnapshot(bad, r.s.opt); err == nil || !strings.Contains(err.Error(), "entry was changed") {
		t.Fatalf("%v", err)
	}
	for i := range good { // no flipped byte may panic
		bad := bytes.Clone(good)
		bad[i] ^= 0x41
		if s, err := DecodeSnapshot(bad, r.s.opt); err == nil && s.Check() != nil {
			t.Fatalf("byte %d: accepted, but does not add up", i)
		}
	}
}

func TestEveryFieldOfStateChangesTheHash(t *testing.T) {
	want := hashOf(busy(t).s)
	if hashOf(busy(t).s) != want {
		t.Fatal("the same commands give two hashes")
	}
	worker := func(change func(w *Worker)) func(s *State) {
		return func(s *State) { w := s.edit(4); change(w); s.workers.Set(4, w) }
	}
	proposal := func(n uint32, change func(p *Proposal)) func(s *State) {
		return func(s *State) { p := s.editProposal(n); change(p); s.proposals.Set(n, p) }
	}
	for name, change := range map[string]func(s *State){
		"seed":      func(s *State) { s.seed++ },
		"genesis":   func(s *State) { s.genesisNs++ },
		"now":       func(s *State) { s.nowNs++ },
		"seq":       func(s *State) { s.seq++ },
		"votes":     func(s *State) { s.votes++ },
		"entry":     func(s *State) { s.log.row(3).timeNs++ },
		"head":      func(s *State) { s.log.head[0]++ },
		"known":     worker(func(w *Worker) { w.Known = false }),
		"token":     worker(func(w *Worker) { w.Token[1]++ }),
		"symbol":    worker(func(w *Worker) { w.Symbol += "X" }),
		"deployed":  worker(func(w *Worker) { w.DeployedSec++ }),
		"active":    worker(func(w *Worker) { w.LastActiveSec++ }),
		"boost":     worker(func(w *Worker) { w.BoostSec++ }),
		"idle":      worker(func(w *Worker) { w.IsIdle = !w.IsIdle }),
		"suspended": worker(func(w *Worker) { w.Suspended = !w.Suspended }),
		"slippage":  worker(func(w *Worker) { c := *w.Config; c.SlippageCapBps++; w.Config = &c }),
		"mev":       worker(func(w *Worker) { c := *w.Config; c.MEV ^= 1; w.Config = &c }),
		"signals":   worker(func(w *Worker) { c := *w.Config; c.Signals = nil; w.Config = &c }),
		"action":    worker(func(w *Worker) { w.LastActionSec++ }),
		"override":  worker(func(w *Worker) { w.LastOverrideSec++ }),
		"tier":      worker(func(w *Worker) { w.OverridingTier ^= 1 }),
		"count":     worker(func(w *Worker) { w.ActiveProposals++ }),
		"closed":    func(s *State) { s.closed.Set(closedKey(4, 5), 1) },
		"tally":     proposal(3, func(p *Proposal) { p.Tally[Abstain]++ }),
		"status":    proposal(1, func(p *Proposal) { p.Status ^= 3 }),
		"closes":    proposal(3, func(p *Proposal) { p.ClosesSec++ }),
		"created":   proposal(3, func(p *Proposal) { p.CreatedSec++ }),
		"payload":   proposal(3, func(p *Proposal) { p.Payload += " " }),
		"proposer":  proposal(3, func(p *Proposal) { p.Proposer += "x" }),
		"topic":     proposal(3, func(p *Proposal) { p.Topic++ }),
		"comment":   proposal(1, func(p *Proposal) { p.Comments = p.Comments[1:] }),
		"counted":   proposal(3, func(p *Proposal) { p.Checkpoint++ }),
		"voter":     func(s *State) { s.voters[3][[16]byte{77}] = struct{}{} },
	} {
		r := busy(t)
		change(r.s)
		if hashOf(r.s) == want {
			t.Errorf("%s does not show in the hash", name)
		}
	}
}

// A fact arrives while a close and an idle second wait for room on the disk: the worker
// exists at once, and the final state equals the state after a replay.
func TestAFactIsFoldedAheadOfWhatIsDueAndReplayGivesTheSame(t *testing.T) {
	r := newRig(t)
	r.spawn(1)
	r.must(propose(10001, true))
	r.must(vote(10001, "prop-1", 1, Yes))
	r.now = start + 8*daySec*secondNs
	swap := fact(1, startSec)
	swap.SwapSec = startSec + 8*daySec
	for _, f := range []Fact{fact(2, startSec+8*daySec), fact(4, startSec+8*daySec), swap} {
		r.facts = append(r.facts, f)
		r.s.Fold(f) // without r.due()
	}
	if _, ok := r.s.View().Worker(r.now, 10002); !ok || r.s.View().Newest() != 4 {
		t.Errorf("worker 2 is there: %v; the newest of 1, 2 and 4 is %d", ok, r.s.View().Newest())
	}
	r.due()
	r.status(10001, "active")
	r.status(10002, "active")
	r.check()
}
