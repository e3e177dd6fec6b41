package clusterdemo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/server/forward"
)

// The bot's trading. A market order ends at once, so nothing may change what its answer said.
const (
	botPair   = "BTC_USDT"
	botAmount = "0.0002" // above the pair's least total; the money of a demo account lasts for days

	traders    = 4 // requests under way at a time, so that a kill meets some
	tradeEvery = 80 * time.Millisecond
	retryEvery = 20 * time.Millisecond
	// orderPatience is longer than a writer without its stream takes to answer 504 OUTCOME_UNKNOWN.
	orderPatience = 15 * time.Second

	// maxOrders bounds what the bot remembers and a check reads: 1,000 s of trading, 500 pages of a list. The nodes
	// keep more closed orders than they get from the bot and the simulated market in this time (keptOrders).
	maxOrders    = 50_000
	maxTakeovers = 50
)

// bot trades with a demo account at whichever node is the writer. After each takeover it reads from the new writer what
// any writer has acknowledged, and counts what is not there.
//
// Owner: its own goroutines, which run starts; mu guards what follows it.
type bot struct {
	nodes  []*node // names and addresses
	status func(context.Context, *node) state
	http   http.Client
	key    struct{ PublicKey, PrivateKey string }
	due    chan struct{} // a takeover waits for its check

	finding sync.Mutex // one trader looks for the writer

	mu     sync.Mutex
	orders []client.Order // acknowledged, as the answers had them; the newest maxOrders
	counts counts
	at     *node     // where orders go; nil: the writer is not known
	writer string    // node that acknowledged the last order
	since  time.Time // of the first order that it acknowledged
	last   time.Time // of the last order
	outage *outage   // nil: the last writer runs, as far as is known
	taken  []takeover
}

// counts are what the bot has seen since the start.
type counts struct {
	Acknowledged, Refused, Unanswered, Checked, Lost int
}

// outage begins when the process of the writer ends, and ends with the first order that is acknowledged afterwards.
type outage struct {
	former string
	began  time.Time
	gone   time.Time // the process has ended; zero: it is being killed
}

// takeover is an outage that has ended.
type takeover struct {
	Node, Former string
	At           time.Time
	After        time.Duration
	counts            // of the check, with the acknowledged orders up to then
	Done         bool // checked
}

// String is what the demo is for.
func (t *takeover) String() string {
	checked := ""
	if t.Checked < t.Acknowledged {
		checked = fmt.Sprintf(", the newest %s read back", group(t.Checked))
	}
	return fmt.Sprintf("%s took over after %.1f s; %s acknowledged orders%s, %s lost", t.Node, t.After.Seconds(),
		group(t.Acknowledged), checked, group(t.Lost))
}

// group puts commas between thousands.
func group(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func newBot(nodes []*node, status func(context.Context, *node) state) *bot {
	return &bot{
		nodes: nodes, status: status, due: make(chan struct{}, 1),
		http: http.Client{Timeout: orderPatience, Transport: &http.Transport{MaxIdleConnsPerHost: traders + 1}},
	}
}

// run trades until ctx ends.
func (b *bot) run(ctx context.Context) {
	if !b.open(ctx) {
		return
	}
	var all sync.WaitGroup
	for i := range traders {
		all.Go(func() { b.trade(ctx, i) })
	}
	all.Go(func() { b.check(ctx) })
	all.Wait()
}

// open makes the account. It returns false when ctx has ended before.
func (b *bot) open(ctx context.Context) bool {
	for {
		n := b.find(ctx)
		if n == nil {
			return false
		}
		c := client.Client{Base: "http://" + n.inside, HTTP: &b.http}
		if _, err := c.Do(ctx, http.MethodPost, "/internal/v1/demo-accounts", nil, &b.key); err == nil {
			return true
		}
		b.lose(n)
		pause(ctx)
	}
}

// find returns the writer and waits for one; nil: ctx has ended.
func (b *bot) find(ctx context.Context) *node {
	b.finding.Lock()
	defer b.finding.Unlock()
	for ctx.Err() == nil {
		b.mu.Lock()
		at := b.at
		b.mu.Unlock()
		if at != nil {
			return at
		}
		var term uint64
		for _, n := range b.nodes {
			if s := b.status(ctx, n); s.Role == "writer" && s.Term > term {
				at, term = n, s.Term
			}
		}
		b.mu.Lock()
		b.at = at
		b.mu.Unlock()
		if at == nil {
			pause(ctx)
		}
	}
	return nil
}

// lose forgets that a node is the writer.
func (b *bot) lose(n *node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at == n {
		b.at = nil
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retryEvery):
	}
}

func (b *bot) trade(ctx context.Context, trader int) {
	tick := time.NewTicker(tradeEvery)
	defer tick.Stop()
	for i := 0; ; i++ {
		b.place(ctx, client.OrderRequest{
			Side: []string{"buy", "sell"}[(trader+i)%2], IsMarket: true, Pair: botPair, Amount: botAmount,
			ClientOrderID: fmt.Sprintf("demo-%d-%d", trader, i),
		})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// place sends an order until a writer acknowledges or refuses it. The client order id makes a repetition safe: the
// order whose answer was lost is answered again, not placed again.
func (b *bot) place(ctx context.Context, o client.OrderRequest) {
	// A batch is answered with the order's view, a single order with its id alone.
	body := map[string]any{"commands": []any{map[string]any{"place": o}}}
	for {
		n := b.find(ctx)
		if n == nil {
			return
		}
		var out struct{ Results []client.BatchResult }
		sent := time.Now()
		header, err := b.client(n).Do(ctx, http.MethodPost, "/api/orders/batch", body, &out)
		var api *client.APIError
		switch {
		case err == nil && len(out.Results) == 1 && out.Results[0].RejectReason == nil:
			b.acknowledged(b.nameOf(cmp.Or(header.Get(forward.ServedBy), n.public)), sent, out.Results[0].Order)
			return
		case err == nil || errors.As(err, &api) && refused(api.Status):
			b.count(func(c *counts) { c.Refused++ })
			return
		case ctx.Err() != nil:
			return
		case api == nil && !dialed(err): // nothing was sent
		case api == nil || api.Status == http.StatusGatewayTimeout:
			b.count(func(c *counts) { c.Unanswered++ })
		}
		b.lose(n)
		pause(ctx)
	}
}

// dialed reports whether a connection was there when a request failed.
func dialed(err error) bool {
	var op *net.OpError
	return !errors.As(err, &op) || op.Op != "dial"
}

// refused reports whether an answer is the same at any time and any node.
func refused(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict:
		return true
	}
	return false
}

func (b *bot) client(n *node) *client.Client {
	return &client.Client{
		Base: "http://" + n.public, PublicKey: b.key.PublicKey, PrivateKey: b.key.PrivateKey, HTTP: &b.http,
	}
}

// nameOf returns the name of the node at a public address.
func (b *bot) nameOf(public string) string {
	for _, n := range b.nodes {
		if n.public == public {
			return n.name
		}
	}
	return public
}

func (b *bot) count(change func(*counts)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.counts)
}

// acknowledged notes an order that a node has acknowledged in answer to a request of this time.
func (b *bot) acknowledged(by string, sent time.Time, o client.Order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.orders) == maxOrders {
		b.orders = slices.Clone(b.orders[maxOrders/10:]) // a check may read the old ones
	}
	b.orders = append(b.orders, o)
	b.counts.Acknowledged++
	now := time.Now()
	switch x := b.outage; {
	case x != nil && sent.After(x.began) && (by != x.former || !x.gone.IsZero() && sent.After(x.gone)):
		b.tookOver(takeover{Node: by, Former: x.former, At: now, After: now.Sub(x.began)})
	case x == nil && b.writer == "":
		b.writer, b.since = by, now
	case x == nil && by != b.writer && sent.After(b.since): // while its process ran
		b.tookOver(takeover{Node: by, Former: b.writer, At: now, After: now.Sub(b.last)})
	}
	b.last = now
}

// tookOver notes a takeover; mu is held.
func (b *bot) tookOver(t takeover) {
	b.writer, b.since, b.outage = t.Node, t.At, nil
	if len(b.taken) == maxTakeovers {
		b.taken = slices.Delete(b.taken, 0, 1)
	}
	b.taken = append(b.taken, t)
	select {
	case b.due <- struct{}{}:
	default:
	}
}

// killed notes that the process of a node is about to be killed, ended that it has ended. The outage begins with the
// first of them.
func (b *bot) killed(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if name == b.writer && b.outage == nil {
		b.outage = &outage{former: name, began: time.Now()}
	}
}

func (b *bot) ended(name string) {
	b.killed(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outage != nil && b.outage.former == name {
		b.outage.gone = time.Now()
	}
}

// check reads the acknowledged orders back after each takeover.
func (b *bot) check(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.due:
		}
		for {
			b.mu.Lock()
			waits := slices.ContainsFunc(b.taken, func(t takeover) bool { return !t.Done })
			want, result, now := slices.Clip(b.orders), b.counts, time.Now()
			b.mu.Unlock()
			if !waits || ctx.Err() != nil {
				break
			}
			n := b.find(ctx)
			if n == nil {
				return
			}
			have, err := b.read(ctx, n, want)
			if err != nil {
				b.lose(n)
				pause(ctx)
				continue
			}
			result.Checked, result.Lost = len(want), lost(want, have)
			b.mu.Lock()
			b.counts.Checked, b.counts.Lost = result.Checked, result.Lost
			for i := range b.taken {
				if !b.taken[i].Done && !b.taken[i].At.After(now) {
					b.taken[i].counts, b.taken[i].Done = result, true
				}
			}
			b.mu.Unlock()
		}
	}
}

// read returns the orders of the account at a node by their ids, back to the oldest of want.
func (b *bot) read(ctx context.Context, n *node, want []client.Order) (map[string]client.Order, error) {
	left := make(map[string]bool, len(want))
	for _, o := range want {
		left[o.ID] = true
	}
	have := make(map[string]client.Order, len(want))
	for o, err := range b.client(n).AllOrders(ctx, client.ListQuery{Pair: botPair}) {
		if err != nil {
			return nil, err
		}
		have[o.ID] = o
		if delete(left, o.ID); len(left) == 0 {
			break
		}
	}
	return have, nil
}

// lost counts the acknowledged orders that a node does not have as they were acknowledged: same id, and every figure.
func lost(acknowledged []client.Order, have map[string]client.Order) (n int) {
	for _, o := range acknowledged {
		if h, ok := have[o.ID]; !ok || !reflect.DeepEqual(o, h) {
			n++
		}
	}
	return n
}

// botView is what the bot shows.
type botView struct {
	counts
	outage *outage    // nil: none
	taken  []takeover // oldest first
}

func (b *bot) view() botView {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := botView{counts: b.counts, taken: slices.Clone(b.taken)}
	if b.outage != nil {
		x := *b.outage
		v.outage = &x
	}
	return v
}
