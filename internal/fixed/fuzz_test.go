package fixed

import (
	"math/big"
	"regexp"
	"strings"
	"testing"
)

var form = regexp.MustCompile(`\A-?[0-9]{1,20}(\.[0-9]{1,18})?\z`)

// docs/contract/market-data.md#decimals: exactly the texts of the form are decimals, their value is
// exact, and what is written reads back as the same value.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"0", "-0", "1", "0.000000000000000001", "99999999999999999999.999999999999999999", "-99999999999999999999",
		"100000000000000000000", "1.", ".5", "1e5", "+1", "0x1", "1.0000000000000000000", "", "-", "\u0661", "1 ",
		"007.50", "-0.001", "-9223372036854775809", "9223372036854775807", "1..2", "1234567890123456789.5",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Parse(s)
		if ok := form.MatchString(s); ok != (err == nil) {
			t.Fatalf("%q: matches the form: %v, error: %v", s, ok, err)
		}
		if err != nil {
			if _, _, _, err := ParseUnits(s, 2); err == nil {
				t.Fatalf("%q is a number of units and no decimal", s)
			}
			return
		}
		for _, digits := range []int{0, 2, 8, Scale} {
			units, exact, fits := Units(v, digits)
			got, gotExact, gotFits, err := ParseUnits(s, digits)
			if got != units || gotExact != exact || gotFits != fits || err != nil {
				t.Fatalf("%q in %d digits: %d, %v %v %v, want %d, %v %v", s, digits, got, gotExact, gotFits, err, units,
					exact, fits)
			}
		}
		whole, fraction, _ := strings.Cut(s, ".")
		want, _ := new(big.Int).SetString(whole+fraction+strings.Repeat("0", Scale-len(fraction)), 10)
		if got := exact(v); got.Cmp(want) != 0 {
			t.Fatalf("%q is %s units, not %s", s, got, want)
		}
		for _, text := range []string{string(AppendI128(nil, v, Scale)), string(AppendShortest(nil, v, Scale))} {
			if again, err := Parse(text); err != nil || again != v {
				t.Fatalf("%q was written as %q, which reads as %v, %v", s, text, again, err)
			}
		}
	})
}

func exact(v I128) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(v.Hi), 64)
	return n.Add(n, new(big.Int).SetUint64(v.Lo))
}
