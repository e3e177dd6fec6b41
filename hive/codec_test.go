package hive

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"tickhive/internal/clock"
	"tickhive/internal/durable"
	"tickhive/internal/refuse"
	"tickhive/internal/vfs"
	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
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
		raw := appendRecord(nil, &rec)
		again, err := DecodeRecord(raw)
		if err != nil || !bytes.Equal(appendRecord(nil, &again), raw) {
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
		"launchpad": func(s *State) { s.launchpadSeq++ },
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

func openMem(t *testing.T, fs vfs.FS, clk clock.Clock) *Store {
	t.Helper()
	opt := DefaultOptions()
	opt.GenesisNs, opt.QuorumCents = start, 200
	st, err := OpenStore(StoreOptions{Options: opt, Config: durable.Config{FS: fs, Dir: "hive", Clock: clk}})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func foldAll(t *testing.T, st *Store, n int) {
	t.Helper()
	if err := st.WithState(func(s *State) {
		for i := range n {
			s.Fold(fact(uint32(i)+1, startSec))
		}
	}); err != nil {
		t.Fatal(err)
	}
}

func viewText(v *View, now int64) string {
	w, _ := v.Worker(now, 10001)
	return fmt.Sprint(v.Overview(now), v.Log(LogQuery{Page: Page{Page: 1, PageSize: 100}}),
		v.Proposals(ProposalQuery{Page: Page{Page: 1, PageSize: 100}}), w, v.Head())
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
	for i, f := range []Fact{fact(2, startSec+8*daySec), fact(4, startSec+8*daySec), swap} {
		f.Seq = uint64(i) + 2
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

func TestAFactIsFoldedOnAFullDisk(t *testing.T) {
	fsys, clk := vfstest.NewMem(), clock.NewManual(start)
	opt := DefaultOptions()
	opt.GenesisNs = start
	o := StoreOptions{Options: opt, Config: durable.Config{FS: fsys, Dir: "hive", Clock: clk}}
	o.Log.PreallocBytes = -1
	st, err := OpenStore(o)
	if err != nil {
		t.Fatal(err)
	}
	foldAll(t, st, 1)
	clk.Set(start + 8*daySec*secondNs) // worker 1 falls idle: a Tick is due
	fsys.SetCapacity(fsys.Used())
	if err := st.Tick(clk.NowNs()); !errors.Is(err, wal.ErrUnavailable) {
		t.Fatalf("the disk is not full: %v", err)
	}
	foldAll(t, st, 2)
	if _, ok := st.View().Worker(clk.NowNs(), 10002); !ok {
		t.Error("worker 2 is not there")
	}
	fsys.SetCapacity(0)
	if err := st.Tick(clk.NowNs()); err != nil {
		t.Fatal(err)
	}
	want := viewText(st.View(), clk.NowNs())
	again := openMem(t, fsys.Crash(1), clk)
	foldAll(t, again, 2)
	if err := again.Tick(clk.NowNs()); err != nil {
		t.Fatal(err)
	}
	if got := viewText(again.View(), clk.NowNs()); got != want {
		t.Errorf("after a cut:\n%s\nbefore:\n%s", got, want)
	}
	for _, s := range []*Store{st, again} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheStoreGivesTheSameHiveAfterARestart: from the log alone and from a snapshot; the
// second process sleeps through a close and an idle second.
func TestTheStoreGivesTheSameHiveAfterARestart(t *testing.T) {
	pictures := map[string]string{}
	for _, mode := range []string{"no restart", "kill", "snapshot"} {
		fs, clk := vfstest.NewMem(), clock.NewManual(start)
		st := openMem(t, fs, clk)
		foldAll(t, st, 3)
		for _, cmd := range []Command{
			propose(10001, true), vote(10001, "prop-1", 1, Yes), vote(10001, "prop-1", 2, Yes),
			act("worker-2", 10002, Signal, ""), act("queen-1", 10003, Suspension, `{"suspended":true}`),
		} {
			if _, err := st.Do(cmd); err != nil {
				t.Fatal(err)
			}
			if mode == "snapshot" {
				if err := st.Snapshot(); err != nil {
					t.Fatal(err)
				}
			}
		}
		switch mode {
		case "kill":
			fs = fs.Crash(1)
			st = openMem(t, fs, clk)
			foldAll(t, st, 3)
		case "snapshot":
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			st = openMem(t, fs, clk)
			foldAll(t, st, 3)
		}
		clk.Set(start + 20*daySec*secondNs)
		if err := st.Tick(clk.NowNs()); err != nil {
			t.Fatal(err)
		}
		pictures[mode] = viewText(st.View(), clk.NowNs())
		if l := st.View().Log(LogQuery{Page: Page{Page: 1, PageSize: 1}}).Items[0]; l.Reason != "user_vote" ||
			l.Sec() != startSec+daySec {
			t.Fatalf("%s: %+v", mode, l)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if pictures["kill"] != pictures["no restart"] || pictures["snapshot"] != pictures["no restart"] {
		t.Fatalf("the pictures differ:\n%s\n%s\n%s", pictures["no restart"], pictures["kill"], pictures["snapshot"])
	}
}

// TestFiftyParallelVotesOfOneUser: one counts; readers walk the views meanwhile and see
// tally, log and posting lists of one instant.
func TestFiftyParallelVotesOfOneUser(t *testing.T) {
	st := openMem(t, nil, clock.NewManual(start))
	defer st.Close()
	foldAll(t, st, 2)
	if _, err := st.Do(propose(10001, false)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			cast, token := VoteCast, uint64(10001)
			for {
				v := st.View()
				l := v.Log(LogQuery{Page: Page{Page: 1, PageSize: 100}, Type: &cast, TokenID: &token})
				p, _ := v.Proposal("prop-1")
				if w := p.Tally.Weights[Yes]; w != 100*l.TotalItems || int64(v.Entries()) != 1+l.TotalItems {
					t.Errorf("%d votes logged of %d entries, tally %d", l.TotalItems, v.Entries(), w)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	results := make([]error, 200)
	for i := range results {
		writers.Go(func() {
			who := byte(1) // the first fifty are one user
			if i >= 50 {
				who = byte(i)
			}
			_, results[i] = st.Do(vote(10001, "prop-1", who, Yes))
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	won := 0
	for _, err := range results[:50] {
		var rej *refuse.Refusal
		switch {
		case err == nil:
			won++
		case !errors.As(err, &rej) || rej.Code != refuse.AlreadyVoted:
			t.Errorf("%v", err)
		}
	}
	if p, _ := st.View().Proposal("prop-1"); won != 1 || p.Tally.Weights[Yes] != 151_00 {
		t.Errorf("%d won, tally %d", won, p.Tally.Weights[Yes])
	}
}
