package conformance

import (
	"math/big"
)

var (
	geckoPair   = form{texts: []string{"ticker_id", "base", "target"}}
	geckoTicker = form{
		texts:    []string{"ticker_id", "base_currency", "target_currency"},
		decimals: []string{"last_price", "base_volume", "target_volume", "bid", "ask", "high", "low"},
		optional: []string{"bid", "ask", "high", "low"},
	}
	geckoTrade = tradeForm{quoteVolume: "target_volume", time: "trade_timestamp"}
)

// coinGecko checks /pairs, /tickers, /orderbook and /historical_trades.
func (r *run) coinGecko() {
	known := r.geckoPairs()
	r.checkPairs(len(known))
	volumes, turnover := r.geckoTickers(known)
	for i, id := range r.largest(turnover) {
		path := "/orderbook?ticker_id=" + id + "&"
		if v := r.get("orderbook "+id, path+"depth=0"); v != nil {
			o, _ := v.(object)
			named := r.report.check("orderbook "+id+": ticker_id", r.Target+path+"depth=0", Error)
			if o["ticker_id"] != id {
				named.fail("ticker_id is %s, want %q", shown(o["ticker_id"]), id)
			}
			named.done("%s", id)
			full := r.checkBook("orderbook "+id, r.Target+path+"depth=0", v)
			r.checkDepth("orderbook "+id, path, full)
		}
		r.geckoTrades(id, volumes[id], i == 0)
	}
	r.refuses("orderbook", "/orderbook?ticker_id=NOSUCH_PAIR")
}

// geckoPairs checks /pairs and returns its ids.
func (r *run) geckoPairs() map[string]bool {
	v := r.get("pairs", "/pairs")
	if v == nil {
		return nil
	}
	url := r.Target + "/pairs"
	fields, ids := r.report.check("pairs: fields", url, Error), r.report.check("pairs: ids", url, Error)
	list, ok := v.([]any)
	if !ok {
		fields.fail("the body is %s, want an array", shown(v))
	}
	known := map[string]bool{}
	for _, o := range objects(fields, list) {
		id, _ := o["ticker_id"].(string)
		geckoPair.check(fields, fields, id, o)
		if known[id] {
			ids.fail("ticker_id %s is there twice", id)
		}
		known[id] = true
	}
	fields.done("%d pairs", len(list))
	ids.done("each once")
	return known
}

// geckoTickers checks /tickers and returns the base volume and the turnover of each pair.
func (r *run) geckoTickers(known map[string]bool) (volumes, turnover map[string]*big.Rat) {
	v := r.get("tickers", "/tickers")
	if v == nil {
		return nil, nil
	}
	url := r.Target + "/tickers"
	fields, listed := r.report.check("tickers: fields", url, Error), r.report.check("tickers: listed pairs", url, Error)
	spare := r.report.check("tickers: bid, ask, high and low", url, Warning)
	prices := r.report.check("tickers: prices", url, Error)
	strings := r.report.check("tickers: decimals as strings", url, Warning)
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		fields.fail("the body is %s, want an array with a ticker for each pair", shown(v))
	}
	volumes, turnover = map[string]*big.Rat{}, map[string]*big.Rat{}
	for _, o := range objects(fields, list) {
		id, _ := o["ticker_id"].(string)
		geckoTicker.check(fields, spare, id, o)
		if !geckoTicker.asText(o) {
			strings.fail("%s: last_price is %s, want a string", id, shown(o["last_price"]))
		}
		switch {
		case volumes[id] != nil:
			listed.fail("ticker_id %s is there twice", id)
		case known != nil && !known[id]:
			listed.fail("ticker_id %s is not in /pairs", id)
		}
		volumes[id], turnover[id] = of(o, "base_volume"), turnoverOf(o, "target_volume")
		checkPrices(prices, id, o)
	}
	fields.done("%d tickers", len(list))
	spare.done("all there")
	listed.done("each once, all in /pairs")
	prices.done("bid below ask, low to high holds the last price and the mean price")
	strings.done("all")
	return volumes, turnover
}

// checkPrices checks the relations between the prices of a ticker.
func checkPrices(c *check, id string, o object) {
	bid, ask, low, high := of(o, "bid"), of(o, "ask"), of(o, "low"), of(o, "high")
	last := of(o, "last_price")
	if bid.Sign() > 0 && ask.Sign() > 0 && bid.Cmp(ask) >= 0 {
		c.fail("%s: the bid %s is not below the ask %s", id, number(bid), number(ask))
	}
	base, target := of(o, "base_volume"), of(o, "target_volume")
	_, hasLow := o["low"]
	_, hasHigh := o["high"]
	traded := base.Sign() > 0 || target.Sign() > 0
	if hasLow && hasHigh && (traded || low.Sign() > 0 && high.Sign() > 0) && (last.Cmp(low) < 0 || last.Cmp(high) > 0) {
		c.fail("%s: last_price %s is not between low %s and high %s", id, number(last), number(low), number(high))
	}
	if traded && (base.Sign() == 0) != (target.Sign() == 0) {
		c.fail("%s: base_volume is %s and target_volume %s", id, number(base), number(target))
	}
	if base.Sign() > 0 && target.Sign() > 0 && low.Sign() > 0 && high.Sign() > 0 {
		if mean := new(big.Rat).Quo(target, base); outside(mean, low, high) {
			c.fail("%s: target_volume / base_volume is %s, which is not between low %s and high %s", id, number(mean),
				number(low), number(high))
		}
	}
	for _, name := range []string{"last_price", "base_volume", "target_volume"} {
		if of(o, name).Sign() < 0 {
			c.fail("%s: %s is negative", id, name)
		}
	}
}

// outside reports whether a mean price is not between two prices. Volumes are rounded, so 1 % more is inside.
func outside(mean, low, high *big.Rat) bool {
	return mean.Cmp(low) < 0 && !agree(mean, low, 10) || mean.Cmp(high) > 0 && !agree(mean, high, 10)
}

// geckoTrades checks /historical_trades of a pair; with filters also type and limit.
func (r *run) geckoTrades(id string, volume *big.Rat, filters bool) {
	name, path := "historical_trades "+id, "/historical_trades?ticker_id="+id
	if o, ok := r.get(name, path).(object); ok {
		c, t := r.tradeChecks(name, r.Target+path), &trades{}
		for _, side := range []string{"buy", "sell"} {
			list, ok := o[side].([]any)
			if !ok {
				c.fields.fail("%s is %s, want an array of trades", side, shown(o[side]))
			}
			t.add(r, c, geckoTrade, list, side)
		}
		c.done(t)
		r.compare(name, r.Target+path, t, volume)
	}
	if !filters {
		return
	}
	path += "&type=buy&limit=3"
	o, ok := r.get(name+" with type and limit", path).(object)
	if !ok {
		return
	}
	c := r.report.check(name+": type and limit", r.Target+path, Error)
	buys, _ := o["buy"].([]any)
	if sells, _ := o["sell"].([]any); len(sells) > 0 || len(buys) > 3 {
		c.fail("type=buy&limit=3 answers %d buys and %d sells", len(buys), len(sells))
	}
	c.done("%d buys, no sells", len(buys))
}
