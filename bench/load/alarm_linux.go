package load

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// alarm waits more exactly than time.Sleep, which the runtime rounds up to a millisecond on Linux. It is a timer of the
// kernel, for which a goroutine waits as for a connection: no core spins.
type alarm struct {
	file *os.File // nil: the kernel gave no timer
	conn syscall.RawConn
	set  func(fd uintptr) // sets the timer to left
	left time.Duration
	err  error // of set
	buf  [8]byte
}

func newAlarm() *alarm {
	a := &alarm{}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return a
	}
	a.file = os.NewFile(uintptr(fd), "timer")
	if a.conn, err = a.file.SyscallConn(); err != nil {
		a.close()
		a.file = nil
		return a
	}
	spec := &unix.ItimerSpec{}
	a.set = func(fd uintptr) {
		spec.Value = unix.NsecToTimespec(int64(a.left))
		a.err = unix.TimerfdSettime(int(fd), 0, spec, nil)
	}
	return a
}

// wait waits for d, which is above 0.
func (a *alarm) wait(d time.Duration) {
	if a.file != nil {
		a.left = d
		if a.conn.Control(a.set) == nil && a.err == nil {
			if _, err := a.file.Read(a.buf[:]); err == nil {
				return
			}
		}
	}
	time.Sleep(d)
}

func (a *alarm) close() {
	if a.file != nil {
		_ = a.file.Close() // a timer has nothing to lose
	}
}
