//go:build !linux

package clock

// BootNs returns the steady clock: a suspension of the machine is a step of its wall clock.
func (m machine) BootNs() int64 {
	_, monotonic := m.Read()
	return monotonic
}
