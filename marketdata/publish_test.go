package marketdata

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// checkView checks everything that a reader can verify from the view alone.
func checkView(v *View) error {
	if v.Checksum() != v.Sum {
		return fmt.Errorf("pair %d seq %d: the view is not what was published", v.Instrument.ID, v.Seq)
	}
	bid, hasBid := v.Bids.Best()
	ask, hasAsk := v.Asks.Best()
	if hasBid && hasAsk && bid.Price >= ask.Price {
		return fmt.Errorf("pair %d seq %d: crossed at %d and %d", v.Instrument.ID, v.Seq, bid.Price, ask.Price)
	}
	if v.Ticker.Bid != bid.Price || v.Ticker.Ask != ask.Price {
		return fmt.Errorf("pair %d seq %d: ticker's touch is not the book's", v.Instrument.ID, v.Seq)
	}
	for i, s := range []*Side{&v.Bids, &v.Asks} {
		last := int64(0)
		for l := range s.All {
			if l.Amount <= 0 || (last != 0 && (l.Price < last) != (i == 0)) || l.Price == last {
				return fmt.Errorf("pair %d seq %d: levels out of order", v.Instrument.ID, v.Seq)
			}
			last = l.Price
		}
		for p := range s.Pages {
			text := p.pageText(PageBase, renderLevels).text
			if string(text) != string(renderLevels(nil, p.Levels())) {
				return fmt.Errorf("pair %d seq %d: kept text of another page", v.Instrument.ID, v.Seq)
			}
			for n := range pageLevels + 1 {
				want := renderLevels(nil, p.Levels()[:min(n, len(p.Levels()))])
				if got, _ := p.textOf(PageBase, n, renderLevels); string(got) != string(want) {
					return fmt.Errorf("pair %d seq %d: the first %d rows are %q, want %q", v.Instrument.ID, v.Seq,
						n, got, want)
				}
			}
		}
	}
	if v.Seq < max(v.BookSeq, v.TradesSeq, v.TickerSeq) {
		return fmt.Errorf("pair %d: seq %d is below the seq of one of its parts", v.Instrument.ID, v.Seq)
	}
	return nil
}

func renderLevels(dst []byte, levels []Level) []byte {
	for _, l := range levels {
		dst = strconv.AppendInt(append(strconv.AppendInt(dst, l.Price, 10), ':'), l.Amount, 10)
	}
	return dst
}

func TestReadersSeeWholeViewsOnlyAndSeqsNeverGoBack(t *testing.T) {
	rnd := newRand(t)
	const pairs, readers = 40, 4 // two groups of views
	kept := Retention{TradesMin: 10, TradesMax: 3000}
	r := newRig(Options{Retention: kept, Checksums: true, ChunkText: 20_000}, pairs)
	r.publish()
	var done atomic.Bool
	var reads atomic.Int64
	var wg sync.WaitGroup
	failed := make(chan error, readers)
	for k := range readers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := readUntil(&done, &reads, r.feed.Board(), rand.New(rand.NewPCG(uint64(k), 3))); err != nil {
				failed <- err
			}
		}()
	}
	publishes := soak(3000, 20)
	for i := range publishes {
		for range 1 + rnd.IntN(20) {
			hot := pairs
			if rnd.IntN(3) > 0 {
				hot = 2
			}
			r.now += rnd.Int64N(5 * nanosecond)
			r.apply(r.randomCommand(rnd, hot, 4, 500))
		}
		r.events = r.events[:0]
		r.publish()
		if i%64 == 0 {
			runtime.Gosched()
		}
	}
	done.Store(true)
	wg.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	t.Logf("%d views read over %d publishes", reads.Load(), publishes)
	if reads.Load() == 0 {
		t.Fatal("no reader loaded a view")
	}
}

// readUntil reads random views until done, and remembers the highest seqs it has seen.
func readUntil(done *atomic.Bool, reads *atomic.Int64, b *Board, rnd *rand.Rand) error {
	seen := map[engine.PairID]engine.Seq{}
	gen := uint64(0)
	for !done.Load() {
		root := b.Load()
		if root.Gen < gen {
			return fmt.Errorf("generation %d after %d", root.Gen, gen)
		}
		gen = root.Gen
		ids := root.Sorted()
		sum := uint64(0)
		for _, id := range ids {
			sum += uint64(root.View(id).TickerSeq)
		}
		if sum != root.TickersSeqSum {
			return fmt.Errorf("generation %d: ticker seqs sum to %d, the root says %d", gen, sum, root.TickersSeqSum)
		}
		v := root.View(ids[rnd.IntN(len(ids))])
		if rnd.IntN(2) == 0 {
			v = root.View(0)
		}
		if v.Seq < seen[v.Instrument.ID] {
			return fmt.Errorf("pair %d: seq %d after %d", v.Instrument.ID, v.Seq, seen[v.Instrument.ID])
		}
		seen[v.Instrument.ID] = v.Seq
		if err := checkView(v); err != nil {
			return err
		}
		if v.Trades.Len() > 0 {
			v.Trades.ChunkText(v.Trades.First(), ChunkAggSell,
				func(dst []byte, _ engine.TradeID, trades []Trade) []byte {
					return append(dst, make([]byte, len(trades))...)
				})
		}
		d := v.Keep(OfBook, &note{v.BookSeq}).(*note)
		if d.seq != v.BookSeq {
			return fmt.Errorf("pair %d: the kept book is of seq %d, the view's of %d", v.Instrument.ID, d.seq,
				v.BookSeq)
		}
		reads.Add(1)
	}
	return nil
}

func TestNoReaderIsServedAnOldViewAfterAnIdleMinute(t *testing.T) {
	const readers, bursts = 64, 60
	r := newRig(Options{}, 1)
	r.publish()
	for range bursts {
		r.now += 60 * nanosecond
		r.place(0, 1, engine.Buy, 100+int64(len(r.events)), 1)
		r.publish()
		want := r.core.LastSeq(0)
		var start, wg sync.WaitGroup
		var stale, renders atomic.Int64
		start.Add(1)
		for range readers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				start.Wait()
				v := r.feed.Board().Load().View(0)
				d, _ := v.Kept(OfBook).(*note)
				if d == nil {
					renders.Add(1)
					d = v.Keep(OfBook, &note{v.Seq}).(*note)
				}
				if v.Seq != want || d.seq != want {
					stale.Add(1)
				}
			}()
		}
		start.Done()
		wg.Wait()
		if stale.Load() != 0 {
			t.Fatalf("%d of %d readers were served an old view", stale.Load(), readers)
		}
	}
}

func TestKeptDocumentsStayWhileWhatTheyAreMadeOfDoes(t *testing.T) {
	r := newRig(Options{}, 1)
	r.trade(0, engine.Buy, 100, 5)
	r.place(0, 1, engine.Buy, 90, 5)
	keepAll := func() *View {
		r.publish()
		v := r.feed.Board().Load().View(0)
		for k := range Slots {
			v.Keep(k, &note{})
		}
		return v
	}
	kept := func(v *View) (out []Slot) {
		for k := range Slots {
			if v.Kept(k) != nil {
				out = append(out, k)
			}
		}
		return out
	}
	step := func(what string, do func(), want ...Slot) {
		t.Helper()
		keepAll()
		r.now += nanosecond
		do()
		r.publish()
		if got := kept(r.feed.Board().Load().View(0)); !slices.Equal(got, want) {
			t.Errorf("%s: slots %v are kept, want %v", what, got, want)
		}
	}
	ticker := []Slot{OfTicker, OfTrades, OfTrades2, OfTickerAndInstrument, OfTickerAndInstrument2}
	step("a level behind the touch", func() { r.place(0, 1, engine.Buy, 80, 5) }, ticker...)
	step("a new touch", func() { r.place(0, 1, engine.Buy, 95, 5) }, OfTrades, OfTrades2)
	step("a touch that came and went", func() {
		id := r.place(0, 1, engine.Buy, 97, 5)
		r.apply(engine.Command{Kind: engine.Cancel, Order: id, Flags: engine.FlagAllAccount})
	}, OfTrades, OfTrades2)
	step("a trade", func() { r.place(0, 2, engine.Sell, 95, 1) })
	step("a refusal", func() { r.apply(engine.Command{Kind: engine.Cancel, Order: 12345}) },
		OfTicker, OfBook, OfBook2, OfBook3, OfTrades, OfTrades2, OfTickerAndInstrument, OfTickerAndInstrument2)
	step("a day", func() { r.now += secondsOfDay * nanosecond },
		OfBook, OfBook2, OfBook3, OfTrades, OfTrades2)
}

func TestPublishWithoutChangeStoresNothing(t *testing.T) {
	r := newRig(Options{}, 3)
	r.trade(1, engine.Buy, 100, 5)
	r.publish()
	root := r.feed.Board().Load()
	for range 5 {
		r.now += nanosecond
		r.publish()
		if r.feed.Board().Load() != root {
			t.Fatal("a new root though nothing had changed")
		}
	}
	r.place(2, 1, engine.Buy, 5, 5)
	r.publish()
	next := r.feed.Board().Load()
	if next.View(0) != root.View(0) || next.View(1) != root.View(1) || next.View(2) == root.View(2) {
		t.Fatal("views of other pairs were made again")
	}
	if next.TickersSeqSum == root.TickersSeqSum || next.TickersVersion == root.TickersVersion ||
		next.Gen != root.Gen+1 {
		t.Fatalf("sums did not move: %+v, %+v", root, next)
	}
}

func TestRootFindsPairsAndAssetsInByteOrder(t *testing.T) {
	r := newRig(Options{}, 0)
	if root := r.feed.Board().Load(); root.Len() != 0 || root.Lookup("A_B") != nil || root.View(0) != nil {
		t.Fatal("an empty board shows a pair")
	}
	for _, code := range []string{"ZZ_USD", "AA_USD", "A1_USD", "AAB_USD"} {
		base, _, _ := cutCode(code)
		r.apply(engine.Command{Kind: engine.AddPair, Instrument: &engine.Instrument{
			Code: code, Base: base,
			Quote: "USD", DigitsPrice: 2, DigitsAmount: 2,
		}})
	}
	for _, s := range []string{"ZZ", "AA", "USD"} {
		r.apply(engine.Command{
			Kind: engine.SetAsset, Pair: engine.ControlPair,
			Control: &engine.ControlRecord{Asset: &engine.Asset{Symbol: s, Digits: 8}},
		})
	}
	r.publish()
	root := r.feed.Board().Load()
	var codes, symbols []string
	for _, id := range root.Sorted() {
		codes = append(codes, root.View(id).Instrument.Code)
	}
	for _, a := range root.Assets() {
		symbols = append(symbols, a.Symbol)
	}
	same(t, []string{"A1_USD", "AAB_USD", "AA_USD", "ZZ_USD"}, codes)
	same(t, []string{"AA", "USD", "ZZ"}, symbols)
	if root.Lookup("AA_USD") == nil || root.Lookup("AA_US") != nil || root.Asset("USD") == nil ||
		root.Asset("EUR") != nil {
		t.Fatal("look-ups by name")
	}
	if root.ControlSeq != 3 || root.PairsVersion != 4 {
		t.Fatalf("control seq %d, pairs version %d", root.ControlSeq, root.PairsVersion)
	}
}

// A delisted pair leaves the lists and is found by its code only where history needs it; a restored feed shows the
// same.
func TestDelistedPairLeavesTheLists(t *testing.T) {
	r := newRig(Options{}, 3)
	r.trade(1, engine.Buy, 100, 5)
	r.publish()
	before := r.feed.Board().Load()
	gone := *rigPair(1)
	gone.State = engine.Delisted
	r.apply(engine.Command{Kind: engine.SetPair, Pair: 1, Instrument: &gone})
	r.publish()
	back := newRig(Options{}, 0)
	for id := range engine.PairID(3) {
		if err := back.feed.DecodePairState(r.feed.AppendPairState(nil, id)); err != nil {
			t.Fatal(err)
		}
	}
	back.now = r.now
	back.publish()
	for _, root := range []*Root{r.feed.Board().Load(), back.feed.Board().Load()} {
		same(t, []engine.PairID{0, 2}, root.Sorted())
		same(t, []engine.PairID{0, 1, 2}, root.SortedAll())
		if root.Lookup("B01_USDT") != nil || root.Lookup("B02_USDT") != root.View(2) || root.Len() != 3 {
			t.Error("the delisted pair is listed, or another one is not")
		}
		v := root.LookupAll("B01_USDT")
		if v == nil || v != root.View(1) || v.Instrument.State != engine.Delisted || v.Trades.Len() != 1 {
			t.Errorf("history does not find the delisted pair: %+v", v)
		}
		if root.LookupAll("B03_USDT") != nil || root.SeqSum <= before.SeqSum {
			t.Error("an unknown pair is found, or a sum went back")
		}
	}
	if before.Lookup("B01_USDT") == nil || len(before.Sorted()) != 3 {
		t.Error("an older root lost the pair")
	}
	if v := r.feed.Board().Load().PairsVersion; v != before.PairsVersion+1 {
		t.Errorf("version %d of the pairs, %d before", v, before.PairsVersion)
	}
}

func cutCode(code string) (base, quote string, ok bool) {
	for i := range code {
		if code[i] == '_' {
			return code[:i], code[i+1:], true
		}
	}
	return code, "", false
}

func TestFoldRefusesGapsAndUnknownPairs(t *testing.T) {
	good := newRig(Options{}, 1)
	good.trade(0, engine.Buy, 100, 5)
	for name, spoil := range map[string]func(e []engine.Event) []engine.Event{
		"gap":          func(e []engine.Event) []engine.Event { return slices.Delete(e, 2, 3) },
		"repeat":       func(e []engine.Event) []engine.Event { return append(e, e[len(e)-1]) },
		"unknown pair": func(e []engine.Event) []engine.Event { return e[1:] },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			NewFeed(Options{}).Fold(spoil(slices.Clone(good.events)))
		}()
	}
}

func TestOptionsAreBounded(t *testing.T) {
	if err := (Options{}).Validate(); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{
		{Retention: Retention{TradesMin: 100, TradesMax: 10}},
		{Retention: Retention{TradesMin: -1}},
		{Retention: Retention{TradesMax: 1 << 40}},
		{Retention: Retention{ClosedOrders: -1}},
		{Retention: Retention{ClosedOrders: 1 << 31}},
		{Retention: Retention{Fills: 1}},
		{Retention: Retention{Fills: 1 << 40}},
		{Retention: Retention{ClientIDs: -5}},
		{ChunkText: -1},
		{ChunkText: 1 << 60},
		{Retention: Retention{Candles: [Intervals]int{Minute: -1}}},
		{Retention: Retention{Candles: [Intervals]int{Year: 1 << 40}}},
	} {
		if o.Validate() == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestFoldAllocatesNothingInSteadyState(t *testing.T) {
	r := newRig(Options{Retention: Retention{ClosedOrders: 1000, Fills: 2000, TradesMin: 1, TradesMax: 4000}}, 1)
	const n = 40_000
	step := func() {
		ids := [4]engine.OrderID{}
		for i := range ids {
			ids[i] = r.place(0, 1, engine.Buy, 100+int64(i*3), 5)
		}
		r.place(0, 2, engine.Sell, 109, 2)
		for _, id := range ids {
			r.apply(engine.Command{Kind: engine.Cancel, Order: id, Account: 1})
		}
		r.now += 100_000_000
	}
	for range n / 9 { // warm up: rings full
		step()
	}
	r.publish()
	for range n / 9 {
		step()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r.feed.Fold(r.batch)
	runtime.ReadMemStats(&after)
	per := float64(after.Mallocs-before.Mallocs) / n
	t.Logf("%.5f allocations a command", per)
	if per > 0.001 {
		t.Fatalf("%.5f allocations a command in steady state", per)
	}
}
