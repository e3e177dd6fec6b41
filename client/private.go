package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"
)

// requestPatience limits the wait for an answer of a signed route, unless Client.HTTP has its own limit.
const requestPatience = 30 * time.Second

// Event is what a PrivateStream returns.
//
//	Type      Channel   Members
//	snapshot  fills     Complete
//	snapshot  orders    Orders, Lists: all that are open; an order of before that is not there has ended
//	snapshot  balances  Balances: all that are not zero
//	update    fills     Fill, Missed
//	update    orders    Order, or List
//	update    balances  Balances: those that have changed
//	lost      -         Reason: the line is lost; the stream opens it again by itself
type Event struct {
	Type     string
	Channel  string
	Orders   []Order // the newest 10,000
	Lists    []List  // with the ids of their orders
	Order    *Order
	List     *List
	Fill     *Fill
	Balances []Balance
	// Missed says that the fill happened while the stream had no line, and was read from /api/user/deals.
	Missed bool
	// Complete is false when the exchange no longer has the fill of the cursor, so that fills behind it may be missing:
	// it keeps the newest fills only (orders.fills_kept), or an older backup was restored.
	Complete bool
	Reason   error
}

// PrivateStream follows the orders, the fills and the balances of an account. It opens a lost line again, also when a
// message is missing, and reads what it has missed from the signed routes: it returns each fill once, those of a pair
// in the order of their trade ids.
//
// After the start and after each outage it returns the missed fills, the snapshot of fills, which ends them, the
// snapshot of orders, the last states of the orders and lists that ended meanwhile, and the snapshot of balances; then
// what happens. At the start those states are the orders of the missed fills, and of the fills of the last 10 s before
// the cursor, with their lists: an order that ended without a fill while the program was down is not among them. A
// state of an order may come twice.
//
// Owner: the goroutine that calls Next.
type PrivateStream struct {
	Retry    time.Duration // shortest time between two attempts to open the line; 0: 1 s
	Patience time.Duration // a line that is silent for longer is lost; 0: 5 s (the exchange speaks once a second)

	clients []*Client // one for each address
	at      int       // index of the address in use
	stream  *Stream   // nil: no line
	dialed  time.Time
	lost    bool // the caller knows that there is no line

	seqs    map[string]uint64 // of the last message, by channel
	fromNow bool              // the cursor is not known yet
	cursor  Cursor
	queue   []Event
	orders  openOrders
}

// PrivateStream returns a stream of the account of c. It opens the line in Next. from is the Cursor of an earlier
// stream: it continues behind it; nil: it begins with what happens from now on; a zero Cursor: with the oldest fill
// that is kept. standbys are further addresses of the exchange, as in Client.Base; the stream looks there when it loses
// the line.
func (c *Client) PrivateStream(from *Cursor, standbys ...string) *PrivateStream {
	p := &PrivateStream{fromNow: from == nil}
	if from != nil {
		p.cursor = from.clone()
	}
	for _, base := range append([]string{c.Base}, standbys...) {
		one := *c
		one.Base = base
		if one.HTTP == nil {
			one.HTTP = &http.Client{Timeout: requestPatience}
		}
		p.clients = append(p.clients, &one)
	}
	return p
}

// Cursor returns the position behind the last fill that Next returned. Before the first snapshot of fills a stream that
// begins "from now on" has none: ok is false.
func (p *PrivateStream) Cursor() (at Cursor, ok bool) { return p.cursor.clone(), !p.fromNow }

// Next returns the next event and waits for it. While the line is lost it tries again until ctx ends.
//
// Errors: ctx's, and an APIError that no repetition mends: a key that is unknown (CodeUnauthorized) or may not read
// (CodeForbidden). A later call tries again and misses nothing.
func (p *PrivateStream) Next(ctx context.Context) (*Event, error) {
	for {
		for len(p.queue) > 0 {
			e := p.queue[0]
			p.queue = p.queue[1:]
			if e.Fill == nil {
				return &e, nil
			}
			if !p.cursor.passed(e.Fill) {
				p.cursor.advance(e.Fill)
				return &e, nil
			}
		}
		if err := p.step(ctx); err != nil {
			if ctx.Err() != nil {
				p.Close()
				return nil, fmt.Errorf("client: private stream: %w", context.Cause(ctx))
			}
			p.lose(err)
			if !temporary(err) {
				return nil, err
			}
		}
	}
}

// Close closes the line. A later Next opens it again.
func (p *PrivateStream) Close() {
	if p.stream != nil {
		_ = p.stream.Close()
	}
	p.stream = nil
}

// temporary reports whether a repetition, at another address perhaps, can succeed.
func temporary(err error) bool {
	var api *APIError
	if !errors.As(err, &api) {
		return true
	}
	switch api.Status {
	case http.StatusRequestTimeout, http.StatusMisdirectedRequest, http.StatusTooManyRequests:
		return true
	}
	return api.Status == 0 || api.Status >= http.StatusInternalServerError
}

// lose closes the line and says so once.
func (p *PrivateStream) lose(reason error) {
	p.Close()
	if p.lost { // here is no line to be had
		p.at = (p.at + 1) % len(p.clients)
	} else {
		p.lost = true
		p.queue = append(p.queue, Event{Type: "lost", Reason: reason})
	}
}

// step opens the line, or takes one message from it.
func (p *PrivateStream) step(ctx context.Context) error {
	if p.stream == nil {
		return p.open(ctx)
	}
	m, err := p.receive(ctx)
	if err != nil {
		return err
	}
	return p.handle(ctx, m)
}

// open opens the line, authenticates it and subscribes.
func (p *PrivateStream) open(ctx context.Context) error {
	retry := p.Retry
	if retry == 0 {
		retry = time.Second
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(p.dialed.Add(retry))):
	}
	p.dialed = time.Now()
	c := p.clients[p.at]
	handshake, cancel := context.WithTimeout(ctx, p.patience())
	defer cancel()
	s, err := Dial(handshake, StreamURL(c.Base))
	if err != nil {
		return err
	}
	p.stream, p.seqs = s, map[string]uint64{}
	if err := s.Authenticate(c.PublicKey, c.PrivateKey, c.now()); err != nil {
		return err
	}
	for {
		m, err := p.receive(ctx)
		if err == nil && m.Type == "error" {
			err = messageError(m)
			if m.Code == CodeUnauthorized || m.Code == CodeForbidden {
				// Directly after its start the exchange accepts no key. A request waits until it does, and then tells
				// whether it accepts this one.
				_, refused := c.Balances(ctx)
				err = errors.Join(refused, err)
			}
		}
		if err != nil {
			return err
		}
		if m.Type == "authenticated" {
			break
		}
	}
	for _, channel := range []string{"fills", "orders", "balances"} { // each begins with a snapshot
		if err := s.Send(Request{Op: "subscribe", Channel: channel}); err != nil {
			return err
		}
	}
	p.lost = false
	return nil
}

func messageError(m *Message) error {
	return fmt.Errorf("client: the server says %s: %s", m.Code, m.Text)
}

func (p *PrivateStream) patience() time.Duration {
	if p.Patience == 0 {
		return 5 * time.Second
	}
	return p.Patience
}

func (p *PrivateStream) receive(ctx context.Context) (*Message, error) {
	if err := p.stream.SetReadDeadline(time.Now().Add(p.patience())); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	m, err := p.stream.NextContext(ctx)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("%w: nothing for %s", ErrSilent, p.patience())
	}
	return m, err
}

// handle queues the events that a message makes.
func (p *PrivateStream) handle(ctx context.Context, m *Message) error {
	again, err := p.chain(m)
	switch {
	case err != nil || again:
		return err
	case m.Type == "error":
		return messageError(m)
	case m.Type == "snapshot" && m.Channel == "fills":
		return p.readFills(ctx)
	case m.Type == "snapshot" && m.Channel == "orders":
		if err := p.readOrders(ctx, m); err != nil {
			return err
		}
	case m.Type != "snapshot" && m.Type != "update":
	case m.Order != nil:
		if p.orders.note(m.Order) {
			p.queue = append(p.queue, Event{Type: m.Type, Channel: m.Channel, Order: m.Order})
		}
	default:
		if m.Fill != nil {
			p.orders.noteFill(m.Fill)
		}
		p.orders.noteList(m.List)
		p.queue = append(p.queue, Event{
			Type: m.Type, Channel: m.Channel, List: m.List, Fill: m.Fill, Balances: m.Balances,
		})
	}
	if m.Channel == "orders" && m.Time > 0 {
		p.orders.heardMs = m.Time
	}
	return nil
}

// chain reports a message that is missing before m. again: m has come before.
func (p *PrivateStream) chain(m *Message) (again bool, err error) {
	last, known := p.seqs[m.Channel]
	update, heartbeat := m.Type == "update", m.Type == "heartbeat"
	if update && known && m.Seq <= last {
		return true, nil
	}
	if (update || heartbeat) && !known || update && m.PrevSeq != last || heartbeat && m.Seq != last {
		return false, fmt.Errorf("client: a message of %s is missing behind seq %d", m.Channel, last)
	}
	if update || m.Type == "snapshot" {
		p.seqs[m.Channel] = m.Seq
	}
	return false, nil
}

// readFills queues the fills behind the cursor: the exchange has sent none, or has dropped some, before a snapshot.
func (p *PrivateStream) readFills(ctx context.Context) error {
	complete := p.cursor.Date == ""
	var rows []Fill
	for f, err := range p.clients[p.at].AllFills(ctx, ListQuery{Since: dateBefore(p.cursor.Date)}) {
		if err != nil {
			return err
		}
		if p.fromNow && len(rows) > 0 && f.Date < formatDate(dateBefore(rows[0].Date)) {
			break
		}
		complete = complete || p.cursor.isAt(&f)
		rows = append(rows, f)
	}
	slices.Reverse(rows)
	if p.fromNow {
		for i := range rows {
			p.cursor.advance(&rows[i])
		}
		p.fromNow, rows = false, nil
	}
	for i := range rows {
		p.orders.noteFill(&rows[i])
		p.queue = append(p.queue, Event{Type: "update", Channel: "fills", Fill: &rows[i], Missed: true})
	}
	p.queue = append(p.queue, Event{Type: "snapshot", Channel: "fills", Complete: complete})
	return nil
}

// readOrders queues a snapshot of the open orders, and the last states of those that ended without a message.
func (p *PrivateStream) readOrders(ctx context.Context, m *Message) error {
	p.queue = append(p.queue, Event{Type: m.Type, Channel: m.Channel, Orders: m.Orders, Lists: m.Lists})
	orders, lists := p.orders.restart(m)
	if err := p.readEnds(ctx, orders, lists); err != nil {
		p.orders.remember(orders, lists)
		return err
	}
	if p.orders.heardMs == 0 {
		return nil
	}
	var rows []Order // placed since, and ended before the snapshot
	since := time.UnixMilli(p.orders.heardMs).Add(-overlap)
	for o, err := range p.clients[p.at].AllOrders(ctx, ListQuery{Since: since}) {
		if err != nil {
			return err
		}
		if o.ended() {
			rows = append(rows, o)
		}
	}
	for i := range slices.Backward(rows) {
		p.queueOrder(&rows[i])
	}
	return nil
}

// readEnds queues the states of orders and lists by their ids, but of those that are no longer kept.
func (p *PrivateStream) readEnds(ctx context.Context, orders, lists []string) error {
	c, every := p.clients[p.at], ListQuery{Status: "all"}
	ended, err := readRows(orders, c.AllOrders(ctx, every), func(o *Order) string { return o.ID },
		func(id string) (Order, error) { return c.Order(ctx, id) })
	if err != nil {
		return err
	}
	lists = p.orders.listsOf(ended, lists)
	done, err := readRows(lists, c.AllLists(ctx, every), func(l *List) string { return l.ID },
		func(id string) (List, error) { return c.List(ctx, id) })
	if err != nil {
		return err
	}
	for i := range ended {
		p.queueOrder(&ended[i])
	}
	for i := range done {
		for j := range done[i].Orders {
			p.queueOrder(&done[i].Orders[j])
		}
		p.orders.noteList(&done[i])
		p.queue = append(p.queue, Event{Type: "update", Channel: "orders", List: &done[i]})
	}
	return nil
}

// fewRows is up to how many rows are read one by one.
const fewRows = 10

// readRows returns the rows with the ids, but those that are no longer kept: from all, the newest first, until few are
// left, and these by their ids. So it makes few requests for many ids, and for one that is old.
func readRows[T any](ids []string, all iter.Seq2[T, error], idOf func(*T) string, one func(string) (T, error)) (
	rows []T, err error,
) {
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	if len(wanted) > fewRows {
		for row, err := range all {
			if err != nil {
				return nil, err
			}
			if id := idOf(&row); wanted[id] {
				delete(wanted, id)
				rows = append(rows, row)
			}
			if len(wanted) <= fewRows {
				break
			}
		}
		slices.Reverse(rows)
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		row, err := one(id)
		switch {
		case err == nil:
			rows = append(rows, row)
		case !IsCode(err, CodeNotFound):
			return nil, err
		}
	}
	return rows, nil
}

func (p *PrivateStream) queueOrder(o *Order) {
	if p.orders.note(o) {
		p.queue = append(p.queue, Event{Type: "update", Channel: "orders", Order: o})
	}
}
