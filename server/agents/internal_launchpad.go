package agents

import (
	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/launchpad"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// InternalRoutes returns the internal routes of launchpad and hive (docs/contract/internal.md). It is an
// admin.Resource.
func (d *Service) InternalRoutes() []*edge.Route {
	post := func(path string, h edge.Handler, schema string, members []edge.Field) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodPost, Path: edge.InternalPrefix + path, Handle: h,
			Schema: schema, Members: members,
		}
	}
	return []*edge.Route{
		post("/launchpad/tokens", d.internalSpawn, "UserSpawnRequest", spawnForForm.Members()),
		post("/launchpad/tokens/{id}/liquidity", d.internalLiquidity, "AddLiquidity", liquidityForm.Members()),
		post("/launchpad/tokens/{id}/swaps", d.internalSwap, "Swap", swapForm.Members()),
		post("/launchpad/tokens/{id}/transfers", d.internalTransfer, "Transfer", transferForm.Members()),
		post("/launchpad/tokens/{id}/boosts", d.internalBoost, "BuyBoost", boostForm.Members()),
		post("/launchpad/faults", d.internalFault, "Fault", faultForm.Members()),
		post("/hive/proposals", d.internalPropose, "Propose", proposalForm.Members()),
		post("/hive/actions", d.internalAct, "Act", actionForm.Members()),
	}
}

// address returns the ledger address of the user that a body names.
func (d *Service) address(id [16]byte, field string) (launchpad.Address, *refuse.Refusal) {
	account, ok := d.opt.Find(id)
	if ok && account != 0 {
		if u, err := d.user(account); err == nil {
			return u.address, nil
		}
	}
	return launchpad.Address{}, refuse.Missing(field, "There is no user %s.", encode.AppendUUID(nil, id))
}

// workerID returns the workerId of the token that the path names.
func (d *Service) workerID(c *edge.Ctx) (uint32, *refuse.Refusal) {
	v := d.views()
	t, ok := v.ledger.Find(c.PathParam("id"))
	if !ok {
		return 0, noToken()
	}
	return t.No, nil
}

// internalSpawn serves POST /launchpad/tokens.
func (d *Service) internalSpawn(c *edge.Ctx) *refuse.Refusal {
	var q spawnRequest
	if err := spawnForForm.Decode(c.PostBody(), &q); err != nil {
		return err
	}
	cmd, rej := q.Parse()
	if rej != nil {
		return rej
	}
	owner, err := d.address(q.user, "userId")
	if err != nil {
		return err
	}
	return d.sendSpawn(c, cmd, owner)
}

// internalLiquidity serves POST /launchpad/tokens/{id}/liquidity.
func (d *Service) internalLiquidity(c *edge.Ctx) *refuse.Refusal {
	var q liquidityRequest
	err := liquidityForm.Decode(c.PostBody(), &q)
	if err != nil {
		return err
	}
	if q.Token, err = d.workerID(c); err != nil {
		return err
	}
	if q.From, err = d.address(q.user, "userId"); err != nil {
		return err
	}
	res, cerr := d.DoLaunchpad(q.AddLiquidity)
	if cerr != nil {
		return refusalOf(cerr, "the token's pool")
	}
	return sendDecimals(c, newPoolAnswer(res.Token))
}

// internalSwap serves POST /launchpad/tokens/{id}/swaps.
func (d *Service) internalSwap(c *edge.Ctx) *refuse.Refusal {
	var q swapRequest
	err := swapForm.Decode(c.PostBody(), &q)
	if err != nil {
		return err
	}
	if q.Token, err = d.workerID(c); err != nil {
		return err
	}
	if q.From, err = d.address(q.user, "userId"); err != nil {
		return err
	}
	res, cerr := d.DoLaunchpad(q.Swap)
	if cerr != nil {
		return refusalOf(cerr, "the token's pool and the balances")
	}
	return sendDecimals(c, newSwapAnswer(&res))
}

// internalTransfer serves POST /launchpad/tokens/{id}/transfers.
func (d *Service) internalTransfer(c *edge.Ctx) *refuse.Refusal {
	var q transferRequest
	err := transferForm.Decode(c.PostBody(), &q)
	if err != nil {
		return err
	}
	if q.Token, err = d.workerID(c); err != nil {
		return err
	}
	if q.From, err = d.address(q.from, "fromUserId"); err != nil {
		return err
	}
	if q.To, err = d.address(q.to, "toUserId"); err != nil {
		return err
	}
	res, cerr := d.DoLaunchpad(q.Transfer)
	if cerr != nil {
		return refusalOf(cerr, "the token's holders")
	}
	c.Private(append(encode.AppendString([]byte(`{"txHash":`), res.TxHash.String()), '}'))
	return nil
}

// internalBoost serves POST /launchpad/tokens/{id}/boosts.
func (d *Service) internalBoost(c *edge.Ctx) *refuse.Refusal {
	var cmd launchpad.BuyBoost
	err := boostForm.Decode(c.PostBody(), &cmd)
	if err != nil {
		return err
	}
	if cmd.Token, err = d.workerID(c); err != nil {
		return err
	}
	res, cerr := d.DoLaunchpad(cmd)
	if cerr != nil {
		return refusalOf(cerr, "the token's boosts")
	}
	boost := newBoostAnswer(res.Token)
	return sendFree(c, &boost)
}

// internalFault serves POST /launchpad/faults.
func (d *Service) internalFault(c *edge.Ctx) *refuse.Refusal {
	var cmd launchpad.InjectFault
	if err := faultForm.Decode(c.PostBody(), &cmd); err != nil {
		return err
	}
	if _, err := d.DoLaunchpad(cmd); err != nil {
		return refusalOf(err, "what the next spawn answers")
	}
	c.Private(emptyObject)
	return nil
}
