package format

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tickhive/tickhive/internal/fixed"
)

func TestThePathOfABar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bar  Prices
		want []int64
	}{
		{Prices{Open: 10, High: 12, Low: 9, Close: 11}, []int64{10, 9, 12, 11}},
		{Prices{Open: 11, High: 12, Low: 9, Close: 10}, []int64{11, 12, 9, 10}},
		{Prices{Open: 10, High: 12, Low: 8, Close: 10}, []int64{10, 12, 8, 10}},
		{Prices{Open: 9, High: 12, Low: 9, Close: 12}, []int64{9, 12}},
		{Prices{Open: 9, High: 9, Low: 9, Close: 9}, []int64{9}},
	} {
		if got := c.bar.Path(nil); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.bar, got, c.want)
		}
	}
}

// The survey knows how many trades a bar becomes before the digits of the pair are known.
func TestTheSurveyCountsThePath(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		price := func(name string, low, high int64) int64 { return rapid.Int64Range(low, high).Draw(t, name) }
		b := Prices{Low: price("low", 1, 50)}
		b.High = price("high", b.Low, 60)
		b.Open, b.Close = price("open", b.Low, b.High), price("close", b.Low, b.High)
		number := func(v int64) Decimal { return Decimal{V: fixed.FromI64(v)} }
		path := b.Path(nil)
		got := tradesOf(&[4]Decimal{number(b.Open), number(b.High), number(b.Low), number(b.Close)})
		if got != int64(len(path)) {
			t.Fatalf("%+v: %d trades, but its path is %v", b, got, path)
		}
		if len(path) > 4 || path[0] != b.Open || path[len(path)-1] != b.Close {
			t.Fatalf("%+v: path %v", b, path)
		}
		if slices.Min(path) != b.Low || slices.Max(path) != b.High {
			t.Fatalf("%+v: path %v leaves out an extreme", b, path)
		}
	})
}

// A bar is traded over its time: the open at its beginning, the close at its end, and nothing during the next bar. The
// times from bar to bar tell the length, of few bars the file's name. Where nothing tells the length of a single bar,
// its trades are together.
func TestABarIsTradedOverItsTime(t *testing.T) {
	t.Parallel()
	const two = "2024-01-01T00:00:00Z,1,1,1,1,8\n2024-01-01T00:05:00Z,1,2,1,2,8\n"
	five := ""
	for i := range 5 {
		five += fmt.Sprintf("2024-01-01T00:%02d:00Z,1,1,1,1,8\n", 5*i)
	}
	five += "2024-01-01T00:25:00Z,1,2,1,2,8\n"
	for text, want := range map[string]string{
		"-- a.csv --\n2024-01-01T00:00:00Z,10,12,9,11,8\n2024-01-02T00:00:00Z,11,12,11,11,8\n": "" +
			"0s 7h59m59.999s 15h59m59.998s 23h59m59.999s, 0s 11h59m59.999s 23h59m59.999s",
		// two bars apart, and not on a whole hour
		"-- a.csv --\n2024-01-01T03:45:00Z,10,12,10,12,8\n2024-01-01T04:45:00Z,10,10,10,10,8\n" +
			"2024-01-01T07:45:00Z,10,12,10,12,8\n": "0s 59m59.999s, 0s, 0s 59m59.999s",
		// days of a clock that goes on by an hour
		"-- a.csv --\n2024-03-09T05:00:00Z,10,12,10,12,8\n2024-03-10T05:00:00Z,10,12,10,12,8\n" +
			"2024-03-11T04:00:00Z,10,12,10,12,8\n": "0s 22h59m59.999s, 0s 22h59m59.999s, 0s 22h59m59.999s",
		"-- hour.csv --\n2024-01-01T00:00:00Z,10,12,10,12,8\n": "0s 59m59.999s",
		"-- day.csv --\n2024-01-01T00:00:00Z,1,2,1,2,8\n2024-01-01T00:30:00Z,1,2,1,2,8\n": "" +
			"0s 29m59.999s, 0s 29m59.999s",
		// a word in the name that is none, has a number, or does not fit
		"-- second_half.csv --\n" + five:                   "0s, 0s, 0s, 0s, 0s, 0s 4m59.999s",
		"-- minute_5.csv --\n" + two:                       "0s, 0s 4m59.999s",
		"-- 5minute.csv --\n" + two:                        "0s, 0s 4m59.999s",
		"-- today.csv --\n" + two:                          "0s, 0s 4m59.999s",
		"-- day.csv --\n" + two:                            "0s, 0s 4m59.999s",
		"-- a minute.csv --\n" + two:                       "0s, 0s 59.999s",
		"-- a.csv --\n2024-01-01T00:00:00Z,10,12,9,11,8\n": "0s 1ms 2ms 3ms",
	} {
		files, _ := writeFiles(t, text)
		r, err := New("trades", files)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Learn(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = s.Choose(0, 0, false); err != nil {
			t.Fatal(err)
		}
		if err := r.Open(s); err != nil {
			t.Fatal(err)
		}
		var bars []string
		var last int64
		for rec := (Record{}); r.Next(&rec) == nil && rec.Kind == Bar; {
			var at []string
			volume := int64(0)
			for _, p := range rec.Prints(nil) {
				at = append(at, time.Duration(p.NS-rec.NS).String())
				volume, last = volume+p.Amount, p.NS
			}
			if volume != rec.Bar.Volume {
				t.Errorf("%s: %d of %d lots", text, volume, rec.Bar.Volume)
			}
			bars = append(bars, strings.Join(at, " "))
		}
		r.Close()
		if got := strings.Join(bars, ", "); got != want {
			t.Errorf("%s: traded at %s, want %s", text, got, want)
		}
		if s.LastNs > last || s.LastNs < last-3*msNs { // together, they are later by 3 ms
			t.Errorf("%s: the survey ends at %s, the last trade is at %s", text, NsText(s.LastNs), NsText(last))
		}
	}
}
