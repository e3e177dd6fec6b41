package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
)

// printBatch is the number of trades that one batch makes, unless the records are due at their times.
const printBatch = 512

// prints makes trades that leave nothing in the book: a maker and a taker for each, at its price and time.
//
// It sends the trades in batches, because the way through the loop costs more than the commands, and fills one batch
// while the loop works on the other. The loop applies a batch as a whole, so no order of another account comes between
// its trades. While such orders rest in the book, each trade has its own batch: a taker may fill them first, and the
// remainder of the maker is canceled before the next trade.
type prints struct {
	*orderEntry
	size    int // of a batch, in trades
	waiting *sequencer.Batch
	sent    *sequencer.Batch // the loop works on it, if it has commands

	// Owner: the loop's goroutine while a batch is sent, otherwise the goroutine of Run.
	made      engine.OrderID   // maker of the trade whose events are collected
	remainder []engine.OrderID // makers that a taker has not filled

	within int // trades with other accounts in batches of several trades
}

func newPrints(e *orderEntry, size int) *prints {
	p := &prints{orderEntry: e, size: size}
	p.waiting = &sequencer.Batch{Stamped: true, Collect: p.collectTrade}
	p.sent = &sequencer.Batch{Stamped: true, Collect: p.collectTrade}
	return p
}

// add makes one trade at the time of the record, with a batch or with flush.
func (p *prints) add(side engine.Side, price, amount int64) error {
	maker := engine.Command{
		Kind: engine.Place, TimeNs: p.now, Pair: p.pair, Side: side.Opposite(), Type: engine.Limit, Account: p.maker,
		Price: price, Amount: amount,
	}
	taker := maker
	taker.Side, taker.TIF, taker.Account = side, engine.IOC, p.taker
	p.waiting.Commands = append(p.waiting.Commands, maker, taker)
	if len(p.waiting.Commands) < 2*p.size && !p.alone {
		return nil
	}
	return p.begin()
}

// flush makes the trades that wait.
func (p *prints) flush() error {
	if err := p.begin(); err != nil {
		return err
	}
	return p.await()
}

// begin sends the waiting trades after the end of the batch before.
func (p *prints) begin() error {
	if err := p.await(); err != nil || len(p.waiting.Commands) == 0 {
		return err
	}
	open := 0
	if p.size > 1 && !p.alone {
		var err error
		if open, err = p.entry.OpenOrders(p.pair); err != nil {
			return failedEntry(err)
		}
	}
	if p.size == 1 || p.alone || open > 0 {
		return p.oneByOne()
	}
	if err := p.offer(p.waiting); err != nil {
		return err
	}
	p.waiting, p.sent = p.sent, p.waiting
	return nil
}

// await returns the outcome of the batch that was sent.
func (p *prints) await() error {
	n := len(p.sent.Commands)
	if n == 0 {
		return nil
	}
	at := p.sent.Commands[n-1].TimeNs
	err := p.sent.Await()
	p.sent.Commands = p.sent.Commands[:0]
	if err != nil {
		return failedEntry(err)
	}
	if n > 2 {
		p.within += len(p.remainder)
	}
	return p.cancelRemainders(at)
}

// oneByOne makes the waiting trades in batches of one.
func (p *prints) oneByOne() error {
	all := p.waiting.Commands
	defer func() { p.waiting.Commands = all[:0] }()
	for i := 0; i < len(all); i += 2 {
		p.waiting.Commands = all[i : i+2]
		if err := p.submit(p.waiting); err != nil {
			return err
		}
		if err := p.cancelRemainders(all[i].TimeNs); err != nil {
			return err
		}
	}
	return nil
}

// cancelRemainders cancels what takers have left of makers. at is the time of the newest trade that is made; later ones
// may wait.
func (p *prints) cancelRemainders(at int64) error {
	if len(p.remainder) == 0 {
		return nil
	}
	for _, id := range p.remainder {
		p.cancel(id)
	}
	p.remainder = p.remainder[:0]
	now := p.now
	p.now = at
	_, err := p.send()
	p.now = now
	return err
}

// collectTrade counts the events of one command, and notes the maker of which the taker leaves something.
func (p *prints) collectTrade(i int, cmd *engine.Command, events []engine.Event) {
	for k := range events {
		ev := &events[k]
		switch ev.Kind {
		case engine.EventRejected:
			p.reject(cmd, ev)
		case engine.EventAccepted:
			p.report.Placed++
			if i&1 == 0 {
				p.made = ev.Order
			}
		case engine.EventTrade:
			p.report.Trades++
			if ev.Maker == p.made && ev.MakerOpen == 0 {
				p.made = 0
			}
		default: // the orders end with their trade, or are canceled
		}
	}
	if i&1 == 1 && p.made != 0 {
		p.remainder = append(p.remainder, p.made)
		p.made = 0
	}
}

// Entry is the interface to order entry; *exchange.Running implements it.
type Entry interface {
	// Offer hands over a batch, whose Wait returns the outcome. The errors are the Err values of package
	// engine/sequencer.
	Offer(*sequencer.Batch) error
	// AdvanceTo sets the virtual clock to ns, Unix ns.
	AdvanceTo(ns int64) error
	// OpenOrders returns the number of open orders of a pair, of all accounts.
	OpenOrders(engine.PairID) (int, error)
}

// resting is one of our open orders, as its events describe it.
type resting struct {
	id    engine.OrderID
	side  engine.Side
	price int64  // ticks
	open  int64  // lots
	total int64  // lots including filled ones, the amount that a Replace command needs
	name  uint64 // the order's id in the recording; 0: an unnamed order
}

// fill is one trade of a command.
type fill struct {
	maker         engine.OrderID
	price, amount int64
}

// outcome is the result of one command.
type outcome struct {
	order engine.OrderID // id of a placed order; 0: the order was refused
	fills []fill
}

// orderEntry enters our orders and tracks the open ones. It folds only the events of its own commands. Owner:
// the goroutine of Run. Collect runs on the loop's goroutine while Run waits for it, so the two never run at
// the same time.
type orderEntry struct {
	entry  Entry
	ctx    context.Context
	pair   engine.PairID
	maker  engine.AccountID
	taker  engine.AccountID
	hidden engine.AccountID // of makers that were not displayed

	now     int64 // time of the record being fed, Unix ns
	alone   bool  // each record is due at its own time: what it does must not wait for the next one
	batch   sequencer.Batch
	results []outcome
	orders  map[engine.OrderID]*resting
	levels  [2]map[int64]*level

	freeOrders free[resting]
	freeLevels free[level]

	report *Report // receives the counts of orders, trades and refusals
}

// level holds our open orders at one price, in the order of their entry.
type level struct {
	amount int64 // open lots of all the orders
	orders []*resting
}

// free holds objects for reuse, because a replay of trades makes and ends an order for every trade.
type free[T any] []*T

func (f *free[T]) get() *T {
	n := len(*f)
	if n == 0 {
		return new(T)
	}
	v := (*f)[n-1]
	*f = (*f)[:n-1]
	return v
}

func (f *free[T]) put(v *T) { *f = append(*f, v) }

func newOrderEntry(ctx context.Context, entry Entry, pair engine.PairID, report *Report) *orderEntry {
	e := &orderEntry{
		entry: entry, ctx: ctx, pair: pair, orders: map[engine.OrderID]*resting{},
		report: report,
	}
	e.levels[engine.Buy], e.levels[engine.Sell] = map[int64]*level{}, map[int64]*level{}
	e.batch = sequencer.Batch{Stamped: true, Collect: e.collect}
	return e
}

// place adds a limit order of the maker account to the batch. It returns the command's index in the results.
func (e *orderEntry) place(side engine.Side, price, amount int64, flags uint8) int {
	return e.add(engine.Command{
		Kind: engine.Place, Side: side, Type: engine.Limit, Account: e.maker, Price: price, Amount: amount,
		Flags: flags,
	})
}

// hit adds an immediate-or-cancel order of the taker account to the batch.
func (e *orderEntry) hit(side engine.Side, price, amount int64) {
	e.add(engine.Command{
		Kind: engine.Place, Side: side, Type: engine.Limit, TIF: engine.IOC, Account: e.taker, Price: price,
		Amount: amount,
	})
}

func (e *orderEntry) cancel(id engine.OrderID) {
	e.add(engine.Command{Kind: engine.Cancel, Order: id, Account: e.maker})
}

// setOpen adds a change of o's open amount to the batch; the price stays. A lower amount keeps the order's
// place in its level.
func (e *orderEntry) setOpen(o *resting, open int64) int {
	return e.add(engine.Command{
		Kind: engine.Replace, Order: o.id, Account: e.maker, Flags: engine.FlagHasAmount,
		Amount: o.total - o.open + open,
	})
}

// move adds a change of price and open amount to the batch; the order loses its place.
func (e *orderEntry) move(o *resting, price, open int64) int {
	i := e.setOpen(o, open)
	e.batch.Commands[i].Flags |= engine.FlagHasPrice
	e.batch.Commands[i].Price = price
	return i
}

func (e *orderEntry) add(c engine.Command) int {
	c.Pair = e.pair
	e.batch.Commands = append(e.batch.Commands, c)
	return len(e.batch.Commands) - 1
}

// send submits the batch at e.now and waits for its results.
func (e *orderEntry) send() ([]outcome, error) {
	n := len(e.batch.Commands)
	if n == 0 {
		return nil, nil
	}
	for len(e.results) < n {
		e.results = append(e.results, outcome{})
	}
	for i := range e.batch.Commands {
		e.batch.Commands[i].TimeNs = e.now
		r := &e.results[i]
		r.order, r.fills = 0, r.fills[:0]
	}
	err := e.submit(&e.batch)
	e.batch.Commands = e.batch.Commands[:0]
	if err != nil {
		return nil, err
	}
	return e.results[:n], nil
}

// submit submits a batch and waits for its outcome.
func (e *orderEntry) submit(b *sequencer.Batch) error {
	if err := e.offer(b); err != nil {
		return err
	}
	return failedEntry(b.Await())
}

// offer hands over a batch. When the queue is full it tries again, because a replay must not lose commands.
func (e *orderEntry) offer(b *sequencer.Batch) error {
	err := e.entry.Offer(b)
	for errors.Is(err, sequencer.ErrBusy) {
		if err = wait(e.ctx, time.Millisecond); err == nil {
			err = e.entry.Offer(b)
		}
	}
	return failedEntry(err)
}

func failedEntry(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("replay: order entry: %w", err)
}

// collect folds the events of one command into our orders and results.
func (e *orderEntry) collect(i int, cmd *engine.Command, events []engine.Event) {
	r := &e.results[i]
	for k := range events {
		ev := &events[k]
		switch ev.Kind {
		case engine.EventRejected:
			e.reject(cmd, ev)
		case engine.EventAccepted:
			r.order = ev.Order
			e.report.Placed++
			e.rest(ev, cmd.Amount)
		case engine.EventTrade:
			r.fills = append(r.fills, fill{maker: ev.Maker, price: ev.Price, amount: ev.Amount})
			e.report.Trades++
			e.setRest(ev.Maker, ev.MakerOpen)
			e.setRest(ev.Order, ev.OpenAmount)
		case engine.EventCanceled:
			e.setRest(ev.Order, 0)
		case engine.EventReduced:
			e.setRest(ev.Order, ev.OpenAmount)
		case engine.EventReplaced:
			e.replaced(ev)
		default: // levels, refills and control events do not concern our orders
		}
	}
}

func (e *orderEntry) reject(cmd *engine.Command, ev *engine.Event) {
	e.report.Refused++
	e.report.Reasons[ev.Reason]++
	if cmd.Kind == engine.Cancel || cmd.Kind == engine.Replace {
		e.setRest(cmd.Order, 0) // the order is gone: it traded with another client's order
	}
}

func (e *orderEntry) rest(ev *engine.Event, amount int64) {
	o := e.freeOrders.get()
	*o = resting{id: ev.Order, side: ev.Side, price: ev.Price, open: amount, total: amount}
	e.orders[o.id] = o
	e.join(o)
}

// join appends o to its level.
func (e *orderEntry) join(o *resting) {
	l := e.levels[o.side][o.price]
	if l == nil {
		l = e.freeLevels.get()
		e.levels[o.side][o.price] = l
	}
	l.orders = append(l.orders, o)
	l.amount += o.open
}

// leave removes o from its level.
func (e *orderEntry) leave(o *resting) {
	l := e.levels[o.side][o.price]
	l.amount -= o.open
	l.orders = slices.DeleteFunc(l.orders, func(other *resting) bool { return other == o })
	if len(l.orders) == 0 {
		delete(e.levels[o.side], o.price)
		e.freeLevels.put(l)
	}
}

// setRest sets an order's open amount; 0 removes the order.
func (e *orderEntry) setRest(id engine.OrderID, open int64) {
	o := e.orders[id]
	if o == nil {
		return // another client's order
	}
	if open > 0 {
		e.levels[o.side][o.price].amount += open - o.open
		o.open = open
		return
	}
	e.leave(o)
	delete(e.orders, id)
	e.freeOrders.put(o)
}

func (e *orderEntry) replaced(ev *engine.Event) {
	o := e.orders[ev.Order]
	if o == nil {
		return
	}
	o.total = ev.Amount
	if o.price != ev.Price {
		e.leave(o)
		o.price = ev.Price
		e.join(o)
	}
	e.setRest(ev.Order, ev.OpenAmount)
}

// at returns our orders at a price, nil when there are none.
func (e *orderEntry) at(side engine.Side, price int64) *level { return e.levels[side][price] }

// clear cancels all our orders by ascending id, in several batches.
func (e *orderEntry) clear() error {
	ids := slices.Sorted(maps.Keys(e.orders))
	for part := range slices.Chunk(ids, sequencer.SliceCommands) {
		for _, id := range part {
			e.cancel(id)
		}
		if _, err := e.send(); err != nil {
			return err
		}
	}
	return nil
}

// lower adds a change of an order's open amount to the batch, or a cancel when open is 0 or less.
func (e *orderEntry) lower(o *resting, open int64) {
	if open <= 0 {
		e.cancel(o.id)
		return
	}
	e.setOpen(o, open)
}

// cancelRemainder cancels the remainder of an order. There is one when the taker traded with another account's
// order first.
func (e *orderEntry) cancelRemainder(id engine.OrderID) error {
	if e.orders[id] == nil {
		return nil
	}
	e.cancel(id)
	_, err := e.send()
	return err
}

// wait sleeps for t of machine time, or until ctx ends.
func wait(ctx context.Context, t time.Duration) error {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("replay: %w", ctx.Err())
	case <-timer.C:
		return nil
	}
}
