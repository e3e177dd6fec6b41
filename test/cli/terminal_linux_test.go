package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/tickhive/tickhive/test/harness"
)

// terminal opens a pseudoterminal; closing the master hangs it up.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	ioctl := func(request uintptr, value *int32) {
		if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request,
			uintptr(unsafe.Pointer(value))); no != 0 {
			t.Fatal(no)
		}
	}
	var unlocked, number int32
	ioctl(syscall.TIOCSPTLCK, &unlocked)
	ioctl(syscall.TIOCGPTN, &number)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

// onTerminal starts the program with a controlling terminal as its input. With nohup the
// program starts with SIGHUP ignored.
func onTerminal(t *testing.T, nohup bool, dir string, args ...string) (in *harness.Instance, master *os.File) {
	t.Helper()
	master, slave := terminal(t)
	in = harness.LaunchWith(t, func(c *exec.Cmd) {
		if nohup {
			c.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, c.Path}, c.Args[1:]...)
			c.Path = "/bin/sh"
		}
		c.Stdin = slave
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	}, nil, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir", dir, "--set",
		"rate.allow=127.0.0.1",
	}, args...)...)
	_ = slave.Close()
	in.TakeAddresses(in.WaitLine("listening "))
	return in, master
}

// Closing the terminal or the ssh session is a clean stop.
func TestAClosedTerminalIsACleanStop(t *testing.T) {
	dir := t.TempDir()
	in, master := onTerminal(t, false, dir)
	in.WaitLine("ready ")
	_ = master.Close()
	in.EndsClean(dir)
	if !strings.Contains(in.Stderr.String(), "msg=stopping signal=hangup") {
		t.Errorf("%s", in.Stderr.String())
	}
}

func TestAHangupOfATerminalWithinABackfillEndsInOrder(t *testing.T) {
	dir := t.TempDir()
	in, _ := onTerminal(t, false, dir, "--backfill", "60d")
	in.WaitUnderWay()
	in.Signal(syscall.SIGHUP)
	in.Signal(syscall.SIGHUP)
	in.EndsClean(dir)
}

func TestNohupOutlivesItsTerminal(t *testing.T) {
	dir := t.TempDir()
	in, master := onTerminal(t, true, dir)
	in.WaitLine("ready ")
	_ = master.Close()
	in.WaitLog("nothing to reload", 1)
	if a := in.Do("GET", in.Public+"/api/healthcheck", ""); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	in.Signal(syscall.SIGTERM)
	in.EndsClean(dir)
}

// The demo market's key pair is shown once, on a terminal. A start with its output elsewhere makes none.
func TestTheDemoKeyWaitsForATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, want := range []int{0, 1, 0} {
		master, slave := terminal(t)
		in := harness.Command(t, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir",
			dir)
		in.Stderr = slave
		if i > 0 {
			in.Stdout = slave // else /dev/null, which is a device and no terminal
		}
		if err := in.Start(); err != nil {
			t.Fatal(err)
		}
		_ = slave.Close()
		shown := 0
		for lines := bufio.NewScanner(master); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "demo key of user demo-1") {
				shown++
			}
			if strings.Contains(lines.Text(), "INF") && strings.Contains(lines.Text(), "ready") { // a line for a person
				_ = in.Process.Signal(syscall.SIGTERM)
			}
		}
		if err := in.Wait(); err != nil || shown != want {
			t.Errorf("start %d: %v, %d keys, want %d", i, err, shown, want)
		}
	}
}
