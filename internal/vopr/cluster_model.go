package vopr

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/wal"
)

// clusterModel knows what the clients of a cluster were told.
type clusterModel struct {
	orders map[string]*placed // by client order id
	sent   []string           // client order ids, in the order in which they were sent first
	paid   int                // acknowledged deposits
	maybe  int                // those of unknown outcome
	user   string
	serial int
	open   int // requests under way
	states map[wal.Position]machine.Digest
	books  map[uint64]string // by X-Seq
}

// placed is an order of a client.
type placed struct {
	client string
	body   string
	id     uint64 // 0: never acknowledged
	open   bool   // a request is under way
	maybe  bool   // an outcome was unknown
}

func newClusterModel() *clusterModel {
	return &clusterModel{
		orders: map[string]*placed{}, states: map[wal.Position]machine.Digest{},
		books: map[uint64]string{},
	}
}

// call sends a request to the listener of a node that has its target. An answer with the status 0 says that the process
// ended before it.
func (n *clusterNode) call(method, target, body string) answer {
	return n.send(method, target, body, func(*fasthttp.Request) {})
}

// send is call for a request that is changed before, for example signed.
func (n *clusterNode) send(method, target, body string, change func(r *fasthttp.Request)) answer {
	p := n.p
	var handler fasthttp.RequestHandler
	switch {
	case n.x != nil && target[1] == 'a':
		handler = n.x.Public().Handler()
	case n.x != nil:
		handler = n.x.Internal().Handler()
	case n.y != nil && target[1] == 'a':
		handler = n.y.Public().Handler()
	default:
		return answer{status: 503}
	}
	var ctx fasthttp.RequestCtx
	change(fill(&ctx, method, target, body))
	handler(&ctx)
	if p.dead {
		return answer{}
	}
	return answer{ctx.Response.StatusCode(), ctx.Response.Body(), string(ctx.Response.Header.Peek("X-Seq"))}
}

// setUp makes what the clients trade.
func (c *cluster) setUp(n *clusterNode) {
	must := func(target, body string) answer {
		a := n.call("POST", internal+target, body)
		if !a.ok() {
			c.fail("set-up: %s %s: %d %s", target, body, a.status, a.body)
		}
		return a
	}
	for _, code := range []string{"AA", "USDT"} {
		if a := n.call("GET", internal+"/assets/"+code, ""); !a.ok() {
			must("/assets", fmt.Sprintf(`{"symbol":%q,"digits":8}`, code))
		}
	}
	must("/pairs", `{"code":"AA_USDT","digitsPrice":2,"digitsAmount":4}`)
	var user struct{ ID string }
	if err := must("/users", `{"name":"Ann"}`).into(&user); err != nil {
		c.fail("set-up: %v", err)
	}
	c.model.user, c.model.paid = user.ID, 100_000
	for _, code := range []string{"AA", "USDT"} {
		must("/users/"+user.ID+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":%d}`, code, c.model.paid))
	}
	if err := must("/users/"+user.ID+"/apikeys", `{"name":"k"}`).into(&c.readers.key); err != nil {
		c.fail("set-up: %v", err)
	}
}

// work sends requests until n more are answered and a time has passed, or time is over. The seed chooses the pace.
func (c *cluster) work(n int, least, most time.Duration) {
	until, since, pace := c.mix.Acknowledged+n, c.nowNs, 12<<c.rnd.IntN(8)
	c.run(most, func() bool {
		if c.mix.Acknowledged >= until && c.nowNs-since >= int64(least) {
			return true
		}
		if c.model.open < 4 && c.rnd.IntN(pace) == 0 {
			c.request()
		}
		return false
	})
}

// request sends something to a node that seems to be the writer: any one that leads.
func (c *cluster) request() {
	var leading []*clusterNode
	for _, n := range c.nodes {
		if n.leads() && !n.stopped {
			leading = append(leading, n)
		}
	}
	if len(leading) == 0 {
		return
	}
	n := leading[c.rnd.IntN(len(leading))]
	switch m := c.model; {
	case c.rnd.IntN(5) == 0:
		c.deposit(n)
	case c.rnd.IntN(4) == 0 && len(m.sent) > 0: // a client that did not hear, or that is not sure, sends it again
		o := m.orders[m.sent[c.rnd.IntN(len(m.sent))]]
		if o.id == 0 || c.rnd.IntN(4) == 0 {
			c.mix.Again++
			c.place(n, o)
		}
	default:
		m.serial++
		o := &placed{client: "c" + strconv.Itoa(m.serial)}
		side := "sell"
		if c.rnd.IntN(2) == 0 {
			side = "buy"
		}
		account := ""
		if c.rnd.IntN(2) == 0 {
			account = `"accountId":"` + m.user + `",`
		}
		o.body = fmt.Sprintf(`{%s"currencyPairCode":"AA_USDT","type":"limit","side":%q,"amount":1,"price":%d.%02d,`+
			`"clientOrderId":%q}`,
			account, side, 95+c.rnd.IntN(10), c.rnd.IntN(100), o.client)
		m.orders[o.client] = o
		m.sent = append(m.sent, o.client)
		c.place(n, o)
	}
}

// ask sends a request in a coroutine of a node.
func (c *cluster) ask(n *clusterNode, method, target, body string, done func(a answer)) {
	p := n.p
	c.mix.Requests++
	c.model.open++
	answered := false
	end := func(a answer) {
		if answered {
			return
		}
		answered = true
		c.model.open--
		c.logf("%s: %s %s %s -> %d %.200s", n.name, method, target, body, a.status, withoutID(a.body))
		switch {
		case a.ok():
			c.mix.Acknowledged++
		case a.unknown():
			c.mix.Unknown++
		default:
			c.mix.Refused++
		}
		done(a)
	}
	p.begin(method+" "+target, func() {
		a := n.call(method, target, body)
		if !p.dead {
			end(a)
		}
	})
	n.asked = append(n.asked, func() { end(answer{}) })
}

// place sends an order.
func (c *cluster) place(n *clusterNode, o *placed) {
	if o.open {
		return
	}
	o.open = true
	c.ask(n, "POST", internal+"/orders", o.body, func(a answer) {
		o.open = false
		switch {
		case a.unknown():
			o.maybe = true
		case a.ok():
			var got struct{ OrderID json.Number }
			if err := a.into(&got); err != nil {
				c.fail("an order: %v", err)
				return
			}
			id, _ := strconv.ParseUint(got.OrderID.String(), 10, 64)
			if o.id != 0 && o.id != id && !c.lossy {
				c.fail("twice: the client order id %s has order %d, and had %d", o.client, id, o.id)
			}
			if o.id == 0 {
				c.mix.Orders++
			}
			o.id = id
		}
	})
}

// deposit pays one unit.
func (c *cluster) deposit(n *clusterNode) {
	c.ask(n, "POST", internal+"/users/"+c.model.user+"/deposits", `{"currencyCode":"USDT","amount":1}`, func(a answer) {
		switch {
		case a.ok():
			c.mix.Deposits++
			c.model.paid++
		case a.unknown():
			c.model.maybe++
		}
	})
}

// withoutID cuts the id of a request, which is random, from a refusal.
func withoutID(body []byte) []byte {
	if i := slices.Index(body, ','); i > 0 {
		for j := range body {
			if len(body)-j > 12 && string(body[j:j+12]) == `,"requestId"` {
				return body[:j]
			}
		}
	}
	return body
}

// checkOrders verifies that the writer of a term has everything that was acknowledged. A writer that another one has
// replaced, and does not know it yet, lacks what that one has acknowledged.
func (c *cluster) checkOrders(n *clusterNode, term uint64) {
	for _, client := range slices.Clone(c.model.sent) {
		o := c.model.orders[client]
		if o.id == 0 || c.failure != nil {
			continue
		}
		a := n.call("GET", internal+"/orders/"+strconv.FormatUint(o.id, 10), "")
		if a.unknown() || a.status == 503 || term < c.led {
			return
		}
		c.mix.Checks++
		var got struct{ ClientOrderID string }
		if err := a.into(&got); (err != nil || got.ClientOrderID != client) && !c.lossy {
			c.fail("lost: %s, which leads, has the order %d of %s as %q, %v", n.name, o.id, client, got.ClientOrderID,
				err)
		}
	}
}

// checkAll compares the writer at the end with the model.
func (c *cluster) checkAll(n *clusterNode) {
	c.checkOrders(n, n.term())
	seen := map[string]uint64{}
	last := uint64(0)
	for _, o := range c.model.orders {
		last = max(last, o.id)
	}
	for id := uint64(1); id <= last+20; id++ {
		a := n.call("GET", internal+"/orders/"+strconv.FormatUint(id, 10), "")
		if a.status == 404 {
			continue
		}
		var got struct{ ClientOrderID string }
		if err := a.into(&got); err != nil {
			c.fail("order %d: %v", id, err)
			return
		}
		if got.ClientOrderID == "" {
			continue
		}
		if was := seen[got.ClientOrderID]; was != 0 {
			c.fail("twice: the orders %d and %d have the client order id %s", was, id, got.ClientOrderID)
		}
		seen[got.ClientOrderID] = id
		if o := c.model.orders[got.ClientOrderID]; o == nil || o.id == 0 && !o.maybe && !o.open {
			c.fail("order %d of %s was never sent, or was refused", id, got.ClientOrderID)
		}
	}
	c.checkDeposits(n)
}

// checkDeposits compares the sum of deposits.
func (c *cluster) checkDeposits(n *clusterNode) {
	var totals []struct {
		CurrencyCode string
		Deposited    json.Number
	}
	a := n.call("GET", internal+"/totals", "")
	if err := a.into(&totals); err != nil {
		c.fail("totals: %v", err)
		return
	}
	sum := 0
	for _, t := range totals {
		if t.CurrencyCode == "USDT" {
			sum, _ = strconv.Atoi(shortest(t.Deposited.String()))
		}
	}
	if m := c.model; sum < m.paid && !c.lossy || sum > m.paid+m.maybe {
		c.fail("deposits: %d, acknowledged %d and of unknown outcome %d", sum, m.paid, m.maybe)
	}
}

// look notes the state of a node at its place, and compares it with those of others that were there.
func (n *clusterNode) look() {
	if n.c.rnd.IntN(8) != 0 || n.p.dead {
		return
	}
	p, ok := n.place()
	if !ok {
		return
	}
	c, at, digest := n.c, p.Log, p.Digest
	if was, met := c.model.states[at]; met {
		c.mix.Met++
		if differs := digest.Diff(was); differs != "" {
			c.fail("at record %d %s has another state than another process: %s", at.Seq, n.name, differs)
		}
		return
	}
	c.mix.Marks++
	c.model.states[at] = digest
}

// read reads the book at a node: the seq never goes back, a book of a seq is the same at each node, and a follower that
// has heard nothing for long refuses.
func (n *clusterNode) read() {
	c, p, y := n.c, n.p, n.y
	if n.x == nil && y == nil || n.reading {
		return
	}
	n.reading = true
	before, least := n.link.sentNs, uint64(0)
	if told := c.readers.public.told; c.rnd.IntN(2) == 0 && !c.lossy {
		least = told.shown[clusterPair] // at most what some node has shown
	}
	p.begin("read", func() {
		target := fmt.Sprintf("/api/orderbook?aliases=false&currencyPairCode=%s&minSeq=%d", clusterPair, least)
		a := n.call("GET", target, "")
		if p.dead {
			return
		}
		n.reading = false
		if !a.ok() {
			return
		}
		c.mix.Reads++
		if least > 0 {
			c.mix.AtLeast++
		}
		if lag := time.Duration(n.clock.NowNs() - n.link.sentNs); y != nil && y == n.y && before == n.link.sentNs &&
			before != 0 &&
			lag > maxLag+time.Second {
			c.fail("%s shows a state of %s ago, and may show %s", n.name, lag, maxLag)
		}
		seq, err := strconv.ParseUint(a.seq, 10, 64)
		book := string(a.body)
		switch was, known := c.model.books[seq]; {
		case err != nil:
			c.fail("%s: the book at %q: %.200s", n.name, a.seq, a.body)
		case seq < least && !c.lossy:
			c.fail("%s answers at seq %d, and was asked for %d", n.name, seq, least)
		case seq < n.seq && !c.lossy:
			c.fail("%s shows seq %d, and has shown %d", n.name, seq, n.seq)
		case known && was != book && !c.lossy:
			c.fail("%s shows another book at %d: %s, not %s", n.name, seq, book, was)
		default:
			n.seq, c.model.books[seq] = max(seq, n.seq), book
		}
	})
}

// compareAll verifies that all nodes at rest have one state.
func (c *cluster) compareAll() {
	w := c.writer()
	want, ok := w.place()
	if end := c.truth.reader.State().End; !ok || want.Log != end {
		c.fail("the writer is at %+v, and the stream at %+v", want.Log, end)
		return
	}
	for _, n := range c.nodes {
		p, ok := n.place()
		if differs := p.Digest.Diff(want.Digest); !ok || p.Log != want.Log || differs != "" {
			c.fail("%s is at %+v with another state than %s at %+v: %s", n.name, p.Log, w.name, want.Log, differs)
		}
	}
}

// truth reads the whole stream: what counts.
type truth struct {
	reader *stream.Reader
	later  *uint64 // the last record before the terms of the later program; nil: it has had none
}

func newTruth() *truth { return &truth{} }

// read reads the messages that have arrived.
func (t *truth) read(c *cluster) {
	if t.reader == nil || t.reader.State().Seq > uint64(len(c.net.log)) { // the stream was lost
		t.reader, t.later = stream.NewReader(stream.State{}, laterRules, c.keys), nil
	}
	for seq := t.reader.State().Seq + 1; seq <= uint64(len(c.net.log)); seq++ {
		before := t.reader.State().End.Seq
		m, valid, err := t.reader.Next(seq, c.net.log[seq-1])
		if err != nil {
			c.fail("the stream cannot be read: %v", err)
			return
		}
		if !valid {
			c.mix.Void++
		} else if t.later == nil && m.Rules == laterRules {
			t.later = &before
		}
	}
	if c.lossy { // a node may have records that the stream has lost, and the later program wrote in their place
		return
	}
	for _, n := range c.nodes {
		if t.later != nil && !n.newer && n.y != nil && n.position() > *t.later {
			c.fail("%s has the earlier program, and has executed record %d: the later one wrote from %d on", n.name,
				n.position(), *t.later+1)
		}
	}
}
