package hive

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

// modelProposal holds the votes of one proposal in plain maps.
type modelProposal struct {
	id      string
	token   uint64
	closes  int64
	payload int64
	votes   map[byte]int64    // weight
	held    map[byte]*big.Int // at its checkpoint

	checkpoint uint64
	by         [votes]int64
	status     string
}

// model computes the expected state in plain maps, independently of the code under test.
type model struct {
	all      []*modelProposal
	slippage map[uint64]int64 // by token
	outcomes map[string]int
}

// close closes what is due at nowSec, earliest first.
func (m *model) close(nowSec int64) {
	var due []*modelProposal
	for _, p := range m.all {
		if p.status == "active" && p.closes <= nowSec {
			due = append(due, p)
		}
	}
	slices.SortStableFunc(due, func(a, b *modelProposal) int { return int(a.closes - b.closes) })
	for _, p := range due {
		p.status = "rejected"
		sum := p.by[Yes] + p.by[No]
		if sum > 0 && p.by[Yes]*10 >= sum*6 && sum+p.by[Abstain] >= 1500 {
			p.status = "passed"
			m.slippage[p.token] = p.payload
		}
		m.outcomes[p.status]++
	}
}

func (m *model) propose(r *rig, rng *rand.Rand, token uint64) {
	p := &modelProposal{
		token: token, payload: 50 + rng.Int64N(151), votes: map[byte]int64{}, status: "active",
		held: map[byte]*big.Int{}, checkpoint: rng.Uint64(),
		closes: r.now/secondNs + weekSec,
	}
	cmd := Propose{
		TokenID: token, Topic: SlippageCap, Payload: fmt.Sprintf(`{"slippageCapBps":%d}`, p.payload),
		Proposer: "queen-1", Urgent: rng.IntN(2) == 0,
	}
	r.checkpoint = p.checkpoint
	for range rng.IntN(40) {
		who := byte(rng.IntN(60))
		if p.held[who] == nil {
			p.held[who] = new(big.Int).Mul(big.NewInt(rng.Int64()), big.NewInt(rng.Int64N(1000)))
		}
	}
	if cmd.Urgent {
		p.closes = r.now/secondNs + daySec
	}
	p.id = r.open(cmd)
	m.all = append(m.all, p)
}

// vote casts a random vote and compares the outcome with what the model expects.
func (m *model) vote(r *rig, rng *rand.Rand, token uint64) {
	p := m.all[max(0, len(m.all)-1-rng.IntN(40))]
	who := byte(rng.IntN(60))
	v := CastVote{
		TokenID: p.token, ProposalID: p.id, Vote: VoteKind(rng.IntN(3)),
		User: [16]byte{who}, Checkpoint: p.checkpoint, Counted: p.held[who],
		Level: 18 + rng.Int64N(13), Holdings: big.NewInt(rng.Int64()), Owned: rng.Int64N(3),
	}
	if rng.IntN(20) == 0 {
		v.TokenID = token
	}
	want := refuse.Code("")
	switch _, voted := p.votes[who]; {
	case v.TokenID != p.token:
		want = refuse.ProposalNotFound
	case v.Level < 20:
		want = refuse.LevelTooLow
	case v.Holdings.Cmp(big.NewInt(1_000_000_000_000_000_000)) < 0:
		want = refuse.NoHoldings
	case p.status != "active":
		want = refuse.ProposalClosed
	case voted:
		want = refuse.AlreadyVoted
	}
	res, rej := r.do(v)
	got := refuse.Code("")
	if rej != nil {
		got = rej.Code
	}
	if got != want {
		r.t.Fatalf("%+v on %+v: %q, want %q", v, p, got, want)
	}
	m.outcomes["vote "+string(got)]++
	if rej == nil {
		w := 100 + 90*(v.Level-20) + 100*v.Owned
		if held := p.held[who]; held != nil {
			w += logCents(held)
		}
		p.votes[who] = w
		p.by[v.Vote] += w
		if res.Vote.WeightCents != w {
			r.t.Fatalf("weight %d, want %d", res.Vote.WeightCents, w)
		}
	}
}

func TestProposalsAndVotesAgainstAModel(t *testing.T) {
	steps := 10_000
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		steps = 500_000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	r := newRig(t, func(o *Options) { o.QuorumCents = 1500 })
	const workers = 4
	m := &model{slippage: map[uint64]int64{}, outcomes: map[string]int{}}
	for n := uint32(1); n <= workers; n++ {
		m.slippage[r.spawn(n)] = DefaultSlippageBps
	}
	for i := range steps {
		if rng.IntN(3) == 0 {
			r.toNs(r.now + rng.Int64N(9000)*secondNs)
		}
		m.close(r.now / secondNs)
		token := firstAgentNFT + uint64(rng.IntN(workers))
		if len(m.all) == 0 || rng.IntN(12) == 0 {
			m.propose(r, rng, token)
		} else {
			m.vote(r, rng, token)
		}
		if i%500 == 0 || i == steps-1 {
			compareProposals(t, r, m.all, m.slippage)
		}
	}
	t.Logf("%d proposals, %v", len(m.all), m.outcomes)
	if m.outcomes["passed"] < 5 || m.outcomes["rejected"] < 5 {
		t.Fatal("the mix does not close both ways")
	}
	r.check()
}

func compareProposals(t *testing.T, r *rig, all []*modelProposal, slippage map[uint64]int64) {
	t.Helper()
	v := r.s.View()
	for token, want := range slippage {
		if got := r.worker(token).Config.SlippageCapBps; got != want {
			t.Fatalf("token %d: slippage %d, the model says %d", token, got, want)
		}
	}
	filters := []ProposalQuery{{}}
	for st := range proposalStatuses {
		filters = append(filters, ProposalQuery{Status: &st})
		for token := range slippage {
			filters = append(filters, ProposalQuery{TokenID: &token, Status: &st}, ProposalQuery{TokenID: &token})
		}
	}
	for _, q := range filters {
		var want []*modelProposal
		for i := len(all) - 1; i >= 0; i-- {
			if p := all[i]; (q.TokenID == nil || *q.TokenID == p.token) &&
				(q.Status == nil || q.Status.String() == p.status) {
				want = append(want, p)
			}
		}
		n := 0
		for q.Page = (Page{Page: 1, PageSize: 7}); ; q.Page.Page++ {
			l := v.Proposals(q)
			if l.TotalItems != int64(len(want)) {
				t.Fatalf("%+v: total %d, want %d", q, l.TotalItems, len(want))
			}
			if len(l.Items) == 0 {
				break
			}
			for _, it := range l.Items {
				p := want[n]
				tally := Tally{p.by[Yes], p.by[No], p.by[Abstain]}
				if it.ID() != p.id || it.Status.String() != p.status || it.ClosesSec != p.closes ||
					it.Tally != tally.info(1500) {
					t.Fatalf("%+v, the model says %+v", it, p)
				}
				n++
			}
		}
		if n != len(want) {
			t.Fatalf("%+v: %d rows, want %d", q, n, len(want))
		}
	}
}
