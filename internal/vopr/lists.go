package vopr

import (
	"fmt"
	"strings"
)

// placeList sends an order list by the internal API. Its prices embrace the middle of the prices, so that most lists
// are accepted, and trades reach both orders of which one cancels the other.
func (w clients) placeList() {
	kind := pick(w, []string{"oco", "oco", "oto", "otoco", "opo", "opoco"})
	pair, account := pick(w, w.model.pairs), w.account()
	lots := func() string { return shortest(fmt.Sprintf("%d.%04d", w.rnd.IntN(3), 301+w.rnd.IntN(9699))) }
	price := func(from int) string { return shortest(fmt.Sprintf("%d.%02d", from+w.rnd.IntN(5), w.rnd.IntN(100))) }
	side, amount := pick(w, []string{"buy", "sell"}), lots()
	if strings.HasPrefix(kind, "opo") {
		side, amount = "sell", ""
	}
	var orders []*order
	var parts []string
	add := func(o *order, kind string, more ...string) {
		members := append([]string{fmt.Sprintf(`"side":%q,"type":%q`, o.side, kind)}, more...)
		if o.amount != "" {
			members = append(members, `"amount":`+o.amount)
		}
		if o.price != "" {
			members = append(members, `"price":`+o.price)
		}
		if w.rnd.IntN(3) == 0 {
			w.serial++
			o.client = fmt.Sprint("c", w.serial)
			members = append(members, fmt.Sprintf(`"clientOrderId":%q`, o.client))
		}
		orders = append(orders, o)
		parts = append(parts, "{"+strings.Join(members, ",")+"}")
	}
	order := func(side, amount, price string, stop bool) *order {
		return &order{pair: pair, side: side, account: account, amount: amount, price: price, stop: stop}
	}
	if kind != "oco" {
		add(order(map[string]string{"buy": "sell", "sell": "buy"}[side], lots(), price(97), false), "limit")
	}
	above, below := price(101), price(94)
	aim, stop := above, below
	if side == "buy" {
		aim, stop = below, above
	}
	pending := kind != "oco"
	switch w.rnd.IntN(4) {
	case 0:
		add(order(side, amount, "", true), "take_profit_market", w.reachedAt(aim))
	case 1:
		add(order(side, amount, aim, true), "take_profit_limit", w.reachedAt(aim))
	default:
		add(order(side, amount, aim, pending), "limit", `"postOnly":true`)
	}
	if strings.HasSuffix(kind, "oco") {
		if w.rnd.IntN(2) == 0 {
			add(order(side, amount, "", true), "stop_market", w.reachedAt(stop))
		} else {
			add(order(side, amount, stop, true), "stop_limit", w.reachedAt(stop))
		}
	}
	body := fmt.Sprintf(`{"kind":%q,"currencyPairCode":%q,"orders":[%s]`, kind, pair, strings.Join(parts, ","))
	if account != "" {
		body += fmt.Sprintf(`,"accountId":%q`, account)
	}
	w.mix.Market++
	w.ask("", nil, "POST", internal+"/orders/lists", body+"}", func(a answer) { w.listed(orders, a) })
}

// reachedAt returns the members that say what a waiting order waits for: a price, or a trail behind the best price.
func (w clients) reachedAt(price string) string {
	if w.rnd.IntN(3) == 0 {
		return fmt.Sprintf(`"trailingDelta":%d`, 10+w.rnd.IntN(300))
	}
	return `"stopPrice":` + price
}

// listed notes the answer to a list: all its orders are there, or none is.
func (w clients) listed(orders []*order, a answer) {
	if a.unknown() {
		w.model.maybe = append(w.model.maybe, orders...)
		return
	}
	if !a.ok() {
		return
	}
	var got struct {
		ListID uint64
		Orders []orderAnswer
	}
	if err := a.into(&got); err != nil || len(got.Orders) != len(orders) || got.Orders[0].OrderID != got.ListID {
		w.fail("a list's answer: %v: %s", err, a.body)
		return
	}
	for i, o := range orders {
		is := got.Orders[i]
		if o.id = is.OrderID; string(is.Price) != o.price || o.amount != "" && string(is.Amount) != o.amount ||
			is.ClientOrderID != o.client {
			w.fail("the answer %+v to the order %+v of a list", is, *o)
		}
		if err := w.acknowledged(o); err != nil {
			w.fail("%v", err)
		}
	}
	w.mix.Lists++
}
