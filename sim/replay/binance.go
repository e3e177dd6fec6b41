package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"tickhive/engine"
	"tickhive/marketdata"
)

// binanceTouches bounds how many best bids and asks wait for the depth diff of their
// update id; diffs come at most every 100 ms, so a few hundred are normal.
const binanceTouches = 65_536

// binance feeds a raw stream. The book is the depth stream's: one order per level, with
// the level's amount. A trade of the trade stream is made by a maker and a taker at its
// price, and leaves the book as the depth stream has it: what stands in its way is taken
// out and put back within the same batch.
type binance struct {
	path                      string
	digitsPrice, digitsAmount int

	in       *lines
	r        binanceRecord
	last     int64
	from     int64
	update   uint64 // last applied id
	synced   bool   // a snapshot was applied
	early    []binanceRecord
	model    [2]map[int64]int64 // amounts by price, lots
	orders   [2]map[int64]engine.OrderID
	live     bool // the model is entered
	gaps     int
	ignored  int
	levels   [2][]intLevel
	applied  []uint64 // ids that became the book's state with this record
	touches  map[uint64][2]intLevel
	order    []uint64 // of touches, oldest first
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

func (b *binance) survey() (survey, error) {
	var s survey
	in, err := openLines(b.path)
	if err != nil {
		return s, err
	}
	defer in.close()
	b.in, b.last = in, 0
	for {
		err := b.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s, err
		}
		r := &b.r
		if s.pair == "" && r.symbol != "" {
			s.pair = splitSymbol(r.symbol)
		}
		if s.records++; s.records == 1 {
			s.firstNs = r.ns
		}
		s.lastNs = r.ns
		s.takeLevels(r.bids)
		s.takeLevels(r.asks)
		s.digitsPrice = max(s.digitsPrice, r.price.digits())
		s.digitsAmount = max(s.digitsAmount, r.amount.digits())
	}
	if s.records == 0 {
		return s, in.fail("no records")
	}
	return s, nil
}

func (b *binance) read() error {
	line, err := b.in.next()
	if err != nil {
		return err
	}
	if b.r, err = parseBinance(line); err != nil {
		return b.in.fail("%v", err)
	}
	b.r.ns = max(b.r.ns, b.last) // several sockets wrote the file
	b.last = b.r.ns
	return nil
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
			return b.in.fail("%v", err)
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
	if len(d.batch.Commands) >= engine.BatchCommands {
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
		return b.in.fail("price: %v", err)
	}
	amount, err := b.r.amount.units(b.digitsAmount)
	if err != nil {
		return b.in.fail("quantity: %v", err)
	}
	if price <= 0 || amount <= 0 {
		return b.in.fail("price and quantity must be above zero")
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

// touch keeps a best bid and ask until the book has its update id.
func (b *binance) touch() error {
	var t [2]intLevel
	for side, levels := range [2][]priceLevel{b.r.bids, b.r.asks} {
		l, err := toLevels(nil, levels, b.digitsPrice, b.digitsAmount)
		if err != nil {
			return b.in.fail("%v", err)
		}
		if len(l) > 0 {
			t[side] = l[0]
		}
	}
	if state, ok := b.states[b.r.last]; ok {
		b.compare(state, t)
		return nil
	}
	b.touches[b.r.last] = t
	b.order = keepNewest(b.touches, b.order, b.r.last)
	return nil
}

func (b *binance) compare(ours, recorded [2]intLevel) {
	b.counts.touch.All++
	if ours == recorded {
		b.counts.touch.Good++
	}
}

// keepNewest bounds a table: ids lists its keys, oldest first.
func keepNewest(table map[uint64][2]intLevel, ids []uint64, id uint64) []uint64 {
	ids = append(ids, id)
	if len(ids) > binanceTouches {
		delete(table, ids[0])
		ids = ids[1:]
	}
	return ids
}

// check looks up the public best bid and ask of each new book state.
func (b *binance) check(_ *desk, pub Public) (err error) {
	if len(b.want) >= tradesPerQuery {
		if err := b.compareTrades(pub); err != nil {
			return err
		}
	}
	if (b.r.kind != binanceDepth && b.r.kind != binanceSnapshot) || len(b.applied) == 0 {
		return nil
	}
	if b.bids, b.asks, err = pub.Book(1, b.bids[:0], b.asks[:0]); err != nil {
		return fmt.Errorf("replay: check: %w", err)
	}
	var state [2]intLevel
	for side, levels := range [2][]marketdata.Level{b.bids, b.asks} {
		if len(levels) > 0 {
			state[side] = intLevel{levels[0].Price, levels[0].Amount}
		}
	}
	// Of several diffs entered at once only the last one's state was ever public.
	id := b.applied[len(b.applied)-1]
	if t, ok := b.touches[id]; ok {
		b.compare(state, t)
		return nil
	}
	b.states[id] = state
	b.stateIDs = keepNewest(b.states, b.stateIDs, id)
	return nil
}

func (b *binance) compareTrades(pub Public) error {
	if len(b.want) == 0 {
		return nil
	}
	got, err := pub.Trades(len(b.want) + tradesPerQuery)
	if err != nil {
		return fmt.Errorf("replay: check: %w", err)
	}
	b.counts.trades.All += len(b.want)
	b.counts.trades.Good += common(b.want, got)
	b.want = b.want[:0]
	return nil
}

func (b *binance) finish(_ *desk, pub Public) error { return b.compareTrades(pub) }

func (b *binance) results() []Check {
	touch := b.counts.touch
	if b.gaps > 0 {
		touch.Note = fmt.Sprintf("%d gaps in the update ids", b.gaps)
	}
	return []Check{touch, b.counts.trades}
}

// sortedKeys are the keys in ascending order, so that commands come out the same in
// every run.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
