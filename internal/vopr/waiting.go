package vopr

import (
	"slices"

	"github.com/goccy/go-json"
)

// reached is an order with fills that waited for a price. Before its first fill, a trade has reached it.
type reached struct {
	orderAnswer
	first uint64 // its first trade
}

// waitsAs reports whether an answer shows the order's type, stop price, trail and quote amount as they were sent.
func (o *order) waitsAs(is *orderAnswer) bool {
	return o.kind == "" || o.kind == is.Type && o.stopPrice == string(is.StopPrice) && o.trail == is.TrailingDelta &&
		o.quote == string(is.QuoteAmount)
}

// withinQuote reports whether an order by quote amount has paid, or has brought, at most that.
func (a *orderAnswer) withinQuote() bool {
	return a.QuoteAmount == "" || exact(string(a.FilledQuote)).Cmp(exact(string(a.QuoteAmount))) <= 0
}

// noteReached notes an order that waited and has fills.
func (w checker) noteReached(a *orderAnswer) {
	if len(a.Fills) > 0 && (a.StopPrice != "" || a.TrailingDelta != 0) {
		w.model.reached = append(w.model.reached, reached{*a, a.Fills[0].TradeID})
	}
}

// checkReached verifies that the trades before the first fill of an order that waited have reached it: its stop price,
// then its trail from the best price since. The trades that count begin with the last one before the order.
func (w checker) checkReached(pair string) {
	tape := w.model.tapes[pair]
	for i := range w.model.reached {
		r := &w.model.reached[i]
		if r.CurrencyPairCode != pair || r.first > uint64(len(tape)) {
			continue
		}
		trades := tape[:r.first-1]
		from, _ := slices.BinarySearchFunc(trades, r.CreatedAtNs/100*100, func(d deal, ns int64) int { // as it is shown
			return int(d.atNs - ns)
		})
		if w.mix.Reached++; !r.by(trades[max(from-1, 0):]) {
			w.fail("order %+v has fills, and no trade of %v has reached it", r.orderAnswer, trades[max(from-1, 0):])
			return
		}
	}
}

// by reports whether trades have reached the order.
func (r *reached) by(trades []deal) bool {
	sell := r.Side == "sell"
	falls := sell // the way to the stop price
	if r.Type == "take_profit_limit" || r.Type == "take_profit_market" {
		falls = !falls
	}
	begun := r.StopPrice == ""
	best := int64(0)
	for _, d := range trades {
		if !begun {
			stop := scaled(json.Number(r.StopPrice), priceDigits)
			begun = d.price == stop || (d.price < stop) == falls
		}
		switch {
		case !begun:
			continue
		case r.TrailingDelta == 0:
			return true
		case best == 0, sell == (d.price > best):
			best = d.price
		}
		if sell && d.price*10_000 <= best*(10_000-r.TrailingDelta) ||
			!sell && d.price*10_000 >= best*(10_000+r.TrailingDelta) {
			return true
		}
	}
	return false
}
