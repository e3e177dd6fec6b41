package clock

import "golang.org/x/sys/unix"

// BootNs returns CLOCK_BOOTTIME, or the steady clock on a kernel without it.
func (m machine) BootNs() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		_, monotonic := m.Read()
		return monotonic
	}
	return ts.Nano()
}
