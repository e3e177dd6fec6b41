package format

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tickhive/tickhive/internal/fixed"
)

// What the survey says of the extremes must be what every value says for itself.
func TestTheSurveyAgreesWithEveryValue(t *testing.T) {
	t.Parallel()
	fitting, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`[1-9][0-9]{0,11}(\.[0-9]{1,12})?`), 1, 5).Draw(t, "values")
		digits := rapid.IntRange(0, fixed.Scale).Draw(t, "digits")
		d := Digits{what: "price", use: learn}
		bad := map[int]bool{}
		for i, text := range texts {
			n, err := ParseDecimal([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.Units(digits); err != nil {
				bad[i+1] = true
			}
			d.take(n, Position{File: "f", Line: i + 1, Column: 1})
		}
		err := d.fits(digits)
		var found *LineError
		switch {
		case len(bad) == 0 && err != nil:
			t.Fatalf("%v in %d digits: %v", texts, digits, err)
		case len(bad) > 0 && (!errors.As(err, &found) || !bad[found.Line]):
			t.Fatalf("%v in %d digits: %v, want one of lines %v", texts, digits, err, bad)
		case err == nil:
			fitting++
		default:
			refused++
		}
	})
	if fitting == 0 || refused == 0 {
		t.Errorf("%d sets fitted, %d did not: both must come up", fitting, refused)
	}
	t.Logf("%d sets fitted, %d did not", fitting, refused)
}

func TestVolumesNeedALotForEachTrade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		volumes []string
		trades  int64
		need    int
	}{
		{[]string{"4"}, 4, 0},
		{[]string{"3"}, 4, 1},
		{[]string{"100", "0.04", "0.3"}, 4, 2},
		{[]string{"0.039"}, 4, 3},
		{[]string{"1"}, 1, 0},
	} {
		d := Digits{what: "amount", use: learn}
		for i, v := range c.volumes {
			n, err := ParseDecimal([]byte(v))
			if err != nil {
				t.Fatal(err)
			}
			d.takeShared(n, c.trades, Position{File: "f", Line: i + 1, Column: 1})
		}
		if d.fits(c.need) != nil || c.need > 0 && d.fits(c.need-1) == nil {
			t.Errorf("%v shared by %d trades: %v with %d digits, %v with one less", c.volumes, c.trades, d.fits(c.need),
				c.need, d.fits(c.need-1))
		}
	}
}

func TestTimesOfALogMayCrossByASecond(t *testing.T) {
	t.Parallel()
	var o lineOrder
	for _, c := range []struct {
		ns, want int64
		back     int
		err      bool
	}{
		{10 * secondNs, 10 * secondNs, 0, false},
		{10*secondNs - 1, 10 * secondNs, 1, false},
		{9 * secondNs, 10 * secondNs, 2, false},
		{9*secondNs - 1, 0, 2, true},
		{11 * secondNs, 11 * secondNs, 2, false},
		{11 * secondNs, 11 * secondNs, 2, false},
	} {
		got, err := o.take(c.ns)
		if got != c.want || (err != nil) != c.err || o.back != c.back {
			t.Errorf("%d: %d, %d back, %v; want %+v", c.ns, got, o.back, err, c)
		}
	}
}

// A place in a large document is counted on from the last one, and back where an answer is
// about several pairs.
func TestPlacesOfADocument(t *testing.T) {
	t.Parallel()
	p := krakenParser{name: "f", doc: []byte("ab\ncd\n\nef")}
	for _, c := range []struct {
		at           int64
		line, column int
	}{{0, 1, 1}, {1, 1, 2}, {3, 2, 1}, {8, 4, 2}, {4, 2, 2}, {2, 1, 3}, {99, 4, 3}, {-5, 1, 1}} {
		p.at = c.at
		if got := p.here(); got != (Position{File: "f", Line: c.line, Column: c.column}) {
			t.Errorf("byte %d is %+v, want %d:%d", c.at, got, c.line, c.column)
		}
	}
}

func TestAFlawKeepsItsPlaceAndRemedy(t *testing.T) {
	t.Parallel()
	inner := flawAt(3, "do this", "wrong")
	in := &lineReader{File: "f", N: 7, Skipped: 2}
	for _, c := range []struct {
		err  error
		want string
	}{
		{inner, "f:7:6: wrong; do this"},
		{locate(10, inner), "f:7:16: wrong; do this"},
		{locate(10, fmt.Errorf("outer: %w", inner)), "f:7:16: outer: wrong; do this"},
		{locate(4, errNumber), "f:7:7: " + errNumber.Error() + "; " + remedyValue},
		{
			locateMember([]byte(`{"a":1,"b":2}`), "b", errNumber),
			"f:7:10: " + errNumber.Error() + "; " + remedyValue,
		},
		{errNumber, "f:7:3: " + errNumber.Error() + "; " + remedyValue},
	} {
		if got := in.Refuse(c.err).Error(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if in.Refuse(nil) != nil || locate(1, nil) != nil || locateMember(nil, "x", nil) != nil {
		t.Error("no error became one")
	}
}

// Names of one column that are listed twice would make a rank ambiguous.
func TestNamesOfColumnsAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for c, names := range columnNames {
		if len(names) > maxRanks {
			t.Errorf("column %d has %d names, more than %d", c, len(names), maxRanks)
		}
		for rank, name := range names {
			if seen[name] || name != strings.ToLower(name) {
				t.Errorf("name %q is there twice, or not in small letters", name)
			}
			seen[name] = true
			if got, at := columnNamed(strings.ToUpper(name)); got != column(c) || at != rank {
				t.Errorf("%s is column %d rank %d, want %d and %d", name, got, at, c, rank)
			}
		}
	}
}
