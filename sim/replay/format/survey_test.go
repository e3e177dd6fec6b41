package format

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tickhive/internal/fixed"
	"tickhive/sim/replay/format/decimal"
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
			n, err := decimal.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.Units(digits); err != nil {
				bad[i+1] = true
			}
			d.take(n, Position{"f", i + 1, 1})
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
			n, err := decimal.Parse([]byte(v))
			if err != nil {
				t.Fatal(err)
			}
			d.takeShared(n, c.trades, Position{"f", i + 1, 1})
		}
		if d.fits(c.need) != nil || c.need > 0 && d.fits(c.need-1) == nil {
			t.Errorf("%v shared by %d trades: %v with %d digits, %v with one less", c.volumes, c.trades, d.fits(c.need),
				c.need, d.fits(c.need-1))
		}
	}
}

func TestCellsKnowTheirPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := []byte(rapid.StringMatching(`[ a-z0-9,."\t]{0,40}`).Draw(t, "line"))
		var cells [maxColumns]cell
		n := columns(line, ',', cells[:])
		parts := bytes.Split(line, []byte{','})
		if n != len(parts) {
			t.Fatalf("%q has %d columns, want %d", line, n, len(parts))
		}
		for i, part := range parts {
			c := cells[i]
			if !bytes.Equal(c.text, bytes.TrimSpace(part)) || !bytes.HasPrefix(line[c.at:], c.text) {
				t.Fatalf("%q: column %d is %q at %d, want %q", line, i, c.text, c.at, part)
			}
		}
	})
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

func TestDatesWithoutDashesAreTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"20240102": "2024-01-02", "19700101": "1970-01-01", "202401021030": "2024-01-02T10:30:00",
		"20240102103059": "2024-01-02T10:30:59", "20240102103059123": "2024-01-02T10:30:59.123",
		"20241302": "", "20240230": "", "18991231": "", "21010101": "", "2024010": "", "202401022530": "",
		"1700000000": "", "1700000000000": "", "17000000000000": "", "34200123": "", "2024.102": "", "": "",
	} {
		if got := undashed([]byte(text)); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
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
		if got := p.here(); got != (Position{"f", c.line, c.column}) {
			t.Errorf("byte %d is %+v, want %d:%d", c.at, got, c.line, c.column)
		}
	}
}

func TestAFlawKeepsItsPlaceAndRemedy(t *testing.T) {
	t.Parallel()
	inner := flawAt(3, "do this", "wrong")
	in := &lines{file: "f", n: 7, skipped: 2}
	for _, c := range []struct {
		err  error
		want string
	}{
		{inner, "f:7:6: wrong; do this"},
		{locate(10, inner), "f:7:16: wrong; do this"},
		{locate(10, fmt.Errorf("outer: %w", inner)), "f:7:16: outer: wrong; do this"},
		{locate(4, decimal.ErrNumber), "f:7:7: " + decimal.ErrNumber.Error() + "; " + remedyValue},
		{
			locateMember([]byte(`{"a":1,"b":2}`), "b", decimal.ErrNumber),
			"f:7:10: " + decimal.ErrNumber.Error() + "; " + remedyValue,
		},
		{decimal.ErrNumber, "f:7:3: " + decimal.ErrNumber.Error() + "; " + remedyValue},
	} {
		if got := in.refuse(c.err).Error(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if in.refuse(nil) != nil || locate(1, nil) != nil || locateMember(nil, "x", nil) != nil {
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
