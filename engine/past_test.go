package engine_test

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/differ"
)

func addWithPast(past []engine.PastCandle) engine.Command {
	inst := enginetest.Instrument()
	return engine.Command{
		Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &inst,
		TimeNs:  enginetest.PastEndSec * 1_000_000_000,
		Control: &engine.ControlRecord{Past: past},
	}
}

// A pair begins with its past: the event follows the pair's own, and the digest depends on it.
func TestAPairBeginsWithItsPast(t *testing.T) {
	digest := func(past []engine.PastCandle) uint64 {
		c := engine.NewCore(engine.Options{})
		c.KeepDigest()
		cmd := addWithPast(past)
		e := c.Apply(&cmd, nil)
		want := 2
		if len(past) == 0 {
			want = 1
		}
		if len(e) != want || e[0].Kind != engine.EventPair {
			t.Fatalf("%+v", e)
		}
		if want == 2 && (e[1].Kind != engine.EventPast || e[1].Seq != 2 || differ.Diff(past, e[1].Control.Past) != "") {
			t.Fatalf("%+v", e)
		}
		return c.Digest()
	}
	other := enginetest.Past()
	other[4].TakerVolume++
	seen := map[uint64]bool{}
	for _, past := range [][]engine.PastCandle{nil, enginetest.Past(), other} {
		seen[digest(past)] = true
	}
	if len(seen) != 3 || !seen[digest(enginetest.Past())] {
		t.Errorf("three pasts have the digests %v", seen)
	}
}

// A past that trades could not have made, that overlaps or that ends later than now refuses its pair.
func TestAWrongPastRefusesItsPair(t *testing.T) {
	wrong := map[string]func(c []engine.PastCandle) []engine.PastCandle{
		"length":     func(c []engine.PastCandle) []engine.PastCandle { c[0].Length = 90; return c },
		"no minutes": func(c []engine.PastCandle) []engine.PastCandle { c[12].Length = 30; return c },
		"start":      func(c []engine.PastCandle) []engine.PastCandle { c[0].Start++; return c },
		"negative":   func(c []engine.PastCandle) []engine.PastCandle { c[0].Start = -86_400; return c },
		"low":        func(c []engine.PastCandle) []engine.PastCandle { c[0].Low = c[0].Open + 1; return c },
		"zero":       func(c []engine.PastCandle) []engine.PastCandle { c[0].Low = 0; return c },
		"high":       func(c []engine.PastCandle) []engine.PastCandle { c[0].High = c[0].Average - 1; return c },
		"trades":     func(c []engine.PastCandle) []engine.PastCandle { c[0].Trades = 0; return c },
		"volume":     func(c []engine.PastCandle) []engine.PastCandle { c[0].Volume = c[0].Trades - 1; return c },
		"taken":      func(c []engine.PastCandle) []engine.PastCandle { c[0].TakerVolume = c[0].Volume + 1; return c },
		"order":      func(c []engine.PastCandle) []engine.PastCandle { c[0], c[1] = c[1], c[0]; return c },
		"overlap":    func(c []engine.PastCandle) []engine.PastCandle { return append(c[:1], c[0]) },
		"future": func(c []engine.PastCandle) []engine.PastCandle {
			last := c[len(c)-1]
			last.Start += 60
			return append(c, last)
		},
		"too many": func(c []engine.PastCandle) []engine.PastCandle {
			many := make([]engine.PastCandle, engine.MaxPast+1)
			for i := range many {
				many[i] = c[len(c)-1]
				many[i].Start = int64(i) * 60
			}
			return many
		},
	}
	for name, change := range wrong {
		c := engine.NewCore(engine.Options{})
		cmd := addWithPast(change(enginetest.Past()))
		e := c.Apply(&cmd, nil)
		if len(e) != 1 || e[0].Kind != engine.EventRejected || e[0].Reason != engine.InvalidPair {
			t.Errorf("%s: %+v", name, e)
		}
		if _, ok := c.PairByCode("BTC_USDT"); ok {
			t.Errorf("%s: the pair is there", name)
		}
	}
}

// The largest past fits into a message of the stream.
func TestTheLargestPastIsBounded(t *testing.T) {
	const largest = 1 << 41 // twice the highest reference of the simulated market
	past := make([]engine.PastCandle, engine.MaxPast)
	for i := range past {
		past[i] = engine.PastCandle{
			Start: int64(i) * 60, Length: 60, Open: largest, High: largest, Low: 1, Close: 1 + int64(i%2)*(largest-1),
			Average: largest / 2, Volume: 1 << 62, TakerVolume: 1 << 62, Trades: 100_000,
		}
	}
	cmd := addWithPast(past)
	if n := len(engine.AppendCommand(nil, &cmd)); n > 450<<10 {
		t.Errorf("a record of %d bytes", n)
	}
}
