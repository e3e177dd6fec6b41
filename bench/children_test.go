package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/engine"
)

// frame parses frames of every length and returns as much text as the reader's buffer holds.
func TestFrames(t *testing.T) {
	text := append([]byte{0x81, 3}, "abc"...)
	long := append([]byte{0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0}, bytes.Repeat([]byte("x"), 65_536)...)
	ping := []byte{0x89, 0}
	br := bufio.NewReader(bytes.NewReader(bytes.Join([][]byte{text, ping, readyFrame(), long, text}, nil)))
	for i, want := range []int{3, 0, frameSize, br.Size(), 3} {
		if got, err := frame(br); err != nil || len(got) != want {
			t.Errorf("frame %d: %d bytes, %v", i, len(got), err)
		}
	}
	if _, err := frame(br); err == nil {
		t.Error("a frame behind the last")
	}
}

// A listener answers what it received as one line, which the bench reads; nonsense and missing trades are errors.
func TestReceivedIsParsed(t *testing.T) {
	ask := func(line string, want int) (int, error) {
		c, err := proc.Start(nil, "sh", "-c", `echo ready; while read l; do echo "`+line+`"; done`)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Stop()
		n, _, err := arrived(c, want)
		return n, err
	}
	h := load.NewHistogram()
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask("nonsense", 2); err == nil {
		t.Error("a line without figures was taken")
	}
	if n, err := ask("3 2 "+string(text), 2); err != nil || n != 3 {
		t.Errorf("%d messages, %v", n, err)
	}
	if _, err := ask("3 1 "+string(text), 2); err == nil || !strings.Contains(err.Error(), "1 trades arrived of 2") {
		t.Errorf("a trade that is missing: %v", err)
	}
}

// An answer that lacks what was published before it was asked for is stale; one that was
// asked for before, or has the newest, is not.
func TestStaleAnswersAreFound(t *testing.T) {
	w := newMarket(1, 5)
	for i := range int64(20) {
		w.change(i)
	}
	first, last := w.shown[3], w.shown[len(w.shown)-1]
	later := w.shown[4].at + int64(time.Millisecond)
	for _, c := range []struct {
		sent  int64
		seq   engine.Seq
		stale int
	}{
		{later, first.seq, 1},
		{w.shown[4].at - 1, first.seq, 0}, // asked before the next was there
		{later, last.seq, 0},
		{time.Now().UnixNano(), last.seq, 0},
		{time.Now().UnixNano(), last.seq - 1, 1},
	} {
		n, worst := w.stale([]string{fmt.Sprint(c.sent), fmt.Sprint(c.seq)})
		if n != c.stale || (worst > 0) != (c.stale > 0) {
			t.Errorf("sent %d with seq %d: %d stale, worst %s", c.sent, c.seq, n, worst)
		}
	}
}

// A market answers its lines and changes at the requested rate.
func TestAMarketAnswersLines(t *testing.T) {
	w := newMarket(1, 5)
	in, lines := io.Pipe()
	out := &answers{c: make(chan string, 10)}
	ended := make(chan error, 1)
	go func() { ended <- w.serveLines(in, out) }()
	say := func(line string) string {
		if _, err := io.WriteString(lines, line+"\n"); err != nil {
			t.Fatal(err)
		}
		return <-out.c
	}
	if got := say("rate 2000 on"); got != "ok" {
		t.Fatal(got)
	}
	deadline := time.Now().Add(time.Minute)
	changes := 0
	for changes < 200 && time.Now().Before(deadline) {
		if _, err := fmt.Sscan(say("figures"), &changes); err != nil {
			t.Fatal(err)
		}
	}
	if changes < 200 {
		t.Errorf("%d changes", changes)
	}
	if seq := w.feed.Board().Load().View(0).BookSeq; seq < 200 {
		t.Errorf("the book is at seq %d", seq)
	}
	say("rate 0 off")
	if _, err := io.WriteString(lines, "nonsense\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("an unknown line: %v", err)
	}
}

type answers struct{ c chan string }

func (a *answers) Write(p []byte) (int, error) {
	a.c <- strings.TrimSpace(string(p))
	return len(p), nil
}

// A process that wakes up answers each line with the p99 of its delays in ms.
func TestWakeupsAnswerEachLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, lines := io.Pipe()
		answers, out := io.Pipe()
		done := make(chan error)
		go func() { done <- Child("wakeups", nil, in, out) }()
		scan := bufio.NewScanner(answers)
		if !scan.Scan() || scan.Text() != "ready" {
			t.Fatalf("began with %q: %v", scan.Text(), scan.Err())
		}
		for range 2 {
			<-time.After(20 * wakeEvery) // of the test's clock, which wakes everybody in time
			if _, err := io.WriteString(lines, "p99\n"); err != nil {
				t.Fatal(err)
			}
			if !scan.Scan() || scan.Text() != "0" {
				t.Fatalf("answered %q: %v", scan.Text(), scan.Err())
			}
		}
		_ = lines.Close()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

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
