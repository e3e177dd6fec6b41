package history

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// The memory of a program does not count what the bench had before.
func TestAProgramDoesNotCountTheLargestMemoryOfTheBench(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("on Linux alone a program counts the memory of the process that starts it")
	}
	const large = 256 << 20
	use(large)
	if got := maxRSS(t); got < large {
		t.Errorf("before: %d bytes, want at least %d", got, large)
	}
	forgetMemory()
	if got := maxRSS(t); got > large/2 {
		t.Errorf("after: %d bytes", got)
	}
}

// use makes n bytes resident, and leaves them to the collector.
func use(n int) {
	b := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	runtime.KeepAlive(b)
}

func maxRSS(t *testing.T) int64 {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
}
