package vopr

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/goccy/go-json"
)

const internal = "/internal/v1"

func pick[T any](w clients, all []T) T { return all[w.rnd.IntN(len(all))] }

// draft returns a random order and its JSON members.
func (w clients) draft(signed bool, account string) (*order, string) {
	o := &order{
		pair: pick(w, w.model.pairs), side: pick(w, []string{"buy", "sell"}), account: account,
		amount: shortest(fmt.Sprintf("%d.%04d", w.rnd.IntN(3), 301+w.rnd.IntN(9699))),
	}
	price := func() string { return shortest(fmt.Sprintf("%d.%02d", 95+w.rnd.IntN(10), w.rnd.IntN(100))) }
	kind := pick(w, []string{
		"limit", "limit", "limit", "limit", "limit", "limit", "market", "market", "stop_limit",
		"stop_market", "take_profit_limit", "take_profit_market",
	})
	o.kind = kind
	waits := kind != "limit" && kind != "market"
	atMarket := strings.HasSuffix(kind, "market")
	members := []string{fmt.Sprintf(`"currencyPairCode":%q,"side":%q`, o.pair, o.side)}
	if atMarket && w.rnd.IntN(3) == 0 {
		o.amount, o.quote = "", shortest(fmt.Sprintf("%d.%04d", w.rnd.IntN(300), 1+w.rnd.IntN(9999)))
		members = append(members, `"quoteAmount":`+o.quote)
	} else {
		members = append(members, `"amount":`+o.amount)
	}
	typed := !signed || strings.HasPrefix(kind, "take")
	if typed {
		members = append(members, `"type":"`+kind+`"`)
	}
	if o.account != "" && !signed {
		members = append(members, `"accountId":"`+o.account+`"`)
	}
	switch {
	case !atMarket:
		o.price = price()
		members = append(members, `"price":`+o.price)
	case !typed:
		members = append(members, `"isMarket":true`)
	}
	o.stop = waits && !atMarket
	if waits && w.rnd.IntN(3) == 0 {
		o.trail = 10 + w.rnd.Int64N(300)
		members = append(members, fmt.Sprintf(`"trailingDelta":%d`, o.trail))
	}
	if waits && (o.trail == 0 || !typed || w.rnd.IntN(2) == 0) {
		o.stopPrice = price()
		members = append(members, `"stopPrice":`+o.stopPrice)
	}
	if kind == "limit" {
		switch w.rnd.IntN(8) {
		case 0:
			members = append(members, `"timeInForce":"ioc"`)
		case 1:
			members = append(members, `"timeInForce":"fok"`)
		case 2:
			members = append(members, `"postOnly":true`)
		case 3:
			members = append(members, `"displayAmount":0.0301`)
		case 4:
			members = append(members, `"selfTradePrevention":"`+
				pick(w, []string{"none", "cancel_maker", "cancel_both", "decrement"})+`"`)
		}
	}
	if w.rnd.IntN(2) == 0 {
		w.serial++
		o.client = "c" + strconv.Itoa(w.serial)
		members = append(members, `"clientOrderId":"`+o.client+`"`)
	}
	return o, "{" + strings.Join(members, ",") + "}"
}

// account returns the id of a user, or of the built-in account.
func (w clients) account() string {
	if w.rnd.IntN(2) == 0 || len(w.model.users) == 0 {
		return ""
	}
	return pick(w, w.model.users).ID
}

// place sends an order by the internal API.
func (w clients) place() {
	o, body := w.draft(false, w.account())
	w.mix.Market++
	w.ask("", nil, "POST", internal+"/orders", body, func(a answer) { w.placed(o, a) })
}

// placed notes the answer to a new order.
func (w clients) placed(o *order, a answer) {
	if a.unknown() {
		w.model.maybe = append(w.model.maybe, o)
		return
	}
	if !a.ok() {
		return
	}
	var got orderAnswer
	if err := a.into(&got); err != nil {
		w.fail("an order's answer: %v", err)
		return
	}
	w.confirm(o, &got)
}

// confirm notes an accepted order.
func (w clients) confirm(o *order, got *orderAnswer) {
	if got.Status == "Rejected" {
		return
	}
	o.id = got.OrderID
	if string(got.Price) != o.price || string(got.Amount) != o.amount ||
		got.ClientOrderID != o.client || !o.waitsAs(got) {
		w.fail("the answer %+v to the order %+v", *got, *o)
	}
	if err := w.acknowledged(o); err != nil {
		w.fail("%v", err)
	}
	if err := w.model.answered(got); err != nil {
		w.fail("%v", err)
	}
}

// acknowledged notes an order that an answer confirmed.
func (w *world) acknowledged(o *order) error {
	o.tick = w.answers
	switch {
	case o.trail != 0:
		w.mix.Trailing++
	case strings.HasPrefix(o.kind, "take"):
		w.mix.TakeProfits++
	}
	if o.quote != "" && o.side == "sell" {
		w.mix.QuoteSells++
	}
	return w.model.acknowledged(o)
}

// batch sends several commands.
func (w clients) batch() {
	var orders []*order
	var parts []string
	for range 1 + w.rnd.IntN(24) {
		if n := len(w.model.ids); n > 0 && w.rnd.IntN(4) == 0 {
			parts = append(parts, fmt.Sprintf(`{"cancel":{"orderId":%d}}`, w.recent()))
			orders = append(orders, nil)
			continue
		}
		o, body := w.draft(false, w.account())
		orders = append(orders, o)
		parts = append(parts, `{"place":`+body+`}`)
	}
	w.mix.Market += len(parts)
	body := `{"commands":[` + strings.Join(parts, ",") + `]}`
	w.ask("", nil, "POST", internal+"/orders/batch", body, func(a answer) {
		if a.unknown() || a.status == 503 && strings.Contains(string(a.body), "were applied") {
			for _, o := range orders {
				if o != nil {
					w.model.maybe = append(w.model.maybe, o)
				}
			}
			return
		}
		if !a.ok() {
			return
		}
		var got struct{ Results []orderAnswer }
		if err := a.into(&got); err != nil || len(got.Results) != len(orders) {
			w.fail("a batch's answer: %v, %d results for %d commands", err, len(got.Results), len(orders))
			return
		}
		for i, o := range orders {
			if o != nil {
				w.confirm(o, &got.Results[i])
			}
		}
	})
}

// recent returns the id of an order, mostly a young one.
func (w clients) recent() uint64 {
	n := len(w.model.ids)
	return w.model.ids[n-1-w.rnd.IntN(min(n, 60))]
}

// signed sends an order of a user.
func (w clients) signed() {
	u := pick(w, w.model.users)
	if len(u.keys) == 0 {
		return
	}
	o, body := w.draft(true, u.ID)
	k, halts := pick(w, u.keys), u.halts
	w.mix.Market++
	w.ask("", &k, "POST", "/api/orders", body, func(a answer) {
		if a.unknown() {
			w.model.maybe = append(w.model.maybe, o)
			return
		}
		if !a.ok() {
			if a.code() == "ACCOUNT_HALTED" && u.halt == trading && u.halts == halts {
				w.fail("user %s is not halted: %s", u.ID, a.body)
			}
			if a.status == 401 && a.code() == "UNAUTHORIZED" && u.has(k) && !w.stepped {
				w.fail("the key %s of user %s does not verify: %s", k.PublicKey, u.ID, a.body)
			}
			return
		}
		id, err := strconv.ParseUint(strings.Trim(string(a.body), `"`), 10, 64)
		if err != nil {
			w.fail("a signed order's answer: %s", a.body)
			return
		}
		if u.halt == halted && u.halts == halts {
			w.fail("order %d of the halted user %s", id, u.ID)
		}
		o.id = id
		if err := w.acknowledged(o); err != nil {
			w.fail("%v", err)
		}
	})
}

// change cancels or replaces an order, or changes a pair.
func (w clients) change() {
	if len(w.model.ids) == 0 {
		return
	}
	o := w.model.orders[w.recent()]
	target := internal + "/orders/" + strconv.FormatUint(o.id, 10)
	switch w.rnd.IntN(6) {
	case 0:
		w.replace(o, target)
	case 1:
		w.mix.Market++
		w.ask("", nil, "DELETE", internal+"/orders?currencyPairCode="+o.pair+"&accountId="+w.accountID(), "",
			func(answer) {})
	case 2:
		if w.busy["config"] {
			return
		}
		w.mix.Market++
		if w.rnd.IntN(4) == 0 {
			w.changeDigits()
			return
		}
		w.ask("config", nil, "PATCH", internal+"/pairs/"+o.pair, `{"minQuoteAmount":`+
			pick(w, []string{"null", "0.01", "0.02"})+`}`, func(answer) {})
	default:
		w.mix.Market++
		w.ask("", nil, "DELETE", target, "", func(a answer) {
			if a.status == 404 {
				w.fail("the acknowledged order %+v is unknown", *o)
			}
		})
	}
}

// changeDigits tries to give a currency that has pairs other digits.
func (w clients) changeDigits() {
	code := pick(w, traded)
	digits := (w.plan.digits[code] + 1 + w.rnd.IntN(18)) % 19
	w.ask("config", nil, "PATCH", internal+"/assets/"+code, fmt.Sprintf(`{"digits":%d}`, digits), func(a answer) {
		if a.ok() {
			w.fail("%s has pairs, and got %d digits", code, digits)
		}
	})
}

// replace changes price or amount of an order or both, or what it waits for.
func (w clients) replace(o *order, target string) {
	if w.busy["replace"] {
		return
	}
	w.mix.Market++
	var members []string
	n := w.rnd.IntN(5)
	price, kind := o.price, o.kind
	some := func() string { return fmt.Sprintf("%d.%02d", 95+w.rnd.IntN(10), w.rnd.IntN(100)) }
	switch n {
	case 1, 2:
		o.price = ""
		members = append(members, `"price":`+some())
	case 3:
		o.kind = ""
		members = append(members, `"stopPrice":`+some())
	case 4:
		o.kind = ""
		members = append(members, fmt.Sprintf(`"trailingDelta":%d`, 10+w.rnd.IntN(300)))
	}
	if n < 2 {
		members = append(members, fmt.Sprintf(`"amount":%d.%04d`, w.rnd.IntN(3), 1+w.rnd.IntN(9999)))
	}
	w.ask("replace", nil, "PATCH", target, "{"+strings.Join(members, ",")+"}", func(a answer) {
		switch {
		case a.refused():
			o.price, o.kind = price, kind
		case a.ok() && n >= 3:
			w.mix.Moved++
		}
	})
}

// allIn buys at market what the whole free balance of a user pays at the prices of the book, or a lot more. Whether it
// is accepted depends on what comes between.
func (w clients) allIn() {
	if len(w.model.users) == 0 {
		return
	}
	u, more := pick(w, w.model.users), w.rnd.Int64N(2)
	o := &order{pair: pick(w, w.model.pairs), side: "buy", account: u.ID}
	_, quote, _ := strings.Cut(o.pair, "_")
	w.mix.Market++
	w.askFor("", nil, "POST", internal+"/orders", func() string {
		lots := w.affordable(o.pair, w.free(u, quote)) + more
		o.amount = shortest(fmt.Sprintf("%d.%04d", lots/10_000, lots%10_000))
		return fmt.Sprintf(`{"accountId":%q,"currencyPairCode":%q,"side":"buy","type":"market","amount":%s}`, u.ID,
			o.pair,
			o.amount)
	}, func(a answer) {
		var got orderAnswer
		switch {
		case !a.ok() || a.into(&got) != nil:
		case got.Status != "Rejected":
			w.mix.AllIn++
		case got.RejectReason == "insufficient_funds":
			w.mix.TooMuch++
		}
		w.placed(o, a)
	})
}

// free returns the free balance of a user, in units of 10^-18.
func (w clients) free(u *user, currency string) *big.Int {
	var got struct {
		Balances []struct {
			CurrencyCode string
			Free         json.Number
		}
	}
	if w.call(nil, "GET", internal+"/users/"+u.ID, "").into(&got) == nil {
		for _, b := range got.Balances {
			if b.CurrencyCode == currency {
				return exact(b.Free.String())
			}
		}
	}
	return new(big.Int)
}

// affordable returns the lots that an amount of money of 10^-18 buys at the asks of a pair.
func (w clients) affordable(pair string, money *big.Int) (lots int64) {
	var book struct {
		Asks []struct {
			Price  json.Number
			Orders []struct{ Amount, HiddenAmount json.Number }
		}
	}
	if w.call(nil, "GET", internal+"/book/"+pair+"?depth=0", "").into(&book) != nil {
		return 0
	}
	money = new(big.Int).Quo(money, big.NewInt(1e12)) // of price x amount
	for _, l := range book.Asks {
		price := big.NewInt(scaled(l.Price, priceDigits))
		for _, o := range l.Orders {
			most := scaled(o.Amount, amountDigits) + scaled(o.HiddenAmount, amountDigits)
			n := new(big.Int).Quo(money, price)
			if n.IsInt64() && n.Int64() < most {
				return lots + n.Int64()
			}
			lots += most
			money.Sub(money, new(big.Int).Mul(price, big.NewInt(most)))
		}
	}
	return lots
}

func (w clients) accountID() string {
	if id := w.account(); id != "" {
		return id
	}
	return "00000000-0000-0000-0000-000000000000"
}

// look reads a public book.
func (w clients) look() {
	pair := pick(w, w.model.pairs)
	w.ask("", nil, "GET", "/api/orderbook?currencyPairCode="+pair+"&aliases=false", "",
		func(a answer) { w.seen(pair, a) })
}

// seen notes a book: within an epoch each seq has one, and seqs do not go back.
func (w clients) seen(pair string, a answer) {
	if !a.ok() {
		return
	}
	seq, err := strconv.ParseUint(a.seq, 10, 64)
	if err != nil {
		w.fail("a book without X-Seq: %s", a.body)
		return
	}
	if had := w.model.bookSeq[pair]; seq < had {
		w.fail("the book of %s is at seq %d, and seq %d was shown in this epoch", pair, seq, had)
	}
	if top, err := topOfAnswer(a.body); err != nil {
		w.fail("a book: %v", err)
	} else if err := note(w.model.tops, pair, seq, top); err != nil {
		w.fail("a book differs from a stream: %v", err)
	}
	if err := note(w.model.books, pair, seq, string(a.body)); err != nil {
		w.fail("a book changed within an epoch: %v", err)
	}
	w.model.bookSeq[pair] = max(w.model.bookSeq[pair], seq)
}

func (u *user) has(k key) bool {
	for _, own := range u.keys {
		if own == k {
			return true
		}
	}
	return false
}
