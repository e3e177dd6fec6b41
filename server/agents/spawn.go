package agents

import (
	"encoding/json"

	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/launchpad"
	"tickhive/server/body"
	"tickhive/server/edge"
)

// spawnRequest is the body of the public and the internal spawn. Only the internal one has the member user.
type spawnRequest struct {
	launchpad.SpawnForm
	user [16]byte
}

var spawnMembers = []body.Member[spawnRequest]{
	raw("name", edge.KindText, func(q *spawnRequest) *json.RawMessage { return &q.Name }).As(edge.Field{
		Required: true,
		Range:    []int64{1, 50},
	}),
	raw("symbol", edge.KindText, func(q *spawnRequest) *json.RawMessage { return &q.Symbol }).
		As(edge.Field{Required: true, Pattern: "^[A-Z]{3,5}$"}),
	raw("totalSupply", edge.KindText, func(q *spawnRequest) *json.RawMessage { return &q.TotalSupply }).
		As(edge.Field{Default: launchpad.DefaultSupply}),
	raw("decimals", edge.KindInt64,
		func(q *spawnRequest) *json.RawMessage { return &q.Decimals }).As(edge.Field{Default: launchpad.Decimals}),
	raw("poolSide", edge.KindWord, func(q *spawnRequest) *json.RawMessage { return &q.PoolSide }).
		As(edge.Field{Words: poolSides, Default: poolSides[0]}),
	raw("metadata", edge.KindObject, func(q *spawnRequest) *json.RawMessage { return &q.Metadata }),
}

var (
	spawnForm    = body.Of(spawnMembers...)
	spawnForForm = body.Of(append([]body.Member[spawnRequest]{
		userID("userId", func(q *spawnRequest) *[16]byte { return &q.user }),
	}, spawnMembers...)...)
)

// spawn serves POST /api/launchpad/spawn. The ledger makes all checks beyond the shape of the
// body (docs/contract/launchpad.md#spawn).
func (s *Service) spawn(c *edge.Ctx) *refuse.Refusal {
	var q spawnRequest
	if err := spawnForm.Decode(c.PostBody(), &q); err != nil {
		return err
	}
	cmd, rej := q.Parse()
	if rej != nil {
		return rej
	}
	u, err := s.user(c.Principal.Account)
	if err != nil {
		return err
	}
	return s.sendSpawn(c, cmd, u.address)
}

func (s *Service) sendSpawn(c *edge.Ctx, cmd launchpad.Spawn, owner launchpad.Address) *refuse.Refusal {
	cmd.Owner = owner
	res, err := s.DoLaunchpad(cmd)
	if err != nil {
		return refusalOf(err, "the tokens")
	}
	return sendFree(c, newSpawnAnswer(&res))
}

// ledgerUser holds what ledger and hive need to know of a user.
type ledgerUser struct {
	level   int64
	address launchpad.Address
}

// user returns the data of an account; the account must exist.
func (s *Service) user(account engine.AccountID) (ledgerUser, *refuse.Refusal) {
	level, text, ok := s.opt.User(account)
	a, valid := launchpad.ParseAddress(text)
	if !ok || !valid {
		return ledgerUser{}, refuse.New(refuse.Forbidden, "", "This account has no address on the ledger.")
	}
	return ledgerUser{level, a}, nil
}
