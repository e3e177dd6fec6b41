package nets

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/tickhive/tickhive/client"
)

// Reader is a client that reads after each of its own answers, at once and everywhere, and fails when a read shows less
// than the answer said: the book, the order, the lists, the balances, the trades, the ticker, the candle, the Binance
// interface. Sockets that it has opened before come to show the same, each change once. It trades with itself by two
// accounts on a pair of its own without fees, so it knows what each read must show. Several Readers of one node make
// the load of each other.
//
// What was said holds at the next process and at the next writer: At goes on there.
type Reader struct {
	n            *Node
	maker, taker *User
	base, pair   string
	public       public
	private      map[*User]*private
	// What the answers so far have said; whole numbers.
	coins, cash [2]int // free and held, of the maker and of the taker
	trades      int
	last, sum   int // price of the last trade; amount of all
	seq         uint64
	price, rest int    // of the order that rests
	order       string // that rests, or did
	bought      string // the order that has met it
}

// NewReader makes the pair and the two accounts of a reader; number tells the readers of an exchange apart.
func NewReader(n *Node, number int) *Reader {
	n.T.Helper()
	r := &Reader{n: n, base: fmt.Sprint("R", number), private: map[*User]*private{}}
	r.pair = r.base + "_USDT"
	r.public.pair = r.pair
	n.Call(http.MethodPost, "/pairs",
		`{"code":"`+r.pair+`","digitsPrice":1,"digitsAmount":1,"makerFee":0,"takerFee":0}`)
	r.coins, r.cash = [2]int{1000, 1000}, [2]int{1000000, 1000000}
	for i, u := range []**User{&r.maker, &r.taker} {
		id := n.Call(http.MethodPost, "/users", "{}")["id"].(string)
		*u = n.newKey(id)
		for currency, amount := range map[string]int{r.base: r.coins[i], "USDT": r.cash[i]} {
			r.deposit(*u, currency, amount)
			r.balance("after the first deposit", *u, currency, amount, 0)
		}
	}
	r.listen()
	return r
}

// listen opens the sockets.
func (r *Reader) listen() {
	r.n.T.Helper()
	r.public.connect(r.n)
	for _, u := range []*User{r.maker, r.taker} {
		r.private[u] = follow(r.n, u)
		r.private[u].since = r.trades
	}
}

// At goes on at another node, or another process: everything that was said is read there.
func (r *Reader) At(n *Node, when string) {
	n.T.Helper()
	r.n = n
	r.listen()
	if open := len(r.private[r.maker].orders); r.rest > 0 && open != 1 {
		n.T.Errorf("%s: the socket of the maker has %d open orders, want 1", when, open)
	}
	if open := r.private[r.taker].orders; len(open) > 0 {
		n.T.Errorf("%s: the socket of the taker has the open orders %v", when, open)
	}
	r.Look(when)
}

// Look reads everything that was said.
func (r *Reader) Look(when string) {
	r.n.T.Helper()
	r.reads(when, r.seq, r.price, r.rest)
	r.money(when, r.rest)
	if r.rest > 0 {
		r.orderIs(when, r.maker, r.order, "PartiallyCompleted", r.rest)
		r.listed(when, r.order, true)
	}
	if r.bought != "" {
		r.orderIs(when, r.taker, r.bought, "Completed", 0)
		r.fill(when, r.taker, r.bought)
		r.fill(when, r.maker, r.order)
	}
}

func (r *Reader) deposit(u *User, currency string, amount int) {
	r.n.Call(http.MethodPost, "/users/"+u.ID+"/deposits",
		fmt.Sprintf(`{"currencyCode":%q,"amount":%d}`, currency, amount))
}

// Round trades once at a price: the maker's order rests, is replaced, is met in part, and its rest is canceled. The
// book is empty before and after it.
func (r *Reader) Round(price int) {
	r.n.T.Helper()
	r.Open(price)
	r.Close()
}

// Open is the part of a Round up to the trade: the rest of the order is in the book.
func (r *Reader) Open(price int) {
	r.n.T.Helper()
	const amount, more, met = 3, 5, 2
	id, seq := r.place(r.maker, "sell", price+1, amount)
	r.reads("after an order", seq, price+1, amount)
	r.orderIs("after an order", r.maker, id, "Created", amount)
	r.money("after an order", amount)
	r.listed("after an order", id, true)

	a := r.n.OK(r.maker, http.MethodPatch, "/api/orders/"+id, fmt.Sprintf(`{"price":%d,"amount":%d}`, price, more))
	r.reads("after a replace", seqOf(&a), price, more)
	r.orderIs("after a replace", r.maker, id, "Created", more)
	r.money("after a replace", more)

	bought, seq := r.place(r.taker, "buy", price, met)
	r.coins[0], r.coins[1] = r.coins[0]-met, r.coins[1]+met
	r.cash[0], r.cash[1] = r.cash[0]+met*price, r.cash[1]-met*price
	r.trades, r.last, r.sum = r.trades+1, price, r.sum+met
	r.seq, r.price, r.rest, r.order, r.bought = seq, price, more-met, id, bought
	r.Look("after a trade")
}

// Close is the part of a Round behind Open.
func (r *Reader) Close() {
	r.n.T.Helper()
	const amount = 3
	a := r.n.OK(r.maker, http.MethodDelete, "/api/orders/"+r.order, "")
	r.reads("after a cancel", seqOf(&a), r.price, 0)
	r.orderIs("after a cancel", r.maker, r.order, "", r.rest)
	r.rest = 0
	r.money("after a cancel", 0)
	r.listed("after a cancel", r.order, false)

	a = r.n.OK(r.taker, http.MethodPost, "/api/orders/batch", fmt.Sprintf(
		`{"commands":[{"place":{"currencyPairCode":%q,"side":"buy","price":%d,"amount":%d}}]}`,
		r.pair, r.price-1, amount))
	r.reads("after a batch", seqOf(&a), r.price-1, amount)
	b := r.n.OK(r.taker, http.MethodDelete, "/api/orders?currencyPairCode="+r.pair, "")
	if canceled := object(r.n.T, b.Body)["canceled"]; fmt.Sprint(canceled) != "1" {
		r.n.T.Errorf("a cancel of all after a batch of one: %v", canceled)
	}
	r.seq = seqOf(&a) + 1 // the answer names none: the cancel is one event
	r.reads("after a cancel of all", r.seq, r.price-1, 0)

	r.deposit(r.taker, "USDT", 7)
	r.cash[1] += 7
	r.money("after a deposit", 0)
}

// place places an order and returns its id and the seq that the answer names.
func (r *Reader) place(u *User, side string, price, amount int) (id string, seq uint64) {
	r.n.T.Helper()
	a := r.n.OK(u, http.MethodPost, "/api/orders", fmt.Sprintf(
		`{"currencyPairCode":%q,"side":%q,"price":%d,"amount":%d}`, r.pair, side, price, amount))
	Parse(r.n.T, a.Body, &id)
	return id, seqOf(&a)
}

// seqOf returns X-Seq, 0 without one.
func seqOf(a *Answer) uint64 {
	seq, err := strconv.ParseUint(a.Header.Get("X-Seq"), 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

// reads reads what everybody sees of the pair: amount at price, and the trades so far. seq is what the answer named.
func (r *Reader) reads(when string, seq uint64, price, amount int) {
	r.n.T.Helper()
	get := func(target string) string {
		if seq > 0 {
			target += fmt.Sprint("&minSeq=", seq) // a view that is not there is 503
		}
		return r.n.OK(nil, http.MethodGet, target, "").Body
	}
	r.want(when, "the book", r.level(get("/api/marketdata/getaggregator/orderbook?depth=0&ticker_id="+r.pair),
		price), amount)
	var best struct {
		Bids, Asks []struct{ Price, Amount client.Decimal }
	}
	Parse(r.n.T, r.n.Inside(http.MethodGet, internalAPI+"/book/"+r.pair, "").Body, &best)
	inside := 0
	for _, l := range append(best.Bids, best.Asks...) {
		if whole(l.Price) == price {
			inside += whole(l.Amount)
		}
	}
	r.want(when, "the internal book", inside, amount)
	if r.n.Binance != "" {
		a := r.n.do(http.MethodGet, r.n.Binance+"/api/v3/depth?symbol="+strings.ReplaceAll(r.pair, "_", ""), "",
			http.Header{})
		r.want(when, "the book of the Binance interface", r.level(a.Body, price), amount)
	}
	ticker := object(r.n.T, get("/api/tickers?currencyPairCode="+r.pair))
	r.want(when, "the last price of the ticker", whole(ticker["price"]), r.last)
	r.want(when, "the volume of the ticker", whole(ticker["volume24h"]), r.sum)
	var deals []struct{ Price client.Decimal }
	Parse(r.n.T, get("/api/deals?pageSize=100&currencyPairCode="+r.pair), &deals)
	if len(deals) < min(r.trades, 100) || r.trades > 0 && whole(deals[0].Price) != r.last {
		r.n.T.Errorf("%s: %d deals, the first %v; want %d, the first at %d", when,
			len(deals), deals[:min(len(deals), 1)], r.trades, r.last)
	}
	var candles []struct{ VolumeBase, Close client.Decimal }
	Parse(r.n.T, get("/api/ohlc?interval=year&start=2020-01-01&end=2100-01-01&currencyPairCode="+r.pair), &candles)
	sum := 0
	for _, c := range candles {
		sum += whole(c.VolumeBase)
	}
	r.want(when, "the volume of the candles", sum, r.sum)
	r.n.comesTo(when, func() { r.public.take() }, func() string {
		return r.public.shows(price, amount, r.trades, r.last, r.sum)
	})
}

// level returns the amount at a price of a book with bids and asks.
func (r *Reader) level(body string, price int) (amount int) {
	r.n.T.Helper()
	var book struct{ Bids, Asks [][2]client.Decimal }
	Parse(r.n.T, body, &book)
	for _, l := range append(book.Bids, book.Asks...) {
		if whole(l[0]) == price {
			amount += whole(l[1])
		}
	}
	return amount
}

// orderIs reads an order of u: its status, unless that is empty, and its open amount.
func (r *Reader) orderIs(when string, u *User, id, status string, open int) {
	r.n.T.Helper()
	o := object(r.n.T, r.n.OK(u, http.MethodGet, "/api/orders/"+id, "").Body)
	if status == "" {
		if o["isCanceled"] != true {
			r.n.T.Errorf("%s: order %s is not canceled: %v", when, id, o)
		}
	} else if o["status"] != status || whole(o["amount"]) != open {
		r.n.T.Errorf("%s: order %s is %v with %v open, want %s with %d", when, id,
			o["status"], o["amount"], status, open)
	}
	p := r.private[u]
	p.comesTo(when, func() string {
		is, known := p.orders[id]
		switch {
		case !known && status == "Completed" && p.since == r.trades: // ended before the socket was opened
			return ""
		case known && status == "" && is.IsCanceled,
			known && is.Status == status && is.Amount != nil && whole(*is.Amount) == open:
			return ""
		}
		return fmt.Sprintf("order %s as %+v, want %s with %d", id, is, status, open)
	})
}

// listed reads whether the maker's active orders have an order.
func (r *Reader) listed(when, id string, want bool) {
	r.n.T.Helper()
	var rows []struct{ ID string }
	Parse(r.n.T, r.n.OK(r.maker, http.MethodGet, "/api/user/orders?status=active", "").Body, &rows)
	found := false
	for _, row := range rows {
		found = found || row.ID == id
	}
	if found != want {
		r.n.T.Errorf("%s: order %s in the active orders: %t, want %t", when, id, found, want)
	}
}

// fill reads whether the newest deal of u is the last trade by an order.
func (r *Reader) fill(when string, u *User, order string) {
	r.n.T.Helper()
	var rows []client.Fill
	Parse(r.n.T, r.n.OK(u, http.MethodGet, "/api/user/deals", "").Body, &rows)
	if len(rows) == 0 || rows[0].OrderID != order || int(rows[0].TradeID) != r.trades {
		r.n.T.Errorf("%s: the newest deal is %+v, want trade %d of order %s", when,
			rows[:min(len(rows), 1)], r.trades, order)
	}
	p := r.private[u]
	p.comesTo(when, func() string {
		for i, f := range p.fills {
			if int(f.TradeID) != p.since+1+i {
				return fmt.Sprintf("fill %d of trade %d, want %d", i, f.TradeID, p.since+1+i)
			}
		}
		if n := len(p.fills); n != r.trades-p.since || n > 0 && p.fills[n-1].OrderID != order {
			return fmt.Sprintf("the fills %v, want those up to trade %d of order %s", p.fills, r.trades, order)
		}
		return ""
	})
}

// money reads the balances of both accounts; the maker has held coins in an order.
func (r *Reader) money(when string, held int) {
	r.n.T.Helper()
	r.balance(when, r.maker, r.base, r.coins[0]-held, held)
	r.balance(when, r.maker, "USDT", r.cash[0], 0)
	r.balance(when, r.taker, r.base, r.coins[1], 0)
	r.balance(when, r.taker, "USDT", r.cash[1], 0)
}

func (r *Reader) balance(when string, u *User, currency string, free, held int) {
	r.n.T.Helper()
	rows, err := r.n.Client(u).Balances(r.n.T.Context())
	if err != nil {
		r.n.T.Fatal(err)
	}
	for _, b := range rows {
		if b.Currency == currency {
			if whole(b.Free) != free || whole(b.Held) != held {
				r.n.T.Errorf("%s: %s free %s, held %s, want %d and %d", when, currency, b.Free, b.Held, free, held)
			}
			if p := r.private[u]; p != nil {
				p.comesTo(when, func() string {
					if is := p.balances[currency]; whole(is.Free) != free || whole(is.Held) != held {
						return fmt.Sprintf("the balance %+v, want %s %d and %d", is, currency, free, held)
					}
					return ""
				})
			}
			return
		}
	}
	r.n.T.Errorf("%s: no balance of %s, want %d", when, currency, free)
}

func (r *Reader) want(when, what string, got, want int) {
	r.n.T.Helper()
	if got != want {
		r.n.T.Errorf("%s: %s shows %d, the answer said %d", when, what, got, want)
	}
}

// whole returns a decimal that is a whole number, -1 for another text.
func whole(d any) int {
	head, rest, _ := strings.Cut(fmt.Sprint(d), ".")
	v, err := strconv.Atoi(head)
	if err != nil || strings.Trim(rest, "0") != "" {
		return -1
	}
	return v
}
