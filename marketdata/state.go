package marketdata

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/wire"
)

// stateFormat is the version of the encoding below. The decoder refuses any other one.
const stateFormat = 4

// The encoding of a pair's state is canonical: equal events give equal bytes, whenever they were folded, merged
// or read. Snapshots and state hashes both use it. One walk method a structure serves both directions.
//
//	pair     format, instrument, seqs and times, last price, changed second,
//	         bids, asks, trades, ten candle series, window
//	side     number of levels; each, best first: price, amount
//	trades   first, last, dropped, young; each: time, price, amount, buyer, seller, side
//	series   number of closed candles; each; 0 or 1 and the open candle
//	candle   start, open, high, low, close, trades, volume, quote volume, and both of takers' buys
//	window   first price, close before the buckets, number of buckets; each
type walker struct{ *wire.Coder }

func (w walker) u128(v *fixed.U128) {
	w.U64(&v.Hi)
	w.U64(&v.Lo)
}

func (w walker) i128(v *fixed.I128) {
	w.I64(&v.Hi)
	w.U64(&v.Lo)
}

func (w walker) seq(v *engine.Seq) { w.U64((*uint64)(v)) }

// positive encodes or decodes a number that must be above 0.
func (w walker) positive(v *int64) {
	w.I64(v)
	if *v <= 0 && w.Reading() {
		w.Fail("%d is not above 0", *v)
		*v = 1
	}
}

// format encodes stateFormat, or fails when it decodes another one.
func (w walker) format() {
	v := uint64(stateFormat)
	if w.U64(&v); v != stateFormat {
		w.Fail("market data of state format %d cannot be read by this program, which has %d", v, stateFormat)
	}
}

func (w walker) instrument(i *engine.Instrument) {
	i.Walk(w.Coder, math.MaxUint32, 64)
	w.I64(&i.CreatedNs)
}

func (w walker) asset(a *engine.Asset) {
	w.Text(&a.Symbol, 64)
	w.Text(&a.Name, 1<<16)
	w.I64(&a.UnifiedCryptoassetID)
	digits := uint8(a.Digits)
	w.U8(&digits, fixed.Scale)
	a.Digits = int(digits)
	for _, b := range []*bool{
		&a.Fiat, &a.HasUnifiedID, &a.CanWithdraw, &a.CanDeposit,
		&a.HasMinWithdraw, &a.HasMaxWithdraw, &a.HasMakerFee, &a.HasTakerFee,
	} {
		w.Bool(b)
	}
	for _, v := range []*fixed.I128{&a.MinWithdraw, &a.MaxWithdraw, &a.MakerFee, &a.TakerFee} {
		w.i128(v)
	}
}

// AppendPairState appends the state of a pair except the order history. It panics on an unknown pair.
func (f *Feed) AppendPairState(dst []byte, pair engine.PairID) []byte {
	return f.codePair(wire.Writer(dst), pair).Bytes()
}

func (f *Feed) codePair(c *wire.Coder, pair engine.PairID) *wire.Coder {
	p := f.pairs[pair]
	p.noteTouch()
	p.merge(&f.opts)
	p.walk(walker{c}, &f.opts, f.gen)
	return c
}

// HashPair returns the SHA-256 of AppendPairState. pause is the same as in engine.Core.HashPair.
func (f *Feed) HashPair(pair engine.PairID, pause func()) (sum [32]byte) {
	h := sha256.New()
	_ = f.codePair(wire.Stream(wire.Pausing(h, pause)), pair).End() // a hash accepts every write
	h.Sum(sum[:0])
	return sum
}

// DecodePairState adds a pair from the bytes of AppendPairState. The feed must not have the pair yet, and retains by
// the limits that were in force when the bytes were made. Readers see the pair after the next Publish. An error leaves
// the feed unchanged.
func (f *Feed) DecodePairState(data []byte) error {
	p := &pairState{sides: [2]depthSide{newDepthSide(engine.Buy), newDepthSide(engine.Sell)}}
	p.ring.view.cache = &f.cache
	w := walker{wire.Reader(data)}
	p.walk(w, &f.opts, f.gen)
	if w.End() == nil {
		if err := p.instrument.Validate(); err != nil {
			w.Fail("%w", err)
		}
		if p.id >= engine.MaxPairs || (int(p.id) < len(f.pairs) && f.pairs[p.id] != nil) {
			w.Fail("pair number %d is not free", p.id)
		}
	}
	if err := w.End(); err != nil {
		return fmt.Errorf("marketdata: state of pair %q: %w", p.instrument.Code, err)
	}
	f.addPair(p)
	f.markChanged(p)
	f.pairsNew++
	return nil
}

func (p *pairState) walk(w walker, o *Options, gen uint64) {
	w.format()
	if w.Reading() {
		p.instrument = &engine.Instrument{}
	}
	w.instrument(p.instrument)
	p.id = p.instrument.ID
	for _, s := range []*engine.Seq{&p.seq, &p.bookSeq, &p.tradesSeq, &p.tickerSeq} {
		w.seq(s)
	}
	for _, v := range []*int64{&p.timeNs, &p.bookTimeNs, &p.last, &p.changedSec} {
		w.I64(v)
	}
	for i := range p.sides {
		p.sides[i].walk(w, gen)
		p.touch.best[i] = p.sides[i].best()
	}
	p.boundaryTouch = p.touch.best
	if w.Reading() {
		p.changes.view.base = p.bookSeq // changes before the snapshot cannot be undone
	}
	p.ring.walk(w)
	for i := range p.candles.series {
		p.candles.series[i].walk(w, Interval(i), o.Candles[i])
	}
	p.window.walk(w)
}

func (s *depthSide) walk(w walker, gen uint64) {
	n := w.Len(s.levels)
	if !w.Reading() {
		side := s.publish()
		for l := range side.All {
			w.I64(&l.Price)
			w.I64(&l.Amount)
		}
		return
	}
	last := int64(0)
	for i := range n {
		var l Level
		w.positive(&l.Price)
		w.positive(&l.Amount)
		if key := l.Price * s.sign; i > 0 && key <= last {
			w.Fail("a level at %d is not behind the one before", l.Price)
		} else {
			last = key
		}
		if w.Err() != nil {
			return
		}
		s.set(l.Price, l.Amount, gen)
	}
}

func (r *tradeRing) walk(w walker) {
	v := &r.view
	first, last := uint64(v.first), uint64(v.last)
	w.U64(&first)
	w.U64(&last)
	w.I64(&v.droppedNs)
	w.U64(&r.young)
	if last == 0 {
		return
	}
	if !w.Reading() {
		w.Len(v.Len())
	} else {
		n := w.checkTrades(first, last)
		v.first, v.base, v.last = engine.TradeID(first), engine.TradeID(first), engine.TradeID(last)
		for range (n + chunkTrades - 1) / chunkTrades {
			v.chunks = append(v.chunks, new(tradeChunk))
		}
	}
	var before Trade
	for id := v.first; id <= v.last && w.Err() == nil; id++ {
		t := v.at(id)
		w.trade(t, &before)
		before = *t
	}
}

// checkTrades returns the number of trades that follow in the encoding, 0 when first and last are inconsistent.
func (w walker) checkTrades(first, last uint64) int {
	n := w.Len(0)
	if first == 0 || last < first || last-first+1 != uint64(n) {
		w.Fail("trades %d to %d are not %d", first, last, n)
		return 0
	}
	return n
}

// trade encodes time and price as differences from the trade before, because small numbers are short.
func (w walker) trade(t, before *Trade) {
	ns, price := t.TimeNs-before.TimeNs, t.Price-before.Price
	w.I64(&ns)
	w.I64(&price)
	w.I64(&t.Amount)
	w.U32((*uint32)(&t.Buyer))
	w.U32((*uint32)(&t.Seller))
	w.U8((*uint8)(&t.TakerSide), 1)
	if w.Reading() {
		t.TimeNs, t.Price = before.TimeNs+ns, before.Price+price
	}
}

func (s *candleSeries) walk(w walker, i Interval, keep int) {
	v := &s.view
	for k := range w.Len(v.closed) {
		if w.Err() != nil {
			return
		}
		var c Candle
		if !w.Reading() {
			c = v.At(k)
		}
		w.candle(&c)
		if w.Reading() {
			s.close(c, keep)
		}
	}
	open := v.open.Trades != 0
	w.Bool(&open)
	if open {
		w.candle(&v.open)
		s.end = i.Next(v.open.Start)
	}
}

func (w walker) candle(c *Candle) {
	w.I64(&c.Start)
	for _, v := range [...]*int64{&c.Open, &c.High, &c.Low, &c.Close, &c.Trades} {
		w.positive(v)
	}
	w.u128(&c.Volume)
	w.u128(&c.QuoteVolume)
	w.u128(&c.TakerVolume)
	w.u128(&c.TakerQuote)
}

func (n *window) walk(w walker) {
	w.I64(&n.first)
	w.I64(&n.agoBase)
	count := w.Len(n.buckets.len())
	for i := range count {
		var b bucket
		if !w.Reading() {
			b = *n.buckets.at(i)
		}
		w.I64(&b.sec)
		w.positive(&b.high)
		w.positive(&b.low)
		w.positive(&b.close)
		w.u128(&b.volume)
		w.u128(&b.quote)
		if !w.Reading() {
			continue
		}
		if k := n.buckets.len(); k > 0 && n.buckets.at(k-1).sec >= b.sec {
			w.Fail("second %d of the window is not behind the one before", b.sec)
		}
		if w.Err() != nil {
			return
		}
		n.buckets.pushBack(b)
		n.volume, n.quote = n.volume.AddWrap(b.volume), n.quote.AddWrap(b.quote)
		n.pushExtremes(b.sec, b.high, b.low)
	}
}

// AppendControlState appends the assets and the control stream's seq.
func (f *Feed) AppendControlState(dst []byte) []byte {
	w := walker{wire.Writer(dst)}
	w.format()
	w.seq(&f.controlSeq)
	w.Len(len(f.assets))
	for _, symbol := range slices.Sorted(maps.Keys(f.assets)) {
		a := *f.assets[symbol]
		w.asset(&a)
	}
	return w.Bytes()
}

// DecodeControlState restores the bytes of AppendControlState. The feed must not have folded an event of the
// control stream.
func (f *Feed) DecodeControlState(data []byte) error {
	w := walker{wire.Reader(data)}
	w.format()
	var seq engine.Seq
	w.seq(&seq)
	assets := map[string]*engine.Asset{}
	for range w.Len(0) {
		a := &engine.Asset{}
		if w.asset(a); w.Err() != nil {
			break
		}
		assets[a.Symbol] = a
	}
	if err := w.End(); err != nil {
		return fmt.Errorf("marketdata: state of the control stream: %w", err)
	}
	f.controlSeq, f.assets, f.assetsNew = seq, assets, true
	return nil
}
