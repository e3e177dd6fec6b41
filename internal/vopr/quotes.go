package vopr

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Clients place quotes through the facade: orders under few client order ids, each used again and again, as bots with
// fixed ids do. The model knows the rule: an id is unique among the open orders of an account and pair.

const facade = "/api/v3/"

// quote is what the answers promised about a client order id of an account in a pair.
type quote struct {
	user, pair, client string

	id     uint64 // the newest acknowledged order, 0: none
	ended  bool   // its cancel was acknowledged
	unsure bool   // an order of unknown outcome may have the id
}

// quoteAnswer is an order or an error in an answer of Binance's interface.
type quoteAnswer struct {
	OrderID           uint64
	ClientOrderID     string
	OrigClientOrderID string
	Status            string
	Code              int
	Msg               string
}

// quoteOf returns what is known about an id.
func (m *model) quoteOf(user, pair, client string) *quote {
	for _, q := range m.quotes {
		if q.user == user && q.pair == pair && q.client == client {
			return q
		}
	}
	m.quotes = append(m.quotes, &quote{user: user, pair: pair, client: client})
	return m.quotes[len(m.quotes)-1]
}

func symbol(pair string) string { return strings.ReplaceAll(pair, "_", "") }

// signQuery returns the target with its signed parameters. Each request has its own window, so that equal ones of a
// millisecond differ.
func (k *key) signQuery(target string, stampMs int64, nonce int) string {
	path, query, _ := strings.Cut(target, "?")
	if query != "" {
		query += "&"
	}
	query += fmt.Sprintf("recvWindow=%d&timestamp=%d", 5000+nonce%50_000, stampMs)
	mac := hmac.New(sha256.New, []byte(k.PrivateKey))
	_, _ = mac.Write([]byte(query))
	return path + "?" + query + "&signature=" + hex.EncodeToString(mac.Sum(nil))
}

// quote places or cancels an order of one of the first users under one of few ids.
func (w clients) quote() {
	u := pick(w, w.model.users[:min(3, len(w.model.users))])
	if len(u.keys) == 0 || w.busy["quote"] {
		return
	}
	k := pick(w, u.keys)
	q := w.model.quoteOf(u.ID, pick(w, w.model.pairs), "q"+strconv.Itoa(w.rnd.IntN(2)))
	w.mix.Market++
	w.mix.Quotes++
	target := facade + "order?symbol=" + symbol(q.pair)
	if w.rnd.IntN(3) == 0 {
		w.ask("quote", &k, "DELETE", target+"&origClientOrderId="+q.client, "", func(a answer) { w.unquoted(q, a) })
		return
	}
	o := &order{
		pair: q.pair, client: q.client, account: u.ID, side: pick(w, []string{"buy", "sell"}),
		price: shortest(fmt.Sprintf("%d.%02d", 95+w.rnd.IntN(10), w.rnd.IntN(100))), amount: "0.5",
	}
	target += "&type=LIMIT&timeInForce=" + pick(w, []string{"GTC", "GTC", "GTC", "IOC"}) + "&side=" +
		strings.ToUpper(o.side) + "&price=" + o.price + "&quantity=" + o.amount + "&newClientOrderId=" + o.client
	w.ask("quote", &k, "POST", target, "", func(a answer) { w.quoted(q, o, a) })
}

// quoted notes the answer to a new order.
func (w clients) quoted(q *quote, o *order, a answer) {
	if a.unknown() {
		w.model.maybe = append(w.model.maybe, o)
		q.unsure = true
		return
	}
	var got quoteAnswer
	if err := a.json(&got); err != nil {
		w.fail("a quote's answer: %v", err)
		return
	}
	if !a.ok() {
		if got.Msg == "Duplicate order sent." && !q.unsure && (q.id == 0 || q.ended) {
			w.fail("the id %+v is refused, and no open order has it", *q)
		}
		return
	}
	if w.model.orders[got.OrderID] != nil || got.ClientOrderID != q.client {
		w.fail("the answer to a new order under the id %+v is %+v", *q, got)
		return
	}
	o.id = got.OrderID
	if err := w.acknowledged(o); err != nil {
		w.fail("%v", err)
	}
	before := q.id
	q.id, q.ended, q.unsure = got.OrderID, false, false
	if before != 0 {
		var was orderAnswer
		old := w.call(nil, "GET", internal+"/orders/"+strconv.FormatUint(before, 10), "")
		if err := old.into(&was); err == nil && (was.Status == "Created" || was.Status == "PartiallyCompleted") {
			w.fail("the orders %d and %d are open under the id %+v", before, q.id, *q)
		}
	}
}

// unquoted notes the answer to a cancel by id.
func (w clients) unquoted(q *quote, a answer) {
	var got quoteAnswer
	if !a.ok() {
		return
	}
	if err := a.json(&got); err != nil || got.Status != "CANCELED" || got.OrigClientOrderID != q.client ||
		got.ClientOrderID == "" || got.ClientOrderID == q.client {
		w.fail("the answer to the cancel of %+v is %s: %v", *q, a.body, err)
		return
	}
	if got.OrderID != q.id && !q.unsure || q.ended && !q.unsure {
		w.fail("the cancel of the id %+v ended order %d", *q, got.OrderID)
	}
	q.id, q.ended, q.unsure = got.OrderID, true, false
}

// checkQuotes verifies that each id finds its newest order, and that no two open orders have one.
func (w checker) checkQuotes() {
	w.machine.pass(int64(1100 * time.Millisecond)) // a start refuses what an earlier process may have accepted
	for _, q := range w.model.quotes {
		if w.gone() {
			q.id, q.unsure = 0, true
		}
		u := w.userOf(q.user)
		if q.id == 0 || q.unsure || w.stepped || u == nil || len(u.keys) == 0 {
			continue
		}
		var got quoteAnswer
		a := w.call(&u.keys[0], "GET", facade+"order?symbol="+symbol(q.pair)+"&origClientOrderId="+q.client, "")
		if err := a.json(&got); err != nil || got.OrderID != q.id ||
			q.ended && got.Status != "CANCELED" || got.ClientOrderID != q.client {
			w.fail("the id %+v finds %s: %v", *q, a.body, err)
		}
	}
	for _, u := range w.model.users {
		u.switched = u.switched || w.stale || w.epochs && w.may.any || len(w.starting) > 0
		if w.stepped || len(u.keys) == 0 {
			continue
		}
		var open []struct {
			Symbol, ClientOrderID string
			OrderID               uint64
			Time                  int64
		}
		a := w.call(&u.keys[0], "GET", facade+"openOrders", "")
		if err := a.into(&open); err != nil {
			w.fail("the open orders of user %s: %v", u.ID, err)
		}
		if len(open) > 0 && u.halt == halted && len(w.starting) == 0 {
			w.fail("the halted user %s has open orders after a start: %+v", u.ID, open)
		}
		seen := map[string]bool{}
		for _, o := range open {
			w.checkSwitch(u, o.Time, o.OrderID)
			if id := o.Symbol + " " + o.ClientOrderID; seen[id] || o.ClientOrderID == "" {
				w.fail("two open orders of user %s have the id %q, or one has none", u.ID, id)
			} else {
				seen[id] = true
			}
		}
	}
}

func (w *world) userOf(id string) *user {
	for _, u := range w.model.users {
		if u.ID == id {
			return u
		}
	}
	return nil
}
