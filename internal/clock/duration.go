package clock

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// ParseDuration reads a duration in Go's form plus d (24 h) and w (7 d): 36h, 7d, 1w2d,
// 1d12h30m (docs/contract/market-data.md#times). Days and weeks are whole numbers in front.
func ParseDuration(s string) (time.Duration, error) {
	rest, total, read := s, time.Duration(0), false
	for rest != "" {
		n := 0
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		if n == 0 || n > 5 || n == len(rest) {
			break
		}
		unit := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[rest[n]]
		if unit == 0 {
			break
		}
		count := time.Duration(0)
		for _, c := range rest[:n] {
			count = count*10 + time.Duration(c-'0')
		}
		if count > math.MaxInt64/unit || total > math.MaxInt64-count*unit {
			return 0, fmt.Errorf("duration %q is too long", s)
		}
		total += count * unit
		rest, read = rest[n+1:], true
	}
	if read && rest == "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || (read && strings.HasPrefix(rest, "-")) {
		return 0, fmt.Errorf("%q is not a duration such as 1h30m, 36h, 7d or 2w", s)
	}
	if d > 0 && total > math.MaxInt64-d {
		return 0, fmt.Errorf("duration %q is too long", s)
	}
	return total + d, nil
}
