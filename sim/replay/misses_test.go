package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// A comparison that fails names its place in the file, and what we and the file have.
func TestAMissNamesItsPlaceOursAndTheirs(t *testing.T) {
	t.Parallel()
	trades := file(t, "a.csv", "time,price,amount,side\n1699999990,9,1,buy\n"+
		"1700000040,10,0.5,buy\n1700000170,11,1,sell\n")
	bars := func(third string) string {
		return file(t, "minute.csv", "time,open,high,low,close,volume\n1700000040,10,10,10,10,0.5\n"+
			"1700000100,"+third+"\n1700000160,11,11,11,11,1\n")
	}
	report, _ := run(t, Options{
		Format: "trades", Check: true, Files: []string{trades, bars("10,10,10,10,0")},
	})
	if got := strings.Join(report.Lines(), "\n"); got != "check trades 3 of 3\ncheck minute candles 3 of 3" ||
		!report.Agrees(100_000) {
		t.Errorf("a minute without trades: %s", got)
	}
	report, _ = run(t, Options{
		Format: "trades", Check: true, Files: []string{trades, bars("12,12,12,12,2")},
	})
	want := "check trades 3 of 3\ncheck minute candles 2 of 3\n" +
		"miss minute candles minute.csv:3: ours no candle after a close of 10.0; theirs 12.0 12.0 12.0 12.0 " +
		"volume 2.0 at 2023-11-14T22:15:00.000Z"
	if got := strings.Join(report.Lines(), "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	report, _ = run(t, Options{
		Format: "trades", Check: true, Files: []string{
			file(t, "a.csv", "time,price,amount,side\n1699999990,9,1.5,buy\n1700000170,11,1.5,sell\n"),
			file(t, "minute.csv", "time,open,high,low,close,volume\n1699999980,9,12,9,9,1.5\n1700000040,8,8,8,8,0\n"+
				"1700000160,11,11,11,11,1.5\n"),
		},
	})
	want = "check trades 2 of 2\ncheck minute candles 1 of 2\n" +
		"miss minute candles minute.csv:3: ours no candle after a close of 9.0; theirs 8.0 8.0 8.0 8.0 volume 0.0 at " +
		"2023-11-14T22:14:00.000Z"
	if got := strings.Join(report.Lines(), "\n"); got != want {
		t.Errorf("a flat minute behind the first: %s\nwant\n%s", got, want)
	}
	want = "1 recorded candles may have trades outside the files: not compared"
	if notes := report.Notes(); len(notes) != 1 || notes[0] != want {
		t.Errorf("notes %q, want %q", notes, want)
	}
	report.Checks, report.Misses = []Check{{Kind: "trades", Good: 2, All: 3}}, nil
	if report.Agrees(66_667) || !report.Agrees(66_666) || (&Report{Checks: []Check{{Kind: "trades"}}}).Agrees(1) {
		t.Error("2 of 3 are 66.7 %, and nothing compared is no agreement")
	}
	given := Report{Checks: []Check{
		{Kind: "sides given by the file", All: 9, Given: true}, {Kind: "x", Good: 1, All: 1},
	}}
	if !given.Agrees(100_000) {
		t.Error("what the file gave counts as a comparison")
	}
}

// Bars alone are compared with the candles of their times. Where they are no candle, their trades are.
func TestBarsAreComparedWithCandles(t *testing.T) {
	t.Parallel()
	minutes := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("%d,10,12,9,11,%d.5\n", 1_700_000_040+60*i, 1+i%7)
		}
		return text + fmt.Sprintf("%d,11,11,11,11,0\n%d,11,11,11,11,2\n", 1_700_000_040+60*n, 1_700_000_100+60*n)
	}
	const asTrades = "2 bars that are no candle by their length or their time: not compared themselves, but the " +
		"trades that were made of them"
	for name, c := range map[string]struct{ text, want, note string }{
		"minutes":      {minutes(3), "check minute candles 5 of 5", ""},
		"many":         {minutes(2*candlesPerQuery + 1), "check minute candles 1003 of 1003", ""},
		"half minutes": {"1700000040,10,12,9,11,1\n1700000070,11,11,11,11,2\n", "check trades 5 of 5", asTrades},
		"beside trades": {
			"1700000040,10,12,9,11,1\n1700000100,11,11,11,11,2\n1700000160,12,12,12,12,3\n",
			"check trades 2 of 2\ncheck minute candles 3 of 3", "1 bars of a time that no finer file covers: fed",
		},
	} {
		o := Options{Format: "trades", Check: true, Files: []string{file(t, "a.csv", c.text)}}
		if name == "beside trades" {
			trades := "time,price,amount,side\n1700000110.5,11,2,buy\n1700000161,12,3,buy\n"
			o.Files = append(o.Files, file(t, "b.csv", trades))
		}
		report, _ := run(t, o)
		notes := strings.Join(report.Notes(), "\n")
		got := strings.Join(report.Lines(), "\n")
		if got != c.want || !report.Agrees(Whole) || !strings.Contains(notes, c.note) {
			t.Errorf("%s: %s\nnotes %s", name, got, notes)
		}
	}
	// A candle that another account changed is a miss of the bar.
	c := newChecker(&format.Survey{Sets: []format.Set{{LengthNs: 60 * secondNs, Fed: true}}}, candleOf{}, 0)
	bar := &format.Record{Kind: format.Bar, NS: 60 * secondNs}
	bar.Bar = format.Prices{Open: 9, High: 9, Low: 9, Close: 9, Volume: 1, Trades: -1}
	if err := errors.Join(c.after(bar, nil), c.flushCandles()); err != nil {
		t.Fatal(err)
	}
	if got := c.results(); len(got) != 1 || got[0].Kind != "minute candles" || got[0].Good != 0 || got[0].All != 1 {
		t.Errorf("another close: %+v", got)
	}
}

// candleOf is a market with one candle.
type candleOf struct{ Public }

func (candleOf) Candles(marketdata.Interval, int64, int64) ([]marketdata.Candle, error) {
	return []marketdata.Candle{{Start: 60, Open: 9, High: 9, Low: 9, Close: 8, Volume: fixed.FromU64(1)}}, nil
}

// A wrong row of a book file names the level that differs, and at most maxMisses rows.
func TestAMissOfABookNamesItsLevel(t *testing.T) {
	t.Parallel()
	message := "34200.1,1,7,10,1000000,1\n"
	row := "1000500,7,1000000,10\n"
	for i := range 2 * maxMisses {
		message += "34200.2,1," + string(rune('1'+i%9)) + "0" + string(rune('0'+i/9)) + ",10,1000100,-1\n"
		row += "1000500,8,1000000,10\n"
	}
	report, _ := run(t, Options{
		Format: "lobster", Check: true, Files: []string{file(t, "m", message), file(t, "b", row)},
	})
	n := 0
	for _, m := range report.Misses {
		if m.Kind != "book rows" {
			continue
		}
		if n++; n == 1 && (m.Line != 2 || m.Theirs != "ask 1: 8.0 at 100.0500" || m.Ours == m.Theirs) {
			t.Errorf("%+v", m)
		}
	}
	if n != maxMisses {
		t.Errorf("%d misses, want %d", n, maxMisses)
	}
}

// A log names the line of a trade that has no counterpart, and not of the trades and books that have one.
func TestAMissOfALogNamesItsLine(t *testing.T) {
	t.Parallel()
	log := `1430438400000 order_book {"bids":[["99","1"]],"asks":[["101","1"]]}
1430438400100 order_created {"price":"101.00","amount":"0.50","id":7,"order_type":0,"datetime":"1430438400"}
1430438400200 trade {"price":101,"amount":0.5,"id":1}
1430438400300 trade {"price":101.5,"amount":0.25,"id":2}
1430438400400 order_created {"price":"98","amount":"1","id":8,"order_type":0,"datetime":"1430438400"}
1430438400500 order_book {"bids":[["99","1"],["98","3"]],"asks":[["101","0.5"]]}
1430438403000 order_created {"price":"97.05","amount":"1.05","id":9,"order_type":0,"datetime":"1430438403"}
`
	report, _ := run(t, Options{Format: "bitstamp", Check: true, Files: []string{file(t, "log", log)}})
	want := "check book rows 1 of 1\ncheck trades 1 of 2\ncheck sizes given by the file 1 of 3\n" +
		"miss trades log:4: ours no such trade; theirs 0.25 at 101.50"
	if got := strings.Join(report.Lines(), "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
