package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/tickhive/tickhive/test/harness"
)

// top prints one view or one reading for a script, refuses what it cannot do, and follows an exchange over a pipe.
func TestTopOverAPipe(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	in.Limit("BTC_USDT", "sell", "100.00", "1")
	at := strings.TrimPrefix(in.Root, "http://")
	code, out, errs := harness.Run(t, "top", "--internal", at, "--once", "--interval", "100ms")
	if code != 0 || errs != "" || strings.Contains(out, "\x1b") {
		t.Fatalf("exit code %d: %q %s", code, out, errs)
	}
	for _, want := range []string{
		"TickHive ", " at " + at + ": ok, ", ", 1 pairs; ", "\nrequests ", "\nloop ", "\nlog ", "\ndisk ", "\nstreams ",
		"\nprocess ", "\nlistener ", "\ninternal POST   /internal/v1/orders ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	code, out, errs = harness.Run(t, "top", "--internal", at, "--once", "--json", "--interval", "100ms", "--span", "60")
	var f struct {
		Status string
		Routes []any
	}
	if err := json.Unmarshal([]byte(out), &f); err != nil || code != 0 || f.Status != "ok" || len(f.Routes) < 3 {
		t.Errorf("exit code %d: %s %s %v", code, out, errs, err)
	}
	for _, wrong := range [][]string{{"--interval", "10ms"}, {"--span", "61"}, {"--span", "0"}} {
		if code, out, errs := harness.Run(t, append([]string{"top"}, wrong...)...); code != 2 || out != "" {
			t.Errorf("%v: exit code %d: %s %s", wrong, code, out, errs)
		}
	}
	if code, out, _ := harness.Run(t, "top", "--internal", "127.0.0.1:1"); code != 1 || out != "" {
		t.Errorf("nobody listens: exit code %d: %s", code, out)
	}

	c := harness.Command(t, "top", "--internal", at, "--interval", "100ms", "--json")
	pipe, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(pipe)
	for i := range 3 {
		if !lines.Scan() || !json.Valid(lines.Bytes()) {
			t.Fatalf("line %d: %s", i, lines.Text())
		}
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	for lines.Scan() { // what was written meanwhile
	}
	if err := c.Wait(); err != nil {
		t.Errorf("a signal ends it in order: %v", err)
	}
}

// On a terminal top shows one view in the place of the other, in the size of the terminal, and gives it back at q, at
// Ctrl-C and at a signal.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	for _, end := range []string{"q", "\x03", "SIGTERM"} {
		master, slave := terminal(t)
		resize := func(columns uint16) {
			size := [4]uint16{12, columns}
			if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), syscall.TIOCSWINSZ,
				uintptr(unsafe.Pointer(&size))); no != 0 {
				t.Fatal(no)
			}
		}
		resize(40)
		before := settings(t, slave.Fd())
		c := harness.Command(t, "top", "--internal", strings.TrimPrefix(in.Root, "http://"), "--interval", "1m")
		c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		shown := bufio.NewReader(master)
		first := frame(t, shown)
		if !strings.HasPrefix(first, "\x1b[?1049h\x1b[?25l\x1b[H") {
			t.Errorf("the other screen: %q", first)
		}
		if longest := widest(first); longest != 40 {
			t.Errorf("%d columns of 40: %q", longest, first)
		}
		resize(60)
		if second := frame(t, shown); widest(second) != 60 || strings.Contains(second, "\x1b[?1049h") {
			t.Errorf("%d columns of 60: %q", widest(second), second)
		}
		if end == "SIGTERM" {
			_ = c.Process.Signal(syscall.SIGTERM)
		} else if _, err := io.WriteString(master, end); err != nil {
			t.Fatal(err)
		}
		ends(t, c, end)
		if after := settings(t, slave.Fd()); after != before {
			t.Errorf("%q: the terminal was %+v, and is %+v", end, before, after)
		}
		_ = slave.Close()
		rest, _ := io.ReadAll(shown) // the error of a terminal that has gone
		if !strings.HasSuffix(string(rest), "\x1b[?25h\x1b[?1049l") {
			t.Errorf("%q: the terminal is left with %q", end, rest)
		}
	}
}

// ends waits until a command has ended in order.
func ends(t *testing.T, c *exec.Cmd, by string) {
	t.Helper()
	if err := c.Wait(); err != nil {
		t.Errorf("%q ends it with %v", by, err)
	}
}

// frame reads a view to its end.
func frame(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	var b strings.Builder
	for !strings.HasSuffix(b.String(), "\x1b[J") {
		c, err := r.ReadByte()
		if err != nil {
			t.Fatalf("%v behind %q", err, b.String())
		}
		b.WriteByte(c)
	}
	return b.String()
}

// widest returns the columns of the longest line of a view.
func widest(view string) (columns int) {
	for _, code := range []string{
		"\x1b[?1049h", "\x1b[?25l", "\x1b[H", "\x1b[1m", "\x1b[0m", "\x1b[K", "\x1b[J",
		"\r",
	} {
		view = strings.ReplaceAll(view, code, "")
	}
	for line := range strings.SplitSeq(view, "\n") {
		columns = max(columns, len(line))
	}
	return columns
}

// settings returns the settings of a terminal.
func settings(t *testing.T, fd uintptr) string {
	t.Helper()
	var s syscall.Termios
	if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TCGETS, uintptr(unsafe.Pointer(&s))); no != 0 {
		t.Fatal(no)
	}
	return fmt.Sprint(s)
}
