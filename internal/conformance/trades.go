package conformance

import (
	"math/big"
	"time"
)

// tradeForm names the members of a trade, which differ by standard.
type tradeForm struct {
	quoteVolume, time string
}

// trades holds the sums over the trades of an answer.
type trades struct {
	count  int
	oldest time.Time
	newest time.Time
	volume *big.Rat // base volume of the last 24 h
}

// add checks one list of trades. side, unless empty, is the type that each of them must have.
func (t *trades) add(r *run, c *tradeChecks, f tradeForm, list []any, side string) {
	var last time.Time
	if t.volume == nil {
		t.volume = new(big.Rat)
	}
	for i, v := range list {
		o, ok := v.(object)
		if !ok {
			c.fields.fail("trade %d is %s, want an object", i, shown(v))
			return
		}
		at, err := milliseconds(o[f.time])
		if err != nil {
			c.fields.fail("trade %d: %s: %v", i, f.time, err)
			return
		}
		if _, err := decimal(o["trade_id"]); err != nil {
			c.fields.fail("trade %d: trade_id is %v", i, err)
		}
		id := shown(o["trade_id"])
		if c.seen[id] {
			c.ids.fail("trade_id %s is there twice", id)
		}
		c.seen[id] = true
		kind, _ := o["type"].(string)
		if kind != "buy" && kind != "sell" || side != "" && kind != side {
			c.fields.fail("trade %s: type is %s, want %s", id, shown(o["type"]), orEither(side))
		}
		form{decimals: []string{"price", "base_volume", f.quoteVolume}}.check(c.fields, c.fields, "trade "+id, o)
		price, base, quote := of(o, "price"), of(o, "base_volume"), of(o, f.quoteVolume)
		if product := new(big.Rat).Mul(price, base); !agree(product, quote, 1) {
			c.sums.fail("trade %s: price %s x %s is %s, %s says %s", id, number(price), number(base), number(product),
				f.quoteVolume, number(quote))
		}
		if i > 0 && at.After(last) {
			c.order.fail("trade %s is newer than the one before it", id)
		}
		last = at
		t.note(at, base, r.Now())
	}
}

func (t *trades) note(at time.Time, base *big.Rat, now time.Time) {
	if t.count++; t.count == 1 || at.Before(t.oldest) {
		t.oldest = at
	}
	if t.count == 1 || at.After(t.newest) {
		t.newest = at
	}
	if now.Sub(at) <= 24*time.Hour {
		t.volume.Add(t.volume, base)
	}
}

func orEither(side string) string {
	if side == "" {
		return "buy or sell"
	}
	return side
}

// tradeChecks are the checks over all trades of an answer.
type tradeChecks struct {
	fields, ids, sums, order *check
	seen                     map[string]bool
}

func (r *run) tradeChecks(name, url string) *tradeChecks {
	return &tradeChecks{
		r.report.check(name+": fields", url, Error), r.report.check(name+": ids", url, Error),
		r.report.check(name+": volumes of a trade", url, Error), r.report.check(name+": order", url, Warning),
		map[string]bool{},
	}
}

func (c *tradeChecks) done(t *trades) {
	c.fields.done("%d trades", t.count)
	c.ids.done("%d different ids", len(c.seen))
	c.sums.done("price x base volume is the quote volume of each")
	c.order.done("newest first")
}

// compare checks that the volume of the last 24 h agrees with the sum of the trades, if the trades reach back
// that far.
func (r *run) compare(name, url string, t *trades, ticker *big.Rat) {
	c := r.report.check(name+": agrees with the ticker's volume", url, Error)
	const allowed = 20 // per mille: the market moves between two requests
	switch {
	case ticker == nil || t.count == 0 && ticker.Sign() == 0:
		return
	case r.Now().Sub(t.oldest) < 24*time.Hour:
		c.result.Severity = Warning
		if t.volume.Cmp(new(big.Rat).Mul(ticker, big.NewRat(1000+allowed, 1000))) > 0 {
			c.result.Severity = Error
			c.fail("the trades sum to %s, more than the ticker's %s", number(t.volume), number(ticker))
		}
		c.done("%s by the trades since %s, no more than the %s of 24 h by the ticker: the trades do not reach back",
			number(t.volume), t.oldest.UTC().Format(time.RFC3339), number(ticker))
		return
	case !agree(t.volume, ticker, allowed):
		c.fail("the trades of 24 h sum to %s, the ticker says %s", number(t.volume), number(ticker))
	}
	c.done("%s by the trades, %s by the ticker", number(t.volume), number(ticker))
}
