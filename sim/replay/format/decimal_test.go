package format

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNumbersAreReadExactly(t *testing.T) {
	for _, c := range []struct {
		text   string
		digits int
		want   int64
		err    bool
	}{
		{"236.47", 2, 23647, false},
		{"236.470", 2, 23647, false},
		{"236.471", 2, 0, true},
		{"0.00001", 5, 1, false},
		{"1e-05", 5, 1, false},
		{"1.5E2", 0, 150, false},
		{"-3", 1, -30, false},
		{"9223372036854775806", 0, 9223372036854775806, false},
		{"9223372036854775808", 0, 0, true},
		{"123456789012345678901234567890", 0, 0, true},
		{"0", 18, 0, false},
		{"1e40", 0, 0, true},
	} {
		n, err := ParseDecimal([]byte(c.text))
		if err == nil {
			var got int64
			if got, err = n.Units(c.digits); err == nil && got != c.want {
				t.Errorf("%s with %d digits is %d, want %d", c.text, c.digits, got, c.want)
			}
		}
		if (err != nil) != c.err {
			t.Errorf("%s with %d digits: error %v, want one: %v", c.text, c.digits, err, c.err)
		}
	}
	for _, bad := range []string{
		"", "-", ".", "1.", ".5.", "1e", "1e+", "1e1000", "0x1", "NaN", "Infinity", "1_000", " 1",
		strings.Repeat("1", 65),
	} {
		if _, err := ParseDecimal([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a number", bad)
		}
	}
}

func TestFloatsOfRecordedTradesRoundToTheirDecimals(t *testing.T) {
	for text, want := range map[string]int64{
		"235.02000000000001": 23502, "236.46999999999997": 23647, "1.005": 101, "0.0049": 0, "1e-3": 0, "5e-3": 1,
	} {
		n, err := ParseDecimal([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := n.Rounded(2); err != nil || got != want {
			t.Errorf("%s rounds to %d (%v), want %d", text, got, err, want)
		}
	}
}

func TestUnitsAgreeWithBigRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,22}(\.[0-9]{1,22})?(e-?[0-9]{1,2})?`).Draw(t, "text")
		digits := rapid.IntRange(0, 18).Draw(t, "digits")
		n, err := ParseDecimal([]byte(text))
		if err != nil {
			return // an exponent beyond the bound
		}
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("big.Rat does not read %s", text)
		}
		exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)))
		got, err := n.Units(digits)
		if err == nil && (!exact.IsInt() || exact.Num().Cmp(big.NewInt(got)) != 0) {
			t.Fatalf("%s with %d digits is %d, want %s", text, digits, got, exact)
		}
		short := len(strings.Trim(text, "-0.")) < 18 && !strings.Contains(text, "e")
		if err != nil && exact.IsInt() && exact.Num().IsInt64() && short {
			t.Fatalf("%s with %d digits: %v, but it is %s", text, digits, err, exact)
		}
	})
}
