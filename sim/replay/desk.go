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

// resting is an order of ours that is open, as its events tell.
type resting struct {
	id    engine.OrderID
	side  engine.Side
	price int64 // ticks
	open  int64 // lots
	total int64 // lots, what is filled counted in: what Replace wants
}

// fill is one trade of a command, maker first.
type fill struct {
	maker         engine.OrderID
	price, amount int64
	side          engine.Side // the taker's
}

// outcome is the result of one command.
type outcome struct {
	order   engine.OrderID // of a place; 0: refused
	refused engine.Reason
	fills   []fill
}

// desk is where the replay's orders are entered and its open orders are known: a fold
// over the events of its own commands alone. It belongs to the goroutine of Run; Collect
// runs on the loop's while that one waits, never at the same time.
type desk struct {
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
	free    []*resting

	placed  uint64
	refused uint64
	trades  uint64
	reasons map[engine.Reason]uint64
	onTrade func(f fill) // nil: trades are not counted
}

// level is our open orders at one price, in order of entry.
type level struct {
	amount int64 // lots
	orders []*resting
}

func newDesk(ctx context.Context, entry Entry, pair engine.PairID) *desk {
	d := &desk{
		entry: entry, ctx: ctx, pair: pair, orders: map[engine.OrderID]*resting{},
		reasons: map[engine.Reason]uint64{},
	}
	d.levels[engine.Buy], d.levels[engine.Sell] = map[int64]*level{}, map[int64]*level{}
	d.batch = sequencer.Batch{Stamped: true, Collect: d.collect}
	return d
}

// limit adds a limit order to the batch and returns its place in results.
func (d *desk) limit(account engine.AccountID, side engine.Side, price, amount int64, tif engine.TimeInForce) int {
	return d.add(engine.Command{
		Kind: engine.Place, Side: side, Type: engine.Limit, TIF: tif, Account: account,
		Price: price, Amount: amount,
	})
}

func (d *desk) cancel(id engine.OrderID) int {
	return d.add(engine.Command{Kind: engine.Cancel, Order: id, Account: d.maker})
}

// setOpen gives o a new open amount at the same price; a lower one keeps its place.
func (d *desk) setOpen(o *resting, open int64) int {
	return d.add(engine.Command{
		Kind: engine.Replace, Order: o.id, Account: d.maker, Flags: engine.FlagHasAmount,
		Amount: o.total - o.open + open,
	})
}

// move gives o another price and open amount; it loses its place.
func (d *desk) move(o *resting, price, open int64) int {
	i := d.setOpen(o, open)
	d.batch.Commands[i].Flags |= engine.FlagHasPrice
	d.batch.Commands[i].Price = price
	return i
}

func (d *desk) add(c engine.Command) int {
	c.Pair = d.pair
	d.batch.Commands = append(d.batch.Commands, c)
	return len(d.batch.Commands) - 1
}

// send submits the batch at d.now and waits for its outcome. A full queue is waited for:
// a replay is never dropped.
func (d *desk) send() ([]outcome, error) {
	n := len(d.batch.Commands)
	if n == 0 {
		return nil, nil
	}
	for len(d.results) < n {
		d.results = append(d.results, outcome{})
	}
	for i := range d.batch.Commands {
		d.batch.Commands[i].TimeNs = d.now
		r := &d.results[i]
		r.order, r.refused, r.fills = 0, engine.NotRejected, r.fills[:0]
	}
	err := d.entry.Submit(&d.batch)
	for errors.Is(err, sequencer.ErrBusy) {
		if err = wait(d.ctx, time.Millisecond); err == nil {
			err = d.entry.Submit(&d.batch)
		}
	}
	d.batch.Commands = d.batch.Commands[:0]
	if err != nil {
		return nil, fmt.Errorf("replay: order entry: %w", err)
	}
	return d.results[:n], nil
}

// collect folds the events of one command.
func (d *desk) collect(i int, cmd *engine.Command, events []engine.Event) {
	r := &d.results[i]
	for k := range events {
		ev := &events[k]
		switch ev.Kind {
		case engine.EventRejected:
			d.reject(r, cmd, ev)
		case engine.EventAccepted:
			r.order = ev.Order
			d.placed++
			d.rest(ev, cmd.Amount)
		case engine.EventTrade:
			f := fill{maker: ev.Maker, price: ev.Price, amount: ev.Amount, side: ev.Side}
			r.fills = append(r.fills, f)
			d.trades++
			if d.onTrade != nil {
				d.onTrade(f)
			}
			d.setRest(ev.Maker, ev.MakerOpen)
			d.setRest(ev.Order, ev.OpenAmount)
		case engine.EventCanceled:
			d.setRest(ev.Order, 0)
		case engine.EventReduced:
			d.setRest(ev.Order, ev.OpenAmount)
		case engine.EventReplaced:
			d.replaced(ev)
		default: // levels, refills and control events say nothing about our orders
		}
	}
}

func (d *desk) reject(r *outcome, cmd *engine.Command, ev *engine.Event) {
	r.refused = ev.Reason
	d.refused++
	d.reasons[ev.Reason]++
	if cmd.Kind == engine.Cancel || cmd.Kind == engine.Replace {
		d.setRest(cmd.Order, 0) // gone without us: another's order met it
	}
}

func (d *desk) rest(ev *engine.Event, amount int64) {
	var o *resting
	if n := len(d.free); n > 0 {
		o, d.free = d.free[n-1], d.free[:n-1]
	} else {
		o = new(resting)
	}
	*o = resting{id: ev.Order, side: ev.Side, price: ev.Price, open: amount, total: amount}
	d.orders[o.id] = o
	d.join(o)
}

// join puts o at the end of its level.
func (d *desk) join(o *resting) {
	l := d.levels[o.side][o.price]
	if l == nil {
		l = &level{}
		d.levels[o.side][o.price] = l
	}
	l.orders = append(l.orders, o)
	l.amount += o.open
}

// leave takes o out of its level.
func (d *desk) leave(o *resting) {
	l := d.levels[o.side][o.price]
	l.amount -= o.open
	l.orders = slices.DeleteFunc(l.orders, func(other *resting) bool { return other == o })
	if len(l.orders) == 0 {
		delete(d.levels[o.side], o.price)
	}
}

// setRest tells that an order's open amount is now open; 0 ends it.
func (d *desk) setRest(id engine.OrderID, open int64) {
	o := d.orders[id]
	if o == nil {
		return // another's
	}
	if open > 0 {
		d.levels[o.side][o.price].amount += open - o.open
		o.open = open
		return
	}
	d.leave(o)
	delete(d.orders, id)
	d.free = append(d.free, o)
}

func (d *desk) replaced(ev *engine.Event) {
	o := d.orders[ev.Order]
	if o == nil {
		return
	}
	o.total = ev.Amount
	if o.price != ev.Price {
		d.leave(o)
		o.price = ev.Price
		d.join(o)
	}
	d.setRest(ev.Order, ev.OpenAmount)
}

// at is our orders at a price, nil when there are none.
func (d *desk) at(side engine.Side, price int64) *level { return d.levels[side][price] }

// clear cancels everything of ours, in order of entry and in parts.
func (d *desk) clear() error {
	ids := slices.Sorted(maps.Keys(d.orders))
	for part := range slices.Chunk(ids, sequencer.BatchCommands) {
		for _, id := range part {
			d.cancel(id)
		}
		if _, err := d.send(); err != nil {
			return err
		}
	}
	return nil
}

// print makes one trade without orders of its own: a maker and a taker at that price,
// and nothing of them stays in the book. Where a stranger's order stood in the way, the
// taker met that one first, as in any market, and the maker's rest is taken back.
func (d *desk) print(side engine.Side, price, amount int64) error {
	m := d.limit(d.maker, side.Opposite(), price, amount, engine.GTC)
	d.limit(d.taker, side, price, amount, engine.IOC)
	results, err := d.send()
	if err != nil {
		return err
	}
	return d.takeBack(results[m].order)
}

func (d *desk) takeBack(id engine.OrderID) error {
	if d.orders[id] == nil {
		return nil
	}
	d.cancel(id)
	_, err := d.send()
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

// takerUUID is the account of the replay's takers: the version 5 UUID of
// "tickhive:replay:taker" would do as well, what matters is that it never changes.
var takerUUID = [16]byte{0x7e, 0x91, 0x4a, 0x0c, 0x52, 0x1d, 0x58, 0x3b, 0x9f, 0x60, 0x6d, 0x0a, 0x71, 0xc3, 0x2e, 0x05}

// openAccount finds or opens an account by its UUID.
func (d *desk) openAccount(uuid *[16]byte) (id engine.AccountID, err error) {
	b := sequencer.Batch{Stamped: true, Commands: []engine.Command{{
		Kind: engine.OpenAccount, Pair: engine.ControlPair, TimeNs: d.now, UUID: uuid,
	}}}
	b.Collect = func(_ int, _ *engine.Command, events []engine.Event) {
		for i := range events {
			if events[i].Kind == engine.EventAccountOpened {
				id = events[i].Account
			}
		}
	}
	if err := d.entry.Submit(&b); err != nil {
		return 0, fmt.Errorf("replay: opening the taker's account: %w", err)
	}
	if id == 0 {
		return 0, errors.New("replay: the taker's account was refused")
	}
	return id, nil
}
