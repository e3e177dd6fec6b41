package binance

import (
	"slices"
	"strconv"
	"strings"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

// balances returns a row for every currency: those of assets and pairs, zeros included, and the caller's others.
func (q *call) balances(root *marketdata.Root, zeros bool) []accounts.BalanceView {
	rows := q.f.opt.Users.Balances(q.Principal.Account)
	if !zeros {
		return rows
	}
	has := map[string]bool{}
	for i := range rows {
		has[rows[i].CurrencyCode] = true
	}
	add := func(code string) {
		if !has[code] {
			has[code] = true
			rows = append(rows, accounts.BalanceView{CurrencyCode: code})
		}
	}
	for _, a := range root.Assets() {
		add(a.Symbol)
	}
	for _, id := range root.Sorted() {
		in := root.View(id).Instrument
		add(in.Base)
		add(in.Quote)
	}
	slices.SortFunc(rows, func(a, b accounts.BalanceView) int {
		return strings.Compare(a.CurrencyCode, b.CurrencyCode)
	})
	return rows
}

// rate returns a fee rate of the caller in 10^-16.
func rate(r uint32, discount uint32) fixed.I128 {
	return fixed.Mul64(uint64(r), uint64(engine.RateOne-discount)).ToI128()
}

func appendRate(b []byte, name string, v fixed.I128) []byte {
	b = append(append(append(b, '"'), name...), `":"`...)
	return append(fixed.AppendShortest(b, v, 2*engine.RateScale), '"')
}

// rates returns the caller's rates in a pair, for the side whose discount is the smaller one.
func (q *call) rates(in *engine.Instrument) (maker, taker fixed.I128) {
	terms := q.f.opt.Users.Terms(q.Principal.Account)
	discount := min(terms.Discount(engine.Buy), terms.Discount(engine.Sell))
	return rate(in.MakerFee, discount), rate(in.TakerFee, discount)
}

// account serves GET /api/v3/account. Its rates are the largest of all pairs.
func account(q *call) ([]byte, *failure) {
	omit, err := q.word("omitZeroBalances", "false", "true")
	if err != nil {
		return nil, err
	}
	return q.appendAccount(nil, omit != "true"), nil
}

func (q *call) appendAccount(b []byte, zeros bool) []byte {
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
	b = strconv.AppendInt(append(b, `{"makerCommission":`...), points(maker), 10)
	b = strconv.AppendInt(append(b, `,"takerCommission":`...), points(taker), 10)
	b = append(b, `,"buyerCommission":0,"sellerCommission":0,"commissionRates":{`...)
	b = appendRate(append(appendRate(b, "maker", maker), ','), "taker", taker)
	b = append(b, `,"buyer":"0.0","seller":"0.0"},"canTrade":`...)
	b = strconv.AppendBool(b, q.Principal.CanTrade)
	b = append(b, `,"canWithdraw":false,"canDeposit":false,"brokered":false,"requireSelfTradePrevention":false,`+
		`"preventSor":false,"updateTime":`...)
	b = encode.AppendMs(b, q.f.opt.Clock.NowNs())
	b = append(b, `,"accountType":"SPOT","balances":[`...)
	for _, row := range q.balances(root, zeros) {
		b = append(AppendBalance(b, "asset", "free", "locked", &row), ',')
	}
	b = append(trimComma(b), `],"permissions":["SPOT"],"uid":`...)
	return append(strconv.AppendUint(b, uint64(q.Principal.Account), 10), '}')
}

// AppendBalance appends a balance with the given names of its members.
func AppendBalance(b []byte, asset, free, locked string, row *accounts.BalanceView) []byte {
	b = append(append(append(b, `{"`...), asset...), `":"`...)
	b = append(append(append(append(b, row.CurrencyCode...), `","`...), free...), `":"`...)
	b = fixed.AppendShortest192(b, row.Free, fixed.Scale)
	b = append(append(append(b, `","`...), locked...), `":"`...)
	return append(fixed.AppendShortest192(b, row.Held, fixed.Scale), `"}`...)
}

// commission serves GET /api/v3/account/commission.
func commission(q *call) ([]byte, *failure) {
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	maker, taker := q.rates(v.Instrument)
	symbol := q.f.symbolsOf(q.f.opt.Board.Load()).of(v.Instrument)
	b := append(append([]byte(`{"symbol":"`), symbol...), `","standardCommission":{`...)
	b = appendRate(append(appendRate(b, "maker", maker), ','), "taker", taker)
	const none = `{"maker":"0.0","taker":"0.0","buyer":"0.0","seller":"0.0"}`
	return append(b, `,"buyer":"0.0","seller":"0.0"},"specialCommission":`+none+`,"taxCommission":`+none+
		`,"discount":{"enabledForAccount":false,"enabledForSymbol":false,"discountAsset":null,`+
		`"discount":"0.0"}}`...), nil
}

// tradeFee serves GET /sapi/v1/asset/tradeFee.
func tradeFee(q *call) ([]byte, *failure) {
	views, root, _, err := q.views(maxTickers)
	if err != nil {
		return nil, err
	}
	names := q.f.symbolsOf(root)
	b := []byte{'['}
	for _, v := range views {
		maker, taker := q.rates(v.Instrument)
		b = append(q.f.open(b, names, v), ',')
		b = appendRate(append(appendRate(b, "makerCommission", maker), ','), "takerCommission", taker)
		b = append(b, "},"...)
	}
	return append(trimComma(b), ']'), nil
}

// coins serves GET /sapi/v1/capital/config/getall: every currency, without networks, because deposits and
// withdrawals have no counterpart.
func coins(q *call) ([]byte, *failure) {
	root := q.f.opt.Board.Load()
	b := []byte{'['}
	for _, row := range q.balances(root, true) {
		name, fiat := row.CurrencyCode, false
		if a := root.Asset(row.CurrencyCode); a != nil {
			name, fiat = a.Name, a.Fiat
		}
		b = AppendBalance(b, "coin", "free", "locked", &row)
		b = encode.AppendString(append(b[:len(b)-1], `,"name":`...), name)
		b = strconv.AppendBool(append(b, `,"isLegalMoney":`...), fiat)
		b = append(b, `,"trading":true,"depositAllEnable":false,"withdrawAllEnable":false,"freeze":"0","ipoable":"0",`+
			`"ipoing":"0","storage":"0","withdrawing":"0","networkList":[]},`...)
	}
	return append(trimComma(b), ']'), nil
}

// nothing serves lists that are always empty here.
func nothing(q *call) ([]byte, *failure) { return []byte("[]"), nil }
