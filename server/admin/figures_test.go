package admin

import (
	"testing"
	"time"
)

// Rates belong to the time since the kept reading whose age is nearest to the span. One of the last moment is none, and
// many readers keep few readings.
func TestRatesBelongToTheNearestReading(t *testing.T) {
	f := &Figures{readings: []*reading{{}}}
	at := func(ms int64, span time.Duration) (then int64) {
		return f.keep(&reading{atNs: ms * 1e6}, span).atNs / 1e6
	}
	const span = 5 * time.Second
	for _, c := range []struct{ at, then int64 }{
		{100, 0},                               // the start, however near
		{100_000, 0},                           // and however far
		{101_000, 100_000},                     // nearer to 5 s than 100 s
		{101_100, 100_000},                     // 101,000 is of the last moment; and this one is not kept
		{101_600, 100_000},                     // kept
		{105_000, 100_000}, {106_500, 101_600}, // of 100,000, 101,000 and 101,600
		{900_000, 106_500}, {900_400, 106_500}, // nobody has asked for long
		{900_500, 900_000}, {901_000, 900_000}, //
		{902_000, 900_000}, {904_900, 900_000}, //
		{906_000, 901_000}, {907_200, 902_000}, //
		{907_300, 902_000}, {907_400, 902_000}, // not kept
		{908_000, 902_000}, {1_000_000_000, 908_000}, //
	} {
		if then := at(c.at, span); then != c.then {
			t.Errorf("at %d ms: since %d, want %d", c.at, then, c.then)
		}
	}
	for i := range int64(10 * readingsKept) {
		now := 2_000_000_000 + i*100
		if then := at(now, span); i > 100 && (now-then < 4_500 || now-then > 5_500) {
			t.Fatalf("at %d ms: since %d", now, then)
		}
	}
	if n := len(f.readings); n != readingsKept {
		t.Errorf("%d readings are kept, want %d", n, readingsKept)
	}
}
