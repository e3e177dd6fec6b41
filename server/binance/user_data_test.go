package binance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	gobinance "github.com/adshao/go-binance/v2"
)

// userEvent is any message of a user data stream. Members whose names differ in case alone are read by hand.
type userEvent map[string]json.RawMessage

func (e userEvent) text(name string) string { return strings.Trim(string(e[name]), `"`) }

// life follows the user data stream of a user.
type life struct {
	*socket
	u        *user
	balances map[string][2]string // by asset: free, locked
}

func (u *user) follow() *life {
	u.r.t.Helper()
	key, err := u.NewStartUserStreamService().Do(u.r.t.Context())
	if err != nil {
		u.r.t.Fatal(err)
	}
	return &life{u.r.socket("/ws/" + key), u, map[string][2]string{}}
}

// event returns the next message.
func (l *life) event() userEvent {
	l.t.Helper()
	var e userEvent
	text := l.next()
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		l.t.Fatal(err)
	}
	l.fold(e)
	e[wholeEvent] = json.RawMessage(text)
	return e
}

// wholeEvent is the name under which an event has its own text.
const wholeEvent = ""

func (l *life) fold(e userEvent) {
	if e.text("e") != "outboundAccountPosition" {
		return
	}
	var rows []map[string]string
	if err := json.Unmarshal(e["B"], &rows); err != nil {
		l.t.Fatal(err)
	}
	for _, r := range rows {
		l.balances[r["a"]] = [2]string{r["f"], r["l"]}
	}
}

// reports checks the next execution reports, each in the members x X w m q z l L Z Y t, and returns them. Positions
// between them are folded.
func (l *life) reports(want ...string) (list []userEvent) {
	l.t.Helper()
	for len(list) < len(want) {
		e := l.event()
		if e.text("e") != "executionReport" {
			continue
		}
		list = append(list, e)
		var got []string
		for _, name := range []string{"x", "X", "w", "m", "q", "z", "l", "L", "Z", "Y", "t"} {
			got = append(got, trim(e.text(name)))
		}
		if text := strings.Join(got, " "); text != want[len(list)-1] {
			l.t.Errorf("report %s\nwant   %s", text, want[len(list)-1])
		}
	}
	return list
}

// settled reads positions until the balances are those of the native API.
func (l *life) settled() {
	l.t.Helper()
	rows, err := l.u.native.Balances(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	differ := func() bool {
		for _, row := range rows {
			b, known := l.balances[row.Currency]
			if known && (trim(b[0]) != trim(string(row.Free)) || trim(b[1]) != trim(string(row.Held))) {
				return true
			}
		}
		return false
	}
	for differ() {
		l.event()
	}
}

// Every event of an order's life is a report with the figures that the order had at that moment, in order; the
// positions end at the balances of the native API.
func TestReportsOfAnOrdersLife(t *testing.T) {
	r, a, b := funded(t)
	ctx := t.Context()
	anna, bert := a.follow(), b.follow()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	limit := func(u *user, side, amount, price string) *gobinance.CreateOrderService {
		return u.NewCreateOrderService().Symbol("BTCUSDT").Side(gobinance.SideType(side)).Type("LIMIT").
			TimeInForce("GTC").Quantity(amount).Price(price)
	}
	market := func(u *user, side string) *gobinance.CreateOrderService {
		return u.NewCreateOrderService().Symbol("BTCUSDT").Side(gobinance.SideType(side)).Type("MARKET")
	}

	rest, err := limit(a, "SELL", "2", "100.5").NewClientOrderID("ask-1").Do(ctx)
	must(rest, err)
	first := anna.reports("NEW NEW true false 2 0 0 0 0 0 -1")[0]
	at := fmt.Sprint(r.now().UnixMilli())
	want := map[string]string{
		"s": "BTCUSDT", "c": "ask-1", "S": "SELL", "o": "LIMIT", "f": "GTC", "p": "100.50", "P": "0.00",
		"F": "0.00000", "g": "-1", "C": "", "r": "NONE", "i": fmt.Sprint(rest.OrderID), "n": "0", "N": "null",
		"T": at, "E": at, "M": "false", "O": at, "Q": "0.0000000", "W": at, "V": "EXPIRE_MAKER",
	}
	for name, v := range want {
		if first.text(name) != v {
			t.Errorf("%s is %s, not %s", name, first.text(name), v)
		}
	}
	must(market(b, "BUY").Quantity("0.5").Do(ctx))
	trade := bert.reports("NEW NEW true false 0.5 0 0 0 0 0 -1",
		"TRADE FILLED false false 0.5 0.5 0.5 100.5 50.25 50.25 1")[1]
	if trade.text("n") != "0.00050000" || trade.text("N") != "BTC" || trade.text("o") != "MARKET" ||
		trim(trade.text("Q")) != "0" { // 0.1 % of 0.5 BTC
		t.Errorf("%s", trade)
	}
	fills, _, err := b.native.Fills(ctx, listAll())
	must(fills, err)
	r.equal("fee", trade.text("n"), json.Number(fills[0].Fee))
	sold := anna.reports("TRADE PARTIALLY_FILLED true true 2 0.5 0.5 100.5 50.25 50.25 1")[0]
	if sold.text("n") != "0.05025000" || sold.text("N") != "USDT" { // 0.1 % of 50.25 USDT
		t.Errorf("%s", sold)
	}
	// a purchase by quote amount is filled by its last trade
	must(market(b, "BUY").QuoteOrderQty("50.25").Do(ctx))
	byQuote := bert.reports("NEW NEW true false 0 0 0 0 0 0 -1",
		"TRADE FILLED false false 0.5 0.5 0.5 100.5 50.25 50.25 2")[1]
	if trim(byQuote.text("Q")) != "50.25" {
		t.Errorf("%s", byQuote)
	}
	anna.reports("TRADE PARTIALLY_FILLED true true 2 1 0.5 100.5 100.5 50.25 2")
	if status, body := a.raw("PUT", "/api/v3/order/amend/keepPriority",
		fmt.Sprintf("symbol=BTCUSDT&orderId=%d&newQty=1.5&newClientOrderId=ask-1",
			rest.OrderID)); status != http.StatusOK {
		t.Fatal(body)
	}
	amended := anna.reports("REPLACED PARTIALLY_FILLED true false 1.5 1 0 0 100.5 0 -1")[0]
	if amended.text("c") != "ask-1" || amended.text("C") != rest.ClientOrderID {
		t.Errorf("%s, amended from %s", amended, rest.ClientOrderID)
	}
	must(limit(a, "BUY", "1", "50").TimeInForce("IOC").Do(ctx))
	anna.reports("NEW NEW true false 1 0 0 0 0 0 -1", "EXPIRED EXPIRED false false 1 0 0 0 0 0 -1")
	// self-trade prevention: the taker ends; with DECREMENT the maker loses what the taker would have taken
	must(limit(a, "BUY", "0.2", "100.5").SelfTradePreventionMode("EXPIRE_TAKER").Do(ctx))
	prevented := anna.reports("NEW NEW true false 0.2 0 0 0 0 0 -1",
		"TRADE_PREVENTION EXPIRED_IN_MATCH false false 0.2 0 0 0 0 0 -1")[1]
	for name, v := range map[string]string{
		"A": "0.20000", "B": "0.20000", "v": "1", "u": "-1", "U": fmt.Sprint(rest.OrderID), "pl": "0.20000",
		"pL": "100.50", "pY": "20.1000000",
	} {
		if prevented.text(name) != v {
			t.Errorf("%s of a prevented trade is %s, not %s", name, prevented.text(name), v)
		}
	}
	must(a.NewCreateOrderService().Symbol("BTCUSDT").Side("BUY").Type("LIMIT").TimeInForce("GTC").Quantity("0.2").
		Price("100.5").SelfTradePreventionMode("DECREMENT").Do(ctx))
	list := anna.reports("NEW NEW true false 0.2 0 0 0 0 0 -1",
		"TRADE_PREVENTION PARTIALLY_FILLED true false 1.5 1 0 0 100.5 0 -1",
		"TRADE_PREVENTION NEW true false 0.2 0 0 0 0 0 -1",
		"TRADE_PREVENTION EXPIRED_IN_MATCH false false 0.2 0 0 0 0 0 -1")
	if trim(list[1].text("A")) != "0.2" || list[1].text("i") != fmt.Sprint(rest.OrderID) ||
		list[1].text("U") != list[2].text("i") || list[2].text("U") != list[1].text("i") || list[1].text("v") != "2" {
		t.Errorf("%s", list[1])
	}
	anna.settled()
	bert.settled()

	// a stop waits, enters the book when the market reaches it, and trades
	must(limit(b, "BUY", "3", "99").Do(ctx))
	bert.reports("NEW NEW true false 3 0 0 0 0 0 -1")
	must(a.NewCreateOrderService().Symbol("BTCUSDT").Side("SELL").Type("STOP_LOSS_LIMIT").TimeInForce("GTC").
		Quantity("1").Price("98").StopPrice("99").Do(ctx))
	waits := anna.reports("NEW NEW false false 1 0 0 0 0 0 -1")[0]
	if _, working := waits["W"]; working || trim(waits.text("P")) != "99" {
		t.Errorf("%s", waits)
	}
	must(market(b, "SELL").Quantity("0.1").SelfTradePreventionMode("NONE").Do(ctx))
	anna.reports("NEW NEW true false 1 0 0 0 0 0 -1", "TRADE FILLED false false 1 1 1 99 99 99 4")
	bert.reports("NEW NEW true false 0.1 0 0 0 0 0 -1", "TRADE FILLED false false 0.1 0.1 0.1 99 9.9 9.9 3",
		"TRADE PARTIALLY_FILLED true true 3 0.1 0.1 99 9.9 9.9 3",
		"TRADE PARTIALLY_FILLED true true 3 1.1 1 99 108.9 99 4")

	// cancel and replace are two commands
	if status, body := a.raw("POST", "/api/v3/order/cancelReplace", fmt.Sprintf("symbol=BTCUSDT&side=SELL&type=LIMIT&"+
		"timeInForce=GTC&quantity=1&price=101&cancelReplaceMode=STOP_ON_FAILURE&cancelOrderId=%d&"+
		"newClientOrderId=ask-2",
		rest.OrderID)); status != http.StatusOK {
		t.Fatal(body)
	}
	gone := anna.reports("CANCELED CANCELED false false 1.5 1 0 0 100.5 0 -1", "NEW NEW true false 1 0 0 0 0 0 -1")
	if _, has := gone[0]["v"]; has {
		t.Errorf("a cancel names a prevented match: %s", gone[0])
	}
	if gone[0].text("C") != "ask-1" || gone[1].text("c") != "ask-2" {
		t.Errorf("%s", gone)
	}
	anna.settled()
	bert.settled()
}

// A waiting purchase by amount holds its stop price x amount. If the book is dearer when it triggers, it spends what
// else is free; what even that does not cover expires.
func TestAStopWhoseMoneyEndsExpires(t *testing.T) {
	r, _, _ := funded(t)
	c := r.owner("carl", "USDT 1000")
	r.Limit("BTC_USDT", "sell", "105", "0.1")
	r.Limit("BTC_USDT", "sell", "120", "5")
	r.Limit("BTC_USDT", "sell", "130", "10")
	carl := c.follow()
	if _, err := c.NewCreateOrderService().Symbol("BTCUSDT").Side("BUY").Type("STOP_LOSS").Quantity("9").
		StopPrice("105").Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	carl.reports("NEW NEW false false 9 0 0 0 0 0 -1")
	for carl.balances["USDT"] == [2]string{} {
		carl.event()
	}
	if got := carl.balances["USDT"]; got != [2]string{"55.00000000", "945.00000000"} {
		t.Errorf("the stop holds %s", got)
	}
	r.Limit("BTC_USDT", "buy", "105", "0.1")
	// 5 for 600, then 400 / 130 = 3.07692
	end := carl.reports("NEW NEW true false 9 0 0 0 0 0 -1",
		"TRADE PARTIALLY_FILLED true false 9 5 5 120 600 600 2",
		"TRADE PARTIALLY_FILLED true false 9 8.07692 3.07692 130 999.9996 399.9996 3",
		"EXPIRED EXPIRED false false 9 8.07692 0 0 999.9996 0 -1")
	if end[1].text("n") != "0.00500000" || end[2].text("n") != "0.00307692" || end[2].text("N") != "BTC" {
		t.Errorf("%s", end)
	}
	carl.settled()
	want := map[string][2]string{"USDT": {"0.00040000", "0.00000000"}, "BTC": {"8.06884308", "0.00000000"}}
	if !maps.Equal(carl.balances, want) {
		t.Errorf("%s, want %s", carl.balances, want)
	}
}

// Money from outside is a balanceUpdate and then a position, each deposit by itself, and nothing of another account.
func TestTransfersAreBalanceUpdates(t *testing.T) {
	r, a, b := funded(t)
	anna, bert := a.follow(), b.follow()
	for _, step := range []struct{ route, amount, delta, free string }{
		{"deposits", "2.5", "2.50000000", "102.50000000"},
		{"deposits", "0.00000001", "0.00000001", "102.50000001"},
		{"withdrawals", "2.50000001", "-2.50000001", "100.00000000"},
	} {
		r.Call("POST", "/users/"+a.id+"/"+step.route, `{"currencyCode":"BTC","amount":"`+step.amount+`"}`)
		e := anna.event()
		if e.text("e") != "balanceUpdate" || e.text("a") != "BTC" || e.text("d") != step.delta || e.text("T") == "" {
			t.Errorf("%s", e)
		}
		if e = anna.event(); string(e["B"]) != `[{"a":"BTC","f":"`+step.free+`","l":"0.00000000"}]` {
			t.Errorf("%s", e)
		}
	}
	r.Call("POST", "/users/"+b.id+"/deposits", `{"currencyCode":"BTC","amount":"1"}`)
	if e := bert.event(); e.text("d") != "1.00000000" {
		t.Errorf("bert's first event is %s", e)
	}
}

// Nothing is lost or reordered under load: the reports of one account, folded, are the orders of the native API, and
// the position at the end is its balances.
func TestNoReportIsLost(t *testing.T) {
	_, a, b := funded(t)
	anna := a.follow()
	const orders = 60
	var wg sync.WaitGroup
	for i, u := range []*user{a, b} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range orders {
				side := []gobinance.SideType{"SELL", "BUY"}[(n+i)%2]
				_, err := u.NewCreateOrderService().Symbol("BTCUSDT").Side(side).Type("LIMIT").TimeInForce("GTC").
					Quantity(fmt.Sprintf("0.%d", n%9+1)).Price(fmt.Sprintf("%d", 100+n%3)).
					NewClientOrderID(fmt.Sprintf("%d-%d", i, n)).SelfTradePreventionMode("NONE").Do(t.Context())
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	native, _, err := a.native.Orders(t.Context(), listAll())
	if err != nil || len(native) == 0 {
		t.Fatal(err)
	}
	// reports until the last of every order has the figures of the native API
	filled, lots := map[string]string{}, map[string]float64{}
	var trades []string
	agree := func() bool {
		for _, o := range native {
			if got, known := filled[o.ID]; !known || trim(got) != trim(string(o.FilledAmount)) {
				return false
			}
		}
		return true
	}
	for !agree() {
		e := anna.event()
		if e.text("e") != "executionReport" {
			continue
		}
		id := e.text("i")
		if before, known := filled[id]; known == (e.text("x") == "NEW") {
			t.Errorf("order %s: %s behind %s", id, e, before)
		}
		filled[id] = e.text("z")
		var last, all float64
		_, _ = fmt.Sscan(e.text("l"), &last)
		_, _ = fmt.Sscan(e.text("z"), &all)
		if lots[id] += last; lots[id]-all > 1e-9 || all-lots[id] > 1e-9 {
			t.Errorf("order %s: %g in all, the reports have %g", id, all, lots[id])
		}
		if e.text("x") == "TRADE" {
			trades = append(trades, e.text("t"))
		}
	}
	if !slices.IsSortedFunc(trades, func(x, y string) int {
		return len(x) - len(y) + strings.Compare(x, y)*boolInt(len(x) == len(y))
	}) || len(trades) == 0 {
		t.Errorf("trades %v", trades)
	}
	anna.settled()
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A listen key lives 60 minutes from the start or the last ping; there is one for each API key, and it ends with it.
func TestListenKeys(t *testing.T) {
	r, a, _ := funded(t)
	ctx := t.Context()
	start := func() string {
		t.Helper()
		key, err := a.NewStartUserStreamService().Do(ctx)
		if err != nil || len(key) != 64 {
			t.Fatal(key, err)
		}
		return key
	}
	key := start()
	if again := start(); again != key {
		t.Errorf("a second start has another key")
	}
	combined := r.socket("/stream?streams=" + key)
	r.advance("59m")
	a.syncClock()
	if err := a.NewKeepaliveUserStreamService().ListenKey(key).Do(ctx); err != nil {
		t.Fatal(err)
	}
	r.advance("59m")
	a.syncClock()
	r.Call("POST", "/users/"+a.id+"/deposits", `{"currencyCode":"BTC","amount":"1"}`)
	if text := combined.next(); !strings.HasPrefix(text, `{"stream":"`+key+`","data":{"e":"balanceUpdate"`) {
		t.Error(text)
	}
	_ = combined.next()
	r.advance("2m")
	if text := combined.next(); !strings.Contains(text, `"e":"listenKeyExpired"`) || !strings.Contains(text, key) {
		t.Error(text)
	}
	a.syncClock()
	if err := a.NewKeepaliveUserStreamService().ListenKey(key).Do(ctx); err == nil ||
		!strings.Contains(err.Error(), "-1125") {
		t.Error(err)
	}
	other := start()
	if other == key {
		t.Error("an expired listen key came back")
	}
	subscribe := `{"method":"SUBSCRIBE","params":["` + other + `"],"id":1}`
	if got := combined.ask(subscribe); got != `{"result":null,"id":1}` {
		t.Error(got)
	}
	if err := a.NewCloseUserStreamService().ListenKey(other).Do(ctx); err != nil {
		t.Fatal(err)
	}
	if text := combined.next(); !strings.Contains(text, `"e":"listenKeyExpired"`) {
		t.Error(text)
	}
	last := start()
	ended := r.socket("/ws/" + last)
	if _, err := a.native.Do(ctx, "DELETE", "/api/apikeys/"+a.APIKey, nil, nil); err != nil {
		t.Fatal(err)
	}
	r.Call("POST", "/users/"+a.id+"/deposits", `{"currencyCode":"BTC","amount":"1"}`)
	if text := ended.next(); !strings.Contains(text, `"e":"listenKeyExpired"`) {
		t.Error(text)
	}
	for _, key := range []string{a.APIKey, "nobody"} {
		stranger := r.withKey(a.id, key, a.SecretKey)
		_, err := stranger.NewStartUserStreamService().Do(ctx)
		if err == nil || !strings.Contains(err.Error(), "-2015") {
			t.Error(err)
		}
	}
}

// A name of the form of a listen key that is none, of before a restart for example, ends with listenKeyExpired on each
// way to a stream. One that has ended by then does too, and a name of another form adds nothing.
func TestAListenKeyThatIsNoneEnds(t *testing.T) {
	r, a, _ := funded(t)
	none := strings.Repeat("0f", 32)
	const ends = `{"e":"listenKeyExpired","E":`
	member := `,"listenKey":"` + none + `"}`
	raw := r.socket("/ws/" + none)
	if text := raw.next(); !strings.HasPrefix(text, ends) || !strings.HasSuffix(text, member) {
		t.Error(text)
	}
	combined := r.socket("/stream?streams=" + strings.Repeat("0F", 32) + "/" + none)
	in := `{"stream":"` + none + `","data":` + ends
	if text := combined.next(); !strings.HasPrefix(text, in) || !strings.HasSuffix(text, member+"}") {
		t.Error(text)
	}
	subscribe := func(s *socket, name string) {
		t.Helper()
		if got := s.ask(`{"method":"SUBSCRIBE","params":["` + name + `"],"id":1}`); got != `{"result":null,"id":1}` {
			t.Error(got)
		}
	}
	subscribe(raw, none)
	if text := raw.next(); !strings.HasPrefix(text, ends) || !strings.HasSuffix(text, member) {
		t.Error(text)
	}
	key, err := a.NewStartUserStreamService().Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	subscribe(raw, key)
	r.Call("POST", "/users/"+a.id+"/deposits", `{"currencyCode":"BTC","amount":"1"}`)
	if text := raw.next(); !strings.HasPrefix(text, `{"e":"balanceUpdate"`) {
		t.Errorf("after it a key that lives is silent: %s", text)
	}
	_ = raw.next()
	if got := raw.ask(`{"method":"LIST_SUBSCRIPTIONS","id":1}`); got != `{"result":["`+key+`"],"id":1}` {
		t.Error(got)
	}
}
