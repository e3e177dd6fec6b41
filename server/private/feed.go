package private

import (
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
)

// Limits of a feed.
const (
	// MaxQueued limits the events that wait for one subscription.
	MaxQueued = 10_000
	// maxHeld limits the recorded and held events of all accounts.
	maxHeld = 100_000
)

// Feed records what happens to watched accounts. It is a sink of the sequencer's loop behind the market data.
type Feed struct {
	history *marketdata.History // read on the sequencer's goroutine
	balance func(account engine.AccountID, currency string) accounts.BalanceView
	watched atomic.Pointer[map[engine.AccountID]bool]

	// What has changed since the last publication. Owner: the sequencer's goroutine.
	orders    []*Event
	transfers []*Event
	changed   map[engine.AccountID]map[string]bool // currencies whose balances have changed
	part      uint64                               // number of the publication
	command   uint64                               // number of the newest command
	commands  map[engine.PairID]uint64             // number of the newest command of each pair
	prevented []preventedMatch                     // of the newest command

	withheld []engine.PairID // pairs with an unfinished command; the sequencer's
	held     held            // of these pairs; the sequencer's

	mu            sync.Mutex
	subscriptions map[engine.AccountID][]*Subscription
}

// Event is something that has happened to an account. Exactly one of Order, List, Transfer and Balances is set.
type Event struct {
	Account engine.AccountID
	// Part is the number of the publication that has recorded the event.
	Part uint64
	// Command is the number of the command that has made an event of an order or a list; 0: of another one.
	Command uint64

	Order    *Order
	List     *List
	Transfer *Transfer
	Balances []accounts.BalanceView // those that have changed, ordered by currency
}

// pair returns the pair of an event of an order or a list.
func (m *Event) pair() engine.PairID {
	if m.List != nil {
		return m.List.Event.Pair
	}
	return m.Order.Event.Pair
}

// Order is an event of an order, and the order as the event left it.
type Order struct {
	Event engine.Event
	Order marketdata.OrderRecord
	Maker bool // the order is the maker of the trade
	// Was is the client id before an EventReplaced, "" for none.
	Was string
	// Shown is the order as the publication shows it, at the order's last event of the publication; else nil.
	Shown *marketdata.OrderRecord
	// Final is the state in which a purchase by quote amount ends that has spent it, at its last trade; nil: this is
	// no such trade. Ends is set at the event that follows and ends the purchase.
	Final *marketdata.OrderRecord
	Ends  bool
	// Prevented is what self-trade prevention has kept from trading, at the event that says what it has taken from the
	// order instead; else nil.
	Prevented *Prevented
}

// Prevented is the trade that an order would have had without self-trade prevention.
type Prevented struct {
	Number  uint64         // of the prevented match
	Counter engine.OrderID // the other order
	Price   int64          // ticks
	Lots    int64
}

// preventedMatch is a prevented match of the present command.
type preventedMatch struct {
	taker, maker engine.OrderID
	Prevented
}

// List is an event of an order list: it begins, an order of it gets another client id, or it ends.
type List struct {
	Event   engine.Event
	List    marketdata.ListRecord
	Clients []string // the client ids of its orders, "" for none
}

// Transfer is a deposit, a profit or a withdrawal.
type Transfer struct {
	Currency string
	Digits   int
	Amount   fixed.I128
}

// New returns a feed of the orders of a history. balance returns the balance that is shown of an account.
func New(h *marketdata.History, balance func(account engine.AccountID, currency string) accounts.BalanceView) *Feed {
	return &Feed{
		history: h, balance: balance, subscriptions: map[engine.AccountID][]*Subscription{},
		changed: map[engine.AccountID]map[string]bool{}, commands: map[engine.PairID]uint64{},
	}
}

func (f *Feed) watches(a engine.AccountID) bool {
	m := f.watched.Load()
	return m != nil && (*m)[a]
}

func (f *Feed) idle() bool {
	m := f.watched.Load()
	return m == nil || len(*m) == 0
}

// Observe records what an event did to the orders of watched accounts. The feed of the market data calls it right
// after the history has folded the event.
func (f *Feed) Observe(e *engine.Event) {
	if f.idle() {
		return
	}
	if marketdata.StartsCommand(e) {
		f.command++
		f.commands[e.Pair] = f.command
		f.prevented = f.prevented[:0]
	}
	switch e.Kind {
	case engine.EventTrade:
		f.record(e, e.Account, e.Order, false)
		f.record(e, e.MakerAccount, e.Maker, true)
	case engine.EventAccepted, engine.EventReplaced, engine.EventReduced, engine.EventTriggered, engine.EventCanceled,
		engine.EventReleased, engine.EventActivated:
		f.record(e, e.Account, e.Order, false)
	case engine.EventList, engine.EventListEnded:
		f.recordList(e, e.Order)
	case engine.EventPrevented:
		f.prevent(e)
	case engine.EventRejected, engine.EventLevel, engine.EventRefilled, engine.EventPair, engine.EventNothing,
		engine.EventAsset, engine.EventPast: // no order of an account has changed
	}
}

func (f *Feed) record(e *engine.Event, account engine.AccountID, id engine.OrderID, maker bool) {
	if !f.watches(account) {
		return
	}
	r, ok := f.history.Current(id)
	if !ok {
		return
	}
	o := &Order{Event: *e, Order: r, Maker: maker}
	switch {
	case e.Kind == engine.EventCanceled && e.Status == engine.Completed:
		o.Ends = f.endTrade(e, &o.Order)
	case e.Kind == engine.EventReduced, e.Kind == engine.EventCanceled && e.Cause == engine.CauseSelfTrade:
		o.Prevented = f.preventedOf(id)
	case e.Kind == engine.EventReplaced:
		o.Was = r.Client
		if a, ok := f.history.NewestAmendment(id); ok && a.Number == uint64(e.Seq) {
			o.Was = a.OldClient
		}
	case e.Kind == engine.EventActivated:
		f.activate(e, &r)
	case e.Kind == engine.EventAccepted && r.List != 0:
		f.nameOrder(r.List, &r)
	}
	f.add(&Event{Account: account, Order: o}, e.Pair)
	if e.Kind == engine.EventReplaced && e.Client.Named() && r.List != 0 {
		f.recordList(e, r.List)
	}
}

// add notes an event of an order or a list.
func (f *Feed) add(m *Event, pair engine.PairID) {
	if f.held.n+len(f.orders) >= maxHeld {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lose(m.Account)
		return
	}
	m.Command = f.commands[pair]
	f.orders = append(f.orders, m)
}

// recordList notes an event of a list. A list that begins precedes its orders, which give it their client ids.
func (f *Feed) recordList(e *engine.Event, id engine.OrderID) {
	if !f.watches(e.Account) {
		return
	}
	if record, clients, ok := f.history.CurrentList(id); ok {
		f.add(&Event{Account: e.Account, List: &List{Event: *e, List: record, Clients: clients}}, e.Pair)
	}
}

// nameOrder gives the list that begins with the present command the client id of one of its orders.
func (f *Feed) nameOrder(list engine.OrderID, r *marketdata.OrderRecord) {
	for _, m := range slices.Backward(f.orders) {
		if m.List != nil && m.List.List.ID == list {
			m.List.Clients[r.ID-list] = r.Client
			return
		}
	}
}

// activate gives the order's event before this one the time at which the order began to track the market, if the same
// command placed, released or replaced it.
func (f *Feed) activate(e *engine.Event, r *marketdata.OrderRecord) {
	for _, m := range slices.Backward(f.orders) {
		switch {
		case m.Command != f.commands[e.Pair]:
			return
		case m.Order != nil && m.Order.Order.ID == e.Order:
			m.Order.Order.TrackNs = r.TrackNs
			return
		}
	}
}

// prevent notes a prevented match; the events of what it takes from the orders follow. Of a purchase by quote amount no
// lots are open.
func (f *Feed) prevent(e *engine.Event) {
	if !f.watches(e.Account) {
		return
	}
	m := preventedMatch{taker: e.Order, maker: e.Maker}
	m.Number, m.Price = uint64(e.Trade), e.Price
	if maker, ok := f.history.Current(e.Maker); ok {
		m.Lots = maker.Open
	}
	if taker, ok := f.history.Current(e.Order); ok && !taker.ByQuote {
		m.Lots = min(m.Lots, taker.Open)
	}
	f.prevented = append(f.prevented, m)
}

// preventedOf returns the newest prevented match of an order in the present command, nil for none.
func (f *Feed) preventedOf(id engine.OrderID) *Prevented {
	for _, m := range slices.Backward(f.prevented) {
		p := m.Prevented
		switch id {
		case m.taker:
			p.Counter = m.maker
		case m.maker:
			p.Counter = m.taker
		default:
			continue
		}
		return &p
	}
	return nil
}

// endTrade gives the order's last trade the state in which the order ends.
func (f *Feed) endTrade(e *engine.Event, end *marketdata.OrderRecord) (found bool) {
	try := func(m *Event) bool {
		o := m.Order
		if found = o != nil && o.Order.ID == e.Order && o.Event.Kind == engine.EventTrade && !o.Maker; found {
			o.Final = end
		}
		return !found
	}
	for _, m := range slices.Backward(f.orders) {
		if !try(m) {
			return true
		}
	}
	f.held.newestFirst(e.Pair, e.Account, try)
	return found
}

// BalanceChanged notes that another balance of an account is shown.
func (f *Feed) BalanceChanged(account engine.AccountID, currency string) {
	if !f.watches(account) {
		return
	}
	if f.changed[account] == nil {
		f.changed[account] = map[string]bool{}
	}
	f.changed[account][currency] = true
}

// Transferred notes a deposit, a profit or a withdrawal, behind BalanceChanged of the same money.
func (f *Feed) Transferred(account engine.AccountID, currency string, amount fixed.I128) {
	if f.watches(account) {
		f.transfers = append(f.transfers, &Event{
			Account: account, Transfer: &Transfer{Currency: currency, Amount: amount},
		})
	}
}

// Fold implements sequencer.Sink; Observe has recorded the events.
func (f *Feed) Fold([]engine.Event, uint64) {}

// NextNs implements sequencer.Sink: time alone changes nothing here.
func (f *Feed) NextNs() int64 { return math.MaxInt64 }

// Withhold implements sequencer.Withholder: the events of these pairs wait for the end of their command.
func (f *Feed) Withhold(pairs []engine.PairID) { f.withheld = slices.Clone(pairs) }

// Publish queues the events of orders, then the transfers, each before the balance that it has changed, then the other
// changed balances of each account.
func (f *Feed) Publish(int64) {
	if f.idle() {
		f.orders, f.transfers, f.held = nil, nil, held{}
		clear(f.changed)
		return
	}
	f.part++
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held.release(f.withheld, func(account engine.AccountID, l *chunks) {
		for _, chunk := range l.all {
			f.queue(account, chunk)
		}
	})
	f.publishOrders()
	for _, m := range f.transfers {
		m.Part = f.part
		row := f.balance(m.Account, m.Transfer.Currency)
		m.Transfer.Digits = row.Digits
		f.queue(m.Account, []*Event{m})
		if names := f.changed[m.Account]; names[row.CurrencyCode] {
			delete(names, row.CurrencyCode)
			f.queue(m.Account, []*Event{{Account: m.Account, Part: f.part, Balances: []accounts.BalanceView{row}}})
		}
	}
	clear(f.transfers)
	f.transfers = f.transfers[:0]
	for _, account := range slices.Sorted(maps.Keys(f.changed)) {
		m := &Event{Account: account, Part: f.part}
		for _, currency := range slices.Sorted(maps.Keys(f.changed[account])) {
			m.Balances = append(m.Balances, f.balance(account, currency))
		}
		if m.Balances != nil {
			f.queue(account, []*Event{m})
		}
	}
	clear(f.changed)
}

// publishOrders queues the events of this publication, or holds them back. The caller holds mu.
func (f *Feed) publishOrders() {
	type key struct {
		pair    engine.PairID
		account engine.AccountID
	}
	if len(f.orders) == 0 {
		return
	}
	f.showOrders()
	parts, order := map[key][]*Event{}, []key{}
	for _, m := range f.orders {
		m.Part = f.part
		k := key{m.pair(), m.Account}
		if !slices.Contains(f.withheld, k.pair) {
			k.pair = engine.ControlPair // in the order of the events, over all pairs
		}
		if parts[k] == nil {
			order = append(order, k)
		}
		parts[k] = append(parts[k], m)
	}
	clear(f.orders)
	f.orders = f.orders[:0]
	for _, k := range order {
		if k.pair == engine.ControlPair {
			f.queue(k.account, parts[k])
		} else if !f.held.add(k.pair, k.account, parts[k]) {
			f.lose(k.account)
		}
	}
}

// showOrders notes how the publication shows the orders of its events.
func (f *Feed) showOrders() {
	seen := map[engine.OrderID]bool{}
	for _, m := range slices.Backward(f.orders) {
		if m.Order == nil {
			continue
		}
		id := m.Order.Order.ID
		if seen[id] {
			continue
		}
		seen[id] = true
		if r, ok := f.history.Summary(id); ok {
			m.Order.Shown = &r
		}
	}
}

// queue hands events to the account's subscriptions. The caller holds mu.
func (f *Feed) queue(account engine.AccountID, chunk []*Event) {
	for _, s := range f.subscriptions[account] {
		if s.queued+len(chunk) > MaxQueued {
			s.chunks, s.queued, s.lost = nil, 0, true
		}
		if !s.lost {
			s.chunks, s.queued = append(s.chunks, chunk), s.queued+len(chunk)
		}
		s.ready()
	}
}

// lose empties the subscriptions of an account, because an event of it was dropped. The caller holds mu.
func (f *Feed) lose(account engine.AccountID) {
	for _, s := range f.subscriptions[account] {
		s.chunks, s.queued, s.lost = nil, 0, true
		s.ready()
	}
}

// Subscription watches an account. Any goroutine may use it.
type Subscription struct {
	feed    *Feed
	account engine.AccountID
	wake    func()
	waiting atomic.Bool // there is something to take

	// Feed.mu guards the others.
	chunks [][]*Event // so that one more event is never a copy of those that wait
	queued int
	lost   bool // the queue was full
}

// Subscribe watches an account: the subscription gets everything that is published from now on. wake is called when
// there is something to take, with a lock held; it does not wait.
func (f *Feed) Subscribe(account engine.AccountID, wake func()) *Subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &Subscription{feed: f, account: account, wake: wake}
	f.subscriptions[account] = append(f.subscriptions[account], s)
	if len(f.subscriptions[account]) == 1 {
		f.setWatched()
	}
	return s
}

// End ends the subscription.
func (s *Subscription) End() {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	rest := slices.DeleteFunc(f.subscriptions[s.account], func(one *Subscription) bool { return one == s })
	if f.subscriptions[s.account] = rest; len(rest) == 0 {
		delete(f.subscriptions, s.account)
		f.setWatched()
	}
}

// ready tells the subscriber that there is something to take. The caller holds mu.
func (s *Subscription) ready() {
	s.waiting.Store(true)
	s.wake()
}

// Waiting reports whether there is something to take.
func (s *Subscription) Waiting() bool { return s.waiting.Load() }

// Take returns the first queued events, at most n; lost: some were dropped, and those before them too. Without any it
// takes no lock, for which the sequencer would wait.
func (s *Subscription) Take(n int) (list []*Event, lost bool) {
	if !s.Waiting() {
		return nil, false
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	for len(list) < n && len(s.chunks) > 0 {
		first := s.chunks[0]
		some := first[:min(n-len(list), len(first))]
		if list = append(list, some...); len(some) == len(first) {
			s.chunks = s.chunks[1:]
		} else {
			s.chunks[0] = first[len(some):]
		}
	}
	s.queued -= len(list)
	lost, s.lost = s.lost, false
	s.waiting.Store(len(s.chunks) > 0)
	return list, lost
}

// setWatched publishes the set of watched accounts. The caller holds mu.
func (f *Feed) setWatched() {
	m := make(map[engine.AccountID]bool, len(f.subscriptions))
	for id := range f.subscriptions {
		m[id] = true
	}
	f.watched.Store(&m)
}

// held holds the events of commands that are not finished, by pair and account. They come in chunks, one for each part
// of a command: holding back and releasing them costs the sequencer the parts, not the events.
//
// Owner: the sequencer's goroutine.
type held struct {
	pairs map[engine.PairID]map[engine.AccountID]*chunks
	n     int
}

// chunks holds the events of an account about a pair.
type chunks struct {
	all [][]*Event
	n   int
}

// add keeps the events of one part of a command for an account. If the account's subscribers could not take all of its
// events, add forgets them and returns false.
func (h *held) add(pair engine.PairID, account engine.AccountID, chunk []*Event) bool {
	if h.pairs == nil {
		h.pairs = map[engine.PairID]map[engine.AccountID]*chunks{}
	}
	of := h.pairs[pair]
	if of == nil {
		of = map[engine.AccountID]*chunks{}
		h.pairs[pair] = of
	}
	if of[account] == nil {
		of[account] = &chunks{}
	}
	l := of[account]
	if l.n+len(chunk) > MaxQueued {
		h.n -= l.n
		delete(of, account)
		return false
	}
	l.all, l.n = append(l.all, chunk), l.n+len(chunk)
	h.n += len(chunk)
	return true
}

// release passes what is held for the pairs that are not withheld, account by account.
func (h *held) release(withheld []engine.PairID, pass func(account engine.AccountID, l *chunks)) {
	for _, pair := range slices.Sorted(maps.Keys(h.pairs)) {
		if slices.Contains(withheld, pair) {
			continue
		}
		of := h.pairs[pair]
		for _, account := range slices.Sorted(maps.Keys(of)) {
			h.n -= of[account].n
			pass(account, of[account])
		}
		delete(h.pairs, pair)
	}
}

// newestFirst yields the events of an account about a pair, newest first.
func (h *held) newestFirst(pair engine.PairID, account engine.AccountID, yield func(*Event) bool) {
	l := h.pairs[pair][account]
	if l == nil {
		return
	}
	for _, chunk := range slices.Backward(l.all) {
		for _, m := range slices.Backward(chunk) {
			if !yield(m) {
				return
			}
		}
	}
}
