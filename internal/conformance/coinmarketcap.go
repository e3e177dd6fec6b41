package conformance

import (
	"encoding/json"
	"math/big"
	"strings"
)

var (
	capSummary = form{
		texts: []string{"trading_pairs", "base_currency", "quote_currency"},
		decimals: []string{
			"last_price", "lowest_ask", "highest_bid", "base_volume", "quote_volume", "price_change_percent_24h",
			"highest_price_24h", "lowest_price_24h",
		},
	}
	capTicker = form{decimals: []string{"last_price", "base_volume", "quote_volume"}}
	capTrade  = tradeForm{quoteVolume: "quote_volume", time: "timestamp"}
)

// coinMarketCap checks /summary, /assets, /ticker, /orderbook/{pair} and /trades/{pair}.
func (r *run) coinMarketCap() {
	summary := r.capSummary()
	r.checkPairs(len(summary))
	assets := r.capAssets()
	volumes, turnover := r.capTickers(summary, assets)
	for _, id := range r.largest(turnover) {
		path := "/orderbook/" + id
		if v := r.get("orderbook "+id, path); v != nil {
			full := r.checkBook("orderbook "+id, r.Target+path, v)
			r.checkDepth("orderbook "+id, path+"?", full)
		}
		name, path := "trades "+id, "/trades/"+id
		v := r.get(name, path)
		if v == nil {
			continue
		}
		c, t := r.tradeChecks(name, r.Target+path), &trades{}
		list, ok := v.([]any)
		if !ok {
			c.fields.fail("the body is %s, want an array of trades", shown(v))
		}
		t.add(r, c, capTrade, list, "")
		c.done(t)
		r.compare(name, r.Target+path, t, volumes[id])
	}
	r.refuses("orderbook", "/orderbook/NOSUCH_PAIR")
}

// capSummary checks /summary and returns the base volume of each pair.
func (r *run) capSummary() map[string]*big.Rat {
	v := r.get("summary", "/summary")
	if v == nil {
		return nil
	}
	url := r.Target + "/summary"
	fields, prices := r.report.check("summary: fields", url, Error), r.report.check("summary: prices", url, Error)
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		fields.fail("the body is %s, want an array with a row for each pair", shown(v))
	}
	volumes := map[string]*big.Rat{}
	for _, o := range objects(fields, list) {
		id, _ := o["trading_pairs"].(string)
		capSummary.check(fields, fields, id, o)
		if volumes[id] != nil {
			fields.fail("%s is there twice", id)
		}
		volumes[id] = of(o, "base_volume")
		checkPrices(prices, id, object{
			"bid": o["highest_bid"], "ask": o["lowest_ask"], "high": o["highest_price_24h"],
			"low": o["lowest_price_24h"], "last_price": o["last_price"], "base_volume": o["base_volume"],
			"target_volume": o["quote_volume"],
		})
	}
	fields.done("%d pairs", len(list))
	prices.done("bid below ask, low to high holds the last price and the mean price")
	return volumes
}

// capAssets checks /assets and returns the ids by symbol, 0 for an asset without one.
func (r *run) capAssets() map[string]int64 {
	all, ok := r.get("assets", "/assets").(object)
	if !ok {
		return nil
	}
	url := r.Target + "/assets"
	fields := r.report.check("assets: fields", url, Error)
	named := r.report.check("assets: unified_cryptoasset_id", url, Warning)
	ids := map[string]int64{}
	for symbol, e := range all {
		o, _ := e.(object)
		if s, ok := o["name"].(string); !ok || s == "" {
			fields.fail("%s: name is %s, want a text", symbol, shown(o["name"]))
		}
		for _, member := range []string{"can_withdraw", "can_deposit"} {
			_, truth := o[member].(bool)
			if word, text := o[member].(string); !truth && (!text || word != "true" && word != "false") {
				fields.fail("%s: %s is %s, want true or false", symbol, member, shown(o[member]))
			}
		}
		for _, member := range []string{"min_withdraw", "max_withdraw", "maker_fee", "taker_fee"} {
			if o[member] == nil {
				continue
			}
			if _, err := decimal(o[member]); err != nil {
				fields.fail("%s: %s is %v", symbol, member, err)
			}
		}
		id, err := decimal(o["unified_cryptoasset_id"])
		if err != nil || !id.IsInt() || !id.Num().IsInt64() {
			named.fail("%s: the id is %s, want an integer", symbol, shown(o["unified_cryptoasset_id"]))
			ids[symbol] = 0
			continue
		}
		ids[symbol] = id.Num().Int64()
	}
	fields.done("%d assets", len(all))
	named.done("all assets have one")
	return ids
}

// capTickers checks /ticker and returns the base volume and the turnover of each pair.
func (r *run) capTickers(summary map[string]*big.Rat, assets map[string]int64) (volumes, turnover map[string]*big.Rat) {
	v := r.get("ticker", "/ticker")
	all, ok := v.(object)
	if v == nil {
		return nil, nil
	}
	url := r.Target + "/ticker"
	fields, listed := r.report.check("ticker: fields", url, Error), r.report.check("ticker: pairs", url, Error)
	ids := r.report.check("ticker: ids", url, Warning)
	if !ok || len(all) == 0 {
		fields.fail("the body is %s, want an object with a member for each pair", shown(v))
	}
	volumes, turnover = map[string]*big.Rat{}, map[string]*big.Rat{}
	for pair, e := range all {
		o, _ := e.(object)
		capTicker.check(fields, fields, pair, o)
		if frozen, ok := o["isFrozen"]; !ok || !isFlag(frozen) {
			fields.fail("%s: isFrozen is %s, want 0 or 1", pair, shown(frozen))
		}
		if summary != nil && summary[pair] == nil {
			listed.fail("%s is not in /summary", pair)
		}
		base, quote, _ := strings.Cut(pair, "_")
		for symbol, member := range map[string]string{base: "base_id", quote: "quote_id"} {
			id, err := decimal(o[member])
			if err != nil || assets[symbol] != 0 && id.Cmp(big.NewRat(assets[symbol], 1)) != 0 {
				ids.fail("%s: %s is %s, /assets says %d", pair, member, shown(o[member]), assets[symbol])
			}
		}
		volumes[pair], turnover[pair] = of(o, "base_volume"), turnoverOf(o, "quote_volume")
	}
	fields.done("%d pairs", len(all))
	listed.done("all in /summary")
	ids.done("as in /assets")
	return volumes, turnover
}

// isFlag reports whether v is 0 or 1, as a number or a string.
func isFlag(v any) bool {
	switch t := v.(type) {
	case json.Number:
		return t == "0" || t == "1"
	case string:
		return t == "0" || t == "1"
	}
	return false
}
