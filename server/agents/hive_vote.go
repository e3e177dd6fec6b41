package agents

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"tickhive/engine"
	"tickhive/hive"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
)

var voteForm = body.Of(
	raw("proposalId", edge.KindText,
		func(f *hive.VoteForm) *json.RawMessage { return &f.ProposalID }).As(edge.Field{Required: true}),
	raw("vote", edge.KindWord, func(f *hive.VoteForm) *json.RawMessage { return &f.Vote }).
		As(edge.Field{Required: true, Words: []string{"yes", "no", "abstain"}}),
	raw("comment", edge.KindText, func(f *hive.VoteForm) *json.RawMessage { return &f.Comment }).
		As(edge.Field{Range: []int64{0, hive.MaxComment}}),
)

// vote serves POST /api/agents/workers/:tokenId/vote. The hive makes all checks beyond the
// shape of the body (docs/contract/hive.md#votes).
func (d *Service) vote(c *edge.Ctx) *refuse.Refusal {
	if err := d.votes.check(c); err != nil {
		return err
	}
	var form hive.VoteForm
	if err := voteForm.Decode(c.PostBody(), &form); err != nil {
		return err
	}
	cast, rej := form.Parse()
	if rej != nil {
		return rej
	}
	id, ok := hive.ParseTokenID(c.PathParam("tokenId"))
	v := d.views()
	t, known := v.ledger.ByNFT(id)
	if !ok || !known {
		return noWorker()
	}
	u, err := d.user(c.Principal.Account)
	if err != nil {
		return err
	}
	if cast.User, ok = body.ParseUUID(c.Principal.UserID); !ok {
		panic("BUG: server: a caller without a user id")
	}
	cast.TokenID, cast.Level = id, u.level
	cast.Holdings, cast.Owned = v.ledger.Holding(u.address, t).Big(), v.ledger.Owned(u.address)
	res, verr := d.DoHive(cast)
	if verr != nil {
		return refusalOf(verr, "the votes of the proposal")
	}
	return sendDecimals(c, newVoteAnswer(&res.Vote))
}

// maxVoters bounds the users whose recent votes are stored; beyond it the user that voted least recently is
// dropped.
const maxVoters = 100_000

// voteLimiter limits the votes of each user (docs/contract/limits.md#rate-limits) with the same sliding log
// that limits requests per address. Any goroutine may use it.
type voteLimiter struct {
	perMinute int
	mu        sync.Mutex
	users     *simplelru.LRU[engine.AccountID, *edge.SlidingLog]
}

func newVoteLimiter(perMinute int) (*voteLimiter, error) {
	if perMinute < 1 || perMinute > edge.MaxPerMinute {
		return nil, fmt.Errorf("server: rate.votes_per_minute must be 1 to %d", edge.MaxPerMinute)
	}
	users, err := simplelru.NewLRU[engine.AccountID, *edge.SlidingLog](maxVoters, nil)
	if err != nil {
		return nil, fmt.Errorf("server: vote table: %w", err)
	}
	return &voteLimiter{perMinute: perMinute, users: users}, nil
}

// check counts a vote of the request's user, or refuses it. Users of the allow-list have no limit.
func (l *voteLimiter) check(c *edge.Ctx) *refuse.Refusal {
	if c.Unlimited() {
		return nil
	}
	l.mu.Lock()
	log, ok := l.users.Get(c.Principal.Account)
	if !ok {
		log = &edge.SlidingLog{}
		l.users.Add(c.Principal.Account, log)
	}
	waitNs := log.Count(c.MachineNs(), l.perMinute, l.perMinute)
	l.mu.Unlock()
	if waitNs == 0 {
		return nil
	}
	return edge.TooMany(waitNs)
}
