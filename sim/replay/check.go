package replay

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// Check holds the result of one kind of comparison with the recording.
type Check struct {
	Kind string // what is compared: "book rows"
	Good int    // number of comparisons that agree
	All  int    // number of comparisons
	// Given marks a count of what was taken from the file: it is no comparison.
	Given bool
	// Note holds further remarks for the log.
	Note string
}

func (c *Check) add(good bool) {
	c.All++
	if good {
		c.Good++
	}
}

// Public returns the pair's published market data to the checks. Prices are ticks, amounts lots.
type Public interface {
	// Book appends up to depth levels a side, best first, and returns the two slices.
	Book(depth int, bids, asks []marketdata.Level) (b, a []marketdata.Level, err error)
	// Candles returns the candles with fromSec <= Start <= toSec (Unix seconds), ascending, without intervals
	// that have no trades. Trades of a candle is 0 when the source does not have it.
	Candles(interval marketdata.Interval, fromSec, toSec int64) ([]marketdata.Candle, error)
	// Trades returns the newest n trades, oldest first.
	Trades(n int) ([]marketdata.Trade, error)
	// Last returns the price of the last trade, 0 when there was none.
	Last() (int64, error)
}

// checker compares the public market data with the recording. It also counts what the feeder took from the
// files instead of letting the engine predict it. Each pass over the files has its own checker.
type checker struct {
	s   *format.Survey
	pub Public // nil: count the fed records, compare nothing

	fed        int   // number of records fed
	firstNs    int64 // time of the first record fed, Unix ns
	firstIsBar bool
	whole      bool // the first record fed is the first record of the recording

	books, trades, executions, named, given, touch, empty, values Check

	partial    int            // recorded candles that were not compared
	asTrades   int            // bars whose trades were compared
	candles    []*candleCheck // by index in Survey.Sets; nil for a set whose length is no interval
	known      int            // sides that came into view with the levels that our book already had
	ours       int            // public trades that were compared with a log
	seen       uint64         // number of our trades that were compared
	bids, asks []marketdata.Level

	books1s  lateBooks
	tally    map[format.Level]int               // for each price and amount: recorded trades minus public trades
	logged   map[format.Level][]format.Position // places of the recorded trades of tally, oldest first
	misses   []Miss
	at       format.Position    // place of the record being fed
	places   []format.Position  // places of expected
	expected []marketdata.Trade // fed trades that were not found in the public trades yet

	touches, ourTouches recent
	applied             uint64 // update id that the book has
	changed             bool   // the record just fed changed the book
}

func newChecker(s *format.Survey, pub Public, from int64) *checker {
	c := &checker{
		s: s, pub: pub, whole: from <= s.FirstNs, tally: map[format.Level]int{},
		logged: map[format.Level][]format.Position{},
		books:  Check{Kind: "book rows"}, trades: Check{Kind: "trades"}, executions: Check{Kind: "executions"},
		named: Check{Kind: "named orders"}, given: Check{Kind: "sides given by the file", Given: true},
		touch: Check{Kind: "best bid and ask"}, values: Check{Kind: "ticker values"},
	}
	if s.Shape == format.Log {
		c.given.Kind = "sizes given by the file"
	}
	c.openCandles()
	return c
}

// executed counts an execution of the recording. one reports that the engine filled exactly one order with its
// amount; named reports that this was the order that the file names.
func (c *checker) executed(one, named bool) {
	c.executions.add(one)
	c.named.add(named)
}

// sideChanged counts a side whose visible levels changed. given reports that levels were taken from the file.
// Their number does not count as agreement: it shows how much of the agreement was predicted.
func (c *checker) sideChanged(given, known bool) {
	c.given.add(given)
	if known && !given {
		c.known++
	}
}

// after compares the public data with the recording after a record was fed.
func (c *checker) after(r *format.Record, e *orderEntry) (err error) {
	if c.fed++; c.fed == 1 {
		c.firstNs, c.firstIsBar = r.NS, r.Kind == format.Bar
	}
	if c.pub == nil {
		return nil
	}
	switch c.s.Shape {
	case format.Messages:
		if err = c.compareTrades(tradesPerQuery); err == nil {
			err = c.rowAfter(r)
		}
	case format.Log:
		err = c.logAfter(r, e)
	case format.Levels:
		if err = c.compareTrades(tradesPerQuery); err == nil {
			err = c.touchAfter(r)
		}
		if err == nil && r.Kind == format.Book && r.Depth > 0 {
			err = c.rowAfter(r)
		}
	case format.Orders:
		if err = c.compareTrades(tradesPerQuery); err == nil && r.Depth > 0 {
			err = c.rowAfter(r)
		}
	case format.Trades:
		if err = c.compareTrades(tradesPerQuery); err == nil && c.isCandle(r) {
			err = c.expectCandle(c.candles[r.Bar.Set], r)
		} else if r.Kind == format.Bar && r.Bar.Volume > 0 {
			c.asTrades++
		}
	case format.Answers: // compared at the end
	}
	return failed(err)
}

// failed wraps the error of a comparison that could not be made.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("replay: check: %w", err)
}

// results returns the results in the order in which they are printed.
func (c *checker) results() []Check {
	switch c.s.Shape {
	case format.Messages:
		if c.known > 0 {
			c.given.Note = fmt.Sprintf("%d more came into view as we had them", c.known)
		}
		return []Check{c.books, c.trades, c.executions, c.named, c.given}
	case format.Log:
		c.endLog()
		c.trades.Note = fmt.Sprintf("%d made", c.ours)
		return []Check{c.books, c.trades, c.given}
	case format.Levels:
		out := []Check{c.touch, c.trades}
		if c.books.All > 0 {
			out = slices.Insert(out, 0, c.books)
		}
		return c.withCandles(out)
	case format.Orders:
		return []Check{c.books, c.trades, c.executions, c.named}
	case format.Answers:
		out := []Check{c.candles[0].counts, c.empty}
		if c.s.Today {
			out = append(out, c.values)
		}
		return out
	default:
		out := c.withCandles([]Check{c.trades})
		if c.trades.All == 0 && len(out) > 1 {
			out = out[1:] // all bars were candles
		}
		return out
	}
}

// withCandles appends the comparisons of candles, one for each length.
func (c *checker) withCandles(out []Check) []Check {
	for _, candles := range c.candles {
		if candles == nil {
			continue
		}
		same := func(k Check) bool { return k.Kind == candles.counts.Kind }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].Good, out[i].All = out[i].Good+candles.counts.Good, out[i].All+candles.counts.All
		} else {
			out = append(out, candles.counts)
		}
	}
	return out
}

// notes reports the parts of the recording that a comparison leaves out.
func (c *checker) notes() []string {
	if c.pub == nil {
		return nil
	}
	unused := 0
	for i, candles := range c.candles {
		if candles == nil && !c.s.Sets[i].Fed {
			unused++
		}
	}
	notes := noted(nil, unused, "%d files of bars whose length is no candle's: not compared")
	notes = noted(notes, c.asTrades, "%d bars that are no candle by their length or their time: not compared "+
		"themselves, but the trades that were made of them")
	return noted(notes, c.partial, "%d recorded candles may have trades outside the files: not compared")
}

// rowAfter compares the levels that the file has after a message with the published book. It skips the first
// message, because the opening book is set from its levels.
func (c *checker) rowAfter(r *format.Record) (err error) {
	if c.fed == 1 {
		return nil
	}
	if c.bids, c.asks, err = c.pub.Book(r.Depth, c.bids[:0], c.asks[:0]); err != nil {
		return err
	}
	good := sameLevels(r.Levels[0], c.bids) && sameLevels(r.Levels[1], c.asks)
	if c.books.add(good); !good {
		ours, theirs := c.bookTexts(r.Levels, c.bids, c.asks)
		c.miss(c.books.Kind, r.At, ours, theirs)
	}
	return nil
}

func sameLevels(want []format.Level, got []marketdata.Level) bool {
	return slices.EqualFunc(want, got, func(w format.Level, g marketdata.Level) bool {
		return w.Price == g.Price && w.Amount == g.Amount
	})
}

// logAfter compares the public trades with the recorded trades, and recorded books with every published book
// within logLate.
func (c *checker) logAfter(r *format.Record, e *orderEntry) error {
	if r.Kind == format.Report {
		c.trades.All++
		c.match(format.Level{Price: r.Price, Amount: r.Amount}, 1)
	}
	if n := e.report.Trades - c.seen; n > 0 {
		c.seen = e.report.Trades
		got, err := c.pub.Trades(int(n))
		if err != nil {
			return err
		}
		c.ours += len(got)
		for _, t := range got {
			c.match(format.Level{Price: t.Price, Amount: t.Amount}, -1)
		}
	}
	var err error
	if c.bids, c.asks, err = c.pub.Book(c.s.Depth, c.bids[:0], c.asks[:0]); err != nil {
		return err
	}
	if r.Kind == format.Book && c.fed > 1 {
		c.books.All++
		w := recordedBook{bookState: bookState{e.now, hashLevels(r.Levels)}, at: r.At}
		for side, levels := range r.Levels {
			copy(w.touch[side:side+1], levels)
		}
		c.books1s.waiting = append(c.books1s.waiting, w)
	}
	good, late := c.books1s.take(bookState{e.now, hashLevels([2][]marketdata.Level{c.bids, c.asks})})
	c.books.Good += good
	c.missBooks(late)
	return nil
}

// missBooks reports recorded books that no published book equals.
func (c *checker) missBooks(books []recordedBook) {
	for i := range books {
		w := &books[i]
		theirs := ""
		for side, name := range [2]string{"bid", "ask"} {
			if l := w.touch[side]; l.Amount == 0 {
				theirs += ", no " + name
			} else {
				theirs += fmt.Sprintf(", %s 1: %s at %s", name, c.amount(l.Amount), c.price(l.Price))
			}
		}
		c.miss(c.books.Kind, w.at, "no such book within 1 s", "a book with"+theirs[1:])
	}
}

// endLog reports the comparisons of a log that wait for a counterpart at its end.
func (c *checker) endLog() {
	c.missBooks(c.books1s.waiting)
	type trade struct {
		level format.Level
		at    format.Position
	}
	var missed []trade
	for level, places := range c.logged {
		for _, at := range places {
			missed = append(missed, trade{level, at})
		}
	}
	slices.SortFunc(missed, func(a, b trade) int { return cmp.Compare(a.at.Line, b.at.Line) })
	for _, t := range missed[:min(len(missed), maxMisses)] {
		c.miss(c.trades.Kind, t.at, "no such trade", c.amount(t.level.Amount)+" at "+c.price(t.level.Price))
	}
}

// match counts the trades that occur both in the log (sign 1) and in the published trades (sign -1). It pairs
// each trade at most once.
func (c *checker) match(t format.Level, sign int) {
	switch paired := c.tally[t]*sign < 0; {
	case paired && sign < 0:
		if c.logged[t] = c.logged[t][1:]; len(c.logged[t]) == 0 {
			delete(c.logged, t)
		}
		c.trades.Good++
	case paired:
		c.trades.Good++
	case sign > 0:
		c.logged[t] = append(c.logged[t], c.at)
	}
	if c.tally[t] += sign; c.tally[t] == 0 {
		delete(c.tally, t)
	}
}

// bookState is the hash of a book at a time.
type bookState struct {
	ns   int64
	hash uint64
}

// recordedBook is a book of the log that waits for an equal published one.
type recordedBook struct {
	bookState
	touch touch
	at    format.Position
}

// lateBooks compares each recorded book with the published books up to logLate before and after it.
type lateBooks struct {
	states  []bookState
	waiting []recordedBook
}

// take adds the newest published book and returns the number of waiting recorded books that now agree with a
// published one. It drops recorded books that are more than logLate old and returns those that agree with none.
func (l *lateBooks) take(now bookState) (good int, late []recordedBook) {
	for len(l.states) > 1 && l.states[1].ns < now.ns-2*logLate {
		l.states = l.states[1:]
	}
	l.states = append(l.states, now)
	l.waiting = slices.DeleteFunc(l.waiting, func(w recordedBook) bool {
		switch {
		case l.agrees(w.bookState):
			good++
		case w.ns < now.ns-logLate:
			late = append(late, w)
		default:
			return false
		}
		return true
	})
	return good, late
}

// agrees reports whether a published book within logLate of w equals it. Each published book is valid until the
// next one.
func (l *lateBooks) agrees(w bookState) bool {
	for i, s := range l.states {
		ended := i+1 < len(l.states) && l.states[i+1].ns < w.ns-logLate
		if s.hash == w.hash && !ended && s.ns <= w.ns+logLate {
			return true
		}
	}
	return false
}

// hashLevels returns the FNV-1a hash of a book over 64-bit words. It is the same on every machine.
func hashLevels[L format.Level | marketdata.Level](book [2][]L) uint64 {
	h := uint64(14695981039346656037)
	add := func(v int64) {
		for range 8 {
			h = (h ^ uint64(v&0xff)) * 1099511628211
			v >>= 8
		}
	}
	for _, side := range book {
		for i := range side {
			l := format.Level(side[i])
			add(l.Price)
			add(l.Amount)
		}
		add(-1)
	}
	return h
}

// tradesPerQuery is the number of trades that one query compares.
const tradesPerQuery = 500

// printed records a trade that was fed: the public trades must contain it.
func (c *checker) printed(t marketdata.Trade) {
	if c.pub != nil && c.s.ComparesTrades() {
		c.expected = append(c.expected, t)
		c.places = append(c.places, c.at)
	}
}

// due reports whether enough fed trades, or bars with the next one, wait to be compared.
func (c *checker) due() bool {
	return len(c.expected) >= tradesPerQuery || slices.ContainsFunc(c.candles, func(set *candleCheck) bool {
		return set != nil && len(set.pending) == candlesPerQuery-1
	})
}

// isCandle reports whether a bar that is fed is compared with the candle of its time. The trades of another bar are.
func (c *checker) isCandle(r *format.Record) bool {
	if c.pub == nil || r.Kind != format.Bar || c.candles[r.Bar.Set] == nil {
		return false
	}
	return r.NS%c.s.Sets[r.Bar.Set].LengthNs == 0
}

// compareTrades looks for the fed trades among the newest public trades, in the same order. It does nothing
// until atLeast fed trades are waiting. Other accounts may trade meanwhile, so it requests more trades than
// were fed.
func (c *checker) compareTrades(atLeast int) error {
	if len(c.expected) < atLeast {
		return nil
	}
	got, err := c.pub.Trades(len(c.expected) + tradesPerQuery)
	if err != nil {
		return err
	}
	c.trades.All += len(c.expected)
	missed := missing(c.expected, got)
	c.trades.Good += len(c.expected) - len(missed)
	for _, i := range missed[:min(len(missed), maxMisses)] {
		c.miss(c.trades.Kind, c.places[i], "no such trade", c.tradeText(&c.expected[i]))
	}
	c.expected, c.places = c.expected[:0], c.places[:0]
	return nil
}

// missing returns the indexes of the trades of want that are not in got in the same order, ascending. Both are oldest
// first. Times are compared in ms, as answers print them.
func missing(want, got []marketdata.Trade) (missed []int) {
	at := len(got) - 1
	for i := len(want) - 1; i >= 0; i-- {
		k := at
		for k >= 0 && !sameTrade(&want[i], &got[k]) {
			k--
		}
		if k < 0 {
			missed = append(missed, i)
		} else {
			at = k - 1
		}
	}
	slices.Reverse(missed)
	return missed
}

func sameTrade(a, b *marketdata.Trade) bool {
	return a.Price == b.Price && a.Amount == b.Amount && a.TakerSide == b.TakerSide &&
		a.TimeNs/1e6 == b.TimeNs/1e6
}

// maxRecent bounds the best bids and asks that wait for the book update with the same id. Updates come at most
// every 100 ms, so a few hundred usually wait.
const maxRecent = 65_536

// touch holds the best bid and the best ask.
type touch [2]format.Level

// seen is a touch with the place of the recorded one, which ours has not.
type seen struct {
	touch
	at format.Position
}

// recent holds the newest touches by update id.
type recent struct {
	by  map[uint64]seen
	ids []uint64 // keys of by, oldest first
}

func (r *recent) add(id uint64, t seen) {
	if r.by == nil {
		r.by = map[uint64]seen{}
	}
	r.by[id] = t
	if r.ids = append(r.ids, id); len(r.ids) > maxRecent {
		delete(r.by, r.ids[0])
		r.ids = r.ids[1:]
	}
}

// bookIs records the update id that the book now has.
func (c *checker) bookIs(id uint64) { c.applied, c.changed = id, true }

// touchAfter compares the recorded best bid and ask of an update id with the published ones. The two may arrive
// in either order.
func (c *checker) touchAfter(r *format.Record) (err error) {
	switch {
	case r.Kind == format.Touch:
		t := seen{at: r.At}
		for side, levels := range r.Levels {
			copy(t.touch[side:side+1], levels)
		}
		c.compareTouch(&c.ourTouches, &c.touches, r.Last, t)
	case (r.Kind == format.Update || r.Kind == format.Book) && c.changed:
		if c.bids, c.asks, err = c.pub.Book(1, c.bids[:0], c.asks[:0]); err != nil {
			return err
		}
		var t seen
		for side, levels := range [2][]marketdata.Level{c.bids, c.asks} {
			if len(levels) > 0 {
				t.touch[side] = format.Level{Price: levels[0].Price, Amount: levels[0].Amount}
			}
		}
		// When several updates are entered at once, only the state after the last one is ever public.
		c.compareTouch(&c.touches, &c.ourTouches, c.applied, t)
	}
	return nil
}

// compareTouch compares t with the touch of the same id in other. If other does not have it yet, compareTouch
// stores t in own.
func (c *checker) compareTouch(other, own *recent, id uint64, t seen) {
	o, ok := other.by[id]
	if !ok {
		own.add(id, t)
		return
	}
	c.touch.add(o.touch == t.touch)
	if o.touch == t.touch {
		return
	}
	ours, theirs := o, t
	if t.at.Line == 0 {
		ours, theirs = t, o
	}
	c.miss(c.touch.Kind, theirs.at, c.touchText(&ours.touch), c.touchText(&theirs.touch))
}

// touchText returns "1.5 at 99 | 2 at 101"; an empty side is a dash.
func (c *checker) touchText(t *touch) string {
	text := [2]string{"-", "-"}
	for side, l := range t {
		if l.Amount != 0 {
			text[side] = c.amount(l.Amount) + " at " + c.price(l.Price)
		}
	}
	return text[0] + " | " + text[1]
}

// intervalOf returns the candle interval with a length in ns.
func intervalOf(ns int64) (marketdata.Interval, bool) {
	for i := range marketdata.Day + 1 {
		if i.Seconds()*secondNs == ns {
			return i, true
		}
	}
	return 0, false
}

// candlesPerQuery is the number of recorded candles that one query compares.
const candlesPerQuery = 500

// candleCheck compares the recorded candles of one interval after all records have been fed.
type candleCheck struct {
	interval marketdata.Interval
	counts   Check
	pending  []candle
	last     int64 // close of the last public candle before the pending ones, 0: none
}

// candle is a recorded candle that has not been compared yet.
type candle struct {
	startSec int64
	format.Prices
	at format.Position
}

// openCandles prepares the comparison of each set of recorded candles. In a recording with answers, candles of
// a length that is no interval are compared as minutes.
func (c *checker) openCandles() {
	for _, set := range c.s.Sets {
		i, ok := intervalOf(set.LengthNs)
		if !ok && c.s.Shape != format.Answers {
			c.candles = append(c.candles, nil)
			continue
		}
		c.candles = append(c.candles, &candleCheck{interval: i, counts: Check{Kind: i.String() + " candles"}})
		c.empty.Kind = "empty " + i.String() + "s"
	}
}

// expect adds a record that the public data must agree with at the end: a candle, or the values of the day.
func (c *checker) expect(r *format.Record, nowNs int64) error {
	if r.Kind == format.Today {
		return c.compareToday(&r.Today, nowNs)
	}
	set := c.candles[r.Bar.Set]
	if set == nil {
		return nil
	}
	if !c.covers(set.interval, r, nowNs) {
		c.partial++
		return nil
	}
	return c.expectCandle(set, r)
}

func (c *checker) expectCandle(set *candleCheck, r *format.Record) error {
	if set.pending = append(set.pending, candle{r.NS / secondNs, r.Bar, r.At}); len(set.pending) < candlesPerQuery {
		return nil
	}
	return c.compareCandles(set)
}

// covers reports whether the records fed contain all trades of a candle. The first candle may lack trades from
// before the file; a recording of bars has no partial candle.
func (c *checker) covers(i marketdata.Interval, r *format.Record, nowNs int64) bool {
	start, first := r.NS/secondNs, c.firstNs/secondNs
	switch {
	case r.Bar.Trades < 0 && start > nowNs/secondNs:
		return false
	case c.firstIsBar && c.whole:
		return start+i.Seconds() > first
	}
	return start > first
}

// flushCandles compares the pending candles of every set.
func (c *checker) flushCandles() error {
	for _, set := range c.candles {
		if set == nil {
			continue
		}
		if err := c.compareCandles(set); err != nil {
			return err
		}
	}
	return nil
}

// compareCandles compares the pending candles with the public ones.
// A recorded candle without trades must be flat at the close before it, and the public data must have no candle there.
// It counts by itself if the recording states the number of trades.
func (c *checker) compareCandles(set *candleCheck) error {
	if len(set.pending) == 0 {
		return nil
	}
	from := set.pending[0].startSec
	if set.last == 0 { // the close before may be the first candle's, which is not compared
		from = min(from, c.firstNs/secondNs-set.interval.Seconds())
	}
	got, err := c.pub.Candles(set.interval, from, set.pending[len(set.pending)-1].startSec)
	if err != nil {
		return err
	}
	for i := range set.pending {
		want := &set.pending[i]
		for len(got) > 0 && got[0].Start < want.startSec {
			set.last, got = got[0].Close, got[1:]
		}
		has := len(got) > 0 && got[0].Start == want.startSec
		count, good := &set.counts, false
		switch empty := want.Trades == 0 || want.Trades < 0 && want.Volume == 0; {
		case !empty:
			good = has && want.equals(&got[0])
		case want.Trades == 0:
			count = &c.empty
			fallthrough
		default:
			good = !has && (set.last == 0 || want.flatAt(set.last))
		}
		if count.add(good); !good {
			ours := "no candle"
			if has {
				ours = c.barText(got[0].Open, got[0].High, got[0].Low, got[0].Close, got[0].Volume)
			} else if set.last != 0 {
				ours += " after a close of " + c.price(set.last)
			}
			theirs := c.barText(want.Open, want.High, want.Low, want.Close, fixed.FromU64(uint64(want.Volume)))
			c.miss(count.Kind, want.at, ours, theirs+" at "+format.NsText(want.startSec*secondNs))
		}
	}
	if len(got) > 0 {
		set.last = got[len(got)-1].Close
	}
	set.pending = set.pending[:0]
	return nil
}

func (w *candle) equals(c *marketdata.Candle) bool {
	return c.Open == w.Open && c.High == w.High && c.Low == w.Low && c.Close == w.Close &&
		c.Volume == fixed.FromU64(uint64(w.Volume))
}

// flatAt reports whether the candle has no volume and all its prices equal price.
func (w *candle) flatAt(price int64) bool {
	return w.Volume == 0 && w.Open == price && w.High == price && w.Low == price && w.Close == price
}

// compareToday compares the seven values of the day: volume, vwap, number of trades, high, low, open and last.
// It skips the comparison when the trades do not reach back to 00:00 UTC.
func (c *checker) compareToday(want *format.Values, nowNs int64) error {
	day := nowNs / secondNs
	day -= day % 86_400
	if c.firstNs > day*secondNs {
		return nil
	}
	candles, err := c.pub.Candles(marketdata.Day, day, day)
	if err != nil {
		return err
	}
	last, err := c.pub.Last()
	if err != nil {
		return err
	}
	trades, err := c.pub.Trades(c.fed)
	if err != nil {
		return err
	}
	if len(candles) != 1 {
		c.values.All += 7
		return nil
	}
	count := int64(0)
	for i := range trades {
		if trades[i].TimeNs/secondNs >= day {
			count++
		}
	}
	got := &candles[0]
	for _, v := range [][2]int64{
		{want.High, got.High}, {want.Low, got.Low}, {want.Open, got.Open}, {want.Last, last}, {want.Trades, count},
	} {
		c.values.add(v[0] == v[1])
	}
	c.values.add(fixed.FromI64(want.Volume) == got.Volume.ToI128())
	c.values.add(fixed.FromI64(want.VWAP) == c.vwap(got).ToI128())
	return nil
}

// vwap returns sum(price x volume) / sum(volume), truncated to format.VWAPDigits decimals.
func (c *checker) vwap(candle *marketdata.Candle) fixed.U128 {
	sum, digits := candle.QuoteVolume, c.s.Price.Chosen()
	for i := digits; i < format.VWAPDigits; i++ {
		sum, _ = sum.MulCheck(10)
	}
	q, _ := sum.DivMod(candle.Volume)
	for i := digits; i > format.VWAPDigits; i-- {
		q, _ = q.DivMod64(10)
	}
	return q
}
