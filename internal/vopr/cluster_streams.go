package vopr

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/server/stream"
)

// clusterPair is the pair that a cluster trades.
const clusterPair = "AA_USDT"

// clusterReaders are the clients of the streams of a cluster. They go from node to node: the public ones to any node,
// those with a key to writers. Under quorum nothing that one of them was shown is ever taken back, so all of them are
// compared with each other, and with what the cluster has at rest.
type clusterReaders struct {
	*cluster
	begun  bool // every node has the pair
	public *audience
	on     map[*reader]*process // to which a public reader is connected
	asks   map[*reader]bool     // it subscribes: a replica may hold it
	key    key
	nonce  int
	own    []*ownReader
	rows   map[string]string // the user's deals by tradeId and orderId, as they were told first
	tapes  *tapes
}

func newClusterReaders(c *cluster) *clusterReaders {
	s := &clusterReaders{
		cluster: c, on: map[*reader]*process{}, asks: map[*reader]bool{}, rows: map[string]string{},
		own: []*ownReader{{name: "owner"}, {name: "lazy owner", lazy: 200}},
	}
	s.public = &audience{
		told: &told{}, rnd: c.rnd, mix: &c.mix.StreamMix, sum: c.sum, logf: c.logf, fail: c.fail,
		all: []*reader{
			{name: "every", pair: clusterPair, depth: 0, every: 0, lazy: 1, resumes: true, late: true},
			{name: "conflated", pair: clusterPair, depth: 100, every: 100, lazy: 3, resumes: true, late: true},
			{name: "forgetful", pair: clusterPair, depth: 25, every: 0, lazy: 2, late: true},
			{name: "lazy", pair: clusterPair, depth: 0, every: 0, lazy: 300, resumes: true, late: true},
		},
	}
	s.public.told.forget()
	s.tapes = &tapes{told: s.public.told, of: map[string][]deal{}, fail: c.fail, get: func(target string) answer {
		return c.writer().call("GET", target, "")
	}}
	return s
}

// act lets one of the readers do something.
func (s *clusterReaders) act() {
	if !s.begun || s.lossy { // what was told may be taken back
		return
	}
	if s.rnd.IntN(2) == 0 {
		s.actPublic(s.public.pick(), true)
		return
	}
	s.own[s.rnd.IntN(len(s.own))].act(s, true)
}

// actPublic lets a public reader read, or go to another node.
func (s *clusterReaders) actPublic(r *reader, moves bool) {
	switch p := s.on[r]; {
	case p == nil || p.dead:
		r.conn, s.asks[r] = nil, false
		s.attach(r)
	case s.asks[r]:
	case r.conn == nil:
		s.attach(r)
	case r.behind || moves && s.rnd.IntN(300) == 0:
		s.mix.Moved++
		r.behind = false
		r.conn.Close()
		r.conn = nil
	default:
		s.public.act(r)
	}
}

// attach connects a public reader to a node that serves streams.
func (s *clusterReaders) attach(r *reader) {
	n := s.nodes[s.rnd.IntN(len(s.nodes))]
	var h *stream.Hub
	switch {
	case n.p.dead || n.stopped:
	case n.x != nil:
		h = n.x.Hub()
	case n.y != nil:
		h = n.y.Hub()
	}
	if h == nil {
		return
	}
	s.logf("reader %s goes to %s", r.name, n.name)
	s.on[r], s.asks[r] = n.p, true
	n.p.begin("subscribe", func() {
		s.public.open(r, h)
		s.asks[r] = false
	})
}

// ownReader is a client of the private channels of the user. Behind a snapshot of the fills it reads the deals, as the
// contract says, and has every deal from there on.
type ownReader struct {
	name string
	lazy int // it takes its messages at one of this many opportunities; 0: at each

	n    *clusterNode
	p    *process
	conn *stream.MemoryConn // nil: not connected

	seqs     map[string]uint64 // of the last message, by channel; of this connection
	orders   map[string]string // open ones, by id
	balances map[string]string // by currency
	runs     []*fillRun
}

// fillRun is what came between a snapshot of the fills and the end of its connection, or the next snapshot.
type fillRun struct {
	read   bool   // the deals were read behind the snapshot
	newest uint64 // trade that the route had then
	got    []ownFill
}

// ownFill names a row of the user's deals.
type ownFill struct {
	trade uint64
	id    string
}

// act lets the reader read, or go.
func (r *ownReader) act(s *clusterReaders, moves bool) {
	switch {
	case r.p == nil || r.p.dead || r.conn == nil:
		r.conn = nil
		r.attach(s)
	case moves && s.rnd.IntN(500) == 0:
		r.leave()
	case moves && r.lazy > 0 && s.rnd.IntN(r.lazy) != 0:
	default:
		r.take(s)
	}
}

func (r *ownReader) leave() {
	r.conn.Close()
	r.conn = nil
}

// attach signs in at a node that leads.
func (r *ownReader) attach(s *clusterReaders) {
	n := s.nodes[s.rnd.IntN(len(s.nodes))]
	if !n.leads() || n.stopped || s.key.PublicKey == "" {
		return
	}
	s.nonce++
	r.n, r.p, r.conn, r.seqs = n, n.p, stream.Connect(n.x.Hub()), map[string]uint64{}
	stamp, nonce := strconv.FormatInt(n.clock.NowNs()/int64(time.Millisecond), 10), "s"+strconv.Itoa(s.nonce)
	r.conn.Send(fmt.Appendf(nil, `{"op":"auth","publicKey":%q,"timestamp":%s,"nonce":%q,"signature":%q}`,
		s.key.PublicKey, stamp, nonce, s.key.signature(stamp, nonce, "GET", "/ws", "")))
	for _, channel := range []string{"fills", "orders", "balances"} {
		r.conn.Send(fmt.Appendf(nil, `{"op":"subscribe","channel":%q}`, channel))
	}
}

// take reads what waits for the reader.
func (r *ownReader) take(s *clusterReaders) {
	texts, closed := r.conn.Take()
	for _, text := range texts {
		s.mix.Own++
		_, _ = fmt.Fprintf(s.sum, "%s %s\n", r.name, text)
		again, err := r.apply(s, text)
		if err != nil {
			s.fail("reader %s at %s: %v\nmessage %.600s", r.name, r.n.name, err, text)
			return
		}
		if again {
			r.leave()
			return
		}
	}
	if closed != 0 {
		r.leave()
	}
}

// ownMessage is a message of a private channel.
type ownMessage struct {
	Type, Channel, Code, Message string
	PrevSeq, Seq                 uint64
	Orders, Balances             []json.RawMessage
	Order, Fill                  json.RawMessage
}

// apply takes a message. again: the reader signs in once more, because the process accepts no key yet.
func (r *ownReader) apply(s *clusterReaders, text []byte) (again bool, err error) {
	m := &ownMessage{}
	if err := json.Unmarshal(text, m); err != nil {
		return false, err
	}
	was, known := r.seqs[m.Channel]
	switch m.Type {
	case "error":
		if m.Code != "UNAUTHORIZED" {
			return false, fmt.Errorf("refused: %s %s", m.Code, m.Message)
		}
		return true, nil
	case "heartbeat":
		if m.Seq != was || !known {
			return false, fmt.Errorf("the heartbeat has seq %d, the last message had %d", m.Seq, was)
		}
	case "update":
		if m.PrevSeq != was || !known {
			return false, fmt.Errorf("prevSeq is %d, the last message had seq %d", m.PrevSeq, was)
		}
		r.seqs[m.Channel] = m.Seq
		return false, r.update(s, m)
	case "snapshot":
		r.seqs[m.Channel] = m.Seq
		return false, r.snapshot(s, m)
	}
	return false, nil
}

// snapshot begins a channel.
func (r *ownReader) snapshot(s *clusterReaders, m *ownMessage) error {
	switch m.Channel {
	case "orders":
		r.orders = map[string]string{}
		for _, row := range m.Orders {
			r.orders[ownRowOf(row).ID] = withoutMatch(row)
		}
	case "balances":
		r.balances = map[string]string{}
		return r.update(s, m)
	case "fills":
		run := &fillRun{}
		r.runs = append(r.runs, run)
		n := r.n
		n.p.begin("deals", func() {
			if rows, ok := s.deals(n); ok {
				run.read = true
				for _, row := range rows {
					run.newest = max(run.newest, s.note(row).trade)
				}
			}
		})
	}
	return nil
}

// update takes a change.
func (r *ownReader) update(s *clusterReaders, m *ownMessage) error {
	switch {
	case m.Fill != nil:
		run := r.runs[len(r.runs)-1]
		f := s.note(m.Fill)
		if n := len(run.got); n > 0 && run.got[n-1].trade > f.trade || slices.Contains(run.got, f) {
			return fmt.Errorf("a fill of trade %d behind %+v", f.trade, run.got)
		}
		run.got = append(run.got, f)
		s.mix.Fills++
	case m.Order != nil:
		switch o := ownRowOf(m.Order); o.Status {
		case "Created", "PartiallyCompleted":
			r.orders[o.ID] = withoutMatch(m.Order)
		default:
			delete(r.orders, o.ID)
		}
	}
	for _, row := range m.Balances {
		if b := ownRowOf(row); b.Total == "0" {
			delete(r.balances, b.CurrencyCode)
		} else {
			r.balances[b.CurrencyCode] = string(row)
		}
	}
	return nil
}

// preventedMatch is the member of an order view whose change is no change of the order.
var preventedMatch = regexp.MustCompile(`"preventedMatchId":[^,}]*`)

func withoutMatch(row []byte) string { return preventedMatch.ReplaceAllString(string(row), "") }

// ownRow has the members by which a row of a deal, an order or a balance is known.
type ownRow struct {
	TradeID      uint64
	OrderID      string
	ID, Status   string
	CurrencyCode string
	Total        jsonText
}

// ownRowOf decodes a row. One that is none is the zero row, which differs from what the routes have.
func ownRowOf(row []byte) (r ownRow) {
	_ = json.Unmarshal(row, &r)
	return r
}

// note notes a row of the user's deals. Every route and every stream must tell it with the same bytes.
func (s *clusterReaders) note(row []byte) ownFill {
	d := ownRowOf(row)
	f := ownFill{d.TradeID, fmt.Sprint(d.TradeID, " ", d.OrderID)}
	if had, ok := s.rows[f.id]; ok && had != string(row) && !s.lossy {
		s.fail("the deal %s was %s and is %s", f.id, had, row)
	}
	s.rows[f.id] = string(row)
	return f
}

// signed sends a signed GET to a node.
func (s *clusterReaders) signed(n *clusterNode, target string) answer {
	s.nonce++
	stampMs, nonce := n.clock.NowNs()/int64(time.Millisecond), "r"+strconv.Itoa(s.nonce)
	return n.send("GET", target, "", func(r *fasthttp.Request) { s.key.sign(r, stampMs, nonce, "GET", target, "") })
}

// deals reads all deals of the user.
func (s *clusterReaders) deals(n *clusterNode) (rows []json.RawMessage, ok bool) {
	for page := 1; ; page++ {
		var some []json.RawMessage
		a := s.signed(n, fmt.Sprintf("/api/user/deals?pageSize=100&pageNumber=%d", page))
		if !a.ok() {
			return nil, false // a writer that is deposed, or ends
		}
		if err := a.json(&some); err != nil {
			s.fail("the deals of the user: %v", err)
			return nil, false
		}
		if rows = append(rows, some...); len(some) < 100 {
			return rows, true
		}
	}
}

// clusterCatchUpTries bounds the comparisons at rest. A writer whose clock is behind the clock of the writer before
// accepts no key until its clock has passed what that one may have accepted.
const clusterCatchUpTries = 400

// settle compares what every reader has with what the cluster at rest has.
func (s *clusterReaders) settle() {
	if s.lossy {
		return
	}
	differs := ""
	for range clusterCatchUpTries {
		s.run(50*time.Millisecond, func() bool { return false })
		for _, r := range s.public.all {
			s.actPublic(r, false)
			if r.conn != nil && s.on[r] != nil && !s.asks[r] && !s.on[r].dead {
				s.public.take(r)
			}
		}
		for _, r := range s.own {
			r.act(s, false)
		}
		w := s.writer()
		if w == nil {
			s.fail("the writer of a cluster at rest is not the writer any more: %s", s.states())
			return
		}
		s.await(w, "compare the streams", func(n *clusterNode) { differs = s.compare(n) })
		if s.failure != nil || differs == "" {
			return
		}
	}
	s.fail("after %d times 50 ms at rest: %s", clusterCatchUpTries, differs)
}

// compare returns how a reader differs from the answers of a writer at rest; empty: not at all.
func (s *clusterReaders) compare(n *clusterNode) string {
	s.tapes.read(clusterPair)
	s.tapes.checkFills(clusterPair)
	s.tapes.checkTold(clusterPair)
	book := n.call("GET", "/api/orderbook?aliases=false&currencyPairCode="+clusterPair, "")
	top, err := topOfAnswer(book.body)
	if err != nil {
		return err.Error()
	}
	for _, r := range s.public.all {
		if r.conn == nil {
			return r.name + " is not connected"
		}
		has := topOf(sortedSide(r.bids, true), 40) + "|" + topOf(sortedSide(r.asks, false), 40)
		if r.depth != 25 && has != top {
			return fmt.Sprintf("the book is %s, reader %s has %s", top, r.name, has)
		}
		if want := uint64(len(s.tapes.of[clusterPair])); r.trade != want {
			return fmt.Sprintf("there are %d trades, reader %s has %d", want, r.name, r.trade)
		}
	}
	return s.compareOwn(n)
}

// compareOwn is compare for the readers of private channels.
func (s *clusterReaders) compareOwn(n *clusterNode) string {
	deals, ok := s.deals(n)
	if !ok {
		return "the writer accepts no key"
	}
	all := make([]ownFill, 0, len(deals))
	for _, row := range deals {
		all = append(all, s.note(row))
	}
	slices.SortFunc(all, func(a, b ownFill) int { return cmp.Compare(a.trade, b.trade) })
	if len(all) != len(s.rows) {
		s.fail("%d deals were told, and the user has %d", len(s.rows), len(all))
	}
	for _, r := range s.own {
		if len(r.seqs) < 3 || r.conn == nil {
			return r.name + " has no snapshot"
		}
		if last := r.runs[len(r.runs)-1]; !last.read ||
			len(all) > 0 && max(last.newest, last.end()) < all[len(all)-1].trade {
			return r.name + " lacks deals"
		}
		for i, run := range r.runs {
			if lacks := run.lacks(all); lacks != "" {
				s.fail("%s, after snapshot %d of the fills: %s", r.name, i+1, lacks)
			}
		}
		var orders []json.RawMessage
		var have struct{ Balances []json.RawMessage }
		if s.signed(n, "/api/user/orders?status=active&pageSize=100").into(&orders) != nil ||
			s.signed(n, "/api/wallets/balances").into(&have) != nil {
			return "the writer accepts no key"
		}
		want, got := texts(orders), slices.Sorted(maps.Values(r.orders))
		if len(want) < 100 && !slices.Equal(want, got) {
			return fmt.Sprintf("the user has the orders %s, %s has %s", want, r.name, got)
		}
		if want, got := texts(have.Balances), slices.Sorted(maps.Values(r.balances)); !slices.Equal(want, got) {
			return fmt.Sprintf("the user has %s, %s has %s", want, r.name, got)
		}
	}
	return ""
}

// end returns the newest trade that came.
func (r *fillRun) end() uint64 {
	if len(r.got) == 0 {
		return 0
	}
	return r.got[len(r.got)-1].trade
}

// lacks returns which deal did not come, although one behind it did; empty: none.
func (r *fillRun) lacks(all []ownFill) string {
	if len(r.got) == 0 {
		return ""
	}
	from := r.got[0].trade // a fill of it, or of one before, may have come to an earlier snapshot
	if r.read {
		from = min(from, r.newest)
	}
	for _, f := range all {
		if f.trade > from && f.trade <= r.end() && !slices.Contains(r.got, f) {
			return fmt.Sprintf("the deal %s did not come, and %+v did; the route had deals up to %d", f.id, r.got,
				r.newest)
		}
	}
	return ""
}

func texts(rows []json.RawMessage) []string {
	all := make([]string, 0, len(rows))
	for _, row := range rows {
		all = append(all, withoutMatch(row))
	}
	slices.Sort(all)
	return all
}
