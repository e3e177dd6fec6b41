package proc

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"tickhive/bench/report"
)

// ThisMachine describes where this process runs.
func ThisMachine() report.Machine {
	m := report.Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Files: FileLimit()}
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

// FileLimit is how many descriptors this process may have, after raising the soft limit
// to the hard one.
func FileLimit() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	if l.Cur < l.Max {
		l.Cur = l.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
		_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l)
	}
	return l.Cur
}

func read(name string) string {
	raw, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(raw)
}

// after is the value of the first line `key : value` of a file.
func after(name, key string) string {
	for line := range strings.SplitSeq(read(name), "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
