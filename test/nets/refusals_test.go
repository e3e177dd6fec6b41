package nets_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/forward"
	"github.com/tickhive/tickhive/test/nets"
)

// provoke is what the cases of the table need.
type provoke struct {
	*nets.Seen
	n          *nets.Node
	x          *exchangetest.Rig
	alice, bob *nets.User
}

func newProvoke(t *testing.T, seen *nets.Seen) *provoke {
	o := options("")
	o.Engine.AccountOrders, o.Engine.AccountStops, o.Engine.AccountLists = 4, 2, 1
	o.Engine.PairSlices = 5
	o.Hooks.Public = func(e *edge.Options) {
		e.Resources = append(e.Resources, func(*edge.Server) []*edge.Route {
			return []*edge.Route{{
				Method: "GET", Path: "/boom", Class: edge.ClassExempt, Auth: edge.AuthNever,
				Handle: func(*edge.Ctx) *refuse.Refusal { panic("on purpose") },
			}}
		})
	}
	p := &provoke{Seen: seen, x: exchangetest.Start(t, o)}
	p.n = nodeOf(t, p.x)
	for _, pair := range []string{"BTC_USDT", "ETH_USDT"} {
		p.n.Call("POST", "/pairs", `{"code":"`+pair+`","digitsPrice":2,"digitsAmount":4}`)
	}
	p.alice, p.bob = nets.Trader(p.n, "alice"), nets.Trader(p.n, "bob")
	return p
}

// Every code of the table of errors is provoked by a request and has the status of its row; a row that nobody provokes
// fails, and so does an answer that has no row.
func TestEveryRowOfTheTableOfErrorsIsTrue(t *testing.T) {
	t.Parallel()
	table, reasons, err := nets.ReadTable()
	if err != nil {
		t.Fatal(err)
	}
	seen := &nets.Seen{T: t, Table: table}
	p := newProvoke(t, seen)
	p.orders(reasons)
	p.requests()
	p.agents()
	p.store()
	p.slowAndMany(t)
	p.replica(t)
	p.socket()
	if rows := seen.Missing(); len(rows) > 0 {
		t.Errorf("nothing provokes %v: add a case for each", rows)
	}
}

// orders provokes the reasons of the engine in three ways: as a signed order, as a command of a signed batch, and as an
// order of the internal API.
func (p *provoke) orders(reasons map[string]string) {
	n := p.n
	seen := p.changes(reasons)
	refused := func(reason, body string) {
		seen[reason] = true
		code := reasons[reason]
		what := reason + " by " + body
		p.Refused(what, n.Send(p.alice, "POST", "/api/orders", body), code)
		if code != "NOT_FOUND" {
			a := n.OK(p.alice, "POST", "/api/orders/batch", `{"commands":[{"place":`+body+`}]}`)
			if !strings.Contains(a.Body, `"rejectReason":"`+reason+`"`) {
				p.T.Errorf("%s in a batch: %s", what, a.Body)
			}
		}
		inside := strings.Replace(body, `"isMarket":true`, `"type":"market"`, 1)
		if inside == body && !strings.Contains(body, `"type":`) {
			inside = strings.Replace(body, `{`, `{"type":"limit",`, 1)
		}
		a := n.Inside("POST", "/internal/v1/orders", strings.Replace(inside, `{`, `{"accountId":"`+p.alice.ID+`",`, 1))
		if code == "NOT_FOUND" {
			p.Refused(what+" inside", a, code)
		} else if a.Status != http.StatusOK || !strings.Contains(a.Body, `"status":"Rejected"`) ||
			!strings.Contains(a.Body, `"rejectReason":"`+reason+`"`) {
			p.T.Errorf("%s inside: %d %s", what, a.Status, a.Body)
		}
	}
	order := func(more string) string { return `{"currencyPairCode":"BTC_USDT","side":"buy",` + more + `}` }
	refused("price_not_positive", order(`"price":0,"amount":1`))
	refused("price_off_tick", order(`"price":"1.001","amount":1`))
	refused("price_out_of_range", order(`"price":"99999999999999999999","amount":1`))
	refused("amount_not_positive", order(`"price":1,"amount":0`))
	refused("amount_off_lot", order(`"price":1,"amount":"0.00001"`))
	refused("amount_out_of_range", order(`"price":1,"amount":"99999999999999999999"`))
	n.Call("POST", "/pairs", `{"code":"BTC_FINE","digitsPrice":9,"digitsAmount":8}`)
	refused("total_out_of_range", `{"currencyPairCode":"BTC_FINE","side":"buy","price":9000000000,"amount":9000000000}`)
	refused("insufficient_funds", order(`"price":100000,"amount":"1000000"`))
	refused("no_liquidity", `{"currencyPairCode":"BTC_USDT","side":"sell","isMarket":true,"amount":1}`)
	refused("unknown_pair", `{"currencyPairCode":"AAA_BBB","side":"buy","price":1,"amount":1}`)
	n.OK(p.bob, "POST", "/api/orders", `{"currencyPairCode":"BTC_USDT","side":"sell","price":100,"amount":1}`)
	refused("would_cross", order(`"price":101,"amount":1,"postOnly":true`))
	refused("fok_unfilled", order(`"price":101,"amount":2,"timeInForce":"fok"`))
	n.Call("PATCH", "/pairs/BTC_USDT",
		`{"minQuoteAmount":10,"maxQuoteAmount":9900,"priceBandUp":"1.5","priceBandDown":"0.5"}`)
	refused("below_min_quote_amount", order(`"price":99,"amount":"0.01"`))
	refused("above_max_quote_amount", order(`"price":99,"amount":"100.0001"`))
	n.OK(p.alice, "POST", "/api/orders", order(`"price":100,"amount":"0.5"`))
	refused("price_out_of_band", order(`"price":49,"amount":1`))
	stop := func(more string) string { return order(`"type":"stop_limit","price":100,"amount":1,` + more) }
	refused("trail_out_of_range", stop(`"stopPrice":110,"trailingDelta":9`))
	refused("would_trigger", stop(`"stopPrice":90,"strictTrigger":true`))
	refused("too_many_slices", order(`"price":60,"amount":1,"displayAmount":"0.1"`))
	for range 2 {
		n.OK(p.alice, "POST", "/api/orders", stop(`"stopPrice":110`))
	}
	refused("too_many_stops", stop(`"stopPrice":110`))
	n.OK(p.alice, "DELETE", "/api/orders?all=true", "")

	var id string
	if _, err := n.Client(p.alice).Do(p.T.Context(), "POST", "/api/orders", map[string]any{
		"currencyPairCode": "BTC_USDT", "side": "buy", "price": 60, "amount": 1, "clientOrderId": "x",
	}, &id); err != nil {
		p.T.Fatal(err)
	}
	refused("duplicate_client_order_id", order(`"price":61,"amount":1,"clientOrderId":"x"`))
	for range 3 {
		n.OK(p.alice, "POST", "/api/orders", order(`"price":62,"amount":1`))
	}
	refused("too_many_orders", order(`"price":64,"amount":1`))
	n.OK(p.alice, "DELETE", "/api/orders?all=true", "")
	for reason, number := range map[string]string{"order_closed": id, "unknown_order": "999999"} {
		seen[reason] = true
		for _, method := range []string{"DELETE", "PATCH"} {
			body := map[string]string{"PATCH": `{"amount":2}`}[method]
			p.Refused(reason+" by "+method, n.Send(p.alice, method, "/api/orders/"+number, body), reasons[reason])
			p.Refused(reason+" inside by "+method, n.Inside(method, "/internal/v1/orders/"+number, body),
				reasons[reason])
		}
	}
	for _, state := range []string{"post_only", "cancel_only", "halted"} {
		n.Call("PATCH", "/pairs/ETH_USDT", fmt.Sprintf(`{"state":%q}`, state))
		body := `{"currencyPairCode":"ETH_USDT","side":"buy","price":60,"amount":1,"timeInForce":"ioc"}`
		refused("pair_"+state, body)
	}
	n.Call("POST", "/users/"+p.alice.ID+"/halt", "")
	refused("account_halted", order(`"price":60,"amount":1`))
	n.Call("DELETE", "/users/"+p.alice.ID+"/halt", "")
	for reason := range reasons {
		if !seen[reason] {
			p.T.Errorf("nothing provokes the reason %s", reason)
		}
	}
}

// changes provokes the reasons of lists, amendments and cancels in four ways each: as a signed request, as a command of
// a signed batch, and both by the internal API. It returns the reasons and leaves no order.
func (p *provoke) changes(reasons map[string]string) (seen map[string]bool) {
	n, seen := p.n, map[string]bool{}
	inBatch := func(reason, command string) {
		command = `{"commands":[` + command + `]}`
		for what, a := range map[string]nets.Answer{
			"in a batch":        n.OK(p.alice, "POST", "/api/orders/batch", command),
			"in a batch inside": n.Inside("POST", "/internal/v1/orders/batch", command),
		} {
			if a.Status != http.StatusOK || !strings.Contains(a.Body, `"rejectReason":"`+reason+`"`) {
				p.T.Errorf("%s %s by %s: %d %s", reason, what, command, a.Status, a.Body)
			}
		}
	}
	list := func(reason, body string) {
		seen[reason] = true
		inside := strings.Replace(body, `{`, `{"accountId":"`+p.alice.ID+`",`, 1)
		p.Refused(reason, n.Send(p.alice, "POST", "/api/orders/lists", body), reasons[reason])
		p.Refused(reason+" inside", n.Inside("POST", "/internal/v1/orders/lists", inside), reasons[reason])
		a := n.OK(p.alice, "POST", "/api/orders/batch", `{"commands":[{"placeList":`+body+`}]}`)
		b := n.Inside("POST", "/internal/v1/orders/batch", `{"commands":[{"placeList":`+inside+`}]}`)
		for _, a := range []nets.Answer{a, b} {
			if a.Status != http.StatusOK || !strings.Contains(a.Body, `"rejectReason":"`+reason+`"`) {
				p.T.Errorf("%s in a batch: %d %s", reason, a.Status, a.Body)
			}
		}
	}
	replace := func(reason, id, members string) {
		seen[reason] = true
		body := `{` + members + `}`
		p.Refused(reason, n.Send(p.alice, "PATCH", "/api/orders/"+id, body), reasons[reason])
		p.Refused(reason+" inside", n.Inside("PATCH", "/internal/v1/orders/"+id, body), reasons[reason])
		inBatch(reason, `{"replace":{"orderId":`+id+`,`+members+`}}`)
	}
	place := func(path, body string) (id string) {
		var o struct{ ID string }
		a := n.OK(p.alice, "POST", path, body)
		if json.Unmarshal([]byte(a.Body), &o) != nil && json.Unmarshal([]byte(a.Body), &o.ID) != nil {
			p.T.Fatal(a.Body)
		}
		return o.ID
	}
	oco := func(above, below int) string {
		return fmt.Sprintf(`{"kind":"oco","currencyPairCode":"BTC_USDT","orders":[{"side":"sell","type":"limit",`+
			`"price":%d,"amount":1,"postOnly":true},{"side":"sell","type":"stop_market","stopPrice":%d,"amount":1}]}`,
			above, below)
	}
	list("list_prices", oco(90, 110))
	place("/api/orders/lists", oco(110, 90))
	list("too_many_lists", oco(110, 90))
	n.OK(p.alice, "DELETE", "/api/orders?all=true", "")
	working := place("/api/orders/lists", `{"kind":"opo","currencyPairCode":"BTC_USDT","orders":[{"side":"buy",`+
		`"price":50,"amount":2},{"side":"sell","price":120}]}`)
	first, err := strconv.ParseUint(working, 10, 64)
	if err != nil {
		p.T.Fatal(err)
	}
	pending := fmt.Sprint(first + 1)
	replace("order_pending", pending, `"amount":1`)
	replace("order_pending", pending, `"amount":1,"keepPriority":true`)
	n.OK(p.alice, "DELETE", "/api/orders?all=true", "")

	id := place("/api/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","price":60,"amount":20}`)
	replace("amend_not_smaller", id, `"amount":20,"keepPriority":true`)
	for i := range 10 {
		n.OK(p.alice, "PATCH", "/api/orders/"+id, fmt.Sprintf(`{"amount":%d,"keepPriority":true}`, 19-i))
	}
	replace("too_many_amends", id, `"amount":1,"keepPriority":true`)

	seen["cancel_restricted"] = true
	for what, a := range map[string]nets.Answer{
		"a cancel":        n.Send(p.alice, "DELETE", "/api/orders/"+id+"?onlyIf=partial", ""),
		"a cancel inside": n.Inside("DELETE", "/internal/v1/orders/"+id+"?onlyIf=partial", ""),
	} {
		p.Refused(what, a, reasons["cancel_restricted"])
	}
	inBatch("cancel_restricted", `{"cancel":{"orderId":`+id+`,"onlyIf":"partial"}}`)

	// Only the Binance interface has a cancel that a new order follows, and its errors are numbers.
	seen["cancel_failed"] = true
	a := n.Binanced(p.alice, "POST", "/api/v3/order/cancelReplace?symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&"+
		"price=61&quantity=1&cancelReplaceMode=STOP_ON_FAILURE&cancelRestrictions=ONLY_PARTIALLY_FILLED&"+
		"cancelOrderId="+id)
	if a.Status != http.StatusBadRequest || !strings.HasPrefix(a.Body, `{"code":-2022,`) ||
		!strings.Contains(a.Body, `"newOrderResult":"NOT_ATTEMPTED"`) {
		p.T.Errorf("cancel_failed: %d %s", a.Status, a.Body)
	}
	p.Translated(reasons["cancel_failed"])
	n.OK(p.alice, "DELETE", "/api/orders?all=true", "")
	return seen
}

// requests provokes what is wrong with a request itself.
func (p *provoke) requests() {
	n := p.n
	long := strings.Repeat("a", 9000)
	p.Refused("a page of 0", n.Send(nil, "GET", "/api/deals?currencyPairCode=BTC_USDT&pageSize=0", ""), "INVALID_PARAM")
	p.Refused("no key", n.Send(nil, "GET", "/api/wallets/balances", ""), "UNAUTHORIZED")
	p.Refused("another's info", n.Send(p.alice, "GET", "/api/affiliate/"+p.bob.ID+"/user-info", ""), "FORBIDDEN")
	p.Refused("no such path", n.Send(nil, "GET", "/api/nothing", ""), "NOT_FOUND")
	p.Refused("no such path inside", n.Inside("GET", "/internal/v1/nothing", ""), "NOT_FOUND")
	p.Refused("a method", n.Send(nil, "POST", "/api/time", ""), "METHOD_NOT_ALLOWED")
	p.Refused("an existing pair", n.Inside("POST", "/internal/v1/pairs",
		`{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":4}`), "CONFLICT")
	p.Refused("a large body", n.Send(p.alice, "POST", "/api/orders", `"`+strings.Repeat("a", 65<<10)+`"`),
		"PAYLOAD_TOO_LARGE")
	p.Refused("a long target", n.Send(nil, "GET", "/api/time?"+long, ""), "URI_TOO_LONG")
	p.Refused("long headers", raw(p.T, n.Public, "GET /api/time HTTP/1.1\r\nHost: x\r\nX-A: "+long+long+"\r\n\r\n"),
		"HEADERS_TOO_LARGE")
	p.Refused("a media type", raw(p.T, n.Public, "POST /api/orders HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"+
		"Content-Length: 2\r\n\r\n{}"), "UNSUPPORTED_MEDIA_TYPE")
	p.Refused("a defect", n.Send(nil, "GET", "/boom", ""), "INTERNAL")
}

// raw sends bytes on a connection of its own and reads one answer.
func raw(t testing.TB, base, request string) nets.Answer {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return nets.Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(body)}
}

// agents provokes the refusals of launchpad and hive.
func (p *provoke) agents() {
	n := p.n
	spawn := func(u *nets.User, symbol string) nets.Answer {
		return n.Send(u, "POST", "/api/launchpad/spawn", `{"name":"A","symbol":"`+symbol+`"}`)
	}
	p.Refused("a symbol", spawn(p.alice, "a"), "INVALID_SYMBOL")
	p.Refused("no money for it", spawn(p.alice, "AAA"), "INSUFFICIENT_FEE")
	for _, u := range []*nets.User{p.alice, p.bob} {
		n.Call("POST", "/users/"+u.ID+"/deposits", `{"currencyCode":"NATIVE","amount":1000}`)
	}
	n.Call("POST", "/launchpad/faults", `{"kind":"spawner","count":1}`)
	p.Refused("an injected fault", spawn(p.alice, "AAA"), "SPAWNER_FAILED")
	a := spawn(p.alice, "AAA")
	if a.Status != http.StatusOK {
		p.T.Fatal(a.Body)
	}
	p.Refused("a second token", spawn(p.alice, "BBB"), "COOLDOWN_ACTIVE")
	p.Refused("the same symbol", spawn(p.bob, "AAA"), "SYMBOL_TAKEN")
	const token = "10001"
	propose := func() string {
		o := n.Call("POST", "/hive/proposals", `{"tokenId":`+token+`,"topic":"slippage_cap",`+
			`"payload":{"slippageCapBps":150},"proposer":"x","urgent":true}`)
		return o["proposalId"].(string)
	}
	vote := func(u *nets.User, proposal string) nets.Answer {
		return n.Send(u, "POST", "/api/agents/workers/"+token+"/vote", `{"proposalId":"`+proposal+`","vote":"yes"}`)
	}
	first := propose()
	p.Refused("a level of 0", vote(p.alice, first), "LEVEL_TOO_LOW")
	for _, u := range []*nets.User{p.alice, p.bob} {
		n.Call("PATCH", "/users/"+u.ID, `{"level":25}`)
	}
	p.Refused("no tokens", vote(p.bob, first), "NO_HOLDINGS")
	p.Refused("no such proposal", vote(p.alice, "prop-99"), "PROPOSAL_NOT_FOUND")
	if a := vote(p.alice, first); a.Status != http.StatusOK {
		p.T.Fatal(a.Body)
	}
	p.Refused("a second vote", vote(p.alice, first), "ALREADY_VOTED")
	stepOf(n)(25 * time.Hour)
	p.Refused("a late vote", vote(p.alice, first), "PROPOSAL_CLOSED")
}

// store provokes what a log that takes no records leads to.
func (p *provoke) store() {
	for code, err := range map[string]error{
		"UNAVAILABLE":     fmt.Errorf("%w: %w", sequencer.ErrUnavailable, wal.ErrStopped),
		"OUTCOME_UNKNOWN": errors.Join(sequencer.ErrOutcomeUnknown, wal.ErrOutcomeUnknown, wal.ErrStopped),
	} {
		p.x.Faults.Fail = err
		const order = `{"currencyPairCode":"BTC_USDT","side":"buy","price":60,"amount":1}`
		p.Refused("an order", p.n.Send(p.alice, "POST", "/api/orders", order), code)
		p.Refused("an order inside", p.n.Inside("POST", "/internal/v1/orders",
			strings.Replace(order, "{", `{"type":"limit",`, 1)), code)
		p.Refused("a deposit", p.n.Inside("POST", "/internal/v1/users/"+p.bob.ID+"/deposits",
			`{"currencyCode":"USDT","amount":1}`), code)
		p.x.Faults.Fail = nil
	}
}

// slowAndMany provokes the limits of time and rate on an exchange that has them.
func (p *provoke) slowAndMany(t *testing.T) {
	o := exchangetest.Options("")
	o.Server.ReadTimeout, o.Rate.PerMinute = setting.Duration(100*time.Millisecond), 1
	n := nodeOf(t, exchangetest.Start(t, o))
	p.Refused("half a request", raw(t, n.Public, "GET /api/time HTTP/1.1\r\nHost: x\r\n"), "REQUEST_TIMEOUT")
	n.OK(nil, "GET", "/api/launchpad/tokens", "")
	p.Refused("a second read", n.Send(nil, "GET", "/api/launchpad/tokens", ""), "RATE_LIMIT")
}

// replica provokes what a node refuses that executes nothing.
func (p *provoke) replica(t *testing.T) {
	o := options("")
	lag := int64(0)
	o.Hooks.Public = func(e *edge.Options) {
		e.Replica = &forward.Replica{
			LagNs: func() int64 { return lag }, MaxLagNs: int64(time.Second),
			Published: func() <-chan struct{} { return nil },
			Forward:   forward.New(forward.Options{NowNs: func() int64 { return 0 }}),
		}
	}
	n := nodeOf(t, exchangetest.Start(t, o))
	n.Call("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":4}`)
	p.Refused("an order at a replica", n.Send(p.alice, "POST", "/api/orders", `{}`), "NOT_WRITER")
	p.Refused("a seq at a replica", n.Send(nil, "GET", "/api/tickers?currencyPairCode=BTC_USDT&minSeq=50", ""), "STALE")
	lag = int64(time.Minute)
	p.Refused("a read behind a late replica", n.Send(nil, "GET", "/api/tickers?currencyPairCode=BTC_USDT", ""), "STALE")
}

// socket provokes the errors of /ws, whose codes are those of the table.
func (p *provoke) socket() {
	t := p.T
	s, err := client.Dial(t.Context(), client.StreamURL(p.n.Public))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.SetReadDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	reads := p.n.Call("POST", "/users/"+p.bob.ID+"/apikeys", `{"name":"reads","canTrade":false,"canManageKeys":false}`)
	now, err := p.n.Client(p.bob).Time(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	send := func(r client.Request) func() error { return func() error { return s.Send(r) } }
	for _, c := range []struct {
		code string
		send func() error
	}{
		{"INVALID_PARAM", send(client.Request{Op: "sing"})},
		{"NOT_FOUND", send(client.Request{Op: "subscribe", Channel: "book", Pairs: []string{"AAA_BBB"}})},
		{"UNAUTHORIZED", send(client.Request{Op: "subscribe", Channel: "fills"})},
		{"FORBIDDEN", func() error {
			return s.AuthenticateGuarded(reads["publicKey"].(string), reads["privateKey"].(string), time.UnixMilli(now),
				time.Second)
		}},
		{"RATE_LIMIT", func() (err error) {
			for range 40 {
				err = errors.Join(err, s.Send(client.Request{Op: "ping"}))
			}
			return err
		}},
	} {
		if err := c.send(); err != nil {
			t.Fatal(err)
		}
		m, err := s.Next()
		for err == nil && m.Type != "error" {
			m, err = s.Next()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, known := p.Table[m.Code]; m.Code != c.code || !known {
			t.Errorf("/ws: %s, want %s; in docs/contract/errors.md: %t", m.Raw, c.code, known)
		}
	}
}
