package binance

import (
	"cmp"
	"math"
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

func ping(q *call) ([]byte, *failure) { return []byte("{}"), nil }

func serverTime(q *call) ([]byte, *failure) {
	return append(encode.AppendMs([]byte(`{"serverTime":`), q.f.opt.Clock.NowNs()+q.skewNs), '}'), nil
}

func systemStatus(q *call) ([]byte, *failure) { return []byte(`{"status":0,"msg":"normal"}`), nil }

// noContracts answers for the exchanges of futures, which have no pairs here.
func noContracts(q *call) ([]byte, *failure) {
	b := encode.AppendMs([]byte(`{"timezone":"UTC","serverTime":`), q.f.opt.Clock.NowNs())
	return append(b, `,"rateLimits":[],"exchangeFilters":[],"assets":[],"symbols":[]}`...), nil
}

// maxInfoSymbols bounds the list symbols of exchangeInfo.
const maxInfoSymbols = 1000

func exchangeInfo(q *call) ([]byte, *failure) {
	views, root, given, err := q.views(maxInfoSymbols)
	if err != nil {
		return nil, err
	}
	status, byStatus := q.text("symbolStatus")
	if byStatus && given {
		return nil, fail(codeOptionalParams, "Combination of optional parameters invalid.")
	}
	if byStatus && status != "TRADING" && status != "HALT" && status != "BREAK" {
		return nil, invalid("symbolStatus")
	}
	spot, err := q.wantsSpot()
	if err != nil {
		return nil, err
	}
	sets, err := q.word("showPermissionSets", "true", "false")
	if err != nil {
		return nil, err
	}
	b := encode.AppendMs([]byte(`{"timezone":"UTC","serverTime":`), q.f.opt.Clock.NowNs())
	b = append(b, `,"rateLimits":[{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"limit":`...)
	b = strconv.AppendInt(b, WeightPerMinute, 10)
	b = append(b, `}],"exchangeFilters":[],"symbols":[`...)
	names := q.f.symbolsOf(root)
	for _, v := range views {
		if state := statusOf(v.Instrument.State); spot && (!byStatus || state == status) {
			b = append(q.f.appendSymbol(b, v.Instrument, names.of(v.Instrument), sets == "true"), ',')
		}
	}
	return append(trimComma(b), "]}"...), nil
}

// wantsSpot reports whether the parameter permissions includes SPOT, the only permission that pairs have.
func (q *call) wantsSpot() (bool, *failure) {
	text, given := q.text("permissions")
	switch {
	case !given, text == "SPOT", text == `["SPOT"]`:
		return true, nil
	case text == "MARGIN", text == "LEVERAGED", text == `["MARGIN","LEVERAGED"]`:
		return false, nil
	}
	return false, invalid("permissions")
}

// trimComma cuts the comma after the last row of a list.
func trimComma(b []byte) []byte {
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return b
}

func statusOf(s engine.PairState) string {
	switch s {
	case engine.Online, engine.PostOnlyState:
		return "TRADING"
	case engine.CancelOnly:
		return "BREAK"
	case engine.Halted:
	}
	return "HALT"
}

func (f *Facade) appendSymbol(b []byte, in *engine.Instrument, name string, sets bool) []byte {
	b = append(append(append(b, `{"symbol":"`...), name...), `","status":"`...)
	b = append(append(b, statusOf(in.State)...), `","baseAsset":"`...)
	b = append(append(b, in.Base...), `","baseAssetPrecision":`...)
	b = strconv.AppendInt(b, int64(in.DigitsAmount), 10)
	b = append(append(append(b, `,"quoteAsset":"`...), in.Quote...), '"')
	for _, member := range []string{"quotePrecision", "quoteAssetPrecision"} {
		b = strconv.AppendInt(append(append(append(b, `,"`...), member...), `":`...), int64(in.DigitsTotal()), 10)
	}
	b = strconv.AppendInt(append(b, `,"baseCommissionPrecision":`...), fixed.Scale, 10)
	b = strconv.AppendInt(append(b, `,"quoteCommissionPrecision":`...), fixed.Scale, 10)
	if in.State == engine.PostOnlyState {
		b = append(b, `,"orderTypes":["LIMIT_MAKER"]`...)
	} else {
		b = append(b, `,"orderTypes":["LIMIT","LIMIT_MAKER","MARKET","STOP_LOSS","STOP_LOSS_LIMIT"]`...)
	}
	b = append(b, `,"icebergAllowed":true,"ocoAllowed":false,"otoAllowed":false,"opoAllowed":false,`+
		`"quoteOrderQtyMarketAllowed":true,"allowTrailingStop":false,"cancelReplaceAllowed":true,"amendAllowed":true,`+
		`"pegInstructionsAllowed":false,"isSpotTradingAllowed":true,"isMarginTradingAllowed":false,"filters":[`...)
	b = f.appendFilters(b, in)
	b = append(b, `],"permissions":[]`...)
	if sets {
		b = append(b, `,"permissionSets":[["SPOT"]]`...)
	}
	return append(b, `,"defaultSelfTradePreventionMode":"EXPIRE_TAKER","allowedSelfTradePreventionModes":`+
		`["NONE","EXPIRE_TAKER","EXPIRE_MAKER","EXPIRE_BOTH","DECREMENT"]}`...)
}

// appendFilters appends the rules of the pair in the form of filters.
func (f *Facade) appendFilters(b []byte, in *engine.Instrument) []byte {
	b = appendRange(append(b, `{"filterType":"PRICE_FILTER"`...), "Price", in.DigitsPrice, "tickSize")
	b = appendRange(append(b, `,{"filterType":"LOT_SIZE"`...), "Qty", in.DigitsAmount, "stepSize")
	b = appendRange(append(b, `,{"filterType":"MARKET_LOT_SIZE"`...), "Qty", in.DigitsAmount, "stepSize")
	least, most := fixed.U128{}, in.MaxSettled()
	if in.HasMinQuote {
		least = in.MinQuote
	}
	if !in.MaxQuote.IsZero() {
		most = in.MaxQuote
	}
	b = fixed.AppendU128(append(b, `,{"filterType":"NOTIONAL","minNotional":"`...), least, in.DigitsTotal())
	b = append(b, `","applyMinToMarket":false,"maxNotional":"`...)
	b = fixed.AppendU128(b, most, in.DigitsTotal())
	b = append(b, `","applyMaxToMarket":false,"avgPriceMins":0}`...)
	if in.BandUp|in.BandDown != 0 {
		up := fixed.FromI64(int64(cmp.Or(in.BandUp, math.MaxInt64)))
		down := fixed.FromI64(int64(in.BandDown))
		b = append(b, `,{"filterType":"PERCENT_PRICE_BY_SIDE"`...)
		for _, side := range []string{"bid", "ask"} {
			b = append(append(append(b, `,"`...), side...), `MultiplierUp":"`...)
			b = fixed.AppendShortest(b, up, engine.RateScale)
			b = append(append(append(b, `","`...), side...), `MultiplierDown":"`...)
			b = append(fixed.AppendShortest(b, down, engine.RateScale), '"')
		}
		b = append(b, `,"avgPriceMins":0}`...)
	}
	b = append(b, `,{"filterType":"MAX_NUM_ORDERS","maxNumOrders":`...)
	b = strconv.AppendInt(b, int64(cmp.Or(f.opt.Engine.AccountOrders, engine.DefaultAccountOrders)), 10)
	b = append(b, `},{"filterType":"MAX_NUM_ALGO_ORDERS","maxNumAlgoOrders":`...)
	b = strconv.AppendInt(b, int64(cmp.Or(f.opt.Engine.AccountStops, engine.DefaultAccountStops)), 10)
	return append(b, '}')
}

// appendRange appends the smallest and the largest value of an integer of units and the unit.
func appendRange(b []byte, what string, digits int, step string) []byte {
	b = fixed.AppendI64(append(append(append(b, `,"min`...), what...), `":"`...), 1, digits)
	b = fixed.AppendI64(append(append(append(b, `","max`...), what...), `":"`...), math.MaxInt64, digits)
	b = fixed.AppendI64(append(append(append(b, `","`...), step...), `":"`...), 1, digits)
	return append(b, `"}`...)
}

// appendQuoted appends a member whose value is a number in quotes.
func appendQuoted(b []byte, name string, v int64, digits int) []byte {
	b = append(append(append(b, '"'), name...), `":"`...)
	return append(fixed.AppendI64(b, v, digits), '"')
}

// appendQuoted128 is appendQuoted of a sum.
func appendQuoted128(b []byte, name string, v fixed.U128, digits int) []byte {
	b = append(append(append(b, '"'), name...), `":"`...)
	return append(fixed.AppendU128(b, v, digits), '"')
}

// secondOf returns the Unix second of the publication of root, by which its windows count.
func secondOf(root *marketdata.Root) int64 { return encode.FloorDiv(root.NowNs, 1_000_000_000) }
