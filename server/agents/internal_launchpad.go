package agents

import (
	"strconv"

	json "github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/launchpad"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// Internal returns the internal routes of launchpad and hive (docs/contract/internal.md). It is
// an InternalResource.
func (d *Service) Internal() []*edge.Route {
	post := func(path string, h edge.Handler, schema string, members []edge.Field) *edge.Route {
		return &edge.Route{Method: fasthttp.MethodPost, Path: edge.InternalPrefix + path, Handle: h, Schema: schema, Members: members}
	}
	return []*edge.Route{
		post("/launchpad/tokens", d.internalSpawn, "UserSpawnRequest", userSpawnBody),
		post("/launchpad/tokens/{id}/liquidity", d.internalLiquidity, "AddLiquidity", liquidityBody),
		post("/launchpad/tokens/{id}/swaps", d.internalSwap, "Swap", swapBody),
		post("/launchpad/tokens/{id}/transfers", d.internalTransfer, "Transfer", transferBody),
		post("/launchpad/tokens/{id}/boosts", d.internalBoost, "BuyBoost", boostBody),
		post("/launchpad/faults", d.internalFault, "Fault", faultBody),
		post("/hive/proposals", d.internalPropose, "Propose", proposalBody),
		post("/hive/actions", d.internalAct, "Act", actionBody),
	}
}

// isAbsent reports whether a member is missing or null; null counts as missing.
func isAbsent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// formText returns the value of a string member, "" for any other type.
func formText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// formUser reads a member that must be a user's id.
func formUser(raw json.RawMessage, field string) (id [16]byte, err *refuse.Refusal) {
	if isAbsent(raw) {
		return id, refuse.Param(field, "The member %s is required.", field)
	}
	id, ok := body.ParseUUID(formText(raw))
	if !ok {
		return id, refuse.Param(field, "The member %s must be a user's id, a UUID.", field)
	}
	return id, nil
}

// formAmount reads a member that must be an amount above 0, as a number or a string.
func formAmount(raw json.RawMessage, field string) (launchpad.Amount, *refuse.Refusal) {
	if isAbsent(raw) {
		return launchpad.Amount{}, refuse.Param(field, "The member %s is required.", field)
	}
	a, err := formAnyAmount(raw, field)
	if err == nil && a.IsZero() {
		err = refuse.Param(field, "The member %s must be above 0.", field)
	}
	return a, err
}

func formAnyAmount(raw json.RawMessage, field string) (launchpad.Amount, *refuse.Refusal) {
	text := string(raw)
	if raw[0] == '"' {
		text = formText(raw)
	}
	a, err := launchpad.ParseAmount(text)
	if err != nil {
		return a, refuse.Param(field, "The member %s must be a decimal, at least 0, of at most 31 digits before and 18 after the point.", field)
	}
	return a, nil
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

// workerID returns the number of the token that the path names.
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
	form, err := readForm(c.PostBody(), append([]string{"userId"}, spawnMembers...)...)
	if err != nil {
		return err
	}
	id, err := formUser(form[0], "userId")
	if err != nil {
		return err
	}
	cmd, rej := spawnForm(form[1:]).Parse()
	if rej != nil {
		return rej
	}
	owner, err := d.address(id, "userId")
	if err != nil {
		return err
	}
	return d.carrySpawn(c, cmd, owner)
}

// internalLiquidity serves POST /launchpad/tokens/{id}/liquidity.
func (d *Service) internalLiquidity(c *edge.Ctx) *refuse.Refusal {
	form, err := readForm(c.PostBody(), "userId", "tokenAmount", "quoteAmount")
	if err != nil {
		return err
	}
	var cmd launchpad.AddLiquidity
	id, err := formUser(form[0], "userId")
	if err != nil {
		return err
	}
	if cmd.TokenAmount, err = formAmount(form[1], "tokenAmount"); err != nil {
		return err
	}
	if cmd.QuoteAmount, err = formAmount(form[2], "quoteAmount"); err != nil {
		return err
	}
	if cmd.Token, err = d.workerID(c); err != nil {
		return err
	}
	if cmd.From, err = d.address(id, "userId"); err != nil {
		return err
	}
	res, cerr := d.Carry(cmd)
	if cerr != nil {
		return agentError(cerr, "the token's pool")
	}
	return sendDecimals(c, newPoolAnswer(res.Token))
}

// internalSwap serves POST /launchpad/tokens/{id}/swaps.
func (d *Service) internalSwap(c *edge.Ctx) *refuse.Refusal {
	cmd, id, err := readSwap(c.PostBody())
	if err != nil {
		return err
	}
	if cmd.Token, err = d.workerID(c); err != nil {
		return err
	}
	if cmd.From, err = d.address(id, "userId"); err != nil {
		return err
	}
	res, cerr := d.Carry(cmd)
	if cerr != nil {
		return agentError(cerr, "the token's pool and the balances")
	}
	return sendDecimals(c, newSwapAnswer(&res))
}

func readSwap(body []byte) (cmd launchpad.Swap, id [16]byte, err *refuse.Refusal) {
	form, err := readForm(body, "userId", "side", "amountIn", "minOut")
	if err != nil {
		return cmd, id, err
	}
	if id, err = formUser(form[0], "userId"); err != nil {
		return cmd, id, err
	}
	side := formText(form[1])
	if side != "buy" && side != "sell" {
		return cmd, id, refuse.Param("side", "The member side must be buy or sell.")
	}
	cmd.Sell = side == "sell"
	if cmd.AmountIn, err = formAmount(form[2], "amountIn"); err != nil {
		return cmd, id, err
	}
	if !isAbsent(form[3]) {
		cmd.MinOut, err = formAnyAmount(form[3], "minOut")
	}
	return cmd, id, err
}

// internalTransfer serves POST /launchpad/tokens/{id}/transfers.
func (d *Service) internalTransfer(c *edge.Ctx) *refuse.Refusal {
	form, err := readForm(c.PostBody(), "fromUserId", "toUserId", "amount")
	if err != nil {
		return err
	}
	var cmd launchpad.Transfer
	from, err := formUser(form[0], "fromUserId")
	if err != nil {
		return err
	}
	to, err := formUser(form[1], "toUserId")
	if err != nil {
		return err
	}
	if cmd.Amount, err = formAmount(form[2], "amount"); err != nil {
		return err
	}
	if cmd.Token, err = d.workerID(c); err != nil {
		return err
	}
	if cmd.From, err = d.address(from, "fromUserId"); err != nil {
		return err
	}
	if cmd.To, err = d.address(to, "toUserId"); err != nil {
		return err
	}
	res, cerr := d.Carry(cmd)
	if cerr != nil {
		return agentError(cerr, "the token's holders")
	}
	c.Private(append(encode.AppendString([]byte(`{"txHash":`), res.TxHash.String()), '}'))
	return nil
}

// internalBoost serves POST /launchpad/tokens/{id}/boosts.
func (d *Service) internalBoost(c *edge.Ctx) *refuse.Refusal {
	form, err := readForm(c.PostBody(), "tier")
	if err != nil {
		return err
	}
	tier, ok := launchpad.ParseTier(formText(form[0]))
	if !ok {
		return refuse.Param("tier", "The member tier must be short, standard, extended or premium.")
	}
	no, err := d.workerID(c)
	if err != nil {
		return err
	}
	res, cerr := d.Carry(launchpad.BuyBoost{Token: no, Tier: tier})
	if cerr != nil {
		return agentError(cerr, "the token's boosts")
	}
	boost := newBoostAnswer(res.Token)
	return sendFree(c, &boost)
}

// internalFault serves POST /launchpad/faults.
func (d *Service) internalFault(c *edge.Ctx) *refuse.Refusal {
	form, err := readForm(c.PostBody(), "kind", "count")
	if err != nil {
		return err
	}
	if formText(form[0]) != "spawner" {
		return refuse.Param("kind", "The member kind must be spawner.")
	}
	count, perr := strconv.ParseUint(string(form[1]), 10, 64)
	if perr != nil || count == 0 || count > launchpad.MaxFaults {
		return refuse.Param("count", "The member count must be an integer from 1 to %d.", launchpad.MaxFaults)
	}
	if _, err := d.Carry(launchpad.InjectFault{Count: count}); err != nil {
		return agentError(err, "what the next spawn answers")
	}
	c.Private(emptyObject)
	return nil
}
