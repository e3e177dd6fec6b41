package step

import (
	"testing"
	"time"
)

// A goroutine sleeps until the next work, never longer than an hour, and not at all after work.
func TestWait(t *testing.T) {
	for _, c := range []struct {
		p    Progress
		now  int64
		want time.Duration
	}{
		{Worked(), 5, 0},
		{Progress{Stopped: true}, 5, 0},
		{Idle(), 5, time.Hour},
		{Idle(), -5, time.Hour},
		{Progress{NextNs: 7}, 5, 2},
		{Progress{NextNs: 5}, 5, 0},
		{Progress{NextNs: 4}, 5, 0},
	} {
		if got := c.p.Wait(c.now); got != c.want {
			t.Errorf("%+v at %d: %v, want %v", c.p, c.now, got, c.want)
		}
	}
}
