package agents

import (
	"encoding/json"

	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/launchpad"
	"tickhive/server/edge"
)

// spawnMembers lists the members of a spawn's body in the order of docs/contract/api.md.
var spawnMembers = []string{"name", "symbol", "totalSupply", "decimals", "poolSide", "metadata"}

func spawnForm(m []json.RawMessage) launchpad.SpawnForm {
	return launchpad.SpawnForm{Name: m[0], Symbol: m[1], TotalSupply: m[2], Decimals: m[3], PoolSide: m[4], Metadata: m[5]}
}

// spawn serves POST /api/launchpad/spawn. The ledger makes all checks beyond the shape of the
// body (docs/contract/launchpad.md#spawn).
func (d *Service) spawn(c *edge.Ctx) *refuse.Refusal {
	form, err := readForm(c.PostBody(), spawnMembers...)
	if err != nil {
		return err
	}
	cmd, rej := spawnForm(form).Parse()
	if rej != nil {
		return rej
	}
	u, err := d.user(c.Principal.Account)
	if err != nil {
		return err
	}
	return d.carrySpawn(c, cmd, u.address)
}

func (d *Service) carrySpawn(c *edge.Ctx, cmd launchpad.Spawn, owner launchpad.Address) *refuse.Refusal {
	cmd.Owner = owner
	res, err := d.Carry(cmd)
	if err != nil {
		return agentError(err, "the tokens")
	}
	return sendFree(c, newSpawnAnswer(&res))
}

// agentUser holds the data of a user that ledger and hive need.
type agentUser struct {
	level   int64
	address launchpad.Address
}

// user returns the data of an account that must exist.
func (d *Service) user(account engine.AccountID) (agentUser, *refuse.Refusal) {
	level, text, ok := d.opt.User(account)
	a, valid := launchpad.ParseAddress(text)
	if !ok || !valid {
		return agentUser{}, refuse.New(refuse.Forbidden, "", "This account has no address on the ledger.")
	}
	return agentUser{level, a}, nil
}
