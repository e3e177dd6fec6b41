package binance

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

// Limits of user data streams.
const (
	maxBacklog = 10_000  // messages that wait for one subscription; beyond it the socket is closed
	maxHeld    = 100_000 // reports that wait for the end of their command
)

// UserFeed hands the changes of watched accounts to the sockets that subscribe to them. It is a sink of the
// sequencer's loop behind the market data, and the listener of the accounts.
//
// Owner: the sequencer's goroutine calls Observe, Fold, Withhold and Publish, and the methods of the listener. Any
// goroutine may call the others.
type UserFeed struct {
	users   Users
	watched atomic.Pointer[map[engine.AccountID]bool]

	// What has changed since the last publication. Owner: the sequencer's goroutine.
	reports   []*userMessage
	transfers []*userMessage            // money from outside or to it
	changed   map[engine.AccountID]bool // with other balances

	withheld []engine.PairID // pairs with an unfinished command; the sequencer's
	held     heldReports     // of these pairs; the sequencer's

	mu       sync.Mutex
	accounts map[engine.AccountID]*watchedAccount
}

// watchedAccount is an account with subscriptions. UserFeed.mu guards it.
type watchedAccount struct {
	subscriptions []*subscription
	sent          map[string]accounts.BalanceView // the balances that the subscribers know, by currency
}

// subscription is the user data stream of one socket. UserFeed.mu guards what follows wake.
type subscription struct {
	account engine.AccountID
	key     string // public key
	number  uint64 // of the key, which ends with the key
	wake    func() // makes the sockets take; it does not wait

	queue  [][]*userMessage // in chunks, so that one more is never a copy of those that wait
	queued int
	lost   bool // the queue was full
}

// userMessage is one event of an account. It is immutable once it is queued. Exactly one of order, balances and
// currency is set.
type userMessage struct {
	account engine.AccountID
	order   *orderReport

	balances []accounts.BalanceView // those that have changed

	currency string // of a transfer
	digits   int    // of the currency
	amount   fixed.I128
}

// orderReport is an event of an order, and the order as the event left it.
type orderReport struct {
	event engine.Event
	order marketdata.OrderRecord
	maker bool // the order is the maker of the trade
}

func newUserFeed(o *Options) *UserFeed {
	return &UserFeed{
		users: o.Users, accounts: map[engine.AccountID]*watchedAccount{}, changed: map[engine.AccountID]bool{},
	}
}

// Feed returns the sink of the user data streams; nil for a nil Facade.
func (f *Facade) Feed() *UserFeed {
	if f == nil {
		return nil
	}
	return f.feed
}

func (u *UserFeed) watches(a engine.AccountID) bool {
	m := u.watched.Load()
	return m != nil && (*m)[a]
}

func (u *UserFeed) idle() bool {
	m := u.watched.Load()
	return m == nil || len(*m) == 0
}

// Observe records what an event did to the orders of watched accounts. The feed of the market data calls it right
// after the history has folded the event.
func (u *UserFeed) Observe(e *engine.Event, h *marketdata.History) {
	switch e.Kind {
	case engine.EventTrade:
		u.record(e, h, e.Account, e.Order, false)
		u.record(e, h, e.MakerAccount, e.Maker, true)
	case engine.EventAccepted, engine.EventReplaced, engine.EventReduced, engine.EventTriggered:
		u.record(e, h, e.Account, e.Order, false)
	case engine.EventCanceled:
		if e.Status != engine.Completed || !u.completeLast(e, h) {
			u.record(e, h, e.Account, e.Order, false)
		}
	case engine.EventRejected, engine.EventLevel, engine.EventRefilled, engine.EventPair, engine.EventNothing,
		engine.EventAsset: // no order of an account has changed
	}
}

func (u *UserFeed) record(e *engine.Event, h *marketdata.History, account engine.AccountID, id engine.OrderID,
	maker bool,
) {
	if !u.watches(account) {
		return
	}
	r, ok := h.Current(id)
	if !ok {
		return
	}
	if u.held.n+len(u.reports) >= maxHeld {
		u.lose(account)
		return
	}
	u.reports = append(u.reports, &userMessage{
		account: account, order: &orderReport{event: *e, order: r, maker: maker},
	})
}

// completeLast gives the order's last trade the state in which the order ends: a purchase by quote amount that has
// spent it is filled by its last trade, and the other exchange has no further event.
func (u *UserFeed) completeLast(e *engine.Event, h *marketdata.History) (found bool) {
	complete := func(m *userMessage) bool {
		r := m.order
		if found = r.order.ID == e.Order && r.event.Kind == engine.EventTrade && !r.maker; found {
			r.order, _ = h.Current(e.Order)
		}
		return !found
	}
	for _, m := range slices.Backward(u.reports) {
		if !complete(m) {
			return true
		}
	}
	u.held.newestFirst(e.Pair, e.Account, complete)
	return found
}

// Fold implements sequencer.Sink; Observe has recorded the events.
func (u *UserFeed) Fold([]engine.Event, uint64) {}

// NextNs implements sequencer.Sink: time alone changes nothing here.
func (u *UserFeed) NextNs() int64 { return math.MaxInt64 }

// Withhold implements sequencer.Withholder: the reports of these pairs wait for the end of their command.
func (u *UserFeed) Withhold(pairs []engine.PairID) { u.withheld = slices.Clone(pairs) }

// Publish queues the reports, then the transfers, each before the balance that it has changed, then one position for
// each account with other balances.
func (u *UserFeed) Publish(int64) {
	if u.idle() {
		u.reports, u.transfers, u.held = nil, nil, heldReports{}
		clear(u.changed)
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.held.release(u.withheld, func(account engine.AccountID, l *heldChunks) {
		for _, chunk := range l.chunks {
			u.queue(account, chunk)
		}
	})
	u.publishReports()
	for _, m := range u.transfers {
		m.digits = u.digits(m.account, m.currency)
		u.queue(m.account, []*userMessage{m})
		u.position(m.account, m.currency)
	}
	clear(u.transfers)
	u.transfers = u.transfers[:0]
	for _, account := range slices.Sorted(maps.Keys(u.changed)) {
		u.position(account, "")
	}
	clear(u.changed)
}

// publishReports queues the reports of this publication, or holds them back. The caller holds mu.
func (u *UserFeed) publishReports() {
	type key struct {
		pair    engine.PairID
		account engine.AccountID
	}
	if len(u.reports) == 0 {
		return
	}
	parts, order := map[key][]*userMessage{}, []key{}
	for _, m := range u.reports {
		k := key{m.order.event.Pair, m.account}
		if !slices.Contains(u.withheld, k.pair) {
			k.pair = engine.ControlPair // in the order of the events, over all pairs
		}
		if parts[k] == nil {
			order = append(order, k)
		}
		parts[k] = append(parts[k], m)
	}
	clear(u.reports)
	u.reports = u.reports[:0]
	for _, k := range order {
		if k.pair == engine.ControlPair {
			u.queue(k.account, parts[k])
		} else if !u.held.add(k.pair, k.account, parts[k]) {
			u.loseLocked(k.account)
		}
	}
}

// position queues the balances that differ from those which the subscribers know, or the one of a currency. The
// caller holds mu.
func (u *UserFeed) position(account engine.AccountID, currency string) {
	a := u.accounts[account]
	if a == nil {
		return
	}
	m := &userMessage{account: account}
	for _, row := range u.users.Rows(account) {
		before, known := a.sent[row.CurrencyCode]
		if currency != "" && row.CurrencyCode != currency || before == row ||
			!known && row.Free.Sign() == 0 && row.Held.Sign() == 0 {
			continue
		}
		a.sent[row.CurrencyCode] = row
		m.balances = append(m.balances, row)
	}
	if m.balances != nil {
		u.queue(account, []*userMessage{m})
	}
}

// digits returns the digits of a currency of which the account has a balance.
func (u *UserFeed) digits(account engine.AccountID, currency string) int {
	for _, row := range u.users.Rows(account) {
		if row.CurrencyCode == currency {
			return row.Digits
		}
	}
	return fixed.Scale
}

// queue hands messages to the account's subscriptions. The caller holds mu.
func (u *UserFeed) queue(account engine.AccountID, chunk []*userMessage) {
	a := u.accounts[account]
	if a == nil {
		return
	}
	for _, s := range a.subscriptions {
		if s.queued+len(chunk) > maxBacklog {
			s.queue, s.queued, s.lost = nil, 0, true
		}
		if !s.lost {
			s.queue, s.queued = append(s.queue, chunk), s.queued+len(chunk)
		}
		s.wake()
	}
}

// lose ends the subscriptions of an account, because a report of it was dropped.
func (u *UserFeed) lose(account engine.AccountID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.loseLocked(account)
}

// loseLocked is lose for a caller that holds mu.
func (u *UserFeed) loseLocked(account engine.AccountID) {
	if a := u.accounts[account]; a != nil {
		for _, s := range a.subscriptions {
			s.queue, s.queued, s.lost = nil, 0, true
			s.wake()
		}
	}
}

// BalanceChanged notes that another balance of an account is shown.
func (u *UserFeed) BalanceChanged(account engine.AccountID) {
	if u.watches(account) {
		u.changed[account] = true
	}
}

// Transferred notes a deposit, a profit or a withdrawal.
func (u *UserFeed) Transferred(account engine.AccountID, currency string, amount fixed.I128) {
	if u.watches(account) {
		u.transfers = append(u.transfers, &userMessage{account: account, currency: currency, amount: amount})
	}
}

// take returns the first messages that wait for a subscription, at most n; lost: some were dropped.
func (u *UserFeed) take(s *subscription, n int) (list []*userMessage, lost bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(list) < n && len(s.queue) > 0 {
		part := s.queue[0][:min(n-len(list), len(s.queue[0]))]
		list = append(list, part...)
		if s.queue[0] = s.queue[0][len(part):]; len(s.queue[0]) == 0 {
			s.queue = s.queue[1:]
		}
	}
	s.queued -= len(list)
	return list, s.lost
}

// subscribe begins a subscription: it gets everything that is published from now on.
func (u *UserFeed) subscribe(s *subscription) {
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.accounts[s.account]
	if a != nil {
		a.subscriptions = append(a.subscriptions, s)
		return
	}
	a = &watchedAccount{subscriptions: []*subscription{s}, sent: map[string]accounts.BalanceView{}}
	u.accounts[s.account] = a
	u.setWatched()
	for _, row := range u.users.Rows(s.account) { // behind setWatched, so that no change is missed
		a.sent[row.CurrencyCode] = row
	}
}

// unsubscribe ends a subscription.
func (u *UserFeed) unsubscribe(s *subscription) {
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.accounts[s.account]
	if a == nil {
		return
	}
	a.subscriptions = slices.DeleteFunc(a.subscriptions, func(one *subscription) bool { return one == s })
	if len(a.subscriptions) == 0 {
		delete(u.accounts, s.account)
		u.setWatched()
	}
}

// setWatched publishes the set of accounts with subscriptions. The caller holds mu.
func (u *UserFeed) setWatched() {
	m := make(map[engine.AccountID]bool, len(u.accounts))
	for id := range u.accounts {
		m[id] = true
	}
	u.watched.Store(&m)
}

// heldReports are the reports of commands that are not finished, by pair and account. They come in chunks, one for
// each part of a command: holding back and releasing them costs the sequencer the parts, not the reports.
//
// Owner: the sequencer's goroutine.
type heldReports struct {
	pairs map[engine.PairID]map[engine.AccountID]*heldChunks
	n     int
}

// heldChunks holds the reports of an account.
type heldChunks struct {
	chunks [][]*userMessage
	n      int
}

// add keeps the reports of one part of a command for an account. If the account's subscribers could not take all of its
// reports, add forgets them and returns false.
func (h *heldReports) add(pair engine.PairID, account engine.AccountID, chunk []*userMessage) bool {
	if h.pairs == nil {
		h.pairs = map[engine.PairID]map[engine.AccountID]*heldChunks{}
	}
	of := h.pairs[pair]
	if of == nil {
		of = map[engine.AccountID]*heldChunks{}
		h.pairs[pair] = of
	}
	if of[account] == nil {
		of[account] = &heldChunks{}
	}
	l := of[account]
	if l.n+len(chunk) > maxBacklog {
		h.n -= l.n
		delete(of, account)
		return false
	}
	l.chunks, l.n = append(l.chunks, chunk), l.n+len(chunk)
	h.n += len(chunk)
	return true
}

// release passes what is held for the pairs that are not withheld, account by account.
func (h *heldReports) release(withheld []engine.PairID, pass func(account engine.AccountID, l *heldChunks)) {
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

// newestFirst yields the reports of an account about a pair, newest first.
func (h *heldReports) newestFirst(pair engine.PairID, account engine.AccountID, yield func(*userMessage) bool) {
	l := h.pairs[pair][account]
	if l == nil {
		return
	}
	for _, chunk := range slices.Backward(l.chunks) {
		for _, m := range slices.Backward(chunk) {
			if !yield(m) {
				return
			}
		}
	}
}

// appendUserMessage appends an event of a user data stream.
func (f *Facade) appendUserMessage(b []byte, m *userMessage) []byte {
	eventMs := encode.FloorDiv(f.opt.Clock.NowNs(), msNs)
	switch {
	case m.order != nil:
		return f.appendReport(b, m.order, eventMs)
	case m.balances == nil:
		b = strconv.AppendInt(append(b, `{"e":"balanceUpdate","E":`...), eventMs, 10)
		b = append(append(append(b, `,"a":"`...), m.currency...), `","d":"`...)
		b = appendMoney(b, m.amount.Wide(), m.digits)
		return append(strconv.AppendInt(append(b, `","T":`...), eventMs, 10), '}')
	}
	b = strconv.AppendInt(append(b, `{"e":"outboundAccountPosition","E":`...), eventMs, 10)
	b = strconv.AppendInt(append(b, `,"u":`...), eventMs, 10)
	b = append(b, `,"B":[`...)
	for i := range m.balances {
		b = append(AppendBalance(b, "a", "f", "l", &m.balances[i]), ',')
	}
	return append(trimComma(b), "]}"...)
}

// execution returns the execution type of an event.
func (r *orderReport) execution() string {
	switch r.event.Kind {
	case engine.EventTrade:
		return "TRADE"
	case engine.EventReplaced:
		return "REPLACED"
	case engine.EventReduced:
		return "TRADE_PREVENTION"
	case engine.EventCanceled:
		switch r.event.Cause {
		case engine.CauseRequest, engine.CauseReplace:
			return "CANCELED"
		case engine.CauseSelfTrade:
			return "TRADE_PREVENTION"
		case engine.CauseRemainder, engine.CauseUnfillable, engine.CauseFunds:
		}
		return "EXPIRED"
	default: // accepted, or a stop that enters the book
		return "NEW"
	}
}

// appendReport appends an executionReport.
func (f *Facade) appendReport(b []byte, r *orderReport, eventMs int64) []byte {
	e, o := &r.event, &r.order
	root := f.opt.Board.Load()
	in := root.View(e.Pair).Instrument
	client, was := f.orderID(o), ""
	if r.execution() == "CANCELED" {
		own := ""
		if e.Client != nil {
			own = e.Client.Text
		}
		client, was = f.cancelID(o, own), client
	}
	b = strconv.AppendInt(append(b, `{"e":"executionReport","E":`...), eventMs, 10)
	b = append(append(append(b, `,"s":"`...), f.symbolsOf(root).of(in)...), `","c":`...)
	b = encode.AppendString(b, client)
	b = append(append(append(b, `,"S":"`...), sideName(o.Side)...), `","o":"`...)
	b = append(append(append(b, typeName(o.Type, o.PostOnly)...), `","f":"`...), tifName(o)...)
	b = appendQuoted(append(b, `",`...), "q", quantity(o), in.DigitsAmount)
	b = appendQuoted(append(b, ','), "p", o.Price, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "P", o.Stop, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "F", o.Display, in.DigitsAmount)
	b = encode.AppendString(append(b, `,"g":-1,"C":`...), was)
	b = append(append(append(b, `,"x":"`...), r.execution()...), `","X":"`...)
	b = append(append(b, orderStatus(o)...), `","r":"NONE","i":`...)
	b = append(strconv.AppendUint(b, uint64(o.ID), 10), ',')
	b = r.appendTrade(b, in)
	b = encode.AppendMs(append(b, `,"T":`...), e.TimeNs)
	b = strconv.AppendUint(append(b, `,"I":`...), uint64(e.Seq), 10)
	b = strconv.AppendBool(append(b, `,"w":`...), o.Status.Open() && works(o))
	b = strconv.AppendBool(append(b, `,"m":`...), r.maker)
	b = encode.AppendMs(append(b, `,"M":false,"O":`...), o.CreatedNs)
	b = appendQuoted128(append(b, ','), "Z", o.FilledQuote, in.DigitsTotal())
	b = appendQuoted128(append(b, ','), "Q", asked(o), in.DigitsTotal())
	switch { // the time at which a stop entered the book is in the report of that event alone
	case e.Kind == engine.EventTriggered:
		b = encode.AppendMs(append(b, `,"W":`...), e.TimeNs)
	case o.Stop == 0:
		b = encode.AppendMs(append(b, `,"W":`...), o.CreatedNs)
	}
	b = append(append(append(b, `,"V":"`...), selfTrades[o.STP]...), '"')
	if r.execution() == "TRADE_PREVENTION" {
		b = appendQuoted(append(b, ','), "A", r.prevented(), in.DigitsAmount)
		b = appendQuoted(append(b, ','), "B", e.Amount, in.DigitsAmount)
	}
	return append(b, '}')
}

// prevented returns the lots that self-trade prevention has taken from the order.
func (r *orderReport) prevented() int64 { return r.order.Reduced + r.order.Canceled }

// appendTrade appends the figures of the last trade, zeros for an event that is none.
func (r *orderReport) appendTrade(b []byte, in *engine.Instrument) []byte {
	e, o := &r.event, &r.order
	var price, amount int64
	trade := int64(-1)
	if e.Kind == engine.EventTrade {
		price, amount, trade = e.Price, e.Amount, int64(e.Trade)
	}
	b = appendQuoted(b, "l", amount, in.DigitsAmount)
	b = appendQuoted(append(b, ','), "z", o.Filled, in.DigitsAmount)
	b = appendQuoted(append(b, ','), "L", price, in.DigitsPrice)
	if trade < 0 {
		b = append(b, `,"n":"0","N":null`...)
	} else {
		fill := marketdata.FillOf(e, in, r.maker)
		b = appendCommission(append(b, ','), in, &fill, "n", "N")
	}
	b = strconv.AppendInt(append(b, `,"t":`...), trade, 10)
	return appendQuoted128(append(b, ','), "Y", fixed.Mul64(uint64(price), uint64(amount)), in.DigitsTotal())
}
