package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"tickhive/bench/limits/floor"
	"tickhive/bench/limits/floor/wl"
	"tickhive/engine"
	"tickhive/engine/sequencer"
)

// checked accepts the core's run, which did the floor's work, and rejects any other.
func TestEqualWorkIsChecked(t *testing.T) {
	const name = "w3"
	w := floor.Generate(name)
	book := floor.NewBook(name, w)
	floor.Run(book, w.Preload)
	floor.Run(book, w.Ops)
	c := newFolded(true)
	c.run(w.Preload)
	c.run(w.Ops)
	if err := checked(name, c.stats, book.St); err != nil {
		t.Error(err)
	}
	c.run([]wl.Op{{Type: wl.Limit, Side: wl.Buy, Qty: 1, ID: w.MaxID + 1, Price: w.MaxP}})
	if checked(name, c.stats, book.St) == nil {
		t.Error("another fill was not noticed")
	}
	if checked(name, wl.Stats{}, wl.Stats{}) == nil {
		t.Error("two books that both did nothing were not noticed")
	}
}

// An answer that lacks what was published before it was asked for is stale; one that was
// asked for before, or has the newest, is not.
func TestStaleAnswersAreFound(t *testing.T) {
	w := NewWriter(1, 5)
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

// The writer answers its lines and changes the market at the requested rate.
func TestWriterAnswersLines(t *testing.T) {
	w := NewWriter(1, 5)
	in, lines := io.Pipe()
	out := &answers{c: make(chan string, 10)}
	ended := make(chan error, 1)
	go func() { ended <- w.ServeLines(in, out) }()
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
	if seq := w.Feed.Board().Load().View(0).BookSeq; seq < 200 {
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

// A journal made without a loop recovers to the book that made it, and a damaged
// expectation is noticed.
func TestLogWriterRecovers(t *testing.T) {
	l, err := newLogWriter(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := floor.Generate("w1")
	if err := l.ops(w.Preload); err != nil {
		t.Fatal(err)
	}
	if err := l.ops(w.Ops[:20_000]); err != nil {
		t.Fatal(err)
	}
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	if err := snapshotOf(l.dir); err != nil {
		t.Fatal(err)
	}
	r, err := recoverDir(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Pos != l.count || r.Core.HashPair(0, nil) != l.core.HashPair(0, nil) {
		t.Errorf("record %d of %d, equal: %v", r.Pos, l.count, r.Core.HashPair(0, nil) == l.core.HashPair(0, nil))
	}
}

// Traders through loop and journal: every command has a record, trades happen.
func TestLoopRig(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways} {
		g, err := newRig(t.TempDir(), policy, 2, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := g.submit(8, 4, 2, 100*time.Millisecond)
		if err != nil || s.rate < 1 || s.bytes < 16 {
			t.Errorf("%+v, %v", s, err)
		}
		stats := g.loop.Stats()
		if n := stats.Commands.Load(); n != g.log.LastSeq() || stats.Trades.Load() == 0 {
			t.Errorf("%d commands, %d records, %d trades", n, g.log.LastSeq(), stats.Trades.Load())
		}
		if refused := stats.Rejected.Load(); refused > stats.Commands.Load()/3 {
			t.Errorf("%d of %d commands were refused: the mix measures refusals", refused, stats.Commands.Load())
		}
		if err := g.close(); err != nil {
			t.Error(err)
		}
	}
}

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

// Two loops run on two threads, each with a part of the work; one loop has one.
func TestLoopsRound(t *testing.T) {
	r := &Run{Options: Options{Dir: t.TempDir(), Quick: true}}
	for loops := 1; loops <= 2; loops++ {
		s, err := loopsRound(r, loops, 8, 64, 2)
		if err != nil || s.busiest < 1 || s.commands == 0 || loops == 1 && s.busiest > s.cpu || s.threads != loops {
			t.Errorf("%d loops: %+v, %v", loops, s, err)
		}
	}
}
