package binance

import (
	"testing"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/server/json"
)

// Money has all digits of its asset; without any, one zero.
func TestMoneyHasTheDigitsOfItsAsset(t *testing.T) {
	money := func(v fixed.I192, digits int) string {
		var w json.Writer
		writeMoney(&w, v, digits)
		return string(w.Bytes())
	}
	for _, c := range []struct {
		amount string
		digits int
		want   string
	}{
		{"5", 0, "5.0"},
		{"5.5", 1, "5.5"},
		{"1700000", 2, "1700000.00"},
		{"-0.00000001", 8, "-0.00000001"},
		{"0", 8, "0.00000000"},
		{"0.000000000000000001", 18, "0.000000000000000001"},
	} {
		v, err := fixed.Parse(c.amount)
		if err != nil {
			t.Fatal(err)
		}
		if got := money(v.Wide(), c.digits); got != `"`+c.want+`"` {
			t.Errorf("%s with %d digits: %s, want %s", c.amount, c.digits, got, c.want)
		}
	}
	v := fixed.I192{W2: 5} // 5 x 2^128 = 1701411834604692317316873037158841057280
	if got := money(v, 2); got != `"1701411834604692317316.87"` {
		t.Error(got)
	}
}
