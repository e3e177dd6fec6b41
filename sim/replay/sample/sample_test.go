package sample

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/sim"
)

var update = flag.Bool("update", false, "write the files")

// maxBytes bounds the files together.
const maxBytes = 300_000

// generator writes the events of a simulated market as rows of Tardis.
type generator struct {
	core         *engine.Core
	pair         engine.PairID
	market       *sim.Market
	book, trades bytes.Buffer
}

const (
	head    = "exchange,symbol,timestamp,local_timestamp,"
	rowHead = "tickhive-generated,BTCUSDT,"
)

// at returns the first columns of a row: the time in microseconds, of the exchange and of the receipt.
func at(ns int64) string {
	us := strconv.FormatInt(ns/1000, 10)
	return rowHead + us + "," + us + ","
}

var sides = [2]string{engine.Buy: "bid", engine.Sell: "ask"}

// row writes the new amount of a level.
func (g *generator) row(ns int64, snapshot bool, side engine.Side, price, amount int64) {
	fmt.Fprintf(&g.book, "%s%t,%s,%s,%s\n", at(ns), snapshot, sides[side], fixedPoint(price, 2), fixedPoint(amount, 5))
}

// fixedPoint returns units of 10^-digits as a decimal.
func fixedPoint(v int64, digits int) string {
	s := fmt.Sprintf("%0*d", digits+1, v)
	return s[:len(s)-digits] + "." + s[len(s)-digits:]
}

// step carries out the commands of the agents at a time and writes what they change.
func (g *generator) step(ns int64, write bool) {
	var events []engine.Event
	for _, c := range g.market.Act(ns, nil) {
		c.TimeNs, c.First = ns, true
		events = g.core.Apply(&c, events[:0])
		g.market.Observe(events)
		for i := range events {
			e := &events[i]
			switch {
			case !write:
			case e.Kind == engine.EventLevel:
				g.row(ns, false, e.Side, e.Price, e.Amount)
			case e.Kind == engine.EventTrade:
				fmt.Fprintf(&g.trades, "%s%d,%s,%s,%s\n", at(ns), e.Trade, e.Side, fixedPoint(e.Price, 2),
					fixedPoint(e.Amount, 5))
			}
		}
	}
}

// generate returns the text of the files: an hour after a minute in which the book fills.
func generate(t *testing.T) (book, trades []byte) {
	t.Helper()
	start := time.Date(2026, 1, 5, 9, 59, 0, 0, time.UTC).UnixNano()
	open, end := start+int64(time.Minute), start+int64(61*time.Minute)
	g := &generator{core: engine.NewCore(engine.Options{})}
	ins := &engine.Instrument{Code: Pair, Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 5}
	engine.AssetDigits{}.Give(ins)
	g.core.Apply(&engine.Command{Kind: engine.AddPair, Instrument: ins, TimeNs: start, First: true}, nil)
	g.pair, _ = g.core.PairByCode(Pair)
	g.market = sim.New(sim.Options{
		Core: g.core, Seed: 1, StartNs: start, Config: sim.Config{Intensity: 1000},
		Pairs: []sim.Pair{{Code: Pair, Reference: 6_500_000, Weight: 39}},
	})
	g.book.WriteString(head + "is_snapshot,side,price,amount\n")
	g.trades.WriteString(head + "id,side,price,amount\n")
	for begun := false; g.market.NextNs() < end; {
		ns := g.market.NextNs()
		if begun = begun || ns >= open; begun && g.book.Len() < 100 {
			for side := range sides {
				for _, l := range g.core.AppendDepth(nil, g.pair, engine.Side(side), 1000) {
					g.row(open, true, engine.Side(side), l.Price, l.Shown)
				}
			}
		}
		g.step(ns, begun)
	}
	return g.book.Bytes(), g.trades.Bytes()
}

// The files are those that the generator makes, and small enough to be part of the program.
func TestSample(t *testing.T) {
	t.Parallel()
	newBook, newTrades := generate(t)
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{"book.csv.zst": newBook, "trades.csv.zst": newTrades} {
		if *update {
			if err := os.WriteFile(file, packer.EncodeAll(text, nil), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		packed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		unpacker, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		have, err := unpacker.DecodeAll(packed, nil)
		if err != nil || !bytes.Equal(have, text) {
			t.Errorf("%s: not what the generator makes (%v): go test ./sim/replay/sample -update", file, err)
		}
		unpacker.Close()
		t.Logf("%s: %d bytes, %d rows", file, len(packed), bytes.Count(text, []byte{'\n'}))
	}
	if n := len(book) + len(trades); !*update && n > maxBytes {
		t.Errorf("%d bytes, at most %d", n, maxBytes)
	}
}
