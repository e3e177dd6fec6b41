package nets

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tickhive/tickhive/client"
)

// patience ends a wait of a test that hangs.
const patience = 3 * time.Minute

func (n *Node) dial(url string) *client.Stream {
	n.T.Helper()
	s, err := client.Dial(n.T.Context(), url)
	if err != nil {
		n.T.Fatal(err)
	}
	n.T.Cleanup(func() { _ = s.Close() })
	return s
}

// next returns the next message of a socket, which is no error.
func (n *Node) next(s *client.Stream) *client.Message {
	n.T.Helper()
	if err := s.SetReadDeadline(time.Now().Add(patience)); err != nil {
		n.T.Fatal(err)
	}
	m, err := s.Next()
	if err != nil {
		n.T.Fatal(err)
	}
	if m.Type == "error" {
		n.T.Fatalf("the socket says %s", m.Raw)
	}
	return m
}

// comesTo takes messages until shows returns nothing: what the socket shows instead of what it must show. A heartbeat
// comes each second, so the time is looked at here.
func (n *Node) comesTo(when string, take func(), shows func() string) {
	n.T.Helper()
	for end := time.Now().Add(patience); ; take() {
		wrong := shows()
		if wrong == "" {
			return
		}
		if time.Now().After(end) {
			n.T.Fatalf("%s: after %s the socket still shows %s", when, patience, wrong)
		}
	}
}

// private is the fold of what a socket sends about an account: the last state of each order, every fill, the balances.
// Owner: one goroutine.
type private struct {
	n        *Node
	u        *User
	s        *client.Stream
	seqs     map[string]uint64 // of the last message, by channel
	orders   map[string]client.Order
	since    int // trades of the pair of a Reader before the socket was opened
	fills    []client.Fill
	balances map[string]client.Balance
}

// follow opens a socket of u and waits for the snapshots.
func follow(n *Node, u *User) *private {
	n.T.Helper()
	if _, err := n.Client(u).Balances(n.T.Context()); err != nil { // waits until a start accepts keys
		n.T.Fatal(err)
	}
	base := n.Public
	if n.Writer != "" {
		base = n.Writer
	}
	p := &private{
		n: n, u: u, s: n.dial(client.StreamURL(base)), seqs: map[string]uint64{},
		orders: map[string]client.Order{}, balances: map[string]client.Balance{},
	}
	if err := p.s.Authenticate(u.Public, u.Private, n.now()); err != nil {
		n.T.Fatal(err)
	}
	channels := []string{"fills", "orders", "balances"}
	for _, channel := range channels {
		if err := p.s.Send(client.Request{Op: "subscribe", Channel: channel}); err != nil {
			n.T.Fatal(err)
		}
	}
	for len(p.seqs) < len(channels) {
		p.take()
	}
	return p
}

// take folds the next message. A message that is missing, is sent twice, or begins anew fails the test.
func (p *private) take() {
	t := p.n.T
	t.Helper()
	m := p.n.next(p.s)
	last, begun := p.seqs[m.Channel]
	switch m.Type {
	default:
		return
	case "heartbeat":
		if m.Seq != last {
			t.Errorf("a message is missing behind seq %d: %s", last, m.Raw)
		}
		return
	case "snapshot":
		if begun {
			t.Errorf("the socket started over: %s", m.Raw)
		}
	case "update":
		if !begun || m.PrevSeq != last {
			t.Errorf("a message is missing behind seq %d: %s", last, m.Raw)
		}
	}
	p.seqs[m.Channel] = m.Seq
	if m.Order != nil {
		if had, ok := p.orders[m.Order.ID]; ok && cmp.Equal(had, *m.Order) {
			t.Errorf("an order was sent twice: %s", m.Raw)
		}
		p.orders[m.Order.ID] = *m.Order
	}
	for _, o := range m.Orders {
		p.orders[o.ID] = o
	}
	if m.Fill != nil {
		p.fills = append(p.fills, *m.Fill)
	}
	for _, b := range m.Balances {
		if had, ok := p.balances[b.Currency]; ok && had == b {
			t.Errorf("a balance was sent twice: %s", m.Raw)
		}
		if p.balances[b.Currency] = b; whole(b.Total) == 0 {
			delete(p.balances, b.Currency) // as the list, which leaves out what is zero
		}
	}
}

// comesTo takes messages until shows returns nothing.
func (p *private) comesTo(when string, shows func() string) {
	p.n.T.Helper()
	p.n.comesTo(when+", "+p.u.ID, p.take, shows)
}

// public is the fold of what a socket sends about a pair: the book, the trades, the ticker and the candle of the year.
// Owner: one goroutine.
type public struct {
	n      *Node
	pair   string
	s      *client.Stream
	book   client.Book
	trades int // id of the last one
	ticker client.Ticker
	candle client.Candle
}

// yearly is the channel of the candles in which a test has one.
const yearly = "candles.year"

// connect opens the socket; another one goes on behind what the one before has shown.
func (p *public) connect(n *Node) {
	n.T.Helper()
	p.n, p.s = n, n.dial(client.StreamURL(n.Public))
	whole, next := 0, uint64(p.trades+1)
	book := client.Request{Op: "subscribe", Channel: "book", Pairs: []string{p.pair}, Depth: &whole, Interval: &whole}
	if p.book.Ready() {
		book.FromSeq, book.Epoch = &p.book.Seq, p.book.Epoch
	}
	for _, r := range []client.Request{
		book,
		{Op: "subscribe", Channel: "trades", Pairs: []string{p.pair}, FromTradeID: &next},
		{Op: "subscribe", Channel: "ticker", Pairs: []string{p.pair}},
		{Op: "subscribe", Channel: yearly, Pairs: []string{p.pair}},
	} {
		if err := p.s.Send(r); err != nil {
			n.T.Fatal(err)
		}
		for m := p.take(); m.Type != "subscribed" || m.Channel != r.Channel; {
			m = p.take()
		}
	}
}

// take folds the next message. An update of the book that is missing, and a trade that is missing or is sent twice,
// fail the test.
func (p *public) take() *client.Message {
	t := p.n.T
	t.Helper()
	m := p.n.next(p.s)
	data := m.Type == "snapshot" || m.Type == "update"
	switch m.Channel {
	case "book":
		err := error(nil)
		if data {
			if m.Type == "snapshot" && (m.Reason != "subscribe" || p.book.Ready()) {
				t.Errorf("the book of %s started over behind seq %d: %s", p.pair, p.book.Seq, m.Raw)
			}
			err = p.book.Apply(m)
		} else if m.Type == "heartbeat" {
			err = p.book.Heartbeat(m)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, m.Raw)
		}
	case "trades":
		for _, one := range m.Trades {
			if p.trades++; int(one.TradeID) != p.trades {
				t.Fatalf("trade %d comes where trade %d was due: %s", one.TradeID, p.trades, m.Raw)
			}
		}
	case "ticker":
		if m.Ticker != nil {
			p.ticker = *m.Ticker
		}
	case yearly:
		if m.Candle != nil {
			p.candle = *m.Candle
		}
	}
	return m
}

// shows returns what the socket shows instead of an amount at a price, which is all of the book, and the trades so far.
func (p *public) shows(price, amount, trades, last, sum int) string {
	levels := append(append([]client.BookLevel{}, p.book.Bids...), p.book.Asks...)
	switch {
	case amount == 0 && len(levels) > 0,
		amount > 0 && (len(levels) != 1 || whole(levels[0].Price) != price || whole(levels[0].Amount) != amount):
		return fmt.Sprintf("the book %v instead of %d at %d", levels, amount, price)
	case p.trades != trades:
		return fmt.Sprintf("%d trades instead of %d", p.trades, trades)
	case trades > 0 && (whole(p.ticker.Price) != last || whole(p.ticker.Volume24h) != sum):
		return fmt.Sprintf("the ticker %+v instead of the last price %d and the volume %d", p.ticker, last, sum)
	case trades > 0 && (whole(p.candle.Close) != last || whole(p.candle.VolumeBase) != sum):
		return fmt.Sprintf("the candle %+v instead of the last price %d and the volume %d", p.candle, last, sum)
	}
	return ""
}
