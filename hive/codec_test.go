package hive

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/refuse"
)

// busy returns a hive that has at least one of everything.
func busy(t testing.TB) *rig {
	r := newRig(t, func(o *Options) { o.QuorumCents = 200 })
	for n := uint32(1); n <= 5; n++ {
		r.spawn(n)
	}
	r.must(propose(10001, true))
	r.must(propose(10002, true))
	r.checkpoint = 7
	r.must(propose(10003, false))
	r.checkpoint = 0
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

func samples() []Command {
	return []Command{
		Begin{Seed: 1 << 60, GenesisNs: start},
		Act{Source: "worker-4294967295", TokenID: 10001, Type: VoteCast, Payload: `{"a":1}`, Reason: "r"},
		Propose{TokenID: 10001, Topic: SignalSubscriptions, Payload: `{"a":1}`, Proposer: "é", Urgent: true},
		CastVote{
			TokenID: 10001, ProposalID: "prop-4294967295", Vote: Abstain, Comment: strings.Repeat("🐝", MaxComment),
			User: [16]byte{1, 15: 2}, Level: 30, Holdings: tokens(7),
			Counted: new(big.Int).Lsh(big.NewInt(1), 208-1), Checkpoint: 1 << 63, Owned: MaxWorkers,
		},
	}
}

// Every member of a sample is set, so a member that the codec leaves out is missed.
func TestEveryCommandComesBack(t *testing.T) {
	all := samples()
	if len(all) != len(kinds) {
		t.Errorf("%d samples of %d kinds", len(all), len(kinds))
	}
	for i, cmd := range all {
		raw := AppendCommand([]byte("x"), cmd)[1:]
		if back, err := DecodeCommand(raw); err != nil || int(raw[0]) != i || differ.Diff(cmd, back) != "" {
			t.Errorf("kind %d: %v, %s", raw[0], err, differ.Diff(cmd, back))
		}
		for v, m := reflect.ValueOf(cmd), 0; m < v.NumField(); m++ {
			if v.Field(m).IsZero() && v.Type().Field(m).Type.Kind() != reflect.Func {
				t.Errorf("%T: member %d of the sample is not set", cmd, m)
			}
		}
	}
}

func TestBytesThatAreNoCommandAreRefused(t *testing.T) {
	vote := func(change func(v *CastVote)) []byte {
		v := samples()[3].(CastVote)
		change(&v)
		return AppendCommand(nil, v)
	}
	padded := vote(func(v *CastVote) { v.Holdings = big.NewInt(1 << 16) })
	padded[bytes.LastIndex(padded, []byte{3, 1, 0, 0})+1] = 0
	bad := map[string][]byte{
		"nothing":         nil,
		"an unknown kind": {uint8(len(kinds))},
		"a padded number": {0, 0x80, 0, 0},
		"a type":          AppendCommand(nil, Act{Type: actionTypes}),
		"a long source":   AppendCommand(nil, Act{Source: strings.Repeat("x", maxAgentID+1)}),
		"a long payload":  AppendCommand(nil, Act{Payload: strings.Repeat("x", MaxPayload+1)}),
		"a topic":         AppendCommand(nil, Propose{Topic: topics}),
		"a vote":          vote(func(v *CastVote) { v.Vote = votes }),
		"a long id":       vote(func(v *CastVote) { v.ProposalID += "0" }),
		"a level":         vote(func(v *CastVote) { v.Level = maxLevel + 1 }),
		"below 0":         vote(func(v *CastVote) { v.Owned = -1 }),
		"many tokens":     vote(func(v *CastVote) { v.Owned = MaxWorkers + 1 }),
		"a holding":       vote(func(v *CastVote) { v.Counted = new(big.Int).Lsh(v.Counted, 1) }),
		"an empty byte":   padded,
	}
	for _, cmd := range samples() {
		raw := AppendCommand(nil, cmd)
		bad[fmt.Sprintf("%T and a byte", cmd)] = append(slices.Clone(raw), 0)
		for n := range raw {
			bad[fmt.Sprintf("%d of %d bytes of %T", n, len(raw), cmd)] = raw[:n]
		}
	}
	for name, raw := range bad {
		if cmd, err := DecodeCommand(raw); err == nil || cmd != nil {
			t.Errorf("%s: %x decodes as %+v", name, raw, cmd)
		}
	}
}

// What decodes has one encoding, and the hive carries it out or refuses it.
func FuzzDecodeCommand(f *testing.F) {
	for _, cmd := range samples() {
		f.Add(AppendCommand(nil, cmd))
	}
	r := busy(f)
	for _, rec := range r.records {
		if rec.command != nil {
			f.Add(rec.command)
		}
	}
	snapshot := r.s.AppendSnapshot(nil)
	f.Fuzz(func(t *testing.T, b []byte) {
		cmd, err := DecodeCommand(b)
		if err != nil {
			return
		}
		if raw := AppendCommand(nil, cmd); !bytes.Equal(raw, b) {
			t.Fatalf("%x decodes, but it comes back as %x", b, raw)
		}
		s, err := DecodeSnapshot(snapshot, r.s.opt)
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := cmd.(Propose); ok {
			p.Checkpoint = func(int64, uint32) (uint64, *refuse.Refusal) { return 1, nil }
			cmd = p
		}
		for i := range int64(2) {
			_, err = s.Do(r.now+4*i*daySec*secondNs, cmd)
		}
		if bad := s.Check(); bad != nil {
			t.Fatalf("%+v: %v, and then %v", cmd, err, bad)
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
		"votes":     func(s *State) { s.votes++ },
		"entry":     func(s *State) { s.log.row(3).timeNs++ },
		"head":      func(s *State) { s.log.head[0]++ },
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

// A fact arrives while a close and an idle second are due: the worker exists at once, and the final state equals the
// state of one who was not late.
func TestAFactIsFoldedAheadOfWhatIsDue(t *testing.T) {
	late, early := newRig(t), newRig(t)
	for _, r := range []*rig{late, early} {
		r.spawn(1)
		r.must(propose(10001, true))
		r.must(vote(10001, "prop-1", 1, Yes))
		r.lazy = r == late
		r.now = start + 8*daySec*secondNs
		swap := fact(1, startSec)
		swap.SwapSec = startSec + 8*daySec
		for _, f := range []Fact{fact(2, startSec+8*daySec), swap} {
			r.fold(f)
		}
		if _, ok := r.s.View().Worker(r.now, 10002); !ok || r.s.View().Newest() != 2 {
			t.Errorf("worker 2 is there: %v; the newest is %d", ok, r.s.View().Newest())
		}
		r.lazy = false
		r.status(10001, "active")
		r.status(10002, "active")
		r.must(act("queen-1", 0, Directive, "")) // its time is the last one
		r.check()
	}
	if late.ticks == 0 || hashOf(late.s) != hashOf(early.s) {
		t.Error("another hive when the facts come first")
	}
}
