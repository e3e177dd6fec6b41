package binance

import (
	"bytes"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

var reqAPIKey = []byte("X-Mbx-Apikey") // X-MBX-APIKEY as the request parser normalizes it

// signedText returns what a request over HTTP signs: the query and the form without the signature.
func signedText(c *edge.Ctx) auth.Payload {
	text := append(withoutSignature(c.URI().QueryString()), withoutSignature(form(c))...)
	return auth.Payload{
		Text: text, PublicKey: c.Request.Header.PeekCanonical(reqAPIKey), Remote: c.ClientAddr(),
		Reads: c.IsGet() || c.IsHead(),
	}
}

var badKeyFormat = fail(codeBadKeyFormat, "API-key format invalid.").with(fasthttp.StatusUnauthorized)

// authenticate verifies a signature over p.Text, and sets the principal. The parameters signature, timestamp and
// recvWindow count as read.
//
// A signature counts as often as it arrives within its window: on the other exchange two equal orders of one
// millisecond are two orders, so its hash cannot serve as a nonce. A start refuses what an earlier process may have
// accepted, by a floor 1 s later than the native API's. A payload with a control character verifies nothing: a
// signature of one scheme is never one of the other, although both use the same key.
func (q *call) authenticate(p *auth.Payload) (err *failure) {
	if len(p.PublicKey) == 0 {
		return badKeyFormat
	}
	signature, err := q.required("signature")
	if err != nil {
		return err
	}
	p.Signature = []byte(signature)
	if p.Stamp, err = q.stamp(); err != nil {
		return err
	}
	who, refused := q.f.opt.Users.VerifyPayload(p)
	if refused != nil {
		return authFailure(refused)
	}
	q.Principal = principal(&who)
	return nil
}

// checkCredentials checks the credentials of a call. A call on a socket that has logged on needs no signature, but a
// timestamp.
func (q *call) checkCredentials(need security, payload func() auth.Payload) *failure {
	switch {
	case need == signed && q.Principal != nil && !q.sent("signature"):
		stamp, err := q.stamp()
		if err != nil {
			return err
		}
		if now := q.f.opt.Clock.NowNs(); !stamp.In(now) {
			return fail(codeBadTime, "%s", stamp.Out(now))
		}
	case need == signed || q.sent("signature"): // libraries sign more than they need to
		p := payload()
		return q.authenticate(&p)
	case need == keyed && q.Principal == nil:
		p := payload()
		if len(p.PublicKey) == 0 {
			return badKeyFormat
		}
		who, refused := q.f.opt.Users.Identify(string(p.PublicKey), p.Remote)
		if refused != nil {
			return rejectedKey
		}
		q.Principal = principal(&who)
	}
	return nil
}

func principal(who *auth.Principal) *edge.Principal {
	return &edge.Principal{
		Account: who.User, UserID: who.ID.String(), PublicKey: who.PublicKey, CanTrade: who.CanTrade,
	}
}

var rejectedKey = fail(codeRejectedKey, "Invalid API-key, IP, or permissions for action.").
	with(fasthttp.StatusUnauthorized)

// authFailure translates a refusal of the credentials.
func authFailure(r *refuse.Refusal) *failure {
	switch {
	case r.Code != refuse.Unauthorized && r.Code != refuse.Forbidden:
		return fromRefusal(r)
	case r.Field == "timestamp":
		return fail(codeBadTime, "%s", r.Message)
	case r.Field == "signature":
		return fail(codeBadSignature, "Signature for this request is not valid.")
	}
	return rejectedKey
}

// form returns the body of a request that may have one.
func form(c *edge.Ctx) []byte {
	if c.IsGet() || c.IsHead() {
		return nil
	}
	return c.Request.Body()
}

// withoutSignature returns a copy of a query or form without the parameter signature: the signed text.
func withoutSignature(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for part := range bytes.SplitSeq(text, []byte{'&'}) {
		if bytes.HasPrefix(part, []byte("signature=")) {
			continue
		}
		if len(out) > 0 {
			out = append(out, '&')
		}
		out = append(out, part...)
	}
	return out
}

// balances returns a row for every currency: the currencies of assets and pairs, zeros included, and the caller's other
// currencies.
func (q *call) balances(root *marketdata.Root, zeros bool) []accounts.BalanceView {
	rows := q.f.opt.Users.Balances(q.account())
	if !zeros {
		return rows
	}
	has := map[string]bool{}
	for i := range rows {
		has[rows[i].CurrencyCode] = true
	}
	add := func(code string, digits int) {
		if !has[code] {
			has[code] = true
			rows = append(rows, accounts.BalanceView{CurrencyCode: code, Digits: digits})
		}
	}
	for _, a := range root.Assets() {
		add(a.Symbol, a.Digits)
	}
	for _, id := range root.Sorted() {
		in := root.View(id).Instrument
		add(in.Base, in.BaseDigits)
		add(in.Quote, in.QuoteDigits)
	}
	slices.SortFunc(rows, func(a, b accounts.BalanceView) int {
		return strings.Compare(a.CurrencyCode, b.CurrencyCode)
	})
	return rows
}

// writeRates writes the caller's rates as two members, in 10^-16.
func writeRates(w *json.Writer, makerName string, maker fixed.I128, takerName string, taker fixed.I128) {
	w.Name(makerName).Shortest(maker, 2*engine.RateScale)
	w.Name(takerName).Shortest(taker, 2*engine.RateScale)
}

// writeFourRates writes an object of rates; the rates of buyers and sellers are 0.
func writeFourRates(w *json.Writer, maker, taker fixed.I128) {
	w.Object()
	writeRates(w, "maker", maker, "taker", taker)
	w.Name("buyer").Rate(0, 1)
	w.Name("seller").Rate(0, 1)
	w.EndObject()
}

// rates returns the caller's rates in a pair, for the side whose discount is the smaller one.
func (q *call) rates(in *engine.Instrument) (maker, taker fixed.I128) {
	terms := q.f.opt.Users.Terms(q.account())
	discount := min(terms.Discount(engine.Buy), terms.Discount(engine.Sell))
	return objects.Discounted(in.MakerFee, discount), objects.Discounted(in.TakerFee, discount)
}

// account serves GET /api/v3/account. Its rates are the largest of all pairs.
func account(q *call) ([]byte, *failure) {
	omit, err := q.word("omitZeroBalances", "false", "true")
	if err != nil {
		return nil, err
	}
	return q.accountAnswer(omit != "true"), nil
}

func (q *call) accountAnswer(zeros bool) []byte {
	root := q.f.opt.Board.Load()
	var maker, taker fixed.I128
	for _, id := range root.Sorted() {
		m, t := q.rates(root.View(id).Instrument)
		if maker.Cmp(m) < 0 {
			maker = m
		}
		if taker.Cmp(t) < 0 {
			taker = t
		}
	}
	const basisPoint = 1_000_000_000_000 // 10^-4 in 10^-16
	points := func(v fixed.I128) int64 { q, _ := v.Abs().DivMod64(basisPoint); return int64(q.Lo) }
	w := q.writer()
	w.Object()
	w.Name("makerCommission").Int(points(maker))
	w.Name("takerCommission").Int(points(taker))
	w.Name("buyerCommission").Int(0)
	w.Name("sellerCommission").Int(0)
	writeFourRates(w.Name("commissionRates"), maker, taker)
	w.Name("canTrade").Bool(q.Principal.CanTrade)
	w.Name("canWithdraw").Bool(false)
	w.Name("canDeposit").Bool(false)
	w.Name("brokered").Bool(false)
	w.Name("requireSelfTradePrevention").Bool(false)
	w.Name("preventSor").Bool(false)
	w.Name("updateTime").Time(q.f.opt.Clock.NowNs())
	w.Name("accountType").Word("SPOT")
	w.Name("balances").List()
	for _, row := range q.balances(root, zeros) {
		w.Object()
		writeBalance(&w, "asset", "free", "locked", &row)
		w.EndObject()
	}
	w.EndList()
	w.Name("permissions").Words("SPOT")
	w.Name("uid").Uint(uint64(q.Principal.Account))
	w.EndObject()
	return w.Bytes()
}

// writeBalance writes the members of a balance under the given names.
func writeBalance(w *json.Writer, asset, free, locked string, row *accounts.BalanceView) {
	w.Name(asset).Word(row.CurrencyCode)
	writeMoney(w.Name(free), row.Free, row.Digits)
	writeMoney(w.Name(locked), row.Held, row.Digits)
}

// writeMoney writes an amount of 10^-18 with the digits of its asset, of whose units it is a whole number.
func writeMoney(w *json.Writer, v fixed.I192, digits int) {
	var text [80]byte // 2^191 has 58 digits
	b := fixed.AppendI192(append(text[:0], '"'), v, fixed.Scale)
	w.Raw(append(b[:len(b)-fixed.Scale+max(digits, 1)], '"'))
}

// commission serves GET /api/v3/account/commission.
func commission(q *call) ([]byte, *failure) {
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	maker, taker := q.rates(v.Instrument)
	symbol := q.f.symbolsOf(q.f.opt.Board.Load()).of(v.Instrument)
	w := q.writer()
	w.Object()
	w.Name("symbol").Word(symbol)
	writeFourRates(w.Name("standardCommission"), maker, taker)
	writeFourRates(w.Name("specialCommission"), fixed.I128{}, fixed.I128{})
	writeFourRates(w.Name("taxCommission"), fixed.I128{}, fixed.I128{})
	writeNoDiscount(&w)
	w.EndObject()
	return w.Bytes(), nil
}

// testRates is the answer to the test of an order that asks for its rates.
func (q *call) testRates(in *engine.Instrument, side engine.Side) []byte {
	terms := q.f.opt.Users.Terms(q.account())
	maker := objects.Discounted(in.MakerFee, terms.Discount(side))
	taker := objects.Discounted(in.TakerFee, terms.Discount(side))
	w := q.writer()
	w.Object()
	for _, rates := range [...]struct {
		name         string
		maker, taker fixed.I128
	}{{name: "standard", maker: maker, taker: taker}, {name: "special"}, {name: "tax"}} {
		w.Name(rates.name + "CommissionForOrder").Object()
		writeRates(&w, "maker", rates.maker, "taker", rates.taker)
		w.EndObject()
	}
	writeNoDiscount(&w)
	w.EndObject()
	return w.Bytes()
}

// writeNoDiscount writes the member discount: no third currency pays a fee.
func writeNoDiscount(w *json.Writer) {
	w.Name("discount").Object()
	w.Name("enabledForAccount").Bool(false)
	w.Name("enabledForSymbol").Bool(false)
	w.Name("discountAsset").Null()
	w.Name("discount").Units(0, 8)
	w.EndObject()
}

// tradeFee serves GET /sapi/v1/asset/tradeFee.
func tradeFee(q *call) ([]byte, *failure) {
	views, root, _, err := q.views(maxTickers)
	if err != nil {
		return nil, err
	}
	names := q.f.symbolsOf(root)
	w := q.writer()
	w.List()
	for _, v := range views {
		maker, taker := q.rates(v.Instrument)
		w.Object()
		w.Name("symbol").Word(names.of(v.Instrument))
		writeRates(&w, "makerCommission", maker, "takerCommission", taker)
		w.EndObject()
	}
	w.EndList()
	return w.Bytes(), nil
}

// noDiscountAsset serves GET /sapi/v1/bnbBurn: no third currency pays a fee.
func noDiscountAsset(q *call) ([]byte, *failure) {
	var w json.Writer
	w.Object()
	w.Name("spotBNBBurn").Bool(false)
	w.Name("interestBNBBurn").Bool(false)
	w.EndObject()
	return w.Bytes(), nil
}

// coins serves GET /sapi/v1/capital/config/getall: every currency, without networks, because deposits and
// withdrawals have no counterpart.
func coins(q *call) ([]byte, *failure) {
	root := q.f.opt.Board.Load()
	w := q.writer()
	w.List()
	for _, row := range q.balances(root, true) {
		name, fiat := row.CurrencyCode, false
		if a := root.Asset(row.CurrencyCode); a != nil {
			name, fiat = a.Name, a.Fiat
		}
		w.Object()
		writeBalance(&w, "coin", "free", "locked", &row)
		w.Name("name").Text(name)
		w.Name("isLegalMoney").Bool(fiat)
		w.Name("trading").Bool(true)
		w.Name("depositAllEnable").Bool(false)
		w.Name("withdrawAllEnable").Bool(false)
		for _, none := range []string{"freeze", "ipoable", "ipoing", "storage", "withdrawing"} {
			w.Name(none).Word("0")
		}
		w.Name("networkList").Words()
		w.EndObject()
	}
	w.EndList()
	return w.Bytes(), nil
}

// nothing serves lists that are always empty here.
func nothing(q *call) ([]byte, *failure) { return []byte("[]"), nil }
