package load

import (
	"syscall"
	"time"
)

// selfCPU returns the CPU time of this process, user and system. Package proc has a more exact one for Linux; this
// package is also in the product, which runs elsewhere.
func selfCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
