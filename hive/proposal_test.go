package hive

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/apd/v3"

	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/refuse"
)

func propose(token uint64, urgent bool) Propose {
	return Propose{
		TokenID: token, Topic: SlippageCap, Payload: `{"slippageCapBps":150}`, Proposer: "scout-1",
		Urgent: urgent,
	}
}

func TestProposalRefusals(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	for _, tc := range []struct {
		change func(p *Propose)
		code   refuse.Code
		field  string
	}{
		{func(p *Propose) { p.Topic, p.Proposer = topics, "" }, refuse.InvalidParam, "topic"},
		{func(p *Propose) { p.Payload = "" }, refuse.InvalidParam, "payload"},
		{func(p *Propose) { p.Payload = "[]" }, refuse.InvalidParam, "payload"},
		{func(p *Propose) { p.Payload = "{}" }, refuse.InvalidParam, "payload.slippageCapBps"},
		{func(p *Propose) { p.Payload = `{"slippageCapBps":49}` }, refuse.InvalidParam, "payload.slippageCapBps"},
		{func(p *Propose) { p.Payload = `{"slippageCapBps":60,"x":1}` }, refuse.InvalidParam, "payload.x"},
		{func(p *Propose) { p.Topic = MEVProtection }, refuse.InvalidParam, "payload.slippageCapBps"},
		{
			func(p *Propose) { p.Topic, p.Payload = MEVProtection, `{"mevProtection":"max"}` }, refuse.InvalidParam,
			"payload.mevProtection",
		},
		{
			func(p *Propose) { p.Topic, p.Payload = SignalSubscriptions, `{"signalSubscriptions":"a"}` },
			refuse.InvalidParam, "payload.signalSubscriptions",
		},
		{func(p *Propose) { p.Proposer, p.TokenID = "", 5 }, refuse.InvalidParam, "proposer"},
		{func(p *Propose) { p.Proposer = strings.Repeat("x", 65) }, refuse.InvalidParam, "proposer"},
		{func(p *Propose) { p.TokenID = 10002 }, refuse.NotFound, "tokenId"},
		{func(p *Propose) { p.Proposer = "queen-7" }, refuse.NotFound, "proposer"},
	} {
		p := propose(token, false)
		tc.change(&p)
		r.refused(p, tc.code, tc.field)
	}
	r.full = refuse.Later(fullSec, "The ledger has no room for a checkpoint.")
	r.refused(propose(token, false), refuse.Unavailable, "")
	if r.full = nil; r.made != 0 {
		t.Fatalf("%d checkpoints of refused proposals", r.made)
	}
	for i := range MaxActiveProposals {
		r.must(propose(token, i == 7))
	}
	r.refused(propose(token, false), refuse.Conflict, "tokenId")
	r.lazy = true // a proposal that is due to close does not count, without a Tick too
	r.now += daySec * secondNs
	r.must(propose(token, false))
	r.refused(propose(token, false), refuse.Conflict, "tokenId")
	if r.made != MaxActiveProposals+1 {
		t.Fatalf("%d checkpoints", r.made)
	}
}

func TestProposalShapeAndLogEntry(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	r.toNs(start + 10*secondNs + 5)
	p := r.must(propose(token, false)).Proposal
	want := ProposalInfo{
		Proposal: Proposal{
			N: 1, Worker: 1, Topic: SlippageCap, Payload: `{"slippageCapBps":150}`, Proposer: "scout-1",
			Status: ProposalActive, CreatedSec: startSec + 10, ClosesSec: startSec + 10 + weekSec,
		},
		Tally: TallyInfo{QuorumCents: 100_00},
	}
	if fmt.Sprint(p) != fmt.Sprint(want) || p.ID() != "prop-1" || p.TokenID() != token {
		t.Fatalf("%s of token %v: %s", p.ID(), p.TokenID(),
			differ.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", p)))
	}
	if u := r.must(propose(token, true)).Proposal; u.ID() != "prop-2" || u.ClosesSec != startSec+10+daySec {
		t.Fatalf("%+v", u)
	}
	free := propose(token, false)
	free.Proposer = "a user of the page"
	r.must(free)
	log := r.s.View().Log(LogQuery{Page: Page{Page: 1, PageSize: 10}}).Items
	if len(log) != 3 || log[2].Type != ProposalCreated || log[2].Source.String() != "scout-1" ||
		log[2].TargetTokenID() != token ||
		log[2].Payload != `{"proposalId":"prop-1","topic":"slippage_cap"}` ||
		log[0].Source.String() != "worker-1" {
		t.Fatalf("%+v", log)
	}
	if d := r.worker(token); d.ActiveProposals != 3 {
		t.Fatalf("%+v", d)
	}
	r.check()
}

func TestVoteWeights(t *testing.T) {
	for _, tc := range []struct {
		level, owned int64
		holdings     string // 10^-18
		want         int64
	}{
		{20, 0, "1000000000000000000", 100},
		{20, 0, "999999999999999999", 100}, // below one token
		{20, 0, "0", 100},
		{30, 0, "1000000000000000000", 1000},
		{21, 0, "1000000000000000000", 190},
		{20, 3, "10000000000000000000", 500},
		{20, 0, "1500000000000000000", 118},                                 // log10(1.5) = 0.17609
		{20, 0, "2000000000000000000", 130},                                 // 0.30103
		{20, 0, "1011579454259898524", 100},                                 // 0.00499999999..
		{20, 0, "1011579454259898525", 101},                                 // 0.0050000000..1
		{20, 0, "999999999999999999999", 400},                               // 2.99999...
		{25, 2, "123456789000000000000000000", 1 * (100 + 450 + 200 + 809)}, // log10(123456789) = 8.0915
		{20, 0, "1000000000000000000000000000000000000000000000000", 3100},  // 10^30
	} {
		h, _ := new(big.Int).SetString(tc.holdings, 10)
		if got := weightCents(tc.level, tc.owned, logCents(h)); got != tc.want {
			t.Errorf("level %d, owned %d, %s: %d, want %d", tc.level, tc.owned, tc.holdings, got, tc.want)
		}
	}
}

func TestVoteChecksInOrder(t *testing.T) {
	r := newRig(t)
	token, other := r.spawn(1), r.spawn(2)
	id := r.open(propose(token, true))
	r.must(vote(token, id, 1, Yes))
	r.to(startSec + daySec) // closed, user 1 has voted
	bad := CastVote{TokenID: 99, ProposalID: "prop-9", Vote: votes, User: [16]byte{1}, Level: 19}
	r.refused(bad, refuse.InvalidParam, "vote")
	bad.Vote = Yes
	r.refused(bad, refuse.NotFound, "tokenId")
	bad.TokenID = other
	r.refused(bad, refuse.ProposalNotFound, "proposalId")
	bad.ProposalID = id // another token's
	r.refused(bad, refuse.ProposalNotFound, "proposalId")
	bad.TokenID = token
	for _, wrong := range []string{"prop-01", "1", "prop-", "PROP-1", "prop-4294967297", " prop-1"} {
		v := bad
		v.ProposalID = wrong
		r.refused(v, refuse.ProposalNotFound, "proposalId")
	}
	r.refused(bad, refuse.LevelTooLow, "")
	bad.Level = 20
	r.refused(bad, refuse.NoHoldings, "")
	bad.Holdings = new(big.Int).Sub(oneToken, big.NewInt(1))
	r.refused(bad, refuse.NoHoldings, "")
	bad.Holdings = tokens(1)
	r.refused(bad, refuse.ProposalClosed, "proposalId")
	open := r.open(propose(token, true))
	r.must(vote(token, open, 1, No))
	r.refused(vote(token, open, 1, Yes), refuse.AlreadyVoted, "proposalId")
	v := vote(token, open, 2, Yes)
	v.Comment = strings.Repeat("é", 501)
	r.refused(v, refuse.InvalidParam, "comment")
	v.Comment = v.Comment[:1000]
	r.must(v)
	r.check()
}

func TestVoteAnswerAndLogEntryWithoutTheVoter(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	id := r.open(propose(token, false))
	v := vote(token, id, 7, Yes)
	v.Level, v.Owned, v.Comment = 22, 1, "go"
	a := r.must(v).Vote
	want := VoteInfo{
		"vote-1", id, Yes, 380, a.TxHash, startSec,
		TallyInfo{Weights: Tally{Yes: 380}, QuorumCents: 100_00},
	}
	if a != want || a.TxHash == (Hash{}) {
		t.Fatalf("%+v", a)
	}
	e := r.s.View().Log(LogQuery{Page: Page{Page: 1, PageSize: 1}}).Items[0]
	if e.Type != VoteCast || e.Source.String() != "worker-1" || e.TxHash != a.TxHash ||
		e.Payload != `{"proposalId":"prop-1","vote":"yes"}` {
		t.Fatalf("%+v", e)
	}
	if b := r.must(vote(token, id, 8, Abstain)).Vote; b.VoteID != "vote-2" || b.Tally.Weights[Abstain] != 100 {
		t.Fatalf("%+v", b)
	}
}

func TestQuorumAndPassing(t *testing.T) {
	for _, tc := range []struct {
		tally           Tally
		quorum, passing bool
	}{
		{Tally{0, 0, 0}, false, false},
		{Tally{9999, 0, 0}, false, false},
		{Tally{10000, 0, 0}, true, true},
		{Tally{1, 0, 9999}, true, true},
		{Tally{0, 0, 10000}, true, false},
		{Tally{6000, 4000, 0}, true, true},
		{Tally{5999, 4000, 1}, true, false},
		{Tally{0, 10000, 0}, true, false},
	} {
		if tc.tally.quorum(10000) != tc.quorum || tc.tally.passing(10000) != tc.passing {
			t.Errorf("%v: quorum %v, passing %v", tc.tally, tc.tally.quorum(10000), tc.tally.passing(10000))
		}
	}
}

func TestAPassedProposalChangesTheConfigAtTheExactSecond(t *testing.T) {
	r := newRig(t, func(o *Options) { o.QuorumCents = 300 })
	token := r.spawn(1)
	pass := r.open(propose(token, false))
	fail := r.open(Propose{
		TokenID: token, Topic: MEVProtection, Payload: `{"mevProtection":"off"}`,
		Proposer: "queen-1",
	})
	for who := range byte(3) {
		r.must(vote(token, pass, who, Yes))
		r.must(vote(token, fail, who, No))
	}
	end := int64(startSec + weekSec)
	r.toNs(end*secondNs - 1)
	if d, _ := r.s.View().Proposal(pass); d.Status != ProposalActive || !d.Tally.CurrentlyPassing {
		t.Fatalf("%+v", d)
	}
	r.must(vote(token, pass, 9, Abstain))
	again, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt)
	if err != nil {
		t.Fatal(err)
	}
	if r.s = again; r.worker(token).Config.SlippageCapBps != 100 {
		t.Fatal("changed early")
	}
	r.now = (end + 3*daySec) * secondNs // sleeps through the close
	r.refused(vote(token, pass, 10, Yes), refuse.ProposalClosed, "proposalId")
	d, _ := r.s.View().Proposal(pass)
	f, _ := r.s.View().Proposal(fail)
	w := r.worker(token)
	if d.Status != ProposalPassed || f.Status != ProposalRejected || w.Config.SlippageCapBps != 150 ||
		w.Config.MEV != MEVStandard {
		t.Fatalf("%s %s %+v", d.Status, f.Status, w.Config)
	}
	e := r.s.View().Log(LogQuery{Page: Page{Page: 1, PageSize: 1}}).Items[0]
	if e.Type != ConfigUpdate || e.Reason != "user_vote" || e.Source.String() != "worker-1" ||
		e.Sec() != end || e.Payload != `{"slippageCapBps":150}` {
		t.Fatalf("%+v", e)
	}
	if w.ActiveProposals != 0 || w.RecentlyClosed != 2 {
		t.Fatalf("%+v", w)
	}
	r.toNs((end+weekSec)*secondNs - 1)
	if got := r.worker(token).RecentlyClosed; got != 2 {
		t.Fatalf("%d recently closed", got)
	}
	r.to(end + weekSec)
	if got := r.worker(token).RecentlyClosed; got != 0 {
		t.Fatalf("%d recently closed", got)
	}
	r.check()
}

func TestTheNewestFiftyCommentsAreKept(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	id := r.open(propose(token, false))
	for i := range byte(60) {
		r.toNs(start + int64(i)*secondNs)
		v := vote(token, id, i, Yes)
		v.Comment = fmt.Sprint("c", i)
		r.must(v)
	}
	r.must(vote(token, id, 99, No)) // without a comment
	d, ok := r.s.View().Proposal(id)
	if !ok || len(d.Comments) != 50 || d.Comments[49] != (Comment{"c59", startSec + 59}) ||
		d.Comments[0].Text != "c10" {
		t.Fatalf("%d comments: %+v", len(d.Comments), d.Comments)
	}
	r.check()
}

func TestVoteFormsInTheOrderOfTheTable(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, tc := range []struct {
		f     VoteForm
		field string
	}{
		{VoteForm{}, "proposalId"},
		{VoteForm{raw("1"), raw(`"yes"`), nil}, "proposalId"},
		{VoteForm{raw(`""`), raw(`"x"`), nil}, "proposalId"},
		{VoteForm{raw(`"prop-1"`), nil, raw("1")}, "vote"},
		{VoteForm{raw(`"prop-1"`), raw(`"YES"`), nil}, "vote"},
		{VoteForm{raw(`"prop-1"`), raw(`"no"`), raw("1")}, "comment"},
		{VoteForm{raw(`"prop-1"`), raw(`"no"`), raw(`"` + strings.Repeat("a", 501) + `"`)}, "comment"},
	} {
		if _, rej := tc.f.Parse(); rej == nil || rej.Field != tc.field || rej.Code != refuse.InvalidParam {
			t.Errorf("%+v, want %s", rej, tc.field)
		}
	}
	v, rej := VoteForm{raw(`"prop-1"`), raw(`"abstain"`), raw("null")}.Parse()
	if rej != nil || v.Vote != Abstain || v.ProposalID != "prop-1" {
		t.Errorf("%+v %v", v, rej)
	}
	for _, none := range []string{"prop-01", "1", "prop-4294967296", strings.Repeat("x", 10_000)} {
		v, rej = VoteForm{raw(`"` + none + `"`), raw(`"yes"`), nil}.Parse()
		if rej != nil || v.ProposalID != noProposal {
			t.Errorf("%.20s: %+v %v", none, v, rej)
		}
	}
}

// A vote counts what its account held when the proposal was made, not what it holds at the vote.
func TestAVoteCountsTheHoldingsOfTheCheckpoint(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	r.checkpoint = 12
	id := r.open(propose(token, false))
	ballot := func(who byte, now int64, counted *big.Int) CastVote {
		v := vote(token, id, who, Yes)
		v.Checkpoint, v.Holdings, v.Counted = 12, tokens(now), counted
		return v
	}
	for _, tc := range []struct {
		who     byte
		now     int64
		counted *big.Int
		want    int64
	}{
		{2, 1000, tokens(1000), 400}, // unchanged
		{9, 999_999, tokens(1), 100}, // bought after the checkpoint: counts one
		{5, 1000, nil, 100},          // had nothing: the votes of others' tokens count once
		{4, 7, new(big.Int), 100},
	} {
		if got := r.must(ballot(tc.who, tc.now, tc.counted)).Vote.WeightCents; got != tc.want {
			t.Errorf("account %d with %d tokens: weight %d, want %d", tc.who, tc.now, got, tc.want)
		}
		r.check()
	}
	// One who has sold cannot vote.
	sold := ballot(6, 0, tokens(1000))
	sold.Holdings = nil
	r.refused(sold, refuse.NoHoldings, "")
	// A caller who does not know the proposal has not read the holdings of its checkpoint.
	stale := ballot(6, 1000, tokens(1000))
	stale.Checkpoint = 11
	r.refused(stale, refuse.ProposalNotFound, "proposalId")
}

// The new quorum counts for what closes later, also for a proposal that was opened before.
func TestSettingsHoldFromTheNextDecisionOn(t *testing.T) {
	for quorum, want := range map[int64]ProposalStatus{100: ProposalPassed, 101: ProposalRejected} {
		r := newRig(t)
		token := r.spawn(1)
		id := r.open(propose(token, true))
		r.must(vote(token, id, 1, Yes))
		r.refused(act("queen-4", token, Flag, ""), refuse.NotFound, "sourceAgentId")
		r.s.SetOptions(Options{QuorumCents: quorum, Queens: 4, Scouts: 1})
		r.must(act("queen-4", token, Flag, ""))
		r.refused(act("scout-2", token, Flag, ""), refuse.NotFound, "sourceAgentId")
		if d, _ := r.s.View().Proposal(id); d.Status != ProposalActive || d.ClosesSec != startSec+daySec {
			t.Fatalf("%+v", d)
		}
		r.to(startSec + daySec)
		if d, _ := r.s.View().Proposal(id); d.Status != want {
			t.Errorf("with a quorum of %d the proposal is %s", quorum, d.Status)
		}
	}
}

// decimalLogCents computes logCents with a decimal logarithm: the judge of the bounds. It has 60 digits, because 40 are
// too few next to a step: one unit of 10^48 moves the logarithm in its 49th digit.
func decimalLogCents(t testing.TB, holdings *big.Int) int64 {
	t.Helper()
	if holdings.Cmp(oneToken) < 0 {
		return 0
	}
	ctx := apd.BaseContext.WithPrecision(60)
	ctx.Rounding = apd.RoundHalfEven
	x := apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(holdings), -tokenDigits)
	var log, cents apd.Decimal
	_, err := ctx.Log10(&log, x)
	if err == nil {
		_, err = ctx.Quantize(&cents, &log, -2)
	}
	if err != nil {
		t.Fatalf("log10 of %s: %v", x, err)
	}
	return cents.Coeff.Int64()
}

// Both functions only rise, so they are equal between two steps at which they are equal. 7 and 100 have no common
// divisor, so every bound takes part.
func TestTheLogarithmStepsWhereTheDecimalOneDoes(t *testing.T) {
	for cents := int64(0); cents < 3000; cents += 7 {
		// The step to cents + 1 is behind bound cents % 100, moved to the digits of the holding.
		below := new(big.Int).Quo(logBounds[cents%100], powers[boundDigits-tokenDigits-cents/100])
		for more := range int64(2) {
			h, want := below.Add(below, big.NewInt(more)), cents+more
			if got, judge := logCents(h), decimalLogCents(t, h); got != want || judge != want {
				t.Errorf("%s: %d hundredths, the decimal logarithm says %d, the step %d", h, got, judge, want)
			}
		}
	}
}

// Bound i is 10^48 x 10^((2i+1)/200), rounded down: its 200th power is the last one up to 10^(9600+2i+1).
func TestTheBoundsAreExact(t *testing.T) {
	for i, b := range logBounds {
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(200*boundDigits+2*int64(i)+1), nil)
		for more, over := range []bool{false, true} {
			power := new(big.Int).Add(b, big.NewInt(int64(more)))
			if power.Exp(power, big.NewInt(200), nil); (power.Cmp(limit) > 0) != over {
				t.Errorf("bound %d + %d is beyond the exact one: %v", i, more, !over)
			}
		}
	}
}

func TestTheLogarithmEqualsTheDecimalOne(t *testing.T) {
	n := 5000
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		n = 1_000_000
	}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for range n {
		digits := make([]byte, 1+rng.IntN(boundDigits+1))
		for i := range digits {
			digits[i] = '0' + byte(rng.IntN(10))
		}
		h, _ := new(big.Int).SetString(string(digits), 10)
		if got, want := logCents(h), decimalLogCents(t, h); got != want {
			t.Fatalf("seed %d: %s: %d, the decimal logarithm says %d", seed, h, got, want)
		}
	}
	if got := logCents(new(big.Int).Exp(big.NewInt(10), big.NewInt(80), nil)); got != 3100 {
		t.Errorf("a holding beyond every supply: %d", got)
	}
}

func BenchmarkLogCents(b *testing.B) {
	h, _ := new(big.Int).SetString("123456789123456789123456789", 10)
	for b.Loop() {
		logCents(h)
	}
}
