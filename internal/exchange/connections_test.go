package exchange

import (
	"math"
	"strings"
	"testing"
)

// The reserve has priority, each listener gets a share, and no division exceeds the limit.
func TestDescriptorsAreShared(t *testing.T) {
	for _, c := range []struct {
		files  uint64
		public int
		want   connLimits
	}{
		{0, 16_384, connLimits{16_384, 10_000}}, // unknown
		{math.MaxUint64, 16_384, connLimits{16_384, 10_000}},
		{1 << 20, 100_000, connLimits{100_000, 10_000}},
		{26_448, 16_384, connLimits{16_384, 10_000}},
		{26_447, 16_384, connLimits{16_384, 9_999}},
		{20_000, 16_384, connLimits{16_384, 3_552}},
		{17_448, 16_384, connLimits{16_384, 1_000}},
		{17_447, 16_384, connLimits{16_383, 1_000}},
		{4096, 16_384, connLimits{3_032, 1_000}},
		{4096, 100, connLimits{100, 3_932}},
		{1024, 16_384, connLimits{720, 240}},
		{1024, 700, connLimits{700, 260}},
		{256, 16_384, connLimits{144, 48}},
		{96, 16_384, connLimits{24, 8}},
	} {
		got, err := shareDescriptors(c.files, c.public)
		if err != nil || got != c.want {
			t.Errorf("%d files, %d connections: %+v %v, want %+v", c.files, c.public, got, err, c.want)
		}
	}
	for files := uint64(1); files < 40_000; files++ {
		p, err := shareDescriptors(files, 16_384)
		if files < 96 {
			if err == nil || !strings.Contains(err.Error(), "LimitNOFILE=26448") ||
				!strings.Contains(err.Error(), "raise the limit to 96") {
				t.Fatalf("%d files: %+v %v", files, p, err)
			}
		} else if err != nil || p.public < 1 || p.internal < 1 || p.files() > int(files) {
			t.Fatalf("%d files: %+v %v", files, p, err)
		}
	}
}
