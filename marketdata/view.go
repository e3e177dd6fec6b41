package marketdata

import (
	"sync/atomic"

	"github.com/tickhive/tickhive/engine"
)

// Level is one price of a book side, with the sum of the amounts shown by its orders.
type Level struct {
	Price  int64 // ticks
	Amount int64 // lots
}

// View holds everything published of one pair at one seq. Frozen: readers may retain it for any
// time.
type View struct {
	Instrument *engine.Instrument

	Seq       engine.Seq // seq of the pair's last event
	BookSeq   engine.Seq // seq of the last event that changed the book, at any depth
	TradesSeq engine.Seq // seq of the last trade
	TickerSeq engine.Seq // seq of the last event that changed the window, the last trade or the touch
	// TickerVersion is a hash of the ticker's figures. It changes exactly when they change, also when a trade
	// leaves the window without an event, and it survives a restart. It does not increase. ETags of ticker
	// documents contain it.
	TickerVersion uint64

	TimeNs int64 // time of the pair's last event, Unix ns
	// time of the last event that changed the book; before the first one, the time at which the pair was added
	BookTimeNs int64

	Ticker  Ticker
	Bids    Side    // best (highest) first
	Asks    Side    // best (lowest) first
	Changes Changes // the newest level changes, with which a reader can reconstruct the book at an older seq
	Trades  Trades

	candles *[Intervals]Candles // by interval; views share it
	tick    Candle              // trades of one second that candles lacks; Trades is 0 when it has all

	DroppedYoung uint64 // trades dropped while younger than 24 h, since the pair was added

	// Sum is the Checksum that the writer computed, 0 unless Options.Checksums is set.
	Sum uint64

	kept [Slots]atomic.Pointer[any]
}

// Slot is a place in a view for something that readers derive from it, such as a rendered document. A view takes over
// what the pair's view before it has in a slot, as long as the inputs of the slot have not changed. The digits and
// names of the pair are inputs too, but never change.
type Slot uint8

// The slots, named by their inputs.
const (
	OfTicker Slot = iota
	OfBook
	OfBook2
	OfBook3
	OfTrades
	OfTrades2
	OfTickerAndInstrument
	OfTickerAndInstrument2
	Slots
)

// input is a set of the inputs of a slot.
type input uint8

const (
	fromTicker input = 1 << iota
	fromBook
	fromTrades
	fromInstrument
)

var slotInputs = [Slots]input{
	OfTicker: fromTicker,
	OfBook:   fromBook, OfBook2: fromBook, OfBook3: fromBook,
	OfTrades: fromTrades, OfTrades2: fromTrades,
	OfTickerAndInstrument: fromTicker | fromInstrument, OfTickerAndInstrument2: fromTicker | fromInstrument,
}

// inherit copies from the pair's previous view what readers have derived from inputs that have not changed, so that an
// event without effect on the book does not make readers render the book again. What a reader keeps in old after this
// call is derived once more, to the same bytes.
func (v *View) inherit(old *View) {
	var changed input
	if v.TickerVersion != old.TickerVersion || v.TickerSeq != old.TickerSeq {
		changed |= fromTicker
	}
	if v.BookSeq != old.BookSeq {
		changed |= fromBook
	}
	if v.TradesSeq != old.TradesSeq || v.Trades.first != old.Trades.first { // a trade, or lower limits
		changed |= fromTrades
	}
	if v.Instrument != old.Instrument {
		changed |= fromInstrument
	}
	for slot, from := range slotInputs {
		if from&changed == 0 {
			if x := old.kept[slot].Load(); x != nil {
				v.kept[slot].Store(x)
			}
		}
	}
}

// Candles returns the candles of an interval.
func (v *View) Candles(i Interval) Candles {
	c := v.candles[i]
	if v.tick.Trades != 0 {
		c.open.Merge(&v.tick)
	}
	return c
}

// Checksum combines the book, the last trade and the seqs of the view into one number.
func (v *View) Checksum() uint64 {
	h := mix(uint64(v.Seq), uint64(v.BookSeq))
	h = mix(mix(h, uint64(v.TradesSeq)), v.TickerVersion)
	for _, s := range []*Side{&v.Bids, &v.Asks} {
		h = mix(h, uint64(s.Len()))
		for l := range s.All {
			h = mix(mix(h, uint64(l.Price)), uint64(l.Amount))
		}
	}
	h = mix(mix(h, uint64(v.Trades.First())), uint64(v.Trades.Last()))
	if v.Trades.Last() != 0 {
		t := v.Trades.At(v.Trades.Last())
		h = mix(mix(mix(h, uint64(t.TimeNs)), uint64(t.Price)), uint64(t.Amount))
	}
	for i := range Interval(Intervals) {
		c := v.Candles(i)
		if n := c.Len(); n > 0 {
			last := c.At(n - 1)
			h = mix(mix(mix(h, uint64(n)), uint64(last.Close)), last.Volume.Lo)
		}
	}
	return h
}

// Kept returns what a reader has derived from the view and kept in a slot, nil until then.
func (v *View) Kept(slot Slot) any {
	if x := v.kept[slot].Load(); x != nil {
		return *x
	}
	return nil
}

// Keep keeps x in a slot unless another reader was first, and returns what the slot has. x must be frozen.
func (v *View) Keep(slot Slot, x any) any {
	if v.kept[slot].CompareAndSwap(nil, &x) {
		return x
	}
	return *v.kept[slot].Load()
}
