package format

import (
	"slices"
	"testing"

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
