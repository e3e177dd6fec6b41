//go:build !linux

package load

import "time"

// alarm waits with time.Sleep, which is exact here.
type alarm struct{}

func newAlarm() *alarm              { return &alarm{} }
func (*alarm) wait(d time.Duration) { time.Sleep(d) }
func (*alarm) close()               {}
