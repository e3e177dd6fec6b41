package marketdata

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/wire"
)

var updateFormat = flag.Bool("update", false, "write testdata/format.golden")

// wholeInstrument has something in each member.
func wholeInstrument() *engine.Instrument {
	return &engine.Instrument{
		ID: 2, Code: "ABC_USDT", Base: "ABC", Quote: "USDT", DigitsPrice: 3, DigitsAmount: 5, BaseDigits: 9,
		QuoteDigits: 10,
		MaxPrice:    59, MaxAmount: 60,
		MinQuote: fixed.FromU64(11), HasMinQuote: true, MaxQuote: fixed.U128{Hi: 12, Lo: 13},
		BandUp: 2 * engine.RateOne, BandDown: engine.RateOne / 2, State: engine.Halted, MakerFee: 14, TakerFee: 15,
		CreatedNs: 16,
	}
}

func wholeAsset() *engine.Asset {
	return &engine.Asset{
		Symbol: "ABC", Name: "The asset", Digits: 9, UnifiedCryptoassetID: 17, Fiat: true, CanWithdraw: true,
		HasMinWithdraw: true,
		HasMakerFee:    true, MinWithdraw: fixed.FromI64(-18), MaxWithdraw: fixed.I128{Hi: 19, Lo: 20},
		MakerFee: fixed.I128{Hi: 21, Lo: 22}, TakerFee: fixed.I128{Hi: 23, Lo: 24},
	}
}

// wholeFeed returns a feed with an asset and pair 2, which has something in each member that is encoded.
func wholeFeed() *Feed {
	f := NewFeed(Options{Retention: Retention{TradesMin: 3, TradesMax: 3}})
	f.controlSeq, f.assets = 25, map[string]*engine.Asset{"ABC": wholeAsset(), "USDT": {Symbol: "USDT"}}
	p := newPairState(&engine.Event{Pair: 2, TimeNs: 26, Instrument: wholeInstrument()}, &f.cache)
	f.addPair(p)
	for _, l := range []struct {
		side          engine.Side
		price, amount int64
	}{{engine.Buy, 90, 27}, {engine.Buy, 95, 28}, {engine.Sell, 105, 29}, {engine.Sell, 110, 30}} {
		p.sides[l.side].set(l.price, l.amount, f.gen)
	}
	for i, at := range []int64{0, 0, 61, secondsOfDay + 1, secondsOfDay + 2} {
		p.foldTrade(&engine.Event{
			Kind: engine.EventTrade, Pair: 2, Trade: engine.TradeID(i + 1), TimeNs: rigStartNs + at*nanosecond + 31,
			Price: 100 + int64(i)*int64(1-i%2*2), Amount: 32 + int64(i), Side: engine.Side(i % 2),
			Account: engine.AccountID(33 + i), MakerAccount: 44, Seq: engine.Seq(40 + i),
		}, &f.opts)
	}
	p.merge(&f.opts)
	p.seq, p.bookSeq, p.tradesSeq, p.tickerSeq = 54, 51, 52, 53
	p.timeNs, p.bookTimeNs, p.changedSec = 55, 56, 57
	p.ring.young = 58
	return f
}

// wholeOrder returns an order and its extra members, each with something in it.
func wholeOrder() (orderRec, orderExtra) {
	o := orderRec{
		filledQuote: fixed.U128{Hi: 1, Lo: 2}, fee: fixed.U128{Hi: 3, Lo: 4}, filled: 5, open: 6, seq: 7,
		id: engine.MakeOrderID(2, 8), side: engine.Sell, typ: engine.TakeMarket, tif: engine.FOK,
		stp: engine.Decrement, flags: 255, status: engine.Pending, cause: engine.CauseOperator,
		bits: bitPlaced | bitTriggered | bitKept, price: 9, amount: 10, createdNs: 11, changedNs: 12, account: 13,
	}
	extra := orderExtra{
		stop: 14, display: 15, quote: fixed.U128{Hi: 16, Lo: 17}, firstFilledQuote: fixed.U128{Hi: 18, Lo: 19},
		client: &engine.ClientID{
			Text: "cl", Hash: [2]uint64{20, 21}, Content: [2]uint64{22, 23}, Strategy: new(int64(30)),
			StrategyType: new(int64(-31)),
		},
		firstPrice: 24, firstAmount: 25, firstFilled: 26, firstOpen: 27, firstSeq: 28, firstFill: 29,
		firstStatus: engine.Pending, firstTriggered: true,
		trackNs: 32, prevented: 33, firstStop: 34, firstPrevented: 35, firstTracks: true, list: 3, trail: 36,
		firstTrail: math.MaxUint16,
	}
	return o, extra
}

func wholeFill() fillRec {
	return fillRec{
		trade: 1, taker: engine.MakeOrderID(2, 3), maker: engine.MakeOrderID(2, 4), timeNs: 5, price: 6, amount: 7,
		takerFee: 8, takerDiscount: 9, makerFee: 10, makerDiscount: 11, takerAccount: 12, makerAccount: 13,
		side: engine.Sell,
	}
}

// encodeOrder encodes an order in a history whose oldest fill has the number begin.
func encodeOrder(o orderRec, x *orderExtra, begin uint64) []byte {
	h := newHistory(Options{}.WithDefaults())
	h.fills.end = h.fills.limit + begin
	if x != nil {
		o.extra = h.extras.Alloc()
		*h.extras.At(o.extra) = *x
	}
	w := walker{wire.Writer(nil)}
	h.walkOrder(w, &o)
	return w.Bytes()
}

// decodeOrder is the opposite of encodeOrder, in a new history.
func decodeOrder(t *testing.T, data []byte) (o orderRec, x orderExtra, err error) {
	t.Helper()
	h := newHistory(Options{}.WithDefaults())
	i := h.extras.Alloc() // a slot that was used before
	*h.extras.At(i) = orderExtra{stop: 900, client: &engine.ClientID{}, firstSeq: 901}
	h.extras.Release(i)
	w := walker{wire.Reader(data)}
	h.walkOrder(w, &o)
	if o.extra != 0 {
		x, o.extra = *h.extras.At(o.extra), 0
	}
	return o, x, w.End()
}

// The bytes of each part belong to the format; they are those of testdata/format.golden.
func TestTheStateIsThatOfItsFormat(t *testing.T) {
	f := wholeFeed()
	o, x := wholeOrder()
	plain := x
	plain.client = nil
	fill := walker{wire.Writer(nil)}
	one := wholeFill()
	fill.fill(&one)
	h := newHistory(Options{}.WithDefaults())
	h.pairs = []*pairState{nil, nil, f.pairs[2]}
	h.accounts = make([]accountState, 14)
	f.pairs[2].orders.add(engine.MakeOrderID(2, 5*idPageOrders), 0)
	var got strings.Builder
	for _, part := range []struct {
		name string
		data []byte
	}{
		{"control", f.AppendControlState(nil)},
		{"pair", f.AppendPairState(nil, 2)},
		{"order", encodeOrder(o, nil, 3)},
		{"order with more", encodeOrder(o, &plain, 3)},
		{"order with a client id", encodeOrder(o, &x, 3)},
		{"order whose first fill is gone", encodeOrder(o, &x, 29)},
		{"fill", fill.Bytes()},
		{"empty history", h.append(nil)},
	} {
		fmt.Fprintf(&got, "%s: %x\n", part.name, part.data)
	}
	const golden = "testdata/format.golden"
	if *updateFormat {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	same(t, strings.Split(string(want), "\n"), strings.Split(got.String(), "\n"))
}

// What was encoded is decoded member by member, into a place that held something else.
func TestTheStateIsDecodedMemberByMember(t *testing.T) {
	o, x := wholeOrder()
	read, extra, err := decodeOrder(t, encodeOrder(o, &x, 3))
	x.firstFill = 26 // from the oldest retained one on
	same(t, error(nil), err)
	same(t, o, read)
	same(t, x, extra)
	_, extra, err = decodeOrder(t, encodeOrder(o, &x, 26))
	same(t, error(nil), err)
	same(t, uint64(0), extra.firstFill)
	waiting := o
	waiting.bits = bitPlaced
	read, _, _ = decodeOrder(t, encodeOrder(waiting, nil, 0))
	same(t, waiting, read)
	_, extra, _ = decodeOrder(t, encodeOrder(o, &x, 25))
	same(t, uint64(1), extra.firstFill)
	read, _, err = decodeOrder(t, encodeOrder(o, nil, 0))
	same(t, error(nil), err)
	same(t, o, read)
	plain := x
	plain.client = nil
	_, extra, err = decodeOrder(t, encodeOrder(o, &plain, 0))
	same(t, error(nil), err)
	same(t, plain, extra)
	one := wholeFill()
	w := walker{wire.Writer(nil)}
	w.fill(&one)
	var fill fillRec
	w = walker{wire.Reader(w.Bytes())}
	w.fill(&fill)
	same(t, error(nil), w.End())
	same(t, one, fill)
}

// A pair, the assets and what is published of them are those that were encoded.
func TestAPairIsDecodedMemberByMember(t *testing.T) {
	f := wholeFeed()
	g := NewFeed(f.opts)
	same(t, error(nil), g.DecodeControlState(f.AppendControlState(nil)))
	same(t, f.assets, g.assets)
	same(t, f.controlSeq, g.controlSeq)
	same(t, error(nil), g.DecodePairState(f.AppendPairState(nil, 2)))
	p, q := f.pairs[2], g.pairs[2]
	same(t, wholeInstrument(), q.instrument)
	same(t, engine.PairID(2), q.id)
	same(t, [4]engine.Seq{54, 51, 52, 53}, [4]engine.Seq{q.seq, q.bookSeq, q.tradesSeq, q.tickerSeq})
	same(t, [4]int64{55, 56, 57, 104}, [4]int64{q.timeNs, q.bookTimeNs, q.changedSec, q.last})
	same(t, [2]int64{95, 105}, q.touch.best)
	same(t, [2]int64{95, 105}, q.boundaryTouch)
	same(t, engine.Seq(51), q.changes.view.base)
	for i := range p.sides {
		was, is := p.sides[i].publish(), q.sides[i].publish()
		var want, got []Level
		was.All(func(l Level) bool { want = append(want, l); return true })
		is.All(func(l Level) bool { got = append(got, l); return true })
		same(t, want, got)
	}
	same(t, p.ring.young, q.ring.young)
	was, is := &p.ring.view, &q.ring.view
	same(t, [3]engine.TradeID{3, 5, 3}, [3]engine.TradeID{is.first, is.last, is.base})
	same(t, was.droppedNs, is.droppedNs)
	for id := is.first; id <= is.last; id++ {
		same(t, was.At(id), is.At(id))
	}
	if is.cache != &g.cache || len(is.chunks) != 1 {
		t.Errorf("%d chunks, the cache is the feed's: %v", len(is.chunks), is.cache == &g.cache)
	}
	for i := range p.candles.series {
		same(t, p.candles.series[i].end, q.candles.series[i].end)
		was, is := &p.candles.series[i].view, &q.candles.series[i].view
		same(t, was.Len(), is.Len())
		for k := range was.Len() {
			same(t, was.At(k), is.At(k))
		}
	}
	q.window.slide(rigStartNs/nanosecond + secondsOfDay + 2)
	same(t, p.window.buckets.list(), q.window.buckets.list())
	same(t, p.window.highs.list(), q.window.highs.list())
	same(t, p.window.lows.list(), q.window.lows.list())
	same(t, [2]int64{100, 99}, [2]int64{q.window.first, q.window.agoBase})
	same(t, [2]fixed.U128{p.window.volume, p.window.quote}, [2]fixed.U128{q.window.volume, q.window.quote})
	g.Publish(rigStartNs)
	root := g.Board().Load()
	if root.PairsVersion != 1 || root.View(2) == nil || len(root.Assets()) != 2 {
		t.Errorf("pairs version %d, %d assets, %v", root.PairsVersion, len(root.Assets()), root.View(2))
	}
}
