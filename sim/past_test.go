package sim

import (
	"reflect"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
)

// The past has no hole and no jump, ends at the price at which the pair opens, and every candle is one that trades
// could have made. Two markets of one seed have the same.
func TestThePastLeadsToTheOpening(t *testing.T) {
	t.Parallel()
	for name, pairs := range map[string]int{
		"fine": pastFinePairs, "coarse": pastFinePairs + 1, "daily": pastCoarsePairs + 1,
	} {
		t.Run(name, func(t *testing.T) {
			m := manyPairs(pairs, testStart+90_500_000_000, Ordinary)
			past := m.Past(MaxPast, instrumentOf)
			if len(past) != pairs {
				t.Fatalf("%d pairs have a past, of %d", len(past), pairs)
			}
			for code, candles := range past {
				checkPast(t, code, candles, m)
			}
			again := manyPairs(pairs, testStart+90_500_000_000, Ordinary).Past(MaxPast, instrumentOf)
			if !reflect.DeepEqual(past, again) {
				t.Error("the same seed gives another past")
			}
		})
	}
}

func checkPast(t *testing.T, code string, candles []engine.PastCandle, m *Market) {
	t.Helper()
	first, last := candles[0], candles[len(candles)-1]
	if want := (testStart/secondNs + 90 - int64(MaxPast.Seconds())); first.Start != want-want%daySec {
		t.Errorf("%s: the past begins at %d", code, first.Start)
	}
	if end := last.Start + last.Length; end < testStart/secondNs+90 || last.Start > testStart/secondNs+90 {
		t.Errorf("%s: the last candle is from %d to %d, the market opens at %d", code, last.Start, end,
			testStart/secondNs+90)
	}
	if fair := m.pair(code).fair(&m.world) >> 8; last.Close != fair {
		t.Errorf("%s: the past ends at %d, the pair opens at %d", code, last.Close, fair)
	}
	for i, c := range candles {
		if c.Low < 1 || c.Low > min(c.Open, c.Close, c.Average) || c.High < max(c.Open, c.Close, c.Average) ||
			c.Trades < 1 || c.Volume < c.Trades || c.TakerVolume < 0 || c.TakerVolume > c.Volume ||
			c.Start%c.Length != 0 {
			t.Fatalf("%s: candle %d is %+v", code, i, c)
		}
		if i == 0 {
			continue
		}
		if b := candles[i-1]; b.Start+b.Length != c.Start || b.Close != c.Open || b.Length < c.Length {
			t.Fatalf("%s: candle %d is %+v behind %+v", code, i, c, b)
		}
	}
}

// A market that is halted for a part of each hour has no candle there, and its prices move on.
func TestThePastFollowsTheScenario(t *testing.T) {
	t.Parallel()
	halted := 0
	for _, c := range manyPairs(1, testStart, Halt).Past(2*24*time.Hour, instrumentOf)["A_Z"] {
		if at := c.Start % 3600; c.Length == 60 && at >= 1800 && at < 2100 {
			t.Fatalf("a candle at %d, while the market was halted", c.Start)
		}
		halted++
	}
	if want := 2 * 24 * 60 * 55 / 60; halted < want/2 {
		t.Errorf("%d candles", halted)
	}
}

// The candles of the past have about as many trades, lots and movement as those that the agents' trades make.
func TestThePastResemblesWhatFollows(t *testing.T) {
	t.Parallel()
	const hours = 6
	pairs := testPairs()
	b := newBench(t, 12, pairs)
	past := b.market.Past(MaxPast, instrument)
	if err := b.loop.AdvanceQuietly(testStart + hours*hourNs); err != nil {
		t.Fatal(err)
	}
	root := b.Feed.Board().Load()
	var trades, lots [2]int64 // per mille of the past, by whether the pair is a major one
	var count [2]int64
	for k, p := range pairs {
		series := root.View(b.ids[k]).Candles(marketdata.Hour)
		real := series.Fold(0, 1<<40)
		var made, volume, seconds int64
		for _, c := range past[p.Code] {
			made, volume, seconds = made+c.Trades, volume+c.Volume, seconds+c.Length
		}
		kind := 0
		if p.Weight >= majorWeight {
			kind = 1
		}
		count[kind]++
		trades[kind] += real.Trades * 1000 / (made * hours * 3600 / seconds)
		lots[kind] += int64(real.Volume.Lo) * 1000 / (volume / seconds * hours * 3600)
	}
	for kind, n := range count {
		if at := trades[kind] / n; at < 600 || at > 1600 {
			t.Errorf("kind %d has %d per mille of the trades of its past", kind, at)
		}
		if at := lots[kind] / n; at < 300 || at > 3000 {
			t.Errorf("kind %d has %d per mille of the lots of its past", kind, at)
		}
		t.Logf("kind %d: %d per mille of the trades, %d of the lots", kind, trades[kind]/n, lots[kind]/n)
	}
}

// manyPairs returns a market with pairs A_Z, B_Z and so on.
func manyPairs(n int, startNs int64, s Scenario) *Market {
	o := Options{Core: engine.NewCore(engine.Options{}), Seed: 7, StartNs: startNs, Config: Config{Scenario: s}}
	for i := range n {
		code := string(rune('A' + i%25))
		for k := i / 25; k > 0; k /= 25 {
			code += string(rune('A' + k%25))
		}
		o.Pairs = append(o.Pairs, Pair{code + "_Z", 65_000 + int64(i), 1 + i%100})
	}
	return New(o)
}

func instrumentOf(code string) *engine.Instrument {
	return &engine.Instrument{Code: code, DigitsPrice: 2, DigitsAmount: 3}
}

func BenchmarkPast(b *testing.B) {
	m := newBench(b, 12, testPairs()).market
	for b.Loop() {
		m.Past(MaxPast, instrument)
	}
}
