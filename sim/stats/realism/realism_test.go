package realism

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/sim"
	"github.com/tickhive/tickhive/sim/replay/format"
)

func TestATapeMeasuresWhatItSees(t *testing.T) {
	t.Parallel()
	p := newTape(windowLong)
	for side := range p.levels {
		for i := range int64(levelsFar) {
			price := 10_000 + 50*(i+1)*int64(2*side-1)
			p.levels[side] = append(p.levels[side], format.Level{Price: price, Amount: 40})
		}
	}
	p.complete = true
	p.setTouch()
	// A taker order each second: runs of four of one side. Each has two trades and moves nothing.
	for s := int64(1); s <= 1300; s++ {
		p.advance(s * secondNs)
		taker := engine.Side(s / 4 % 2)
		p.trade(s*secondNs, taker, 10_000+s%2, 6)
		p.trade(s*secondNs, taker, 10_000+s%2, 4)
		p.place(10)
		p.place(30)
		p.cancel()
	}
	out := p.finish()
	for key, want := range map[string]float64{
		"spread": 2, "gap": 1, "depth_near": 4, "depth_far": 1, "levels": 20, "order_size": 1.5, "trade_size": 1,
		"cancels": 1, "sign_1": 0.5, "sign_10": 0,
	} {
		if len(out[key]) == 0 || math.Abs(out[key][0]-want) > 0.03 {
			t.Errorf("%s: %v, want %v", key, out[key], want)
		}
	}
	if len(out["impact_1"]) != 0 || len(out["kurtosis_60s"]) != 0 {
		t.Errorf("a mid that never moves has an impact %v; 20 minutes have tails %v", out["impact_1"],
			out["kurtosis_60s"])
	}
}

func TestImpactIsTheCorrelationOfSignAndMove(t *testing.T) {
	t.Parallel()
	p := newTape(windowLong)
	p.bid, p.ask = 1000, 1002
	for s := int64(1); s <= 2*windowOrders; s++ {
		taker := engine.Side(s / 50 % 2)
		p.trade(s, taker, 1000, 1)
		p.bid += 1 - 2*int64(taker)
		p.ask = p.bid + 2
	}
	if v := p.finish()["impact_1"]; len(v) != 1 || v[0] < 0.99 {
		t.Errorf("every order moves the mid by a tick: impact %v, want 1", v)
	}
}

func TestEveryRecordingHasTheSameWeight(t *testing.T) {
	t.Parallel()
	long, brief := Samples{}, Samples{"spread": {50, 50, 50}, "gap": {1, 1}}
	for i := range 100 {
		long.add("spread", float64(i%10))
		long.add("kurtosis_60s", 3)
	}
	long.add("spread", math.NaN())
	got := Ranges([]Samples{long, brief})
	if len(got) != 2 || got[0].Windows != 103 || got[0].Median != 9 || got[0].P90 != 50 ||
		got[1].Key != "kurtosis_60s" {
		t.Errorf("%+v", got)
	}
	if few := Ranges([]Samples{{"kurtosis_60s": make([]float64, windowsLeast-1)}}); len(few) != 0 {
		t.Errorf("a horizon with too few windows is compared: %+v", few)
	}
	r := Compare(map[string]Samples{"A_B": {"spread": {8, 9, 10}}, "C_D": {}}, got)
	if r.Pairs[0].Inside != 1 || !r.Pairs[0].Rows[0].Inside || r.Pairs[1].Inside != 0 || len(r.Pairs[1].Rows) != 2 {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	if err := r.Print(&text); err != nil || !strings.Contains(text.String(), "A_B: 1 of 2 inside, 1 of 2 topics\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// TestRecordingsOfSeveralFormats reads a small recording of trades and one of LOBSTER's.
func TestRecordingsOfSeveralFormats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, line func(i int) string) string {
		var text strings.Builder
		for i := range 700 {
			text.WriteString(line(i))
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	trades := write("trades.csv", func(i int) string {
		return fmt.Sprintf("%d,%d.5,2,%s\n", 1_700_000_000+20*i, 100+i%3, []string{"buy", "sell"}[i/2%2])
	})
	messages := write("XY_2012-06-21_message_1.csv", func(i int) string {
		kind := []int{1, 1, 3, 4}[i%4]
		return fmt.Sprintf("%d.5,%d,%d,10,%d,1\n", 34200+20*i, kind, 1000+i, 99900)
	})
	books := write("XY_2012-06-21_orderbook_1.csv", func(int) string { return "100100,50,99900,70\n" })
	got, err := Record([]string{trades, messages, books})
	if err != nil || len(got) != 2 {
		t.Fatalf("%d recordings, %v", len(got), err)
	}
	if v := got[0]["sign_1"]; len(v) != 2 || math.Abs(v[0]) > 0.05 {
		t.Errorf("signs in pairs: %v, want 0", v)
	}
	if v := got[1]["spread"]; len(v) != 23 || v[0] != 2 {
		t.Errorf("spread %v, want 2 ticks of 0.01", v)
	}
	if _, err := Record([]string{filepath.Join(dir, "none")}); err == nil {
		t.Error("a file that is not there has statistics")
	}
}

// A topic is inside when all its rows are, and one without a recorded row does not count.
func TestATopicIsInsideWithAllItsRows(t *testing.T) {
	r := Compare(map[string]Samples{"A_B": {"spread": {1}, "gap": {5}, "depth_near": {50}}}, []Range{
		{Key: "spread", P10: 1, P90: 2},
		{Key: "gap", P10: 1, P90: 9},
		{Key: "depth_near", P10: 1, P90: 9},
		{Key: "cancels", P10: 1, P90: 9},
	})
	if p := r.Pairs[0]; p.Inside != 2 || p.Topics != 3 || p.TopicsInside != 1 {
		t.Errorf("%+v", p)
	}
	var b bytes.Buffer
	if err := r.Print(&b); err != nil || !strings.Contains(b.String(), "A_B: 2 of 4 inside, 1 of 3 topics\n") {
		t.Errorf("%v %s", err, b.String())
	}
	for i, st := range statistics {
		last := statistics[max(i-1, 0)].Topic
		if st.Topic < 1 || st.Topic > topics || st.Topic < last || st.Topic > last+1 {
			t.Errorf("%s: topic %d behind %d", st.Key, st.Topic, last)
		}
	}
}

func TestASimulationHasEveryStatistic(t *testing.T) {
	t.Parallel()
	ins := &engine.Instrument{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 8}
	run := func(seed uint64) Samples {
		out, err := Simulate(context.Background(), sim.Options{
			Seed: seed, StartNs: int64(1_767_571_200) * secondNs,
			Pairs: []sim.Pair{{Code: ins.Code, Reference: 6_500_000, Weight: 100}},
		}, []*engine.Instrument{ins}, 2*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return out[ins.Code]
	}
	a, b, c := run(1), run(1), run(2)
	for _, st := range statistics {
		if len(a[st.Key]) == 0 {
			t.Errorf("%s has no value", st.Key)
		}
	}
	if fmt.Sprint(a) != fmt.Sprint(b) || fmt.Sprint(a) == fmt.Sprint(c) {
		t.Error("one seed gives one result, another seed another one")
	}
}

// TestTheMajorPairsLookLikeRecordedMarkets holds the goal: at least 9 of 11 topics inside, with all their rows.
func TestTheMajorPairsLookLikeRecordedMarkets(t *testing.T) {
	t.Parallel()
	pairs := []sim.Pair{
		{Code: "BTC_USDT", Reference: 6_500_000, Weight: 100},
		{Code: "ETH_USDT", Reference: 340_000, Weight: 70},
		{Code: "SOL_USDT", Reference: 150_000, Weight: 40},
	}
	digits := [][2]int{{2, 8}, {2, 8}, {3, 6}}
	var instruments []*engine.Instrument
	for i, p := range pairs {
		base, quote, _ := strings.Cut(p.Code, "_")
		instruments = append(instruments, &engine.Instrument{
			Code: p.Code, Base: base, Quote: quote, DigitsPrice: digits[i][0], DigitsAmount: digits[i][1],
		})
	}
	out, err := Simulate(context.Background(), sim.Options{
		Seed: 3, StartNs: int64(1_767_571_200) * secondNs, Pairs: pairs,
	}, instruments, 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Compare(out, Builtin()).Pairs {
		if p.Inside < 14 || len(p.Rows) != len(statistics) || p.TopicsInside < 9 || p.Topics != topics {
			t.Errorf("%s: %d of %d inside, %d of %d topics", p.Pair, p.Inside, len(p.Rows), p.TopicsInside, p.Topics)
		}
		for _, row := range p.Rows {
			t.Logf("%s %s: %.3g, recorded %.3g to %.3g, %t", p.Pair, row.Key, row.Simulated.Median, row.Recorded.P10,
				row.Recorded.P90, row.Inside)
		}
	}
}
