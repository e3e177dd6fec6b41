package cluster

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

var (
	kindsTime = flag.Duration("kinds.time", 0, "time for which orders of every kind are placed; 0: 12s, or 10m in soak")
	kindsSeed = flag.Uint64("kinds.seed", 0, "seed of the orders; 0: a random one")
)

const kindsPair = "BTC_USDT"

// kinds is a trader who places orders and lists of every kind on the simulated market of a cluster whose writer is
// killed now and then. After each step it compares what it holds, what it has and how its lists stand with its orders
// and deals, by the words of docs/contract alone.
type kinds struct {
	t    *testing.T
	r    *rand.Rand
	f    *failover
	old  int // the node that is the writer
	user *harness.Voter
	paid map[string]*big.Rat // deposits by currency

	placed map[string]*placedOrder // by client order id
	deals  map[string]deal         // by trade id and order id
	counts map[string]int          // what was seen, by words
	last   *big.Rat                // the last trade of the pair

	request string // the last change that was asked for, and its answer
}

// placedOrder is what was sent and acknowledged.
type placedOrder struct {
	kind string
	id   string // of the order or of the list; empty: refused
	list bool
}

// deal is what the checks need of a deal.
type deal struct {
	order       string
	buyer       bool
	amount, fee *big.Rat
	price       *big.Rat
}

// view is an object of an answer, with numbers as they were written.
type view map[string]any

func (v view) text(name string) string {
	switch x := v[name].(type) {
	case nil:
		return ""
	case string:
		return x
	case json.Number:
		return x.String()
	default:
		return fmt.Sprint(x)
	}
}

// rat returns a decimal member; absent or null is 0.
func (v view) rat(name string) *big.Rat {
	r := new(big.Rat)
	if s := v.text(name); s != "" {
		if _, ok := r.SetString(s); !ok {
			panic("no decimal: " + name + " " + s)
		}
	}
	return r
}

func (v view) views(name string) (all []view) {
	list, _ := v[name].([]any)
	for _, x := range list {
		if m, ok := x.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

func (v view) open() bool {
	return slices.Contains([]string{"Created", "PartiallyCompleted", "Pending"}, v.text("status"))
}

func startKinds(t *testing.T, seed uint64) *kinds {
	t.Helper()
	k := &kinds{
		t: t, r: rand.New(rand.NewPCG(seed, 7)), f: newFailover(t), placed: map[string]*placedOrder{},
		deals: map[string]deal{}, counts: map[string]int{}, paid: map[string]*big.Rat{},
	}
	k.f.start(0, k.f.serve("--set", "orders.closed_kept=1000000", "--set", "orders.fills_kept=10000000",
		"--set", "engine.account_stops=2000", "--set", "engine.account_lists=200", "--set", "sim.intensity=400"))
	in := k.f.nodes[0]
	k.user = in.Voter(0, "1", "1")
	k.paid["NATIVE"], k.paid["USBI"] = big.NewRat(1, 1), big.NewRat(1, 1)
	for code, amount := range map[string]int64{"USDT": 5_000_000, "BTC": 50} {
		in.Call(200, "POST", "/users/"+k.user.ID+"/deposits",
			fmt.Sprintf(`{"currencyCode":%q,"amount":%d}`, code, amount))
		k.paid[code] = big.NewRat(amount, 1)
	}
	k.f.start(1, k.f.standby(1, "--set", "sim.intensity=400"))
	harness.WaitFor(t, func() bool { // the simulated market quotes and trades
		_, book := ask(in, "/api/orderbook?currencyPairCode="+kindsPair)
		_, deals := ask(in, "/api/deals?currencyPairCode="+kindsPair)
		return strings.Count(string(book), "price") > 20 && len(deals) > 10
	})
	return k
}

// send sends a signed request to the writer until it is answered, and returns the answer. A change that has no client
// order id may be answered a second time.
func (k *kinds) send(method, target, body string) (status int, answer string) {
	k.t.Helper()
	for end := time.Now().Add(harness.Patience); time.Now().Before(end); {
		for _, n := range []int{k.old, 1 - k.old} {
			in := k.f.nodes[n]
			if in.Ended() {
				continue
			}
			header := append(k.user.Signed(fmt.Sprint(time.Now().UnixMilli()), method, target, body),
				"API-RecvWindow", "60000")
			q := requester{http.DefaultClient, k.r}
			switch a := q.send(in.Public+target, method, body, header...); {
			case a.status == 0 || a.status >= 500 || a.status == 421 || a.status == 401 || a.status == 429:
			default:
				if method != "GET" {
					k.request = fmt.Sprintf("%s %s %s: %d %s", method, target, body, a.status, a.body)
				}
				return a.status, a.body
			}
		}
		<-time.After(20 * time.Millisecond)
	}
	k.t.Fatalf("%s %s is never answered", method, target)
	return 0, ""
}

func (k *kinds) get(target string) (m view) {
	k.t.Helper()
	status, body := k.send("GET", target, "")
	if status != http.StatusOK {
		k.t.Fatalf("GET %s: %d %s", target, status, body)
	}
	return decode(k.t, body)
}

// decode returns a JSON object; a list is the member "list" of one.
func decode(t *testing.T, body string) (m view) {
	t.Helper()
	if strings.HasPrefix(body, "[") {
		body = `{"list":` + body + `}`
	}
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v: %.200s", err, body)
	}
	return m
}

// price returns the last trade's price, changed by so many basis points, in ticks.
func (k *kinds) price(points float64) string {
	v, _ := k.last.Float64()
	return fmt.Sprintf("%.2f", v*(1+points/10_000))
}

// some returns a number from 1 to n.
func (k *kinds) some(n float64) float64 { return 1 + k.r.Float64()*(n-1) }

// orders have the members of the kinds that a step places, by their names.
func (k *kinds) order(kind, side string) string {
	up := map[string]float64{"buy": 1, "sell": -1}[side] // the direction of a price that costs more
	m := map[string]any{
		"side": side, "currencyPairCode": kindsPair, "amount": fmt.Sprintf("0.%05d", 10+k.r.IntN(400)),
	}
	near, far := up*k.some(3), up*k.some(12)
	switch kind {
	case "limit":
		m["price"] = k.price(-near)
	case "limit_take":
		m["price"], m["timeInForce"] = k.price(far), []string{"gtc", "ioc", "fok"}[k.r.IntN(3)]
		if m["timeInForce"] == "fok" {
			m["expireUnfilled"] = k.r.IntN(2) == 0
		}
	case "maker":
		m["price"], m["postOnly"] = k.price(-near), true
	case "iceberg":
		m["price"], m["amount"], m["displayAmount"] = k.price(-near), "0.01", "0.002"
	case "market":
		m["isMarket"] = true
	case "market_quote":
		delete(m, "amount")
		m["isMarket"], m["quoteAmount"] = true, fmt.Sprint(50+k.r.IntN(500))
	case "stop_limit":
		m["type"], m["stopPrice"], m["price"] = kind, k.price(near), k.price(near+far)
	case "stop_market", "take_profit_market":
		m["type"] = kind
		if m["stopPrice"] = k.price(near); kind != "stop_market" {
			m["stopPrice"] = k.price(-near)
		}
		if side == "buy" && k.r.IntN(2) == 0 {
			delete(m, "amount")
			m["quoteAmount"] = fmt.Sprint(50 + k.r.IntN(500))
		}
		m["strictTrigger"] = k.r.IntN(2) == 0
	case "take_profit_limit":
		m["type"], m["stopPrice"], m["price"] = kind, k.price(-near), k.price(far-near)
	case "trailing":
		m["type"], m["trailingDelta"], m["price"] = "stop_limit", 10+k.r.IntN(5), k.price(far)
	case "trailing_profit":
		m["type"], m["trailingDelta"], m["price"] = "take_profit_limit", 10+k.r.IntN(5), k.price(far)
		m["stopPrice"] = k.price(-near)
	}
	text, _ := json.Marshal(m)
	return string(text)
}

// without returns the members of an order for a list.
func without(order string, members ...string) view {
	var m view
	_ = json.Unmarshal([]byte(order), &m)
	for _, name := range append(members, "currencyPairCode") {
		delete(m, name)
	}
	return m
}

// list returns a list of a kind whose first order has the given side.
func (k *kinds) list(kind, side string) string {
	other := map[string]string{"buy": "sell", "sell": "buy"}[side]
	legs := func(side string, amount any) []view {
		up := map[string]float64{"buy": 1, "sell": -1}[side]
		near, far := up*k.some(4), up*k.some(4)
		first := view{"side": side, "type": "limit", "price": k.price(-near), "postOnly": true}
		if k.r.IntN(3) == 0 {
			first = view{"side": side, "type": "take_profit_market", "stopPrice": k.price(-near)}
		}
		second := view{"side": side, "type": "stop_limit", "stopPrice": k.price(far), "price": k.price(far + up*9)}
		if k.r.IntN(3) == 0 {
			second = view{"side": side, "type": "stop_market", "stopPrice": k.price(far)}
		}
		for _, leg := range []view{first, second} {
			if amount != nil {
				leg["amount"] = amount
			}
		}
		return []view{first, second}
	}
	working := without(k.order([]string{"limit", "maker", "limit_take"}[k.r.IntN(3)], side), "expireUnfilled")
	if working["timeInForce"] == nil {
		working["timeInForce"] = "gtc"
	}
	var orders []view
	switch kind {
	case "oco":
		orders = legs(side, working["amount"])
	case "oto":
		pending := without(k.order([]string{"limit", "stop_limit", "market", "trailing"}[k.r.IntN(4)], other))
		orders = []view{working, pending}
	case "otoco":
		orders = append([]view{working}, legs(other, working["amount"])...)
	case "opo":
		pending := without(k.order([]string{"limit", "stop_limit"}[k.r.IntN(2)], "sell"), "amount")
		orders = []view{working, pending}
	case "opoco":
		orders = append([]view{working}, legs("sell", nil)...)
	}
	text, _ := json.Marshal(map[string]any{"kind": kind, "currencyPairCode": kindsPair, "orders": orders})
	return string(text)
}

var (
	kindWords = []string{
		"limit", "limit_take", "maker", "iceberg", "market", "market_quote", "stop_limit", "stop_market",
		"take_profit_limit", "take_profit_market", "trailing", "trailing_profit",
	}
	listWords = []string{"oco", "oto", "otoco", "opo", "opoco"}
)

// step does one thing.
func (k *kinds) step(n int) {
	side := []string{"buy", "sell"}[k.r.IntN(2)]
	id := fmt.Sprintf("k-%d", n)
	named := func(body string) string { return body[:len(body)-1] + fmt.Sprintf(`,"clientOrderId":%q}`, id) }
	switch what := k.r.IntN(48); {
	case what < 26:
		kind := kindWords[k.r.IntN(len(kindWords))]
		k.place(id, kind, "/api/orders", named(k.order(kind, side)))
	case what < 42:
		kind := listWords[k.r.IntN(len(listWords))]
		if strings.HasPrefix(kind, "opo") {
			side = "buy"
		}
		k.place(id, kind, "/api/orders/lists", named(k.list(kind, side)))
	default:
		k.change(what)
	}
	if k.r.IntN(4) == 0 { // the market moves meanwhile
		<-time.After(100 * time.Millisecond)
	}
}

// place places an order or a list until it is answered. A repeat of its client order id never places it again.
func (k *kinds) place(id, kind, target, body string) {
	k.t.Helper()
	status, answer := k.send("POST", target, body)
	p := &placedOrder{kind: kind, list: strings.HasSuffix(target, "lists")}
	switch {
	case status == http.StatusOK && p.list:
		p.id = decode(k.t, answer).text("id")
	case status == http.StatusOK:
		p.id = strings.Trim(answer, `"`)
	default:
		code := decode(k.t, answer).text("code")
		k.counts["refused "+kind+" "+code]++
		if !mayRefuse(code) {
			k.t.Errorf("%s: %d %s\n%s", kind, status, answer, body)
		}
		return
	}
	k.counts["placed "+kind]++
	k.placed[id] = p
}

// mayRefuse reports whether a right order may be refused so, because the market has moved.
func mayRefuse(code string) bool {
	for _, word := range []string{
		"WOULD_CROSS", "WOULD_TRIGGER", "LIST_PRICES", "FOK_UNFILLED", "NO_LIQUIDITY", "TOO_MANY", "INSUFFICIENT_FUNDS",
	} {
		if strings.Contains(code, word) {
			return true
		}
	}
	return false
}

// change cancels or replaces one of the open orders, or cancels a list.
func (k *kinds) change(what int) {
	k.t.Helper()
	open := k.get("/api/user/orders?status=active&pageSize=100").views("list")
	if len(open) < 10 {
		return
	}
	if len(open) > 60 { // a page of the checks has 100
		k.cancelAll()
		return
	}
	o := open[k.r.IntN(len(open))]
	target := "/api/orders/" + o.text("id")
	body, method := "", "DELETE"
	switch {
	case what >= 44 && o.text("price") != "" && o.text("status") != "Pending":
		method, body = "PATCH", fmt.Sprintf(`{"price":%q}`, k.price(float64(k.r.IntN(7)-3)))
	case what == 43 && o.text("listId") != "":
		target = "/api/orders/lists/" + o.text("listId")
	}
	status, answer := k.send(method, target, body)
	k.counts[fmt.Sprint(method, " ", status)]++
	if status != 200 && status != 409 && status != 404 && !mayRefuse(answer) {
		k.t.Errorf("%s %s %s: %d %s", method, target, body, status, answer)
	}
}

// state is one consistent look at the account.
type state struct {
	balances map[string]view
	open     []view
	lists    []view
}

// String has one line for each open order, and one for each open list.
func (s state) String() string {
	text := ""
	short := func(o view) string {
		line := "\n"
		for _, name := range []string{
			"id", "listId", "isBid", "type", "status", "amount", "filledAmount", "price", "stopPrice", "trailingDelta",
			"initialQuoteAmount", "isTriggered", "endReason",
		} {
			line += name + " " + o.text(name) + ", "
		}
		_, h := hold(o)
		return line + "holds " + h.FloatString(8)
	}
	for _, o := range s.open {
		if o.text("listId") == "" {
			text += short(o)
		}
	}
	for _, l := range s.lists {
		text += "\nlist " + l.text("id") + " " + l.text("kind")
		for _, o := range l.views("orders") {
			text += short(o)
		}
	}
	return text
}

// cancelAll cancels every open order of the trader.
func (k *kinds) cancelAll() {
	k.t.Helper()
	status, answer := k.send("DELETE", "/api/orders?currencyPairCode="+kindsPair, "")
	k.counts[fmt.Sprint("DELETE all ", status)]++
	if status != http.StatusOK {
		k.t.Errorf("DELETE all: %d %s", status, answer)
	}
}

// look reads the account until nothing has changed during the look.
func (k *kinds) look() (s state) {
	k.t.Helper()
	for end := time.Now().Add(harness.Patience); time.Now().Before(end); {
		before := k.get("/api/wallets/balances").views("balances")
		s.open = k.get("/api/user/orders?status=active&pageSize=100").views("list")
		s.lists = k.get("/api/user/lists?status=executing&pageSize=100").views("list")
		k.readDeals()
		after := k.get("/api/wallets/balances").views("balances")
		again := k.get("/api/user/orders?status=active&pageSize=100").views("list")
		if fmt.Sprint(before) == fmt.Sprint(after) && fmt.Sprint(s.open) == fmt.Sprint(again) {
			s.balances = map[string]view{}
			for _, b := range after {
				s.balances[b.text("currencyCode")] = b
			}
			return s
		}
	}
	k.t.Fatal("the account never stands still")
	return s
}

// readDeals reads the newest deals until all of a page are known.
func (k *kinds) readDeals() {
	k.t.Helper()
	for page := 1; ; page++ {
		rows := k.get(fmt.Sprint("/api/user/deals?pageSize=100&pageNumber=", page)).views("list")
		known := len(k.deals)
		for _, d := range rows {
			k.deals[d.text("tradeId")+" "+d.text("orderId")] = deal{
				d.text("orderId"), d["isUserBuyer"] == true, d.rat("volume"), d.rat("fee"), d.rat("price"),
			}
		}
		if len(rows) < 100 || len(k.deals) == known {
			return
		}
	}
}

// check compares the account with its orders and deals.
func (k *kinds) check() {
	k.t.Helper()
	s := k.look()
	total := map[string]*big.Rat{}
	for code, v := range k.paid {
		total[code] = new(big.Rat).Set(v)
	}
	filled, brought := map[string]*big.Rat{}, map[string]*big.Rat{}
	for _, d := range k.deals {
		worth := new(big.Rat).Mul(d.amount, d.price)
		if filled[d.order] == nil {
			filled[d.order], brought[d.order] = new(big.Rat), new(big.Rat)
		}
		filled[d.order].Add(filled[d.order], d.amount)
		if d.buyer {
			got := new(big.Rat).Sub(d.amount, d.fee)
			brought[d.order].Add(brought[d.order], got)
			total["BTC"].Add(total["BTC"], got)
			total["USDT"].Sub(total["USDT"], worth)
		} else {
			total["BTC"].Sub(total["BTC"], d.amount)
			total["USDT"].Add(total["USDT"], new(big.Rat).Sub(worth, d.fee))
		}
	}
	held := k.held(s, brought)
	for code, want := range total {
		b := s.balances[code]
		sum := new(big.Rat).Add(b.rat("free"), b.rat("held"))
		if sum.Cmp(want) != 0 || b.rat("total").Cmp(want) != 0 {
			k.t.Errorf("%s: free %s + held %s, deposits and deals say %s", code, b.text("free"), b.text("held"),
				want.FloatString(8))
		}
		if h := held[code]; h != nil && b.rat("held").Cmp(h) != 0 || h == nil && b.rat("held").Sign() != 0 {
			k.t.Errorf("%s: held %s, the open orders say %s; the last request was %s%s", code, b.text("held"),
				h.FloatString(8), k.request, s)
		}
	}
	for _, o := range s.open {
		k.filled(o, filled)
	}
	for _, l := range s.lists {
		k.checkList(l)
		if l.text("status") != "executing" {
			k.t.Errorf("list %s is among the active ones: %v", l.text("id"), l)
		}
	}
}

// held returns what the open orders hold, by the table of docs/contract/trading.md.
func (k *kinds) held(s state, brought map[string]*big.Rat) map[string]*big.Rat {
	sum := map[string]*big.Rat{"BTC": new(big.Rat), "USDT": new(big.Rat)}
	add := func(code string, v *big.Rat) { sum[code].Add(sum[code], v) }
	inOCO := map[string]view{} // by id: the list in which an order is one of two open legs
	for _, l := range s.lists {
		orders := l.views("orders")
		legs := orders
		if kind := l.text("kind"); kind != "oco" {
			legs = orders[1:]
			if strings.HasPrefix(kind, "opo") && legs[0].text("status") == "Pending" {
				if b := brought[orders[0].text("id")]; b != nil {
					add("BTC", b)
				}
			}
		}
		if len(legs) == 2 && legs[0].open() && legs[1].open() && legs[0].text("status") != "Pending" {
			inOCO[legs[0].text("id")], inOCO[legs[1].text("id")] = l, l
			code, a := hold(legs[0])
			_, b := hold(legs[1])
			if a.Cmp(b) < 0 {
				a = b
			}
			add(code, a)
		}
	}
	for _, o := range s.open {
		if inOCO[o.text("id")] == nil {
			code, v := hold(o)
			add(code, v)
		}
	}
	return sum
}

// hold returns what one order holds.
func hold(o view) (code string, v *big.Rat) {
	if o["isBid"] != true {
		code = "BTC"
	} else {
		code = "USDT"
	}
	switch {
	case o.text("status") == "Pending":
		return code, new(big.Rat)
	case code == "BTC":
		return code, o.rat("amount")
	case o.text("initialQuoteAmount") != "":
		return code, o.rat("initialQuoteAmount")
	case o.text("price") != "":
		return code, new(big.Rat).Mul(o.rat("price"), o.rat("amount"))
	}
	return code, new(big.Rat).Mul(o.rat("stopPrice"), o.rat("amount"))
}

// checkList checks that a list stands as its orders do.
func (k *kinds) checkList(l view) {
	k.t.Helper()
	orders, kind := l.views("orders"), l.text("kind")
	open := 0
	for _, o := range orders {
		if o.open() {
			open++
		}
		if o.text("listId") != l.text("id") {
			k.t.Errorf("list %s: its order has listId %q", l.text("id"), o.text("listId"))
		}
	}
	if (open == 0) != (l.text("status") == "done") {
		k.t.Errorf("list %s is %s with %d open orders: %v", l.text("id"), l.text("status"), open, l)
	}
	legs := orders
	if kind != "oco" {
		working := orders[0]
		legs = orders[1:]
		for _, o := range legs {
			switch status := o.text("status"); {
			case working.open() && status != "Pending":
				k.t.Errorf("list %s: an order is %s while the working one is %s: %v", l.text("id"), status,
					working.text("status"), l)
			case working.text("status") == "Completed" && status == "Pending":
				k.t.Errorf("list %s: the working order is filled, and an order pends: %v", l.text("id"), l)
			case !working.open() && working.text("status") != "Completed" &&
				(o.open() || o.rat("filledAmount").Sign() != 0):
				k.t.Errorf("list %s: the working order ended unfilled, and an order is %s: %v", l.text("id"), status, l)
			}
		}
	}
	if len(legs) == 2 {
		works := 0
		for _, o := range legs {
			if o.rat("filledAmount").Sign() != 0 || o["isTriggered"] == true {
				works++
			}
		}
		if works == 2 {
			k.t.Errorf("list %s: both legs worked: %v", l.text("id"), l)
		}
		if works == 1 && legs[0].open() && legs[1].open() {
			k.t.Errorf("list %s: one leg works, and both are open: %v", l.text("id"), l)
		}
	}
}

// ends checks every order and list that was acknowledged, and that each deal is still there, once. The open orders are
// canceled before: the market trades on, and an order that is read behind the deals would have a deal more.
func (k *kinds) ends() {
	k.t.Helper()
	k.cancelAll()
	have := k.deals
	k.deals = map[string]deal{}
	k.readDeals()
	for key := range have {
		if _, there := k.deals[key]; !there {
			k.t.Errorf("deal %s was shown and is lost", key)
		}
	}
	sums := map[string]*big.Rat{}
	for _, d := range k.deals {
		if sums[d.order] == nil {
			sums[d.order] = new(big.Rat)
		}
		sums[d.order].Add(sums[d.order], d.amount)
	}
	for id, p := range k.placed {
		if p.list {
			l := k.get("/api/orders/lists/" + p.id)
			if l.text("clientOrderId") != id || l.text("kind") != p.kind {
				k.t.Errorf("list %s was acknowledged as %s %s: %v", p.id, p.kind, id, l)
			}
			k.checkList(l)
			for _, o := range l.views("orders") {
				k.note(p.kind, o)
				k.filled(o, sums)
			}
			continue
		}
		o := k.get("/api/orders/" + p.id)
		if o.text("clientOrderId") != id {
			k.t.Errorf("order %s was acknowledged as %s: %v", p.id, id, o)
		}
		k.note(p.kind, o)
		k.filled(o, sums)
	}
}

func (k *kinds) note(kind string, o view) {
	k.counts[kind+" "+o.text("status")+" "+o.text("endReason")]++
}

func (k *kinds) filled(o view, sums map[string]*big.Rat) {
	k.t.Helper()
	want := sums[o.text("id")]
	if want == nil {
		want = new(big.Rat)
	}
	if o.rat("filledAmount").Cmp(want) != 0 {
		k.t.Errorf("order %s: filledAmount %s, its deals say %s", o.text("id"), o.text("filledAmount"),
			want.FloatString(5))
	}
}

// fail kills the writer; in every second fault both nodes, of which the writer comes back first.
func (k *kinds) fail(n int) {
	k.t.Helper()
	old, other := k.old, 1-k.old
	k.f.nodes[old].Signal(syscall.SIGKILL)
	k.f.nodes[old].Wait()
	if n%2 == 1 {
		k.f.nodes[other].Signal(syscall.SIGKILL)
		k.f.nodes[other].Wait()
		k.f.start(old, k.f.standby(old, "--set", "sim.intensity=400"))
		k.f.awaitRole(old, "writer")
	} else {
		k.f.awaitRole(other, "writer")
		k.old, other = other, old
	}
	k.f.start(other, k.f.standby(other, "--set", "sim.intensity=400"))
}

// Orders and lists of every kind, placed on a live market whose writer is killed, stand as the contract says at each
// step: holds, balances, fills and lists are exact, and nothing acknowledged is lost.
func TestEveryKindOfOrderIsExact(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	seed, length := *kindsSeed, *kindsTime
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	if length == 0 {
		if length = 12 * time.Second; os.Getenv("TICKHIVE_SOAK") == "1" {
			length = 10 * time.Minute
		}
	}
	t.Logf("seed %d", seed)
	k := startKinds(t, seed)
	begun, faults, steps := time.Now(), 0, 0
	most := 2 + int(length/time.Minute)
	for ; time.Since(begun) < length && !t.Failed(); steps++ {
		if rows := k.get("/api/deals?pageSize=1&currencyPairCode=" + kindsPair).views("list"); len(rows) > 0 {
			k.last = rows[0].rat("price")
		}
		k.step(steps)
		k.check()
		if time.Since(begun) > time.Duration(faults+1)*length/time.Duration(most+1) && faults < most {
			k.fail(faults)
			faults++
			k.check()
		}
	}
	k.ends()
	t.Logf("%d steps, %d faults, %d deals", steps, faults, len(k.deals))
	for _, word := range slices.Sorted(maps.Keys(k.counts)) {
		t.Logf("%6d %s", k.counts[word], word)
	}
	for _, word := range append(slices.Clone(kindWords), listWords...) {
		if length > time.Minute && k.counts["placed "+word] == 0 {
			t.Errorf("no %s was placed", word)
		}
	}
}
