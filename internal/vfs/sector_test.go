package vfs

import (
	"bytes"
	"slices"
	"testing"
)

// A sector of zeros is lost; zeros in a part of a sector are data, unless the part begins at the
// damaged record.
func TestLostSector(t *testing.T) {
	zeros := func(n int) []byte { return make([]byte, n) }
	ones := func(n int) []byte { return bytes.Repeat([]byte{1}, n) }
	for name, c := range map[string]struct {
		damaged []byte
		start   int64
		follows bool
		want    bool
	}{
		"no byte":                      {nil, 0, false, false},
		"data":                         {ones(3 * SectorBytes), 0, false, false},
		"a whole sector":               {append(ones(SectorBytes), zeros(SectorBytes)...), 0, false, true},
		"the rest of the first sector": {append(zeros(12), ones(SectorBytes)...), 500, false, true},
		"the begin of the last sector": {append(ones(SectorBytes), zeros(12)...), 0, false, true},
		"the begin of the sector of a valid record": {append(ones(SectorBytes), zeros(12)...), 0, true, false},
		"a sector before a valid record":            {append(ones(512), zeros(524)...), 0, true, true},
		"less than the sector of a valid record":    {zeros(12), 100, true, false},
		"zeros across a sector's end":               {slices.Concat(ones(500), zeros(24), ones(500)), 0, false, false},
	} {
		if got := LostSector(c.damaged, c.start, c.follows); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
