package hive

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"testing"

	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/refuse"
)

const (
	startSec = 1_767_225_600 // 2026-01-01T00:00:00Z
	start    = startSec * secondNs
	weekSec  = 7 * daySec
)

// rig drives a State as the exchange does: what is due comes first, by Ticks, and every command goes through its
// journal form. It keeps the records, so that a replay can be compared.
type rig struct {
	t       testing.TB
	s       *State
	now     int64
	records []record
	lazy    bool // nothing ticks: a command finds what is due
	ticks   int

	checkpoint uint64          // the name that the ledger gives the next one
	full       *refuse.Refusal // the ledger makes none
	made       int             // so many checkpoints were made
}

// record is a record of the journal: a command with the checkpoint that the ledger made for it, a tick without a
// command, or a fact of the ledger.
type record struct {
	ns         int64
	command    []byte
	checkpoint uint64
	refusal    string
	fact       *Fact
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
		r.records = append(r.records, record{ns: r.now})
		r.s.Tick(r.now)
		r.ticks++
	}
}

func (r *rig) to(sec int64) { r.toNs(sec * secondNs) }

func (r *rig) toNs(ns int64) {
	r.now = ns
	r.due()
}

// do carries out a command as the machine does. Do must refuse what the codec refuses.
func (r *rig) do(cmd Command) (Result, *refuse.Refusal) {
	r.due()
	raw := AppendCommand(nil, cmd)
	back, bad := DecodeCommand(raw)
	if bad != nil {
		back = cmd
	} else if d := differ.Diff(zeroAsNil(cmd), back); d != "" {
		r.t.Fatalf("a command came back as another one: %s", d)
	}
	res, err := r.s.Do(r.now, r.withLedger(back))
	var rej *refuse.Refusal
	if err != nil && !errors.As(err, &rej) {
		r.t.Fatalf("%T: %v is no *refuse.Refusal", cmd, err)
	}
	if bad != nil && rej == nil {
		r.t.Fatalf("%T %+v is carried out, but: %v", cmd, cmd, bad)
	}
	if bad == nil {
		r.records = append(r.records, record{r.now, raw, r.checkpoint, fmt.Sprint(rej), nil})
	}
	return res, rej
}

// zeroAsNil returns a command as it comes back: its encoding says nil for holdings of 0.
func zeroAsNil(cmd Command) Command {
	v, ok := cmd.(CastVote)
	if !ok {
		return cmd
	}
	for _, h := range []**big.Int{&v.Holdings, &v.Counted} {
		if *h != nil && (*h).Sign() == 0 {
			*h = nil
		}
	}
	return v
}

// withLedger gives a proposal the ledger that makes its checkpoint.
func (r *rig) withLedger(cmd Command) Command {
	if p, ok := cmd.(Propose); ok {
		p.Checkpoint = func(nowNs int64, worker uint32) (uint64, *refuse.Refusal) {
			if nowNs != r.now || tokenOf(worker) != p.TokenID {
				r.t.Fatalf("a checkpoint of worker %d at %d", worker, nowNs)
			}
			if r.full == nil {
				r.made++
			}
			return r.checkpoint, r.full
		}
		return p
	}
	return cmd
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
	r.records = append(r.records, record{fact: &f})
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

// replay returns the state after all records, which must refuse what was refused, and their facts, each of them twice.
func (r *rig) replay() *State {
	r.t.Helper()
	again := &rig{t: r.t, s: New(r.s.opt)}
	for i, rec := range r.records {
		switch {
		case rec.fact != nil:
			again.s.Fold(*rec.fact)
			again.s.Fold(*rec.fact)
		case rec.command == nil:
			again.s.Tick(rec.ns)
		default:
			cmd, err := DecodeCommand(rec.command)
			if err != nil {
				r.t.Fatal(err)
			}
			var rej *refuse.Refusal
			again.now, again.checkpoint = rec.ns, rec.checkpoint
			if _, err = again.s.Do(rec.ns, again.withLedger(cmd)); err != nil {
				errors.As(err, &rej)
			}
			if got := fmt.Sprint(rej); got != rec.refusal {
				r.t.Fatalf("record %d, %T: the replay says %s, before %s", i, cmd, got, rec.refusal)
			}
		}
	}
	return again.s
}

// check compares with a state from the snapshot, and with one that replays all records, and verifies the log.
func (r *rig) check() {
	r.t.Helper()
	if err := r.s.Check(); err != nil {
		r.t.Fatal(err)
	}
	if next := r.s.NextNs(); next != 0 && next <= r.s.nowNs {
		r.t.Fatalf("a change of %d was not carried out at %d", next, r.s.nowNs)
	}
	var verified chain
	for id := uint64(1); id <= r.s.log.n; id++ {
		e := r.s.log.entry(id)
		if err := verified.Next(&e); err != nil {
			r.t.Fatal(err)
		}
	}
	again, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt)
	if err != nil {
		r.t.Fatal(err)
	}
	for name, s := range map[string]*State{"snapshot": again, "replay": r.replay()} {
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
