package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/server/servertest"

	"github.com/tickhive/tickhive/test/harness"
)

// streamKinds lists the kinds of messages that a server sends over /ws.
var streamKinds = []string{
	"authenticated", "error", "heartbeat", "pong", "shutdown", "snapshot", "subscribed", "subscriptions",
	"unsubscribed", "update",
}

// socket is one connection of a golden run.
type socket struct {
	g *golden
	s *client.Stream
}

// described checks a message of either side against the AsyncAPI document.
func (g *golden) described(raw []byte) {
	g.t.Helper()
	if g.streamDoc == nil {
		var err error
		if g.streamDoc, err = servertest.LoadStreams(); err != nil {
			g.t.Fatal(err)
		}
	}
	if err := g.streamDoc.Check(raw); err != nil {
		g.t.Errorf("%v\n%.600s", err, raw)
	}
}

// dial opens a connection. query follows the ? of the address.
func (g *golden) dial(query string) *socket {
	g.t.Helper()
	url := client.StreamURL(g.public)
	if query != "" {
		url += "?" + query
	}
	s, err := client.Dial(g.t.Context(), url)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := s.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
		g.t.Fatal(err)
	}
	return &socket{g, s}
}

// send sends one operation, and writes it and the next n messages to the file.
func (c *socket) send(r client.Request, n int) {
	c.g.t.Helper()
	fmt.Fprintf(c.g.text(), "\n> %s %s %v\n", r.Op, r.Channel, r.Pairs)
	if raw, err := json.Marshal(r); err != nil {
		c.g.t.Fatal(err)
	} else if r.Op != "nope" && r.Channel != "prices" && !slices.Contains(r.Pairs, "btc") { // to be refused
		c.g.described(raw)
	}
	if err := c.s.Send(r); err != nil {
		c.g.t.Fatal(err)
	}
	c.next(n)
}

// next writes the next n messages to the file, without heartbeats.
func (c *socket) next(n int) {
	c.g.t.Helper()
	for n > 0 {
		m, err := c.s.Next()
		if err != nil {
			c.g.t.Fatalf("%v after:\n%s", err, c.g.text())
		}
		if m.Type != "heartbeat" {
			c.show(m)
			n--
		}
	}
}

func (c *socket) show(m *client.Message) {
	c.g.described(m.Raw)
	c.g.keepMessages("/ws", string(m.Raw))
	fmt.Fprintf(c.g.text(), "< %s\n", readable(normalise(string(m.Raw))))
}

// close closes the connection.
func (c *socket) close() { _ = c.s.Close() }

// order places an order of the built-in account without writing it to the files.
func (g *golden) order(body string) {
	g.t.Helper()
	if status, _, text := g.send(g.internal, "POST", "/internal/v1/orders", body); status != 200 ||
		strings.Contains(text, "rejectReason\":\"") {
		g.t.Fatalf("%d %s", status, text)
	}
}

func (g *golden) streams(w people) {
	g.area = "streams"
	rest := `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":64100,"amount":0.5}`
	trade := `{"currencyPairCode":"BTC_USDT","side":"buy","type":"market","amount":0.01}`
	btc := []string{"BTC_USDT"}
	zero, ten := 0, 10
	g.note("operations and errors")
	c := g.dial("streams=book:BTC_USDT,status")
	c.next(4)
	c.send(client.Request{Op: "ping", ID: 7}, 1)
	c.send(client.Request{Op: "nope", ID: "x"}, 1)
	c.send(client.Request{Op: "subscribe", Channel: "prices", Pairs: btc}, 1)
	c.send(client.Request{Op: "subscribe", Channel: "ticker", Pairs: []string{"NO_PAIR", "btc"}}, 2)
	c.send(client.Request{Op: "subscribe", Channel: "orders"}, 1)
	c.send(client.Request{Op: "resync", Channel: "book", Pairs: btc}, 1)
	c.send(client.Request{Op: "resync", Channel: "ticker", Pairs: btc}, 1)
	c.send(client.Request{Op: "list", ID: 1}, 1)
	c.send(client.Request{Op: "unsubscribe", Channel: "book", Pairs: btc}, 1)
	c.close()
	g.note("book: a snapshot, an order that rests, one that trades")
	c = g.dial("")
	c.send(client.Request{Op: "subscribe", Channel: "book", Pairs: btc, Depth: &zero, Interval: &zero, ID: "b"}, 2)
	g.order(rest)
	c.next(1)
	g.order(trade)
	c.next(1)
	c.send(client.Request{
		Op: "subscribe", Channel: "book", Pairs: btc, Depth: &ten, Interval: &zero,
		Decimals: "string",
	}, 2)
	seq := uint64(1)
	c.send(client.Request{
		Op: "subscribe", Channel: "book", Pairs: btc, Interval: &zero, FromSeq: &seq,
		Epoch: "0000000000000000",
	}, 2)
	c.close()
	g.note("trades, ticker and candles")
	from := uint64(2)
	for _, r := range []client.Request{
		{Op: "subscribe", Channel: "trades", Pairs: btc},
		{Op: "subscribe", Channel: "trades", Pairs: btc, FromTradeID: &from, Decimals: "string"},
		{Op: "subscribe", Channel: "ticker", Pairs: btc},
		{Op: "subscribe", Channel: "candles.minute", Pairs: btc},
	} {
		c = g.dial("")
		c.send(r, 2)
		g.order(trade)
		c.next(1)
		c.close()
	}
	c = g.dial("streams=candles.minute:BTC_USDT")
	c.next(2)
	g.area = "internal"
	g.advance(60_000)
	g.area = "streams"
	c.next(1)
	c.close()
	g.note("status: a snapshot, and the row of a pair that changed")
	c = g.dial("streams=status")
	c.next(2)
	g.area = "internal"
	g.in("PATCH", "/pairs/DOGE_BTC", `{"state":"cancel_only"}`)
	g.area = "streams"
	c.next(1)
	c.close()
	g.delisting()
	g.private(w)
	g.heartbeats()
	g.everyKind()
}

// delisting takes a pair out of the exchange. A stream of it ends.
func (g *golden) delisting() {
	g.note("the stream of a pair that is delisted")
	c := g.dial("streams=candles.day:DOGE_BTC")
	c.next(2)
	g.area = "internal"
	g.note("a pair that is delisted")
	g.in("DELETE", "/pairs/DOGE_BTC", "")
	g.in("DELETE", "/pairs/DOGE_BTC", "")
	g.in("DELETE", "/pairs/NO_PAIR", "")
	g.in("POST", "/pairs", `{"code":"DOGE_BTC","digitsPrice":8,"digitsAmount":0}`)
	g.in("PATCH", "/pairs/DOGE_BTC", `{"state":"online"}`)
	g.in("GET", "/pairs", "")
	g.get("/api/tickers?currencyPairCode=DOGE_BTC")
	g.get("/api/currencies/pairs")
	g.area = "streams"
	c.next(1)
	c.close()
}

// private subscribes to the channels of one account.
func (g *golden) private(w people) {
	for _, channel := range []string{"orders", "balances", "fills"} {
		g.note("private channel %s", channel)
		c := g.dial("")
		w.alice.Nonces++
		now, nonce := fmt.Sprint(g.nowMs), fmt.Sprintf("n-%d", w.alice.Nonces)
		auth := client.Request{
			Op: "auth", PublicKey: w.alice.Public, Timestamp: now, Nonce: nonce,
			Signature: client.Sign(w.alice.Private, now, nonce, "GET", "/ws", nil), ID: 1,
		}
		c.send(auth, 1)
		c.send(auth, 1)
		c.send(client.Request{Op: "subscribe", Channel: channel}, 2)
		g.order(fmt.Sprintf(`{"accountId":%q,"currencyPairCode":"BTC_USDT","side":"sell","type":"limit",`+
			`"price":64100,"amount":0.01,"timeInForce":"ioc"}`, w.alice.ID))
		c.next(1)
		c.close()
	}
}

// heartbeats checks the message that follows a silence of 1 s of the machine's clock.
func (g *golden) heartbeats() {
	g.note("a heartbeat")
	c := g.dial("streams=book:ETH_USDT")
	c.next(2)
	m, err := c.s.Next()
	if err != nil || m.Type != "heartbeat" {
		g.t.Fatalf("%+v %v", m, err)
	}
	c.show(m)
	g.note("the end")
	go g.rig.Opened.Hub().Shutdown() // as the program does when it stops
	for {
		m, err := c.s.Next()
		if err != nil {
			fmt.Fprintf(g.text(), "close %d\n", client.CloseCode(err))
			break
		}
		if m.Type != "heartbeat" {
			c.show(m)
		}
	}
	c.close()
}

// everyKind fails when a kind of message is missing in the file, or when the server's source
// names a kind that streamKinds does not have.
func (g *golden) everyKind() {
	g.t.Helper()
	known := map[string]bool{}
	for _, kind := range streamKinds {
		known[kind] = true
		if !strings.Contains(g.text().String(), `{"type":"`+kind+`"`) {
			g.t.Errorf("the golden run never receives a message of type %s: add a step", kind)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^< \{"type":"([a-z]+)"`).FindAllStringSubmatch(g.text().String(), -1) {
		if !known[m[1]] {
			g.t.Errorf("a message of type %s, which is not in streamKinds", m[1])
		}
	}
	for name := range g.streamDoc.Examples {
		if !g.streamDoc.Seen[name] {
			g.t.Errorf("the golden run has no %s of the AsyncAPI document: add a step", name)
		}
	}
	found := 0
	for _, kind := range typesInSource(g) {
		found++
		if !known[kind] && kind != "crypto" { // crypto: a type of /udf
			g.t.Errorf("the server's source names a message of type %s: add it to streamKinds and to the golden run",
				kind)
		}
	}
	if found < len(streamKinds) {
		g.t.Errorf("only %d message types were found in the server's source", found)
	}
}

// typesInSource returns the message types in the server's string literals: {"type":"x", Name("type").Word("x") of a
// writer, or the argument behind the writer of writeHead.
func typesInSource(g *golden) (kinds []string) {
	g.t.Helper()
	inText := regexp.MustCompile(`\{"type":"([a-z]+)"`)
	err := filepath.WalkDir(harness.SourceTree+"/server", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				for _, m := range inText.FindAllStringSubmatch(n.Value, -1) {
					kinds = append(kinds, m[1])
				}
			case *ast.CallExpr:
				at := -1
				switch f := n.Fun.(type) {
				case *ast.Ident:
					if f.Name == "writeHead" {
						at = 1
					}
				case *ast.SelectorExpr:
					of, ok := f.X.(*ast.CallExpr)
					if ok && f.Sel.Name == "Word" && strings.Contains(name, "/server/stream/") {
						if lit, ok := of.Args[0].(*ast.BasicLit); ok && lit.Value == `"type"` {
							at = 0
						}
					}
				}
				if at >= 0 && len(n.Args) > at {
					if lit, ok := n.Args[at].(*ast.BasicLit); ok {
						kinds = append(kinds, strings.Trim(lit.Value, `"`))
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return kinds
}
