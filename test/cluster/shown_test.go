package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// heard collects what a socket receives.
type heard struct {
	*client.Stream
	t    *testing.T
	mu   sync.Mutex
	all  []*client.Message
	ends sync.WaitGroup
}

// listen opens a socket at a node and sends requests; with a user it is authenticated first.
func listen(t *testing.T, in *harness.Instance, u *harness.Voter, requests ...client.Request) *heard {
	t.Helper()
	s, err := client.Dial(context.Background(), client.StreamURL(in.Public))
	if err != nil {
		t.Fatal(err)
	}
	h := &heard{Stream: s, t: t}
	t.Cleanup(func() { _ = s.Close(); h.ends.Wait() })
	if u != nil {
		in.AwaitSigned(u)
		if err := s.Authenticate(u.Public, u.Private, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range requests {
		if err := s.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	h.ends.Go(func() {
		for {
			m, err := s.Next()
			if err != nil {
				return
			}
			h.mu.Lock()
			h.all = append(h.all, m)
			h.mu.Unlock()
		}
	})
	return h
}

// of returns the messages of a kind and a channel.
func (h *heard) of(channel string, kinds ...string) (found []*client.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.all {
		if m.Channel == channel && slices.Contains(kinds, m.Type) {
			found = append(found, m)
		}
	}
	return found
}

// settled waits until the socket has received everything that the node had to send before now.
func (h *heard) settled() {
	h.t.Helper()
	id := fmt.Sprint(time.Now().UnixNano())
	if err := h.Send(client.Request{Op: "ping", ID: id}); err != nil {
		h.t.Fatal(err)
	}
	harness.WaitFor(h.t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return slices.ContainsFunc(h.all, func(m *client.Message) bool { return strings.Contains(string(m.ID), id) })
	})
}

// logged returns the number of the last record in the log of a node.
func logged(in *harness.Instance) int {
	for line := range strings.Lines(in.Do("GET", in.Root+"/metrics", "").Body) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), `tickhive_log_last_record{log="engine"} `); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				in.T.Fatal(err)
			}
			return int(n)
		}
	}
	in.T.Fatal("no metric has the number of the last record")
	return 0
}

// cutOff is a writer with quorum that no longer reaches the stream, and a standby.
type cutOff struct {
	*failover
	line            *harness.Line
	user            *harness.Voter
	writer, standby *harness.Instance
	book            *client.Follower
	trades, private *heard
	changes         sync.WaitGroup
}

func newCutOff(t *testing.T) *cutOff {
	t.Helper()
	c := &cutOff{failover: newFailover(t)}
	c.line = harness.NewLine(t, c.at)
	args := c.serve("--pairs", "none", "--sim", "off", "--set", "replica.max_lag=1h", "--set", "launchpad.fee=1")
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], c.at, c.line.Addr())
	}
	c.start(0, args)
	c.writer = c.nodes[0]
	c.writer.Pair("AA_USDT")
	c.user = c.writer.Trader()
	c.writer.Call(200, "POST", "/users/"+c.user.ID+"/deposits", `{"currencyCode":"AA","amount":1000}`)
	c.start(1, c.standby1())
	c.standby = c.nodes[1]
	c.trade(c.writer, 1)
	c.book = c.writer.Follower("AA_USDT")
	for !c.book.Books["AA_USDT"].Ready() {
		harness.Step(t, c.book)
	}
	c.trades = listen(t, c.writer, nil, c.tradesFrom(1))
	c.private = listen(t, c.writer, c.user, client.Request{Op: "subscribe", Channel: "orders"},
		client.Request{Op: "subscribe", Channel: "fills"}, client.Request{Op: "subscribe", Channel: "balances"})
	harness.WaitFor(t, func() bool {
		return len(c.trades.of("trades", "snapshot")) == 1 && len(c.private.of("balances", "snapshot")) == 1 &&
			len(c.private.of("orders", "snapshot")) == 1 && len(c.private.of("fills", "snapshot")) == 1
	})
	return c
}

func (c *cutOff) standby1() []string { return c.failover.standby(1, "--set", "sim.enabled=false") }

func (c *cutOff) tradesFrom(id uint64) client.Request {
	return client.Request{Op: "subscribe", Channel: "trades", Pairs: []string{"AA_USDT"}, FromTradeID: &id}
}

// order returns the body of an order of the user.
func (c *cutOff) order(side string, price float64, amount int) string {
	return fmt.Sprintf(`{"currencyPairCode":"AA_USDT","side":%q,"type":"limit","price":%v,"amount":%d,"accountId":%q}`,
		side, price, amount, c.user.ID)
}

// trade makes a trade of the user and leaves an order of it.
func (c *cutOff) trade(in *harness.Instance, amount int) {
	c.t.Helper()
	in.Limit("AA_USDT", "sell", "10", strconv.Itoa(amount))
	in.Call(200, "POST", "/orders", c.order("buy", 10, amount))
	in.Call(200, "POST", "/orders", c.order("buy", 5, amount))
}

// views returns what every reader may see of a node: the market, money, tokens, the log of the hive.
func (c *cutOff) views(in *harness.Instance) map[string]string {
	out := map[string]string{}
	for _, path := range []string{
		"/api/orderbook?currencyPairCode=AA_USDT", "/api/deals?currencyPairCode=AA_USDT",
		"/api/tickers?currencyPairCode=AA_USDT",
		"/api/launchpad/tokens", "/api/agents/action-logs",
	} {
		a := in.Do("GET", in.Public+path, "")
		out[path] = fmt.Sprint(a.Status, a.Body)
	}
	for _, path := range []string{
		"/users/" + c.user.ID, "/totals",
	} {
		a := in.Do("GET", in.Internal+path, "")
		out[path] = fmt.Sprint(a.Status, a.Body)
	}
	return out
}

// A writer with quorum that is cut off from the stream shows nothing of what it takes: not the orders and trades, not
// the deposit, the token and the entry of the hive's log, to no socket and in no answer. So nothing is taken back when
// the standby takes over: clients resume there by fromSeq and fromTradeId, and have its book, trades and orders.
func TestATakeoverTakesNothingBack(t *testing.T) {
	t.Parallel()
	c := newCutOff(t)
	w := c.writer
	before, last, seq := c.views(w), logged(w), c.book.Books["AA_USDT"].Seq
	c.line.Set(harness.WireHeld)
	for _, change := range [][2]string{
		{"/orders", c.order("buy", 7, 1)},
		{"/orders", c.order("sell", 5, 1)}, // trades with the order at 7
		{"/users/" + c.user.ID + "/deposits", `{"currencyCode":"USDT","amount":77}`},
		{"/launchpad/tokens", fmt.Sprintf(`{"userId":%q,"name":"Lost","symbol":"LOST"}`, c.user.ID)},
		{"/hive/actions", `{"sourceAgentId":"queen-1","targetTokenId":0,` +
			`"actionType":"observation","reasonCode":"lost"}`},
	} {
		c.changes.Go(func() {
			if a := tries("POST", w.Internal+change[0], change[1]); a.Status == 200 {
				t.Errorf("%s is acknowledged without the stream: %s", change[0], a.Body)
			}
		})
	}
	defer c.changes.Wait()
	harness.WaitFor(t, func() bool { return logged(w) >= last+5 })
	for range 3 {
		c.trades.settled()
		c.private.settled()
		for path, now := range c.views(w) {
			if now != before[path] {
				t.Errorf("%s shows what the stream does not have: %s\nbefore: %s", path, now, before[path])
			}
		}
	}
	for _, channel := range []string{"trades", "orders", "fills", "balances"} {
		for _, h := range []*heard{c.trades, c.private} {
			for _, m := range h.of(channel, "update") {
				t.Errorf("a socket shows what the stream does not have: %s", m.Raw)
			}
		}
	}
	c.awaitRole(1, "writer")
	n := c.standby
	harness.WaitFor(t, func() bool {
		return tries("GET", n.Public+"/api/orderbook?currencyPairCode=AA_USDT", "").Status == 200
	})
	for i := range 3 {
		c.trade(n, 2+i)
	}
	shown := uint64(0)
	for _, m := range c.trades.of("trades", "snapshot", "update") {
		for _, one := range m.Trades {
			shown = max(shown, one.TradeID)
		}
	}
	if err := c.book.Reconnect(context.Background(), client.StreamURL(n.Public)); err != nil {
		t.Fatal(err)
	}
	if m := harness.Step(t, c.book); m.Type != "subscribed" || m.Epoch != c.book.Books["AA_USDT"].Epoch {
		t.Errorf("%s; the epoch was %s", m.Raw, c.book.Books["AA_USDT"].Epoch)
	}
	if m := harness.Step(t, c.book); m.Type != "update" || m.PrevSeq != seq {
		t.Errorf("%s; want the update from %d", m.Raw, seq)
	}
	harness.SameAsREST(t, n, c.book, "AA_USDT")
	if c.book.Resyncs != 0 {
		t.Errorf("the book was asked for again: %v", c.book.Last)
	}
	c.sameTrades(n, shown)
	c.sameOrders(n)
}

// sameTrades checks that the trades of the old writer and those behind them at the new one are those of the new one.
func (c *cutOff) sameTrades(n *harness.Instance, last uint64) {
	c.t.Helper()
	more := listen(c.t, n, nil, c.tradesFrom(last+1))
	all := listen(c.t, n, nil, c.tradesFrom(1))
	harness.WaitFor(c.t, func() bool {
		return len(more.of("trades", "snapshot")) == 1 && len(all.of("trades", "snapshot")) == 1
	})
	text := func(hs ...*heard) string {
		var list []client.StreamTrade
		for _, h := range hs {
			for _, m := range h.of("trades", "snapshot", "update") {
				list = append(list, m.Trades...)
			}
		}
		raw, err := json.Marshal(list)
		if err != nil {
			c.t.Fatal(err)
		}
		return string(raw)
	}
	if got, want := text(c.trades, more), text(all); got != want {
		c.t.Errorf("a client that resumed has the trades\n%s\nthe exchange\n%s", got, want)
	}
}

// sameOrders checks that every order that the old writer has shown to its user is one of the new writer.
func (c *cutOff) sameOrders(n *harness.Instance) {
	c.t.Helper()
	for _, m := range c.private.of("orders", "snapshot", "update") {
		for _, o := range append(m.Orders, deref(m.Order)...) {
			a := n.Do("GET", n.Internal+"/orders/"+o.ID, "")
			if a.Status != 200 || !strings.Contains(a.Body, c.user.ID) {
				c.t.Errorf("order %s was shown and is %d %s", o.ID, a.Status, a.Body)
			}
		}
	}
}

func deref(o *client.Order) []client.Order {
	if o == nil {
		return nil
	}
	return []client.Order{*o}
}
