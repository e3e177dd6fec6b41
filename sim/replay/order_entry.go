package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tickhive/engine"
	"tickhive/engine/sequencer"
)

// Entry is order entry as the replay uses it; sequencer.Loop is one.
type Entry interface {
	// Submit applies a batch; the error is one of engine's Err values.
	Submit(*sequencer.Batch) error
	// AdvanceTo moves the virtual clock, Unix ns.
	AdvanceTo(ns int64) error
}

// resting is one of the replay's orders that is open according to its events.
type resting struct {
	id    engine.OrderID
	side  engine.Side
	price int64  // ticks
	open  int64  // lots
	total int64  // lots, what is filled counted in: what Replace wants
	name  uint64 // the recording's id; 0: it names none
}

// fill is one trade of a command, maker first.
type fill struct {
	maker         engine.OrderID
	price, amount int64
}

// outcome is the result of one command.
type outcome struct {
	order engine.OrderID // of a place; 0: refused
	fills []fill
}

// orderEntry enters the replay's orders and knows its open orders: a fold
// over the events of its own commands alone. It belongs to the goroutine of Run; Collect
// runs on the loop's while that one waits, never at the same time.
type orderEntry struct {
	entry Entry
	ctx   context.Context
	pair  engine.PairID
	maker engine.AccountID
	taker engine.AccountID

	now     int64 // Unix ns of the record being fed
	batch   sequencer.Batch
	results []outcome
	orders  map[engine.OrderID]*resting
	levels  [2]map[int64]*level

	freeOrders free[resting]
	freeLevels free[level]

	report *Report // counts orders, trades and refusals
}

// level is our open orders at one price, in order of entry.
type level struct {
	amount int64 // lots
	orders []*resting
}

// free keeps what can be used again: a replay of trades makes and ends an order with each.
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

// place adds a limit order of the maker to the batch and returns its place in results.
func (e *orderEntry) place(side engine.Side, price, amount int64, flags uint8) int {
	return e.add(engine.Command{
		Kind: engine.Place, Side: side, Type: engine.Limit, Account: e.maker, Price: price, Amount: amount,
		Flags: flags,
	})
}

// hit adds an order of the taker that trades at once or ends.
func (e *orderEntry) hit(side engine.Side, price, amount int64) {
	e.add(engine.Command{
		Kind: engine.Place, Side: side, Type: engine.Limit, TIF: engine.IOC, Account: e.taker, Price: price,
		Amount: amount,
	})
}

func (e *orderEntry) cancel(id engine.OrderID) {
	e.add(engine.Command{Kind: engine.Cancel, Order: id, Account: e.maker})
}

// setOpen sets a new open amount of o at the same price; a lower amount keeps its place.
func (e *orderEntry) setOpen(o *resting, open int64) int {
	return e.add(engine.Command{
		Kind: engine.Replace, Order: o.id, Account: e.maker, Flags: engine.FlagHasAmount,
		Amount: o.total - o.open + open,
	})
}

// move sets another price and open amount of o, which loses its place.
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

// send submits the batch at e.now and waits for its outcome. A full queue is waited for:
// a replay is never dropped.
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
	err := e.entry.Submit(&e.batch)
	for errors.Is(err, sequencer.ErrBusy) {
		if err = wait(e.ctx, time.Millisecond); err == nil {
			err = e.entry.Submit(&e.batch)
		}
	}
	e.batch.Commands = e.batch.Commands[:0]
	if err != nil {
		return nil, fmt.Errorf("replay: order entry: %w", err)
	}
	return e.results[:n], nil
}

// collect folds the events of one command.
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
		default: // levels, refills and control events say nothing about our orders
		}
	}
}

func (e *orderEntry) reject(cmd *engine.Command, ev *engine.Event) {
	e.report.Refused++
	e.report.Reasons[ev.Reason]++
	if cmd.Kind == engine.Cancel || cmd.Kind == engine.Replace {
		e.setRest(cmd.Order, 0) // gone without us: another's order met it
	}
}

func (e *orderEntry) rest(ev *engine.Event, amount int64) {
	o := e.freeOrders.get()
	*o = resting{id: ev.Order, side: ev.Side, price: ev.Price, open: amount, total: amount}
	e.orders[o.id] = o
	e.join(o)
}

// join puts o at the end of its level.
func (e *orderEntry) join(o *resting) {
	l := e.levels[o.side][o.price]
	if l == nil {
		l = e.freeLevels.get()
		e.levels[o.side][o.price] = l
	}
	l.orders = append(l.orders, o)
	l.amount += o.open
}

// leave takes o out of its level.
func (e *orderEntry) leave(o *resting) {
	l := e.levels[o.side][o.price]
	l.amount -= o.open
	l.orders = slices.DeleteFunc(l.orders, func(other *resting) bool { return other == o })
	if len(l.orders) == 0 {
		delete(e.levels[o.side], o.price)
		e.freeLevels.put(l)
	}
}

// setRest records that an order's open amount is now open; 0 ends it.
func (e *orderEntry) setRest(id engine.OrderID, open int64) {
	o := e.orders[id]
	if o == nil {
		return // another's
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

// clear cancels everything of ours, in order of entry and in parts.
func (e *orderEntry) clear() error {
	ids := slices.Sorted(maps.Keys(e.orders))
	for part := range slices.Chunk(ids, sequencer.BatchCommands) {
		for _, id := range part {
			e.cancel(id)
		}
		if _, err := e.send(); err != nil {
			return err
		}
	}
	return nil
}

// lower sets another open amount of an order, or ends it.
func (e *orderEntry) lower(o *resting, open int64) {
	if open <= 0 {
		e.cancel(o.id)
		return
	}
	e.setOpen(o, open)
}

// cancelRemainder cancels the remainder of an order: where another account's order was in the way, the
// taker met that one first, as in any market.
func (e *orderEntry) cancelRemainder(id engine.OrderID) error {
	if e.orders[id] == nil {
		return nil
	}
	e.cancel(id)
	_, err := e.send()
	return err
}

// wait sleeps on the machine's clock, or less when ctx ends.
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
