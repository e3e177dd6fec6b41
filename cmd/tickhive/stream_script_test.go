package main

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/fasthttp/websocket"
	"github.com/goccy/go-json"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// Scripts in testdata/streams run against the assembled program on a virtual clock, one line per
// step; the expected text below a block is every message that a connection reads. Each file has a
// separate exchange. A line:
//
//	pair CODE                          adds a pair of 2 and 4 fractional digits
//	buy|sell AMOUNT @ PRICE [CODE]     places an order of the built-in account
//	cancel [CODE]                      cancels every order
//	state STATE [CODE]                 sets a pair's state
//	advance SECONDS                    moves the clock
//	flood BATCHES [CODE]               makes 500 trades a batch
//	dial NAME [narrow]                 opens a connection; a name that was closed keeps its books
//	NAME subscribe|unsubscribe|resync CHANNEL [CODE] [depth=N] [interval=N] [fromSeq=N] [epoch=E]
//	     [fromTradeId=N] [decimals=string]
//	NAME list|ping                     sends the operation
//	NAME read N                        reads N messages; heartbeats do not count
//	NAME recover [CODE]                reads until the rebuilt book is the one of GET orderbook, and
//	                                   dials and resumes when the server has closed the connection
//	NAME book [CODE]                   prints the book that the connection has rebuilt
//	NAME close                         closes the connection
//
// CODE is AA_BB when it is left out. A narrow connection has a small receive buffer. fromSeq=last
// and epoch=last are those of the rebuilt book.
// Each book message is checked against the rebuilt book: its chain and its checksum.
func TestStreamScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/streams", func(t *testing.T, path string) {
		s := &streamScript{t: t, golden: newGolden(t, serveFlags{}), socks: map[string]*scriptSocket{}}
		defer s.stop()
		defer func() {
			for _, c := range s.socks {
				_ = c.s.Close()
			}
		}()
		s.ready()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "stream" {
				t.Fatalf("%s: unknown block %q", d.Pos, d.Cmd)
			}
			var out bytes.Buffer
			for line := range strings.Lines(d.Input) {
				line = strings.TrimSpace(line)
				fmt.Fprintf(&out, "%s\n", line)
				s.line(&out, line, strings.Fields(line))
			}
			return out.String()
		})
	})
	if files, err := filepath.Glob("testdata/streams/*.txt"); err != nil || len(files) < 6 {
		t.Errorf("only %d scripts were found: %v", len(files), err)
	}
}

type streamScript struct {
	*golden
	t     *testing.T
	socks map[string]*scriptSocket
}

// scriptPair matches the pair code that ends a line.
var scriptPair = regexp.MustCompile(`^[A-Z]+_[A-Z]+$`)

// scriptSocket is a connection with the books that it has rebuilt, by pair.
type scriptSocket struct {
	s     *client.Stream
	books map[string]*client.Book
}

func (c *scriptSocket) book(code string) *client.Book {
	if c.books[code] == nil {
		c.books[code] = &client.Book{}
	}
	return c.books[code]
}

func (s *streamScript) line(out *bytes.Buffer, line string, f []string) {
	s.t.Helper()
	code := "AA_BB"
	if last := f[len(f)-1]; scriptPair.MatchString(last) {
		code = last
	}
	switch f[0] {
	case "pair":
		s.do("POST", "/pairs", `{"code":"`+code+`","digitsPrice":2,"digitsAmount":4}`)
	case "buy", "sell":
		s.do("POST", "/orders", fmt.Sprintf(`{"currencyPairCode":%q,"side":%q,"type":"limit","price":%s,"amount":%s}`,
			code, f[0], f[3], f[1]))
	case "cancel":
		s.do("DELETE", "/orders?currencyPairCode="+code, "")
	case "state":
		s.do("PATCH", "/pairs/"+code, `{"state":"`+f[1]+`"}`)
	case "advance":
		s.nowMs += 1000 * int64(s.number(f[1]))
		s.do("POST", "/clock", fmt.Sprintf(`{"to":%d}`, s.nowMs))
	case "flood":
		s.flood(s.number(f[1]), code)
	case "dial":
		if s.socks[f[1]] == nil {
			s.socks[f[1]] = &scriptSocket{books: map[string]*client.Book{}}
		}
		s.socks[f[1]].s = s.open(len(f) > 2)
	default:
		c := s.socks[f[0]]
		if c == nil {
			s.t.Fatalf("%q: no step and no connection has this name", line)
		}
		s.socket(out, c, f[1:], code)
	}
}

// do sends a request to the internal listener that must succeed.
func (s *streamScript) do(method, path, body string) {
	s.t.Helper()
	if status, _, text := s.send(s.internal, method, "/internal/v1"+path, body); status/100 != 2 {
		s.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
}

// flood makes trades at one price, 500 of them in each request.
func (s *streamScript) flood(batches int, code string) {
	order := func(side string) string {
		return fmt.Sprintf(`{"place":{"currencyPairCode":%q,"side":%q,"type":"limit","price":100,"amount":1}}`, code,
			side)
	}
	pair := order("sell") + "," + order("buy")
	body := `{"commands":[` + pair + strings.Repeat(","+pair, 499) + `]}`
	for range batches {
		s.do("POST", "/orders/batch", body)
	}
}

// open opens a connection. The kernel takes about 3 MB for a narrow one before it holds the
// server's writer up.
func (s *streamScript) open(narrow bool) *client.Stream {
	s.t.Helper()
	if !narrow {
		return s.dial("").s
	}
	standard := websocket.DefaultDialer
	defer func() { websocket.DefaultDialer = standard }()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF,
				4096)
		})
	}}
	websocket.DefaultDialer = &websocket.Dialer{NetDialContext: d.DialContext, HandshakeTimeout: harness.Patience}
	return s.dial("").s
}

func (s *streamScript) socket(out *bytes.Buffer, c *scriptSocket, f []string, code string) {
	s.t.Helper()
	switch f[0] {
	case "subscribe", "unsubscribe", "resync", "list", "ping":
		if err := c.s.Send(s.operation(c, f, code)); err != nil {
			s.t.Fatal(err)
		}
	case "read":
		for range s.number(f[1]) {
			if m := s.next(out, c); m != nil {
				fmt.Fprintf(out, "  %s\n", describeMessage(m))
			}
		}
	case "recover":
		s.recover(out, c, code)
	case "book":
		b := c.book(code)
		fmt.Fprintf(out, "  seq %d bids %s asks %s\n", b.Seq, b.Bids, b.Asks)
	case "close":
		_ = c.s.Close()
	default:
		s.t.Fatalf("%q: unknown", f)
	}
}

// recover checks every message. Whether the server sent a snapshot with reason slow or closed with
// 1013 depends on the machine's pace; one of them must happen.
func (s *streamScript) recover(out *bytes.Buffer, c *scriptSocket, code string) {
	s.t.Helper()
	_, h, _ := s.send(s.public, "GET", "/api/orderbook?currencyPairCode="+code, "")
	seq, err := strconv.ParseUint(h.Get("X-Seq"), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	slow := false
	for c.book(code).Seq < seq {
		var closed bytes.Buffer
		m := s.next(&closed, c)
		switch {
		case m != nil && closed.Len() > 0:
			s.t.Fatal(closed.String())
		case m != nil:
			slow = slow || m.Reason == "slow"
		case closed.String() != "  closed 1013\n":
			s.t.Fatal(closed.String())
		default:
			slow = true
			c.s = s.open(false)
			f := strings.Fields("subscribe book depth=0 interval=0 fromSeq=last epoch=last")
			if err := c.s.Send(s.operation(c, f, code)); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	fmt.Fprintf(out, "  was slow: %t\n", slow)
}

// operation parses what a client sends.
func (s *streamScript) operation(c *scriptSocket, f []string, code string) client.Request {
	r := client.Request{Op: f[0]}
	if len(f) > 1 {
		r.Channel = f[1]
	}
	if len(f) > 1 && r.Channel != "status" {
		r.Pairs = []string{code}
		if scriptPair.MatchString(f[len(f)-1]) {
			f = f[:len(f)-1]
		}
	}
	for _, option := range f[min(2, len(f)):] {
		name, value, _ := strings.Cut(option, "=")
		switch {
		case name == "epoch" && value == "last":
			r.Epoch = c.book(code).Epoch
		case name == "epoch":
			r.Epoch = value
		case name == "decimals":
			r.Decimals = value
		case option == "fromSeq=last":
			r.FromSeq = &c.book(code).Seq
		default:
			n := s.number(value)
			wide := uint64(n)
			switch name {
			case "depth":
				r.Depth = &n
			case "interval":
				r.Interval = &n
			case "fromSeq":
				r.FromSeq = &wide
			case "fromTradeId":
				r.FromTradeID = &wide
			default:
				s.t.Fatalf("%q: unknown option", option)
			}
		}
	}
	return r
}

func (s *streamScript) number(text string) int {
	s.t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// next reads one message and checks it; nil: the connection is closed.
func (s *streamScript) next(out *bytes.Buffer, c *scriptSocket) *client.Message {
	s.t.Helper()
	_ = c.s.SetReadDeadline(time.Now().Add(harness.Patience))
	for {
		m, err := c.s.Next()
		if err != nil {
			if client.CloseCode(err) == 0 {
				s.t.Fatalf("%v after:\n%s", err, out)
			}
			fmt.Fprintf(out, "  closed %d\n", client.CloseCode(err))
			return nil
		}
		if m.Type == "heartbeat" {
			continue
		}
		if m.Channel == "book" {
			if err := c.book(m.Pair).Apply(m); err != nil {
				fmt.Fprintf(out, "  ! %v\n", err)
			}
		}
		return m
	}
}

// describeMessage returns the contract's members of a message in a short form.
func describeMessage(m *client.Message) string {
	head := strings.TrimSpace(m.Type + " " + m.Channel + " " + m.Pair)
	switch {
	case m.Type == "error":
		return head + " " + m.Code
	case m.Type == "subscriptions":
		return head + " " + member(m, "items")
	case m.Channel == "book" && m.Type == "snapshot":
		return fmt.Sprintf("%s seq %d %s bids %v asks %v checksum %d", head, m.Seq, m.Reason, m.Bids, m.Asks,
			m.Checksum)
	case m.Channel == "book" && m.Type == "update":
		return fmt.Sprintf("%s %d to %d bids %v asks %v checksum %d", head, m.PrevSeq, m.Seq, m.Bids, m.Asks,
			m.Checksum)
	case m.Channel == "trades" && m.Trades != nil:
		rows := make([]string, len(m.Trades))
		for i, t := range m.Trades {
			rows[i] = fmt.Sprintf("%d: %s @ %s", t.TradeID, t.Volume, t.Price)
		}
		return fmt.Sprintf("%s seq %d [%s]", head, m.Seq, strings.Join(rows, ", "))
	case strings.HasPrefix(m.Channel, "candles") && m.Type != "subscribed":
		return head + " " + member(m, "candle") + " closed " + member(m, "closed")
	case m.Channel == "status" && m.Type == "update":
		return head + " " + normalise(member(m, "pairs"))
	}
	return head
}

// member returns one member of a message as it was sent.
func member(m *client.Message, name string) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(m.Raw, &members); err != nil {
		return err.Error()
	}
	return string(members[name])
}
