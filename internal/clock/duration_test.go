package clock

import (
	"testing"
	"time"
)

func TestDurationsKnowDaysAndWeeks(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"36h": 36 * time.Hour, "7d": 168 * time.Hour, "2w": 336 * time.Hour, "1w1d1h": 193 * time.Hour,
		"1d12h30m": 36*time.Hour + 30*time.Minute, "90s": 90 * time.Second, "0": 0, "1.5h": 90 * time.Minute,
		"-1s": -time.Second, "20d20d": 40 * 24 * time.Hour,
	} {
		if got, err := ParseDuration(s); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "d", "7", "1d-1h", "1.5d", "7 d", "99999w99999w", "106752d", "x", "1h1d"} {
		if got, err := ParseDuration(s); err == nil {
			t.Errorf("%s: taken as %v", s, got)
		}
	}
}
