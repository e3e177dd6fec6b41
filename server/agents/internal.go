package agents

import (
	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// InternalRoutes returns the internal routes of launchpad and hive (docs/contract/internal.md). It is an
// admin.Resource.
func (s *Service) InternalRoutes() []*edge.Route {
	post := func(path string, h edge.Handler, schema string, members []json.Field,
		params ...edge.Declared,
	) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodPost, Path: edge.InternalPrefix + path, Handle: h,
			Schema: schema, Members: members, Params: edge.Params(params...),
		}
	}
	return append(edge.Tagged("Launchpad", []*edge.Route{
		post("/launchpad/tokens", s.internalSpawn, "UserSpawnRequest", spawnForForm.Members()).
			Does("spawnToken", "Spawn a token", 402, 409),
		post("/launchpad/tokens/{id}/liquidity", s.internalLiquidity, "AddLiquidity", liquidityForm.Members(), tokenOf).
			Does("addLiquidity", "Add liquidity", 409),
		post("/launchpad/tokens/{id}/swaps", s.internalSwap, "Swap", swapForm.Members(), tokenOf).
			Does("swap", "Swap", 409),
		post("/launchpad/tokens/{id}/transfers", s.internalTransfer, "Transfer", transferForm.Members(), tokenOf).
			Does("transfer", "Transfer tokens", 409),
		post("/launchpad/tokens/{id}/boosts", s.internalBoost, "BuyBoost", boostForm.Members(), tokenOf).
			Does("buyBoost", "Buy a boost", 409),
		post("/launchpad/faults", s.internalFault, "Fault", faultForm.Members()).
			Does("injectFaults", "Make the next spawns fail", 409),
	}), edge.Tagged("Hive", []*edge.Route{
		post("/hive/proposals", s.internalPropose, "Propose", proposalForm.Members()).
			Does("createProposal", "Create a proposal", 409),
		post("/hive/actions", s.internalAct, "Act", actionForm.Members()).
			Does("logAction", "Log an action", 409),
	})...)
}

// address returns the ledger address of the user that a body names.
func (s *Service) address(id [16]byte, field string) (launchpad.Address, *refuse.Refusal) {
	account, ok := s.opt.Find(id)
	if ok && account != 0 {
		if u, err := s.user(account); err == nil {
			return u.address, nil
		}
	}
	return launchpad.Address{}, refuse.Missing(field, "There is no user %s.", json.AppendUUID(nil, id))
}

// workerID returns the workerId of the token that the path names.
func (s *Service) workerID(c *edge.Ctx) (uint32, *refuse.Refusal) {
	v := s.views()
	t, err := v.token(c)
	if err != nil {
		return 0, err
	}
	return t.No, nil
}

// internalSpawn serves POST /launchpad/tokens.
func (s *Service) internalSpawn(c *edge.Ctx) *refuse.Refusal {
	var q spawnRequest
	if err := spawnForForm.Decode(c.PostBody(), &q); err != nil {
		return err
	}
	cmd, rej := q.Parse()
	if rej != nil {
		return rej
	}
	owner, err := s.address(q.user, "userId")
	if err != nil {
		return err
	}
	return s.sendSpawn(c, cmd, owner)
}

// internalLiquidity serves POST /launchpad/tokens/{id}/liquidity.
func (s *Service) internalLiquidity(c *edge.Ctx) *refuse.Refusal {
	var q liquidityRequest
	err := liquidityForm.Decode(c.PostBody(), &q)
	if err != nil {
		return err
	}
	if q.Token, err = s.workerID(c); err != nil {
		return err
	}
	if q.From, err = s.address(q.user, "userId"); err != nil {
		return err
	}
	res, cerr := s.DoLaunchpad(q.AddLiquidity)
	if cerr != nil {
		return refusalOf(cerr, "the token's pool")
	}
	var w json.Writer
	writePool(&w, res.Token)
	return sendDecimals(c, &w)
}

// internalSwap serves POST /launchpad/tokens/{id}/swaps.
func (s *Service) internalSwap(c *edge.Ctx) *refuse.Refusal {
	var q swapRequest
	err := swapForm.Decode(c.PostBody(), &q)
	if err != nil {
		return err
	}
	if q.Token, err = s.workerID(c); err != nil {
		return err
	}
	if q.From, err = s.address(q.user, "userId"); err != nil {
		return err
	}
	return s.sendSwap(c, &q)
}

func (s *Service) sendSwap(c *edge.Ctx, q *swapRequest) *refuse.Refusal {
	res, err := s.DoLaunchpad(q.Swap)
	if err != nil {
		return refusalOf(err, "the token's pool and the balances")
	}
	var w json.Writer
	writeSwap(&w, &res)
	return sendDecimals(c, &w)
}

// internalTransfer serves POST /launchpad/tokens/{id}/transfers.
func (s *Service) internalTransfer(c *edge.Ctx) *refuse.Refusal {
	var q transferRequest
	err := transferForm.Decode(c.PostBody(), &q)
	if err != nil {
		return err
	}
	if q.Token, err = s.workerID(c); err != nil {
		return err
	}
	if q.From, err = s.address(q.from, "fromUserId"); err != nil {
		return err
	}
	if q.To, err = s.address(q.to, "toUserId"); err != nil {
		return err
	}
	res, cerr := s.DoLaunchpad(q.Transfer)
	if cerr != nil {
		return refusalOf(cerr, "the token's holders")
	}
	var w json.Writer
	w.Object()
	w.Name("txHash").Word(res.TxHash.String())
	w.EndObject()
	return sendDecimals(c, &w)
}

// internalBoost serves POST /launchpad/tokens/{id}/boosts.
func (s *Service) internalBoost(c *edge.Ctx) *refuse.Refusal {
	var cmd launchpad.BuyBoost
	err := boostForm.Decode(c.PostBody(), &cmd)
	if err != nil {
		return err
	}
	if cmd.Token, err = s.workerID(c); err != nil {
		return err
	}
	res, cerr := s.DoLaunchpad(cmd)
	if cerr != nil {
		return refusalOf(cerr, "the token's boosts")
	}
	var w json.Writer
	writeBoost(&w, res.Token)
	return sendFree(c, &w)
}

// internalFault serves POST /launchpad/faults.
func (s *Service) internalFault(c *edge.Ctx) *refuse.Refusal {
	var cmd launchpad.InjectFault
	if err := faultForm.Decode(c.PostBody(), &cmd); err != nil {
		return err
	}
	if _, err := s.DoLaunchpad(cmd); err != nil {
		return refusalOf(err, "what the next spawn answers")
	}
	c.Private([]byte("{}"))
	return nil
}

var (
	proposalForm = json.Of(
		raw("tokenId", json.KindInt64, func(f *hive.ProposalForm) *json.RawMessage { return &f.TokenID }).
			As(json.Field{Required: true, Range: []int64{0}}),
		raw("topic", json.KindText,
			func(f *hive.ProposalForm) *json.RawMessage { return &f.Topic }).As(json.Field{Required: true}),
		raw("payload", json.KindObject,
			func(f *hive.ProposalForm) *json.RawMessage { return &f.Payload }).As(json.Field{Required: true}),
		raw("proposer", json.KindText,
			func(f *hive.ProposalForm) *json.RawMessage { return &f.Proposer }).As(json.Field{Required: true}),
		raw("urgent", json.KindBoolean, func(f *hive.ProposalForm) *json.RawMessage { return &f.Urgent }).
			As(json.Field{Default: false}),
	)
	actionForm = json.Of(
		raw("sourceAgentId", json.KindText,
			func(f *hive.ActionForm) *json.RawMessage { return &f.SourceAgentID }).As(json.Field{Required: true}),
		raw("targetTokenId", json.KindInt64, func(f *hive.ActionForm) *json.RawMessage { return &f.TargetTokenID }).
			As(json.Field{Required: true, Range: []int64{0}}),
		raw("actionType", json.KindWord, func(f *hive.ActionForm) *json.RawMessage { return &f.ActionType }).
			As(json.Field{Required: true, Words: actionTypeNames}),
		raw("actionPayload", json.KindObject, func(f *hive.ActionForm) *json.RawMessage { return &f.ActionPayload }),
		raw("reasonCode", json.KindText,
			func(f *hive.ActionForm) *json.RawMessage { return &f.ReasonCode }).As(json.Field{Required: true}),
	)
)

// internalPropose serves POST /hive/proposals.
func (s *Service) internalPropose(c *edge.Ctx) *refuse.Refusal {
	var form hive.ProposalForm
	if err := proposalForm.Decode(c.PostBody(), &form); err != nil {
		return err
	}
	cmd, rej := form.Parse()
	if rej != nil {
		return rej
	}
	res, cerr := s.DoHive(cmd)
	if cerr != nil {
		return refusalOf(cerr, "the proposals of the worker")
	}
	var w json.Writer
	writeProposalRow(&w, &res.Proposal)
	return sendDecimals(c, &w)
}

// internalAct serves POST /hive/actions.
func (s *Service) internalAct(c *edge.Ctx) *refuse.Refusal {
	var form hive.ActionForm
	if err := actionForm.Decode(c.PostBody(), &form); err != nil {
		return err
	}
	cmd, rej := form.Parse()
	if rej != nil {
		return rej
	}
	res, cerr := s.DoHive(cmd)
	if cerr != nil {
		return refusalOf(cerr, "the action log")
	}
	var w json.Writer
	w.Object()
	writeLogMembers(&w, &res.Entry)
	w.Name("prevHash").Word(res.Entry.Prev.String()) // links the entry to the one before
	w.EndObject()
	return sendFree(c, &w)
}
