package agents

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"strconv"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

var hdrAsOf = []byte("X-As-Of")

// setAsOf sets the header X-As-Of. A client sends its block as asOf with the requests for the next pages
// (docs/contract/launchpad.md#tokens).
func setAsOf(c *edge.Ctx, block int64) {
	c.Response.Header.SetCanonical(hdrAsOf, strconv.AppendInt(nil, block, 10))
}

// tokens serves GET /api/launchpad/tokens.
func (s *Service) tokens(c *edge.Ctx) *refuse.Refusal {
	var q launchpad.ListQuery
	var err *refuse.Refusal
	if q.Page, q.PageSize, err = tokenPages.Of(c); err != nil {
		return err
	}
	sort, err := tokenSort.Of(c)
	if err != nil {
		return err
	}
	q.Sort = launchpad.Sort(sort)
	if q.Boosted, err = boosted.Of(c); err != nil {
		return err
	}
	if q.Side, err = filterWord(c, poolSide, launchpad.USBI); err != nil {
		return err
	}
	if q.AsOf, err = filter(c, asOf); err != nil {
		return err
	}
	after, err := tokenRows.Of(c)
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
	w := writePage(list.Items, list.TotalItems, q.Page, q.PageSize, func(w *json.Writer, t **launchpad.Token) {
		writeTokenRow(w, *t, v.worker(*t))
	})
	return sendFree(c, &w)
}

func noToken() *refuse.Refusal {
	return refuse.Missing("id", "No token has this address or registry id.")
}

// token returns the token that the path names.
func (v *storeViews) token(c *edge.Ctx) (*launchpad.Token, *refuse.Refusal) {
	text, err := tokenOf.Of(c)
	if err != nil {
		return nil, err
	}
	t, ok := v.ledger.Find(text)
	if !ok {
		return nil, noToken()
	}
	return t, nil
}

// token serves GET /api/launchpad/tokens/:id.
func (s *Service) token(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	t, err := v.token(c)
	if err != nil {
		return err
	}
	var w json.Writer
	writeToken(&w, t, v.worker(t))
	return sendFree(c, &w)
}

// pool serves GET /api/launchpad/tokens/:id/pool.
func (s *Service) pool(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	t, err := v.token(c)
	if err != nil {
		return err
	}
	var w json.Writer
	writePool(&w, t)
	return sendFree(c, &w)
}

// ohlc serves GET /api/launchpad/tokens/:id/ohlc: the sums of the token's candles by interval.
func (s *Service) ohlc(c *edge.Ctx) *refuse.Refusal {
	length, err := interval.Of(c)
	if err != nil {
		return err
	}
	from, err := filter(c, start)
	if err != nil {
		return err
	}
	to, err := filter(c, end)
	if err != nil {
		return err
	}
	if from != nil && to != nil && from.After(*to) {
		return refuse.Param("start", "The parameter start must not be after end.")
	}
	v := s.views()
	t, err := v.token(c)
	if err != nil {
		return err
	}
	var rows []launchpad.Candle
	for k := range t.Candles {
		date := edge.Moment{Sec: length.Floor(k.StartSec)}
		switch n := len(rows); {
		case from != nil && from.After(date) || to != nil && date.After(*to):
		case n > 0 && rows[n-1].StartSec == date.Sec:
			rows[n-1].Merge(k)
		default:
			rows = append(rows, *k)
			rows[n].StartSec = date.Sec
		}
	}
	var w json.Writer
	w.List()
	for i := range rows {
		writeCandle(&w, &rows[i])
	}
	w.EndList()
	return sendFree(c, &w)
}

// tokenWorker serves GET /api/launchpad/tokens/:id/worker.
func (s *Service) tokenWorker(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	t, err := v.token(c)
	if err != nil {
		return err
	}
	var w json.Writer
	writeTokenWorker(&w, t, v.worker(t), v.hive.Recent(t.AgentNFT()))
	return sendFree(c, &w)
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
	u, err := s.user(engine.AccountID(c.Principal.Account))
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
	var w json.Writer
	writeSpawn(&w, &res)
	return sendFree(c, &w)
}

// swapOwn serves POST /api/launchpad/tokens/:id/swaps.
func (s *Service) swapOwn(c *edge.Ctx) *refuse.Refusal {
	var q swapRequest
	err := ownSwapForm.Decode(c.PostBody(), &q)
	if err != nil {
		return err
	}
	if q.Token, err = s.workerID(c); err != nil {
		return err
	}
	u, err := s.user(engine.AccountID(c.Principal.Account))
	if err != nil {
		return err
	}
	q.From = u.address
	return s.sendSwap(c, &q)
}

// maxHoldings bounds the answer of holdings.
const maxHoldings = 1000

// holdings serves GET /api/launchpad/holdings.
func (s *Service) holdings(c *edge.Ctx) *refuse.Refusal {
	u, err := s.user(engine.AccountID(c.Principal.Account))
	if err != nil {
		return err
	}
	var w json.Writer
	n := 0
	w.List()
	s.views().ledger.Holdings(u.address, func(t *launchpad.Token, amount launchpad.Amount) bool {
		w.Object()
		w.Name("tokenAddress").Word(t.Address.String())
		w.Name("tokenSymbol").Word(t.Symbol)
		w.Name("agentNftId").Uint(t.AgentNFT())
		w.Name("amount").Word(amount.String())
		w.EndObject()
		n++
		return n < maxHoldings
	})
	w.EndList()
	return sendFree(c, &w)
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

// sendDecimals sends an answer. The parameter decimals determines whether its decimals are numbers or strings.
func sendDecimals(c *edge.Ctx, w *json.Writer) *refuse.Refusal {
	c.Private(w.Bytes())
	return nil
}

// sendFree sends an answer whose only decimals are in free-form members (metadata, payloads), which stay as the
// client sent them; the parameter decimals has no effect.
func sendFree(c *edge.Ctx, w *json.Writer) *refuse.Refusal {
	c.PlainDecimals()
	return sendDecimals(c, w)
}

// The answers of the launchpad have the members of docs/contract/api.md, docs/contract/internal.md and
// docs/contract/launchpad.md. Times are Unix seconds.

// usdText returns hundredths of a USD as a decimal with two digits.
func usdText(cents fixed.U128) string { return string(fixed.AppendU128(nil, cents, 2)) }

func writeTokenRow(w *json.Writer, t *launchpad.Token, worker *hive.WorkerInfo) {
	w.Object()
	w.Name("address").Word(t.Address.String())
	w.Name("symbol").Word(t.Symbol)
	w.Name("name").Text(t.Name)
	w.Name("spawnedAt").Int(t.SpawnedSec)
	w.Name("tvl").Word(usdText(t.TVL))
	w.Name("volume24h").Word(usdText(t.Volume))
	w.Name("holders").Int(t.Holders)
	writePrice(w, t)
	w.Name("workerStatus").Word(worker.Status.String())
	w.Name("boosted").Bool(t.Boosted)
	w.EndObject()
}

// writeToken writes a token. Its metadata stays as the client sent it, white space included.
func writeToken(w *json.Writer, t *launchpad.Token, worker *hive.WorkerInfo) {
	w.Object()
	w.Name("token").Object()
	w.Name("address").Word(t.Address.String())
	w.Name("name").Text(t.Name)
	w.Name("symbol").Word(t.Symbol)
	w.Name("decimals").Int(launchpad.Decimals)
	w.Name("totalSupply").Word(t.Supply.Whole().String()) // whole tokens, no fraction
	w.Name("owner").Word(t.Owner.String())
	w.Name("spawnedAt").Int(t.SpawnedSec)
	w.EndObject()
	w.Name("pool").Object()
	writePoolMembers(w, t)
	w.EndObject()
	w.Name("worker").Object()
	w.Name("id").Int(int64(t.No))
	w.Name("agentNftId").Uint(t.AgentNFT())
	w.Name("status").Word(worker.Status.String())
	w.Name("lastActionAt").Int(worker.LastActionAt)
	w.Name("actionCount").Int(worker.TotalActions)
	w.EndObject()
	w.Name("metadata").Raw([]byte(cmp.Or(t.Metadata, "{}")))
	writeBoost(w.Name("boost"), t)
	w.EndObject()
}

func writePoolMembers(w *json.Writer, t *launchpad.Token) {
	w.Name("address").Word(t.Pool.String())
	w.Name("side").Word(t.Side.String())
	w.Name("feeTier").Int(launchpad.FeeTier)
	w.Name("tvl").Word(usdText(t.TVL))
	w.Name("volume24h").Word(usdText(t.Volume))
	w.Name("lastTradeAt").Int(t.LastTradeSec)
}

// writePool writes a pool on its own; price is null when the pool is empty.
func writePool(w *json.Writer, t *launchpad.Token) {
	w.Object()
	writePoolMembers(w, t)
	w.Name("tokenAddress").Word(t.Address.String())
	w.Name("tokenSymbol").Word(t.Symbol)
	w.Name("reserveToken").Word(t.ReserveToken.String())
	w.Name("reserveQuote").Word(t.ReserveQuote.String())
	writePrice(w, t)
	w.EndObject()
}

// writeCandle writes the members of docs/contract/api.md, as the decimals of the launchpad.
func writeCandle(w *json.Writer, k *launchpad.Candle) {
	w.Object()
	w.Name("date").Second(k.StartSec)
	w.Name("open").Word(k.Open.String())
	w.Name("max").Word(k.High.String())
	w.Name("min").Word(k.Low.String())
	w.Name("close").Word(k.Close.String())
	w.Name("volume").Word(k.Volume.String())
	w.Name("volumeBase").Word(k.VolumeToken.String())
	w.EndObject()
}

func writePrice(w *json.Writer, t *launchpad.Token) {
	w.Name("price")
	if price, ok := t.Price(); ok {
		w.Word(price.String())
	} else {
		w.Null()
	}
}

// writeBoost writes a boost; tier and expiresAt are null when it is inactive.
func writeBoost(w *json.Writer, t *launchpad.Token) {
	w.Object()
	w.Name("active").Bool(t.Boosted)
	w.Name("tier")
	if t.Boosted {
		w.Word(t.BoostTier.String())
	} else {
		w.Null()
	}
	w.Name("expiresAt").IntOrNull(t.BoostUntilSec, t.Boosted)
	w.EndObject()
}

// writeTokenWorker writes the worker of a token as the launchpad shows it, with the newest log entries whose target is
// the token.
func writeTokenWorker(w *json.Writer, t *launchpad.Token, worker *hive.WorkerInfo, recent []hive.EntryInfo) {
	w.Object()
	w.Name("worker").Object()
	w.Name("id").Int(int64(t.No))
	w.Name("agentNftId").Uint(t.AgentNFT())
	w.Name("status").Word(worker.Status.String())
	w.Name("deployedAt").Int(t.SpawnedSec)
	w.EndObject()
	writeActions(w.Name("recentActions"), recent, false)
	w.Name("stats").Object()
	w.Name("totalActions").Int(worker.TotalActions)
	w.Name("lastActiveAt").Int(worker.LastActiveAt)
	w.EndObject()
	w.EndObject()
}

func writeSpawn(w *json.Writer, res *launchpad.Result) {
	t := res.Token
	w.Object()
	w.Name("token").Object()
	w.Name("address").Word(t.Address.String())
	w.Name("name").Text(t.Name)
	w.Name("symbol").Word(t.Symbol)
	w.Name("totalSupply").Word(t.Supply.Whole().String())
	w.Name("owner").Word(t.Owner.String())
	w.EndObject()
	w.Name("pool").Object()
	w.Name("address").Word(t.Pool.String())
	w.Name("side").Word(t.Side.String())
	w.Name("feeTier").Int(launchpad.FeeTier)
	w.EndObject()
	w.Name("worker").Object()
	w.Name("id").Int(int64(t.No))
	w.Name("agentNftId").Uint(t.AgentNFT())
	w.EndObject()
	w.Name("txHash").Word(res.TxHash.String())
	w.EndObject()
}

// writeSwap writes a swap and the pool after it. price is the swap's quote per token.
func writeSwap(w *json.Writer, res *launchpad.Result) {
	w.Object()
	w.Name("amountIn").Raw([]byte(res.In.String()))
	w.Name("amountOut").Raw([]byte(res.Out.String()))
	w.Name("price").Raw([]byte(res.Price().String()))
	w.Name("txHash").Word(res.TxHash.String())
	w.Name("blockNumber").Int(res.Block)
	writePool(w.Name("pool"), res.Token)
	w.EndObject()
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
