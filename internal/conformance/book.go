package conformance

import (
	"fmt"
	"math/big"
	"time"
)

// stale is the age of a book above which a listing site considers the market dead.
const stale = 15 * time.Minute

// book holds the results of checkBook.
type book struct {
	levels    [2]int // bids, asks
	best      [2]*big.Rat
	timestamp time.Time
}

// checkBook checks the order book of an answer. path names a route without depth.
func (r *run) checkBook(name, url string, v any) (b book) {
	o, ok := v.(object)
	shape := r.report.check(name+": fields", url, Error)
	if !ok {
		shape.fail("the body is %s, want an object", shown(v))
		shape.done("")
		return b
	}
	var err error
	if b.timestamp, err = milliseconds(o["timestamp"]); err != nil {
		shape.fail("timestamp: %v", err)
	}
	order := r.report.check(name+": order", url, Error)
	for side, member := range []string{"bids", "asks"} {
		levels, ok := o[member].([]any)
		if !ok {
			shape.fail("%s is %s, want an array of [price, quantity]", member, shown(o[member]))
			continue
		}
		b.levels[side] = len(levels)
		var last *big.Rat
		for i, l := range levels {
			price, err := level(l)
			if err != nil {
				shape.fail("%s[%d]: %v", member, i, err)
				break
			}
			if last != nil && (side == 0) != (price.Cmp(last) < 0) || last != nil && price.Cmp(last) == 0 {
				order.fail("%s[%d] has the price %s after %s", member, i, number(price), number(last))
			}
			if last = price; i == 0 {
				b.best[side] = price
			}
		}
	}
	shape.done("%d bids, %d asks, timestamp %d", b.levels[0], b.levels[1], b.timestamp.UnixMilli())
	if b.best[0] != nil && b.best[1] != nil && b.best[0].Cmp(b.best[1]) >= 0 {
		order.fail("the best bid %s is not below the best ask %s", number(b.best[0]), number(b.best[1]))
	}
	order.done("bids fall, asks rise, the best bid is below the best ask")
	fresh := r.report.check(name+": freshness", url, Warning)
	if age := r.Now().Sub(b.timestamp); age > r.MaxAge || age < -time.Minute {
		fresh.fail("the timestamp is %s old, want at most %s", age.Round(time.Second), r.MaxAge)
	}
	fresh.done("%d ms old", r.Now().Sub(b.timestamp).Milliseconds())
	return b
}

func level(v any) (price *big.Rat, err error) {
	pair, ok := v.([]any)
	if !ok || len(pair) < 2 {
		return nil, fmt.Errorf("%s, want [price, quantity]", shown(v))
	}
	for i, name := range []string{"price", "quantity"} {
		d, err := decimal(pair[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if d.Sign() <= 0 {
			return nil, fmt.Errorf("%s is %s, want more than 0", name, number(d))
		}
		if i == 0 {
			price = d
		}
	}
	return price, nil
}

// checkDepth checks that the parameter depth limits the levels, half of it for each side.
func (r *run) checkDepth(name, path string, full book) {
	const depth = 10
	v := r.get(name+" with depth 10", path+"depth=10")
	o, ok := v.(object)
	if !ok {
		return
	}
	c := r.report.check(name+": depth", r.Target+path+"depth=10", Error)
	for side, member := range []string{"bids", "asks"} {
		levels, _ := o[member].([]any)
		want := min(depth/2, full.levels[side])
		// The market moves between two requests: a side with few levels may lose or gain some.
		if len(levels) > depth/2 || len(levels) < want && full.levels[side] > depth {
			c.fail("depth=10 answers %d %s, want %d", len(levels), member, want)
		}
	}
	c.done("depth=10 answers at most 5 levels a side")
}
