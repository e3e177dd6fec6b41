package replay

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim/replay/format"
)

func TestABookAgreesUpToASecondLateOrEarly(t *testing.T) {
	t.Parallel()
	const ms = int64(1e6)
	for _, c := range []struct {
		name   string
		states []bookState // ours, in order of time
		want   bookState   // recorded
		good   int
	}{
		{"at once", []bookState{{0, 1}, {100 * ms, 2}}, bookState{100 * ms, 2}, 1},
		{
			"ours was there before and has gone",
			[]bookState{{0, 2}, {100 * ms, 1}, {900 * ms, 3}},
			bookState{900 * ms, 2},
			1,
		},
		{"ours comes later", []bookState{{0, 1}, {100 * ms, 3}, {1100 * ms, 2}}, bookState{100 * ms, 2}, 1},
		{"ours comes too late", []bookState{{0, 1}, {100 * ms, 3}, {1101 * ms, 2}}, bookState{100 * ms, 2}, 0},
		{"ours ended too early", []bookState{{0, 2}, {100 * ms, 1}, {1101 * ms, 3}}, bookState{1101 * ms, 2}, 0},
		{"an old state that is still there", []bookState{{0, 2}, {9000 * ms, 2}}, bookState{9000 * ms, 2}, 1},
		{"never", []bookState{{0, 1}, {100 * ms, 1}, {5000 * ms, 1}}, bookState{100 * ms, 2}, 0},
	} {
		var l lateBooks
		good, missed := 0, 0
		for _, s := range c.states {
			if s.ns == c.want.ns {
				l.waiting = append(l.waiting, recordedBook{bookState: c.want})
			}
			n, late := l.take(s)
			good += n
			missed += len(late)
		}
		if good != c.good || good+missed+len(l.waiting) != 1 {
			t.Errorf("%s: %d agree, want %d; %d were missed, %d wait", c.name, good, c.good, missed, len(l.waiting))
		}
	}
}

func TestHashesOfBooksDiffer(t *testing.T) {
	t.Parallel()
	seen := map[uint64]bool{}
	for _, book := range [][2][]format.Level{
		{},
		{{{Price: 1, Amount: 2}}},
		{{{Price: 2, Amount: 1}}},
		{nil, {{Price: 1, Amount: 2}}},
		{{{Price: 1, Amount: 2}}, {{Price: 1, Amount: 2}}},
		{{{Price: 1, Amount: 2}, {Price: 1, Amount: 2}}},
	} {
		if h := hashLevels(book); seen[h] {
			t.Errorf("%v has the hash of another book", book)
		} else {
			seen[h] = true
		}
	}
	ours := [2][]marketdata.Level{{{Price: 1, Amount: 2}}, {{Price: 3, Amount: 4}}}
	theirs := [2][]format.Level{{{Price: 1, Amount: 2}}, {{Price: 3, Amount: 4}}}
	if hashLevels(ours) != hashLevels(theirs) {
		t.Error("the same book has two hashes")
	}
}

func TestTradesAreFoundInOrderAmongOthers(t *testing.T) {
	t.Parallel()
	trade := func(ms, price int64) marketdata.Trade {
		return marketdata.Trade{TimeNs: ms*1e6 + 7, Price: price, Amount: 1, TakerSide: engine.Sell}
	}
	a, b, c := trade(1, 10), trade(1, 11), trade(2, 10)
	for _, x := range []struct {
		name      string
		want, got []marketdata.Trade
		n         int
	}{
		{"all", []marketdata.Trade{a, b, c}, []marketdata.Trade{a, b, c}, 3},
		{"another account's between", []marketdata.Trade{a, c}, []marketdata.Trade{a, b, c}, 2},
		{"one is missing", []marketdata.Trade{a, b, c}, []marketdata.Trade{a, c}, 2},
		{"turned round", []marketdata.Trade{a, b}, []marketdata.Trade{b, a}, 1},
		{"each counts once", []marketdata.Trade{a, a}, []marketdata.Trade{a}, 1},
		{"another time", []marketdata.Trade{a}, []marketdata.Trade{c}, 0},
		{"none", nil, []marketdata.Trade{a}, 0},
	} {
		if n := len(x.want) - len(missing(x.want, x.got)); n != x.n {
			t.Errorf("%s: %d in common, want %d", x.name, n, x.n)
		}
	}
}

func TestRecentTouchesAreBounded(t *testing.T) {
	t.Parallel()
	var r recent
	for id := range uint64(maxRecent + 2) {
		r.add(id, seen{})
	}
	if _, ok := r.by[1]; ok || len(r.by) != maxRecent || len(r.ids) != maxRecent {
		t.Errorf("%d touches by %d ids are kept, want %d", len(r.by), len(r.ids), maxRecent)
	}
	if _, ok := r.by[maxRecent+1]; !ok {
		t.Error("the newest touch was dropped")
	}
}

// candlesOf are public candles of one price each; the market publishes none without a trade.
type candlesOf struct {
	Public
	starts  []int64
	queries int
}

func (p *candlesOf) Candles(_ marketdata.Interval, from, to int64) (out []marketdata.Candle, _ error) {
	p.queries++
	for _, start := range p.starts {
		if start >= from && start <= to {
			out = append(out, marketdata.Candle{
				Start: start, Open: 5, High: 5, Low: 5, Close: 5,
				Volume: fixed.FromU64(1),
			})
		}
	}
	return out, nil
}

// Answers are compared in parts: a candle without trades must be flat at a close that the part
// before it may have had.
func TestCandlesAreComparedInParts(t *testing.T) {
	t.Parallel()
	pub := &candlesOf{}
	s := format.NewSurvey()
	s.Shape, s.Sets = format.Answers, []format.Set{{LengthNs: 60 * secondNs}}
	if _, _, err := s.Choose(0, 0, true); err != nil {
		t.Fatal(err)
	}
	c := newChecker(s, pub, 0)
	c.firstNs = secondNs
	minutes := 2*candlesPerQuery + 1
	for i := range minutes {
		r := format.Record{Kind: format.Candle, NS: int64(60*(i+1)) * secondNs}
		r.Bar = format.Prices{Open: 5, High: 5, Low: 5, Close: 5}
		if i%2 == 0 {
			r.Bar.Volume, r.Bar.Trades = 1, 1
			pub.starts = append(pub.starts, r.NS/secondNs)
		}
		if i == candlesPerQuery+1 { // a minute without trades at another price than the last
			r.Bar.High = 6
		}
		if err := c.expect(&r, r.NS); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.flushCandles(); err != nil {
		t.Fatal(err)
	}
	want := []Check{
		{Kind: "minute candles", Good: candlesPerQuery + 1, All: candlesPerQuery + 1},
		{Kind: "empty minutes", Good: candlesPerQuery - 1, All: candlesPerQuery},
	}
	if got := c.results(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] || pub.queries != 3 {
		t.Errorf("%+v in %d queries, want %+v in 3", got, pub.queries, want)
	}
}

// Bars are counted as not compared when there is a comparison.
func TestAReplayWithoutAComparisonSaysNothingOfOne(t *testing.T) {
	t.Parallel()
	path := file(t, "bars.csv", "1700000041,10,12,9,11,1\n1700000055,11,11,11,11,0.5\n")
	for _, check := range []bool{false, true} {
		report, _ := run(t, Options{Format: "trades", Files: []string{path}, Check: check})
		if said := strings.Contains(strings.Join(report.Notes(), "\n"), "compared"); said != check {
			t.Errorf("check %v: %q", check, report.Notes())
		}
	}
}
