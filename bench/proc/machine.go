package proc

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/bench/report"
	"github.com/tickhive/tickhive/internal/cmdline"
)

// ThisMachine describes the machine on which this process runs.
func ThisMachine() report.Machine {
	m := report.Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Files: cmdline.FileLimit()}
	m.CPU = after("/proc/cpuinfo", "model name")
	m.Kernel = strings.TrimSpace(read("/proc/sys/kernel/osrelease"))
	if kib, err := strconv.ParseInt(strings.TrimSuffix(after("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.MemoryMiB = kib >> 10
	}
	if f := strings.Fields(read("/proc/loadavg")); len(f) >= 3 {
		m.Load = strings.Join(f[:3], " ")
	}
	return m
}

// Busy returns the CPU time that all processes of the machine have used, and the time that the hypervisor has
// taken, both with a precision of 10 ms.
func Busy() (used, stolen time.Duration) {
	const tick = 10 * time.Millisecond // USER_HZ
	line, _, _ := strings.Cut(read("/proc/stat"), "\n")
	for i, f := range strings.Fields(line) {
		v, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			continue
		}
		switch i { // columns: user nice system idle iowait irq softirq steal
		case 1, 2, 3, 6, 7:
			used += time.Duration(v) * tick
		case 8:
			stolen = time.Duration(v) * tick
		}
	}
	return used, stolen
}

// OwnCPU returns the CPU time of this process and of its ended children.
func OwnCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u) != nil {
		return SelfCPU()
	}
	return SelfCPU() + time.Duration(u.Utime.Nano()+u.Stime.Nano())
}

func read(name string) string {
	raw, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(raw)
}

// after returns the value of the first line `key : value` in a file.
func after(name, key string) string {
	for line := range strings.SplitSeq(read(name), "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
