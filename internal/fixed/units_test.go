package fixed

import "testing"

func TestUnitsAreExact(t *testing.T) {
	for _, c := range []struct {
		text     string
		digits   int
		want     int64
		negative bool
		res      UnitsResult
	}{
		{"65000.5", 2, 6500050, false, UnitsExact},
		{"65000.500", 2, 6500050, false, UnitsExact},
		{"65000.505", 2, 0, false, UnitsOff},
		{"-65000.505", 2, 0, true, UnitsOff},
		{"-1", 2, -100, true, UnitsExact},
		{"-0.0", 2, 0, false, UnitsExact},
		{"0", 18, 0, false, UnitsExact},
		{"92233720368547758.07", 2, 1<<63 - 1, false, UnitsExact},
		{"92233720368547758.08", 2, 0, false, UnitsTooMany},
		{"99999999999999999999.999999999999999999", 0, 0, false, UnitsOff},
		{"99999999999999999999.000000000000000000", 0, 0, false, UnitsTooMany},
		{"9.3", 18, 0, false, UnitsTooMany},
		{"00000000000000000001.10", 1, 11, false, UnitsExact},
		{"1.000000000000000001", 18, 1000000000000000001, false, UnitsExact},
	} {
		v, neg, res := TextUnits([]byte(c.text), c.digits)
		if v != c.want || neg != c.negative || res != c.res {
			t.Errorf("TextUnits(%s, %d) = %d %v %d, want %d %v %d",
				c.text, c.digits, v, neg, res, c.want, c.negative, c.res)
		}
	}
}
