package replay

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/marketdata"
)

// binanceTouches bounds how many best bids and asks wait for the depth diff of their
// update id; diffs come at most every 100 ms, so a few hundred are normal.
const binanceTouches = 65_536

// binanceEarly bounds the depth diffs that wait for the snapshot: an hour and three quarters
// of them.
const binanceEarly = 65_536

// binance feeds a raw stream. The book is the depth stream's: one order per level, with
// the level's amount. A trade of the trade stream is made by a maker and a taker at its
// price, and leaves the book as the depth stream has it: what stands in its way is taken
// out and put back within the same batch.
type binance struct {
	path                      string
	digitsPrice, digitsAmount int

	in       *lines
	r        binanceRecord
	order    lineOrder
	symbol   string
	from     int64
	update   uint64 // last applied id
	synced   bool   // a snapshot was applied
	early    []binanceRecord
	model    [2]map[int64]int64 // amounts by price, lots
	orders   [2]map[int64]engine.OrderID
	live     bool // the model is entered
	gaps     int  // since the last snapshot
	lost     int  // gaps in all
	ignored  int
	levels   [2][]intLevel
	applied  []uint64 // ids that became the book's state with this record
	touches  map[uint64][2]intLevel
	touchIDs []uint64 // oldest first
	states   map[uint64][2]intLevel
	stateIDs []uint64

	want   []marketdata.Trade
	counts struct{ touch, trades Check }
	bids   []marketdata.Level
	asks   []marketdata.Level
}

func newBinance(files []string) (feed, error) {
	if len(files) != 1 {
		return nil, errors.New("replay: binance takes one file")
	}
	return &binance{path: files[0]}, nil
}

func (b *binance) open(fromNs int64, digitsPrice, digitsAmount int) (err error) {
	b.close()
	*b = binance{
		path: b.path, from: fromNs, digitsPrice: digitsPrice, digitsAmount: digitsAmount,
		touches: map[uint64][2]intLevel{}, states: map[uint64][2]intLevel{},
	}
	for side := range b.model {
		b.model[side], b.orders[side] = map[int64]int64{}, map[int64]engine.OrderID{}
	}
	b.counts.touch, b.counts.trades = Check{Kind: "best bid and ask"}, Check{Kind: "trades"}
	b.in, err = openLines(b.path)
	return err
}

func (b *binance) close() {
	if b.in != nil {
		b.in.close()
		b.in = nil
	}
}

// next skips to fromNs, following the depth stream in the model alone.
func (b *binance) next() (int64, error) {
	for {
		if err := b.read(); err != nil {
			return 0, err
		}
		if b.r.ns >= b.from {
			return b.r.ns, nil
		}
		if err := b.follow(); err != nil {
			return 0, err
		}
	}
}

// follow brings the model to the record's state and notes the changed prices in levels.
func (b *binance) follow() error {
	b.levels[0], b.levels[1] = b.levels[0][:0], b.levels[1][:0]
	b.applied = b.applied[:0]
	switch b.r.kind {
	case binanceSnapshot:
		if b.synced && b.gaps == 0 {
			return nil // the stream is complete: a second snapshot tells nothing
		}
		return b.snapshot()
	case binanceDepth:
		if !b.synced {
			b.early = append(b.early, b.r)
			return nil
		}
		return b.diff(&b.r)
	default:
		return nil
	}
}

// snapshot replaces the model and applies the diffs that came before it and are newer.
func (b *binance) snapshot() error {
	for side := range b.model {
		for price := range b.model[side] {
			b.levels[side] = append(b.levels[side], intLevel{price: price})
		}
		clear(b.model[side])
	}
	b.synced, b.update, b.gaps = true, b.r.last, 0
	if err := b.set(b.r.bids, b.r.asks); err != nil {
		return err
	}
	b.applied = append(b.applied, b.update)
	for i := range b.early {
		if err := b.diff(&b.early[i]); err != nil {
			return err
		}
	}
	b.early = nil
	return nil
}

func (b *binance) diff(r *binanceRecord) error {
	if r.last <= b.update {
		return nil
	}
	if r.first > b.update+1 {
		b.gaps++
		b.lost++
	}
	b.update = r.last
	b.applied = append(b.applied, r.last)
	return b.set(r.bids, r.asks)
}

func (b *binance) set(bids, asks []priceLevel) error {
	for side, recorded := range [2][]priceLevel{bids, asks} {
		at := len(b.levels[side])
		var err error
		if b.levels[side], err = toLevels(b.levels[side], recorded, b.digitsPrice, b.digitsAmount); err != nil {
			return b.in.fail(remedyValue, "%v", err)
		}
		for _, l := range b.levels[side][at:] {
			if l.amount == 0 {
				delete(b.model[side], l.price)
			} else {
				b.model[side][l.price] = l.amount
			}
		}
	}
	return nil
}

func (b *binance) apply(d *desk) error {
	switch b.r.kind {
	case binanceTrade:
		return b.trade(d)
	case binanceTouch:
		return b.touch()
	case binanceDepth, binanceSnapshot:
		if err := b.follow(); err != nil {
			return err
		}
		return b.enter(d)
	default:
		b.ignored++
		return nil
	}
}

// enter makes our orders equal the model at the prices that changed: first what goes or
// shrinks, then what comes or grows, so that the book never crosses on the way.
func (b *binance) enter(d *desk) error {
	if !b.live { // the first time all of it is new
		b.live = true
		for side := range b.model {
			b.levels[side] = b.levels[side][:0]
			for price := range b.model[side] {
				b.levels[side] = append(b.levels[side], intLevel{price: price})
			}
		}
	}
	for side := range b.levels {
		slices.SortFunc(b.levels[side], func(x, y intLevel) int { return cmp.Compare(x.price, y.price) })
		b.levels[side] = slices.CompactFunc(b.levels[side], func(x, y intLevel) bool { return x.price == y.price })
	}
	for _, grow := range []bool{false, true} {
		for side, levels := range b.levels {
			for _, l := range levels {
				if err := b.level(d, engine.Side(side), l.price, grow); err != nil {
					return err
				}
			}
		}
		if err := b.send(d); err != nil {
			return err
		}
	}
	return nil
}

// level sets one level to the model's amount when that is in the asked direction.
func (b *binance) level(d *desk, side engine.Side, price int64, grow bool) error {
	want, have := b.model[side][price], int64(0)
	o := d.orders[b.orders[side][price]]
	if o != nil {
		have = o.open
	}
	if want == have || (want > have) != grow {
		return nil
	}
	switch {
	case want == 0:
		d.cancel(o.id)
		delete(b.orders[side], price)
	case o == nil:
		d.limit(d.maker, side, price, want, engine.GTC)
	default:
		d.setOpen(o, want)
	}
	if len(d.batch.Commands) >= sequencer.BatchCommands {
		return b.send(d)
	}
	return nil
}

func (b *binance) send(d *desk) error {
	results, err := d.send()
	if err != nil {
		return err
	}
	for i := range results {
		if o := d.orders[results[i].order]; o != nil {
			b.orders[o.side][o.price] = o.id
		}
	}
	return nil
}

// trade makes the recorded trade. The levels that would meet the maker or the taker first
// are taken out before and put back after it, in one batch: no reader sees them gone.
func (b *binance) trade(d *desk) error {
	price, err := b.r.price.units(b.digitsPrice)
	if err != nil {
		return b.in.fail(remedyValue, "price: %v", err)
	}
	amount, err := b.r.amount.units(b.digitsAmount)
	if err != nil {
		return b.in.fail(remedyValue, "quantity: %v", err)
	}
	taker, maker := b.r.side, b.r.side.Opposite()
	var away [2][]*resting
	for side := range away {
		away[side] = b.inWay(d, engine.Side(side), price)
	}
	for _, side := range away {
		for _, o := range side {
			d.cancel(o.id)
		}
	}
	m := d.limit(d.maker, maker, price, amount, engine.GTC)
	d.limit(d.taker, taker, price, amount, engine.IOC)
	at := len(d.batch.Commands)
	for side, orders := range away {
		for _, o := range orders {
			d.limit(d.maker, engine.Side(side), o.price, o.open, engine.GTC)
		}
	}
	results, err := d.send()
	if err != nil {
		return err
	}
	for _, r := range results[at:] {
		if o := d.orders[r.order]; o != nil {
			b.orders[o.side][o.price] = o.id
		}
	}
	b.want = append(b.want, marketdata.Trade{TimeNs: d.now, Price: price, Amount: amount, TakerSide: taker})
	return d.takeBack(results[m].order)
}

// inWay are our orders of a side at the price or better, best first.
func (b *binance) inWay(d *desk, side engine.Side, price int64) []*resting {
	var out []*resting
	for p, id := range b.orders[side] {
		if o := d.orders[id]; o != nil && !worse(side, p, price) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(x, y *resting) int {
		if worse(side, x.price, y.price) {
			return 1
		}
		return -1
	})
	return out
}

// sortedKeys are the keys in ascending order, so that commands come out the same in
// every run.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
