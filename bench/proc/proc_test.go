package proc

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// CPU of this process's number equals SelfCPU.
func TestCPUOfAProcess(t *testing.T) {
	for range 3 {
		x := 0
		for i := range 50_000_000 {
			x += i
		}
		runtime.KeepAlive(x)
	}
	self := SelfCPU()
	seen, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if d := seen - self; d < -200*time.Millisecond || d > 200*time.Millisecond {
		t.Errorf("the scheduler says %s, the process %s", seen, self)
	}
	if m, err := Memory(os.Getpid()); err != nil || m < 1<<20 {
		t.Errorf("%d bytes resident, %v", m, err)
	}
	if _, err := CPU(1 << 30); err == nil {
		t.Error("a process that is not there has CPU time")
	}
}

// A child is started, asked in lines and ended; a child that never becomes ready is an error with
// the reason.
func TestChild(t *testing.T) {
	c, err := Start([]string{"GREETING=hello"}, "sh", "-c",
		`echo starting; echo "ready public=127.0.0.1:1 word=$GREETING"; while read l; do echo "got $l"; done`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Fields["public"] != "127.0.0.1:1" || c.Fields["word"] != "hello" {
		t.Error(c.Fields)
	}
	if a, err := c.Ask("a b"); err != nil || a != "got a b" {
		t.Error(a, err)
	}
	if _, err := CPU(c.PID()); err != nil {
		t.Error(err)
	}
	c.Stop()
	if _, err := CPU(c.PID()); err == nil {
		t.Error("the child still runs")
	}
	if _, err := Start(nil, "sh", "-c", "echo the reason >&2; exit 3"); err == nil ||
		!strings.Contains(err.Error(), "the reason") {
		t.Errorf("a child that failed: %v", err)
	}
}

func TestMachine(t *testing.T) {
	m := ThisMachine()
	if m.CPU == "" || m.Cores < 1 || m.Kernel == "" || m.MemoryMiB < 1 || m.Files < 64 || m.Load == "" {
		t.Errorf("%+v", m)
	}
}
