package agents

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"strconv"

	goccy "github.com/goccy/go-json"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/hive"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/internal/wal"
	"tickhive/launchpad"
	"tickhive/server/edge"
	"tickhive/server/json"
)

var hdrAsOf = []byte("X-As-Of")

// setAsOf sets the header X-As-Of. A client sends its block as asOf with the requests for the next pages
// (docs/contract/launchpad.md#tokens).
func setAsOf(c *edge.Ctx, block int64) {
	c.Response.Header.SetCanonical(hdrAsOf, strconv.AppendInt(nil, block, 10))
}

// asOf returns the parameter asOf, nil when it is missing.
func asOf(c *edge.Ctx) (*int64, *refuse.Refusal) {
	block, given, err := c.Int("asOf", 0, 0, math.MaxInt64)
	if err != nil || !given {
		return nil, err
	}
	return &block, nil
}

// tokens serves GET /api/launchpad/tokens.
func (s *Service) tokens(c *edge.Ctx) *refuse.Refusal {
	var q launchpad.ListQuery
	var err *refuse.Refusal
	if q.Page, q.PageSize, err = c.Page("page", launchpad.DefaultPageSize); err != nil {
		return err
	}
	sort, err := c.Enum("sort", tokenSorts...)
	if err != nil {
		return err
	}
	q.Sort = launchpad.Sort(max(sort, 0))
	if q.Boosted, err = c.Bool("boosted", false); err != nil {
		return err
	}
	side, err := c.Enum("poolSide", poolSides...)
	if err != nil {
		return err
	}
	if side >= 0 {
		only := launchpad.Side(side)
		q.Side = &only
	}
	if q.AsOf, err = asOf(c); err != nil {
		return err
	}
	after, err := c.Row("page")
	if err != nil {
		return err
	}
	q.After = uint32(min(after, math.MaxUint32))
	if rej := q.Check(); rej != nil {
		return rej
	}
	v := s.views()
	list := v.ledger.Tokens(v.nowNs, q)
	setAsOf(c, list.AsOf)
	c.NextRow(uint64(list.Next))
	return sendFree(c, answerPage(list.Items, list.TotalItems, q.Page, q.PageSize, func(t **launchpad.Token) tokenRow {
		return newTokenRow(*t, v.worker(*t))
	}))
}

func noToken() *refuse.Refusal {
	return refuse.Missing("id", "No token has this address or registry id.")
}

// token serves GET /api/launchpad/tokens/:id.
func (s *Service) token(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	t, ok := v.ledger.Find(c.PathParam("id"))
	if !ok {
		return noToken()
	}
	c.PlainDecimals()
	body := encodeJSON(newTokenAnswer(t, v.worker(t)))
	if t.Metadata != "" {
		// The encoder would remove white space from metadata, which must stay as the client sent it. The
		// placeholder occurs only once, because quotes within strings are escaped.
		body = bytes.Replace(body, []byte(`"metadata":{}`), []byte(`"metadata":`+t.Metadata), 1)
	}
	c.Private(body)
	return nil
}

var emptyObject = []byte("{}")

// pool serves GET /api/launchpad/tokens/:id/pool.
func (s *Service) pool(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	t, ok := v.ledger.Find(c.PathParam("id"))
	if !ok {
		return noToken()
	}
	return sendFree(c, newPoolAnswer(t))
}

// tokenWorker serves GET /api/launchpad/tokens/:id/worker.
func (s *Service) tokenWorker(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	t, ok := v.ledger.Find(c.PathParam("id"))
	if !ok {
		return noToken()
	}
	return sendFree(c, newTokenWorkerAnswer(t, v.worker(t), v.hive.Recent(t.AgentNFT())))
}

// spawnRequest is the body of the public and the internal spawn. Only the internal one has the member user.
type spawnRequest struct {
	launchpad.SpawnForm
	user [16]byte
}

var spawnMembers = []json.Member[spawnRequest]{
	raw("name", json.KindText, func(q *spawnRequest) *json.RawMessage { return &q.Name }).As(json.Field{
		Required: true,
		Range:    []int64{1, 50},
	}),
	raw("symbol", json.KindText, func(q *spawnRequest) *json.RawMessage { return &q.Symbol }).
		As(json.Field{Required: true, Pattern: "^[A-Z]{3,5}$"}),
	raw("totalSupply", json.KindText, func(q *spawnRequest) *json.RawMessage { return &q.TotalSupply }).
		As(json.Field{Default: launchpad.DefaultSupply}),
	raw("decimals", json.KindInt64,
		func(q *spawnRequest) *json.RawMessage { return &q.Decimals }).As(json.Field{Default: launchpad.Decimals}),
	raw("poolSide", json.KindWord, func(q *spawnRequest) *json.RawMessage { return &q.PoolSide }).
		As(json.Field{Words: poolSides, Default: poolSides[0]}),
	raw("metadata", json.KindObject, func(q *spawnRequest) *json.RawMessage { return &q.Metadata }),
}

var (
	spawnForm    = json.Of(spawnMembers...)
	spawnForForm = json.Of(append([]json.Member[spawnRequest]{
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

// refusalOf returns the refusal for an error of the ledger or the hive, or for a store that accepts no changes.
// look names the route with which the client can check whether a change of unknown outcome was recorded.
func refusalOf(err error, look string) *refuse.Refusal {
	var refused *refuse.Refusal
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, sequencer.ErrBusy):
		return refuse.Later(1, "Too many changes wait; nothing was changed.")
	case errors.Is(err, sequencer.ErrOutcomeUnknown):
		return refuse.Unknown("The change", "look at "+look+" before you repeat the request.")
	case errors.Is(err, sequencer.ErrStopping):
		return refuse.Later(5, "The server is shutting down; nothing was changed.")
	}
	return refuse.Unwritten("The launchpad", errors.Is(err, wal.ErrStopped))
}

// sendDecimals sends v as JSON. The parameter decimals determines whether its decimals are numbers or strings.
func sendDecimals(c *edge.Ctx, v any) *refuse.Refusal {
	c.Private(encodeJSON(v))
	return nil
}

// sendFree sends v as JSON. Its only decimals are in free-form members (metadata, payloads), which stay as the
// client sent them; the parameter decimals has no effect.
func sendFree(c *edge.Ctx, v any) *refuse.Refusal {
	c.PlainDecimals()
	return sendDecimals(c, v)
}

// encodeJSON encodes an answer. It does not escape HTML characters, so free-form members keep their characters.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := goccy.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: server: an answer that is no JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// The answers of the launchpad, in the shapes and member order of docs/contract/api.md,
// docs/contract/internal.md and docs/contract/launchpad.md. Times are Unix seconds.
type (
	tokenRow struct {
		Address      string `json:"address"`
		Symbol       string `json:"symbol"`
		Name         string `json:"name"`
		SpawnedAt    int64  `json:"spawnedAt"`
		TVL          string `json:"tvl"`
		Volume24h    string `json:"volume24h"`
		Holders      int64  `json:"holders"`
		WorkerStatus string `json:"workerStatus"`
		Boosted      bool   `json:"boosted"`
	}
	tokenAnswer struct {
		Token struct {
			Address     string `json:"address"`
			Name        string `json:"name"`
			Symbol      string `json:"symbol"`
			Decimals    int    `json:"decimals"`
			TotalSupply string `json:"totalSupply"` // whole tokens, no fraction
			Owner       string `json:"owner"`
			SpawnedAt   int64  `json:"spawnedAt"`
		} `json:"token"`
		Pool   poolRow `json:"pool"`
		Worker struct {
			ID           int64  `json:"id"`
			AgentNftID   uint64 `json:"agentNftId"`
			Status       string `json:"status"`
			LastActionAt int64  `json:"lastActionAt"`
			ActionCount  int64  `json:"actionCount"`
		} `json:"worker"`
		Metadata json.RawMessage `json:"metadata"`
		Boost    boostAnswer     `json:"boost"`
	}
	poolRow struct {
		Address     string `json:"address"`
		Side        string `json:"side"`
		FeeTier     int    `json:"feeTier"`
		TVL         string `json:"tvl"`
		Volume24h   string `json:"volume24h"`
		LastTradeAt int64  `json:"lastTradeAt"`
	}
	// poolAnswer is a pool on its own; price is null when the pool is empty.
	poolAnswer struct {
		poolRow
		TokenAddress string  `json:"tokenAddress"`
		TokenSymbol  string  `json:"tokenSymbol"`
		ReserveToken string  `json:"reserveToken"`
		ReserveQuote string  `json:"reserveQuote"`
		Price        *string `json:"price"`
	}
	// boostAnswer is a boost; tier and expiresAt are null when it is inactive.
	boostAnswer struct {
		Active    bool    `json:"active"`
		Tier      *string `json:"tier"`
		ExpiresAt *int64  `json:"expiresAt"`
	}
	tokenWorkerAnswer struct {
		Worker struct {
			ID         int64  `json:"id"`
			AgentNftID uint64 `json:"agentNftId"`
			Status     string `json:"status"`
			DeployedAt int64  `json:"deployedAt"`
		} `json:"worker"`
		RecentActions []tokenAction `json:"recentActions"`
		Stats         struct {
			TotalActions int64 `json:"totalActions"`
			LastActiveAt int64 `json:"lastActiveAt"`
		} `json:"stats"`
	}
	// tokenAction is a workerAction without its reason.
	tokenAction struct {
		TxHash         string          `json:"txHash"`
		ActionType     string          `json:"actionType"`
		Params         json.RawMessage `json:"params"`
		BlockNumber    int64           `json:"blockNumber"`
		BlockTimestamp int64           `json:"blockTimestamp"`
	}
	spawnAnswer struct {
		Token struct {
			Address     string `json:"address"`
			Name        string `json:"name"`
			Symbol      string `json:"symbol"`
			TotalSupply string `json:"totalSupply"`
			Owner       string `json:"owner"`
		} `json:"token"`
		Pool struct {
			Address string `json:"address"`
			Side    string `json:"side"`
			FeeTier int    `json:"feeTier"`
		} `json:"pool"`
		Worker struct {
			ID         int64  `json:"id"`
			AgentNftID uint64 `json:"agentNftId"`
		} `json:"worker"`
		TxHash string `json:"txHash"`
	}
	// swapAnswer is a swap and the pool after it. price is the swap's quote per token.
	swapAnswer struct {
		AmountIn    decimalText `json:"amountIn"`
		AmountOut   decimalText `json:"amountOut"`
		Price       decimalText `json:"price"`
		TxHash      string      `json:"txHash"`
		BlockNumber int64       `json:"blockNumber"`
		Pool        poolAnswer  `json:"pool"`
	}
)

// usdText returns hundredths of a USD as a decimal with two digits.
func usdText(cents fixed.U128) string { return string(fixed.AppendU128(nil, cents, 2)) }

func newTokenRow(t *launchpad.Token, w *hive.WorkerInfo) tokenRow {
	return tokenRow{
		Address: t.Address.String(), Symbol: t.Symbol, Name: t.Name, SpawnedAt: t.SpawnedSec,
		TVL: usdText(t.TVL), Volume24h: usdText(t.Volume), Holders: t.Holders,
		WorkerStatus: w.Status.String(), Boosted: t.Boosted,
	}
}

// newTokenAnswer returns a token without its metadata.
func newTokenAnswer(t *launchpad.Token, w *hive.WorkerInfo) *tokenAnswer {
	out := tokenAnswer{Pool: newPoolRow(t), Metadata: emptyObject, Boost: newBoostAnswer(t)}
	o := &out.Token
	o.Address, o.Name, o.Symbol, o.Decimals = t.Address.String(), t.Name, t.Symbol, launchpad.Decimals
	o.TotalSupply, o.Owner, o.SpawnedAt = t.Supply.Whole().String(), t.Owner.String(), t.SpawnedSec
	out.Worker.ID, out.Worker.AgentNftID, out.Worker.Status = int64(t.No), t.AgentNFT(), w.Status.String()
	out.Worker.LastActionAt, out.Worker.ActionCount = w.LastActionAt, w.TotalActions
	return &out
}

func newPoolRow(t *launchpad.Token) poolRow {
	return poolRow{
		Address: t.Pool.String(), Side: t.Side.String(), FeeTier: launchpad.FeeTier,
		TVL: usdText(t.TVL), Volume24h: usdText(t.Volume), LastTradeAt: t.LastTradeSec,
	}
}

func newPoolAnswer(t *launchpad.Token) *poolAnswer {
	out := &poolAnswer{
		poolRow: newPoolRow(t), TokenAddress: t.Address.String(), TokenSymbol: t.Symbol,
		ReserveToken: t.ReserveToken.String(), ReserveQuote: t.ReserveQuote.String(),
	}
	if price, ok := t.Price(); ok {
		text := price.String()
		out.Price = &text
	}
	return out
}

func newBoostAnswer(t *launchpad.Token) (out boostAnswer) {
	if t.Boosted {
		tier, until := t.BoostTier.String(), t.BoostUntilSec
		out = boostAnswer{Active: true, Tier: &tier, ExpiresAt: &until}
	}
	return out
}

// newTokenWorkerAnswer returns the worker of a token as the launchpad shows it, with the newest log entries
// whose target is the token.
func newTokenWorkerAnswer(t *launchpad.Token, w *hive.WorkerInfo, recent []hive.EntryInfo) *tokenWorkerAnswer {
	out := &tokenWorkerAnswer{RecentActions: make([]tokenAction, len(recent))}
	out.Worker.ID, out.Worker.AgentNftID = int64(t.No), t.AgentNFT()
	out.Worker.Status, out.Worker.DeployedAt = w.Status.String(), t.SpawnedSec
	for i := range recent {
		e := &recent[i]
		out.RecentActions[i] = tokenAction{
			TxHash: e.TxHash.String(), ActionType: e.Type.String(), Params: json.RawMessage(e.Payload),
			BlockNumber: e.BlockNumber, BlockTimestamp: e.Sec(),
		}
	}
	out.Stats.TotalActions, out.Stats.LastActiveAt = w.TotalActions, w.LastActiveAt
	return out
}

func newSpawnAnswer(res *launchpad.Result) *spawnAnswer {
	t, out := res.Token, &spawnAnswer{TxHash: res.TxHash.String()}
	out.Token.Address, out.Token.Name, out.Token.Symbol = t.Address.String(), t.Name, t.Symbol
	out.Token.TotalSupply, out.Token.Owner = t.Supply.Whole().String(), t.Owner.String()
	out.Pool.Address, out.Pool.Side, out.Pool.FeeTier = t.Pool.String(), t.Side.String(), launchpad.FeeTier
	out.Worker.ID, out.Worker.AgentNftID = int64(t.No), t.AgentNFT()
	return out
}

func newSwapAnswer(res *launchpad.Result) *swapAnswer {
	return &swapAnswer{
		AmountIn: decimalText(res.In.String()), AmountOut: decimalText(res.Out.String()),
		Price: decimalText(res.Price.String()), TxHash: res.TxHash.String(), BlockNumber: res.Block,
		Pool: *newPoolAnswer(res.Token),
	}
}

// HasCurrency reports whether the ledger holds the balances of a currency, which is the case for NATIVE and
// USBI.
func (s *Service) HasCurrency(currencyCode string) bool {
	_, ok := launchpad.ParseCurrency(currencyCode)
	return ok
}

// Deposit credits NATIVE or USBI to an address.
func (s *Service) Deposit(address, currencyCode string, amount fixed.I128) (accounts.BalanceView, *refuse.Refusal) {
	return s.move(address, currencyCode, amount, func(a launchpad.Address, c launchpad.Currency,
		v launchpad.Amount,
	) launchpad.Command {
		return launchpad.Deposit{To: a, Currency: c, Amount: v}
	})
}

// Withdraw debits NATIVE or USBI from an address.
func (s *Service) Withdraw(address, currencyCode string, amount fixed.I128) (accounts.BalanceView, *refuse.Refusal) {
	return s.move(address, currencyCode, amount, func(a launchpad.Address, c launchpad.Currency,
		v launchpad.Amount,
	) launchpad.Command {
		return launchpad.Withdraw{From: a, Currency: c, Amount: v}
	})
}

func (s *Service) move(
	address, currencyCode string, amount fixed.I128,
	command func(launchpad.Address, launchpad.Currency, launchpad.Amount) launchpad.Command,
) (accounts.BalanceView, *refuse.Refusal) {
	a, okAddress := launchpad.ParseAddress(address)
	currency, okCurrency := launchpad.ParseCurrency(currencyCode)
	if !okAddress || !okCurrency {
		panic("BUG: server: " + currencyCode + " of " + address + " is not the ledger's")
	}
	v, ok := ledgerAmount(amount)
	if !ok {
		return accounts.BalanceView{}, refuse.Param("amount", "The member amount must be above 0.")
	}
	res, err := s.DoLaunchpad(command(a, currency, v))
	if err != nil {
		return accounts.BalanceView{}, refusalOf(err, "the balances")
	}
	return balanceOf(currency, res.Balance), nil
}

// balanceOf returns a balance of the ledger.
func balanceOf(c launchpad.Currency, amount launchpad.Amount) accounts.BalanceView {
	m := moneyOf(amount).Wide()
	return accounts.BalanceView{CurrencyCode: c.String(), Digits: fixed.Scale, Free: m, Total: m}
}

// Balances returns the non-zero balances of an address in NATIVE and USBI.
func (s *Service) Balances(address string) []accounts.BalanceView {
	a, ok := launchpad.ParseAddress(address)
	if !ok {
		return nil
	}
	v := s.views()
	var rows []accounts.BalanceView
	for _, c := range []launchpad.Currency{launchpad.NATIVE, launchpad.USBICoin} {
		if b := v.ledger.Balance(a, c); !b.IsZero() {
			rows = append(rows, balanceOf(c, b))
		}
	}
	return rows
}

// Seq returns the number of records that the ledger's view reflects.
func (s *Service) Seq() uint64 {
	ledger, _ := s.Views()
	if ledger == nil {
		return 0
	}
	return ledger.Seq()
}

// Totals returns the ledger's rows of GET /totals. Money in pools counts as held.
func (s *Service) Totals() []accounts.TotalView {
	v := s.views()
	var rows []accounts.TotalView
	for _, t := range v.ledger.Totals() {
		rows = append(rows, accounts.TotalView{
			CurrencyCode: t.Currency.String(), Free: moneyOf(t.Held).Wide(), Held: moneyOf(t.Pooled).Wide(),
			Fees:      moneyOf(t.Fees).Wide(),
			Deposited: moneyOf(t.Deposited).Wide(), Withdrawn: moneyOf(t.Withdrawn).Wide(),
		})
	}
	return rows
}

// ledgerAmount converts money to the ledger's amount; false when it is not above 0.
func ledgerAmount(m fixed.I128) (launchpad.Amount, bool) {
	v, err := launchpad.ParseAmount(string(fixed.AppendShortest(nil, m, fixed.Scale)))
	return v, err == nil && !v.IsZero()
}

// maxMoney is the largest signed 128-bit value. Larger totals are shown as maxMoney.
var maxMoney = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1))

func moneyOf(a launchpad.Amount) fixed.I128 {
	v := a.Big()
	if v.Cmp(maxMoney) > 0 {
		v = maxMoney
	}
	low := new(big.Int).And(v, new(big.Int).SetUint64(1<<64-1)).Uint64()
	return fixed.I128{Hi: new(big.Int).Rsh(v, 64).Int64(), Lo: low}
}
