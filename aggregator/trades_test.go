package aggregator_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/tickhive/tickhive/aggregator"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/marketdata"
)

// traded returns a view of a pair with n trades, half of them at the same time, sides mixed.
func traded(n int, keep marketdata.Options) *marketdata.View {
	m := markettest.New(keep)
	m.AddPair(markettest.Instrument("BTC_USDT", 2, 8))
	for i := range n {
		side := engine.Side(i * i % 7 % 2)
		m.Limit(0, side.Opposite(), 100, 1)
		m.Limit(0, side, 100, 1)
		if i%2 == 0 {
			m.Pass(700_000)
		}
	}
	m.Publish()
	return m.View(0)
}

// The selection holds the newest `limit` trades that pass, and the text in pieces equals the
// whole text, however it is read.
func TestSelectionAndPieces(t *testing.T) {
	views := []*marketdata.View{
		traded(0, marketdata.Options{}), traded(1, marketdata.Options{}),
		traded(3000, marketdata.Options{}),
		traded(3000, marketdata.Options{Retention: marketdata.Retention{TradesMin: 10, TradesMax: 1500}}),
	}
	rapid.Check(t, func(t *rapid.T) {
		v := views[rapid.IntRange(0, len(views)-1).Draw(t, "view")]
		const day = int64(1_767_225_600_000)
		f := aggregator.Filter{
			StartMs: rapid.OneOf(rapid.Just(int64(-1<<63)), rapid.Int64(), rapid.Int64Range(day-5, day+1100)).
				Draw(t, "start"),
			EndMs: rapid.OneOf(rapid.Just(int64(1<<63-1)), rapid.Int64(), rapid.Int64Range(day-5, day+1100)).
				Draw(t, "end"),
			Limit: rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 3100), rapid.Just(int64(1<<63-1))).
				Draw(t, "limit"),
			Buy: true, Sell: true,
		}
		switch rapid.IntRange(0, 2).Draw(t, "type") {
		case 1:
			f.Sell = false
		case 2:
			f.Buy = false
		}
		want := map[int64]bool{}
		reached := true
		for id := v.Trades.Last(); id >= v.Trades.First() && id > 0; id-- {
			tr := v.Trades.At(id)
			ms := tr.TimeNs / 1_000_000
			if ms < f.StartMs || ms > f.EndMs || tr.TakerSide == engine.Buy && !f.Buy ||
				tr.TakerSide == engine.Sell && !f.Sell {
				continue
			}
			if want[int64(id)] = true; int64(len(want)) == f.Limit {
				reached = false
				break
			}
		}
		sel := aggregator.Select(&v.Trades, f)
		whole := aggregator.AppendTrades(nil, v, sel)
		var got map[string][]struct {
			TradeID int64 `json:"trade_id"`
		}
		if err := json.Unmarshal(whole, &got); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, rows := range got {
			for _, r := range rows {
				if n++; !want[r.TradeID] {
					t.Fatalf("trade %d is too much", r.TradeID)
				}
			}
		}
		if n != len(want) {
			t.Fatalf("%d trades, want %d", n, len(want))
		}
		if !reached && sel.Oldest {
			t.Fatal("a full limit does not reach the oldest trade")
		}
		pieces, err := io.ReadAll(iotest.HalfReader(aggregator.NewTradesReader(v, sel, aggregator.Form{})))
		if err != nil || string(pieces) != string(whole) {
			t.Fatalf("in pieces: %v, %d bytes of %d", err, len(pieces), len(whole))
		}
		for name, list := range map[string]func(*marketdata.View, aggregator.Selection, aggregator.Form,
		) *aggregator.TradesReader{"sides": aggregator.NewTradesReader, "tape": aggregator.NewTapeReader} {
			for _, quote := range []func(dst, text []byte) []byte{nil, upper} {
				plain, err := io.ReadAll(list(v, sel, aggregator.Form{Quote: quote}))
				if err != nil {
					t.Fatal(err)
				}
				for range 2 { // the second time from the cache of the chunks
					packed := list(v, sel, aggregator.Form{Quote: quote, Gzip: true})
					z, err := gzip.NewReader(iotest.HalfReader(packed))
					if err != nil {
						t.Fatal(err)
					}
					if text, err := io.ReadAll(z); err != nil || string(text) != string(plain) {
						t.Fatalf("%s in gzip: %v, %d bytes of %d", name, err, len(text), len(plain))
					}
				}
			}
		}
	})
}

// upper replaces the function that quotes decimals.
func upper(dst, text []byte) []byte { return append(dst, bytes.ToUpper(text)...) }

// A closed chunk of trades is rendered and compressed once: a second answer takes its bytes from the view.
func TestClosedChunksAreCompressedOnce(t *testing.T) {
	v := traded(5000, marketdata.Options{})
	sel := aggregator.Select(&v.Trades, aggregator.Filter{StartMs: -1 << 63, EndMs: 1<<63 - 1, Buy: true, Sell: true})
	quoted := 0
	quote := func(dst, text []byte) []byte {
		quoted += len(text)
		return append(dst, text...)
	}
	form := aggregator.Form{Quote: quote, Gzip: true}
	var first, second []byte
	var bytesQuoted [2]int
	for i, to := range []*[]byte{&first, &second} {
		quoted = 0
		var err error
		if *to, err = io.ReadAll(aggregator.NewTradesReader(v, sel, form)); err != nil {
			t.Fatal(err)
		}
		bytesQuoted[i] = quoted
	}
	if !bytes.Equal(first, second) {
		t.Error("two answers about one view differ")
	}
	if bytesQuoted[1] == 0 || bytesQuoted[1]*2 > bytesQuoted[0] {
		t.Errorf("the second answer rendered %d bytes, the first one %d", bytesQuoted[1], bytesQuoted[0])
	}
}
