package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// Clocks of clock_gettime that measure CPU time in ns. getrusage is no substitute: for a thread it returns the
// CPU time up to the last timer tick.
const (
	clockProcess = 2 // CLOCK_PROCESS_CPUTIME_ID
	clockThread  = 3 // CLOCK_THREAD_CPUTIME_ID
)

// SelfCPU returns the CPU time of this process, user and system.
func SelfCPU() time.Duration { return cpuClock(clockProcess) }

// ThreadCPU returns the CPU time of the calling thread. The goroutine must be locked to it.
func ThreadCPU() time.Duration { return cpuClock(clockThread) }

func cpuClock(which uintptr) time.Duration {
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, which, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic("BUG: clock_gettime: " + errno.Error())
	}
	return time.Duration(t.Nano())
}

// CPU returns the CPU time of another process: the sum over its threads of the scheduler's counters in ns
// (/proc/PID/stat counts in ticks of 10 ms). Go does not end threads while a server runs, so the sum never
// falls.
func CPU(pid int) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("proc: process %d has no schedstat: %w", pid, os.ErrNotExist)
	}
	var sum time.Duration
	for _, name := range tasks {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended since its directory was listed
		}
		ns, _, _ := bytes.Cut(raw, []byte(" "))
		v, err := strconv.ParseInt(string(ns), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("proc: %s: %w", name, err)
		}
		sum += time.Duration(v)
	}
	return sum, nil
}

// Memory returns the resident memory of a process in bytes.
func Memory(pid int) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("proc: %w", err)
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("proc: process %d tells no memory", pid)
}

// CPUNs returns the CPU time of fn in ns; it collects garbage first.
func CPUNs(fn func()) float64 {
	runtime.GC()
	before := SelfCPU()
	fn()
	return float64(SelfCPU() - before)
}

// Mallocs returns the number of objects that this process has allocated so far.
func Mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
