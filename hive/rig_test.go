package hive

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"testing"

	"tickhive/internal/differ"
	"tickhive/internal/refuse"
)

const (
	startSec = 1_767_225_600 // 2026-01-01T00:00:00Z
	start    = startSec * secondNs
	weekSec  = 7 * daySec
	farSec   = 1 << 40
)

// rig drives a State as the exchange does: what is due comes first, each thing at its own
// time, and every record goes through its journal form. It keeps the records, and the
// facts with the number of records before them, so that a replay can be compared.
type rig struct {
	t       testing.TB
	s       *State
	now     int64
	chain   Chain
	records [][]byte
	facts   []Fact
	lazy    bool // nothing ticks: a command finds what is due
	ticks   int
}

func newRig(t testing.TB, change ...func(*Options)) *rig {
	opt := DefaultOptions()
	for _, f := range change {
		f(&opt)
	}
	if err := opt.Validate(); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, s: New(opt), now: start}
	r.must(Begin{Seed: 1, GenesisNs: start})
	return r
}

func (r *rig) due() {
	if r.lazy {
		return
	}
	for next := r.s.NextNs(); next != 0 && next <= r.now; next = r.s.NextNs() {
		rec, err := r.s.Plan(next, Tick{})
		if err != nil {
			r.t.Fatalf("due: %v", err)
		}
		r.apply(rec)
		r.ticks++
	}
}

func (r *rig) to(sec int64) { r.toNs(sec * secondNs) }

func (r *rig) toNs(ns int64) {
	r.now = ns
	r.due()
}

func (r *rig) apply(rec Record) Result {
	raw := AppendRecord(nil, &rec)
	back, err := DecodeRecord(raw)
	if d := differ.Diff(rec, back); err != nil || d != "" {
		r.t.Fatalf("a record came back as another one: %v, %s", err, d)
	}
	for i := range back.Entries {
		if err := r.chain.Next(&back.Entries[i]); err != nil {
			r.t.Fatal(err)
		}
	}
	r.records = append(r.records, raw)
	return r.s.Apply(&back)
}

func (r *rig) do(cmd Command) (Result, *refuse.Refusal) {
	r.due()
	rec, err := r.s.Plan(r.now, cmd)
	if err != nil {
		var rej *refuse.Refusal
		if !errors.As(err, &rej) {
			r.t.Fatalf("%T: %v is no *refuse.Refusal", cmd, err)
		}
		return Result{}, rej
	}
	return r.apply(rec), nil
}

func (r *rig) must(cmd Command) Result {
	r.t.Helper()
	res, rej := r.do(cmd)
	if rej != nil {
		r.t.Fatalf("%T %+v: %v", cmd, cmd, rej)
	}
	return res
}

func (r *rig) refused(cmd Command, code refuse.Code, field string) {
	r.t.Helper()
	r.due()
	hash := hashOf(r.s)
	_, rej := r.do(cmd)
	if rej == nil || rej.Code != code || rej.Field != field || rej.Message == "" {
		r.t.Fatalf("%T %+v: got %+v, want %s %q", cmd, cmd, rej, code, field)
	}
	if hashOf(r.s) != hash {
		r.t.Fatalf("%T: a refusal changed the state", cmd)
	}
}

func (r *rig) fold(f Fact) {
	r.due()
	r.facts = append(r.facts, f)
	r.s.Fold(f)
}

// spawn returns the fact of worker n's spawn, now; n counts from 1 without gaps.
func (r *rig) spawn(n uint32) uint64 {
	r.fold(fact(n, r.now/secondNs))
	return firstAgentNFT - 1 + uint64(n)
}

func fact(n uint32, sec int64) Fact {
	f := Fact{WorkerID: n, Symbol: fmt.Sprintf("T%c%c", 'A'+n/26%26, 'A'+n%26), DeployedSec: sec}
	f.Token[0], f.Token[17], f.Token[18], f.Token[19] = 0xee, byte(n>>16), byte(n>>8), byte(n)
	return f
}

func (r *rig) worker(token uint64) WorkerInfo {
	r.t.Helper()
	d, ok := r.s.View().Worker(r.now, token)
	if !ok {
		r.t.Fatalf("no worker of %d", token)
	}
	return d
}

func (r *rig) status(token uint64, want string) {
	r.t.Helper()
	r.due()
	d := r.worker(token)
	if d.Status.String() != want {
		r.t.Fatalf("at +%d ns: %s, want %s", r.now-start, d.Status, want)
	}
	for st := range statuses {
		l := r.s.View().Workers(r.now, WorkerQuery{Page: Page{Page: 1, PageSize: 100}, Status: &st})
		found := false
		for _, it := range l.Items {
			found = found || it.TokenID == token
		}
		if found != (st.String() == want) {
			r.t.Fatalf("at +%d ns: in the list of %s: %v", r.now-start, st, found)
		}
	}
}

// open opens a proposal and returns its id.
func (r *rig) open(cmd Propose) string {
	r.t.Helper()
	p := r.must(cmd).Proposal
	return p.ID()
}

// hashOf returns the SHA-256 of a state's canonical bytes.
func hashOf(s *State) [32]byte { return sha256.Sum256(s.AppendSnapshot(nil)) }

// check compares with a state from the snapshot, and with one that replays all records
// before it folds any fact, in the opposite order and twice.
func (r *rig) check() {
	r.t.Helper()
	if err := r.s.Check(); err != nil {
		r.t.Fatal(err)
	}
	if next := r.s.NextNs(); next != 0 && next <= r.s.nowNs {
		r.t.Fatalf("a change of %d was not carried out at %d", next, r.s.nowNs)
	}
	again, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt)
	if err != nil {
		r.t.Fatal(err)
	}
	replay := New(r.s.opt)
	for _, raw := range r.records {
		rec, err := DecodeRecord(raw)
		if err != nil {
			r.t.Fatal(err)
		}
		replay.Apply(&rec)
	}
	for range 2 {
		for i := len(r.facts) - 1; i >= 0; i-- {
			replay.Fold(r.facts[i])
		}
	}
	for name, s := range map[string]*State{"snapshot": again, "replay": replay} {
		if hashOf(s) != hashOf(r.s) {
			r.t.Fatalf("the state from the %s has another hash", name)
		}
		if s.NextNs() != r.s.NextNs() {
			r.t.Fatalf("next %d from the %s, %d before", s.NextNs(), name, r.s.NextNs())
		}
		if err := s.Check(); err != nil {
			r.t.Fatalf("%s: %v", name, err)
		}
		if a, b := s.View().Overview(r.now), r.s.View().Overview(r.now); a != b {
			r.t.Fatalf("%s: %+v, before %+v", name, a, b)
		}
	}
}

func act(source string, token uint64, typ ActionType, payload string) Act {
	return Act{Source: source, TokenID: token, Type: typ, Payload: payload, Reason: "test"}
}

func tokens(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), oneToken) }

func vote(token uint64, id string, who byte, v VoteKind) CastVote {
	return CastVote{TokenID: token, ProposalID: id, Vote: v, User: [16]byte{who}, Level: 20, Holdings: tokens(1)}
}
