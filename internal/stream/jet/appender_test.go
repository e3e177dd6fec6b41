package jet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
)

// appender campaigns behind at and runs until the test, or the returned function, ends it.
func appender(t *testing.T, l jet.Log, at stream.State, node uint64) (*jet.Appender, func() error) {
	t.Helper()
	w, err := stream.Campaign(&stream.Candidate{
		At: at, Node: node, Rules: 1, Keys: testKeys, Found: stream.Founding{History: [16]byte{7}},
		Limits: stream.Limits{InFlight: 4, Queue: 4 << 20},
	}, clock.MachineNs())
	if err != nil {
		t.Fatal(err)
	}
	a := jet.NewAppender(l, w, jet.Timing{
		NowNs: clock.MachineNs, BeatAfter: 20 * time.Millisecond, AckTimeout: 300 * time.Millisecond,
		StaleFor: time.Second,
	})
	ctx, cancel := context.WithCancelCause(within(t))
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	stop := sync.OnceValue(func() error {
		cancel(errEnough)
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return a, stop
}

// await waits until a condition on the status holds.
func await(t *testing.T, a *jet.Appender, ok func(stream.Status, stream.State) bool) stream.State {
	t.Helper()
	for ctx := within(t); ; {
		status, s := a.Status()
		if ok(status, s) {
			return s
		}
		select {
		case <-a.Wake():
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("status %d, state %+v", status, s)
		}
	}
}

func leads(s stream.Status, _ stream.State) bool { return s == stream.Leading }

func campaigned(s stream.Status, _ stream.State) bool { return s != stream.Campaigning }

// executed follows the log and returns the records that count up to a number of the log.
func executed(t *testing.T, l jet.Log, to uint64) (records []string, at stream.State) {
	t.Helper()
	r := stream.NewReader(stream.State{}, 1, testKeys)
	err := l.Follow(within(t), 1, func(seq uint64, data []byte) error {
		m, ok, err := r.Next(seq, data)
		if err != nil {
			return err
		}
		if ok {
			for _, record := range m.All() {
				records = append(records, string(record))
			}
		}
		if seq >= to {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	return records, r.State()
}

// Two writers follow each other while records are added and the server restarts. What was confirmed is in the log
// once and in order, and nothing else counts.
func TestAppendersOverTakeoversAndRestarts(t *testing.T) {
	t.Parallel()
	onEveryRig(t, func(t *testing.T, r *rig) {
		var confirmed []string
		at := stream.State{}
		l := r.connect()
		for node := uint64(1); node <= 3; node++ {
			a, stop := appender(t, r.connect(), at, node)
			first := await(t, a, campaigned)
			for !leads(a.Status()) { // a late message of the writer before was first
				_ = stop()
				a, stop = appender(t, r.connect(), lastState(t, l), node)
				first = await(t, a, campaigned)
			}
			begin := first.End.Seq
			var added []string
			for i := range 200 {
				text := fmt.Sprintf("%d.%d", node, i)
				pos, err := a.Add([]byte(text))
				if err != nil || pos != begin+uint64(i)+1 {
					t.Fatalf("added at %d, %v", pos, err)
				}
				if added = append(added, text); i == 100 && r.stop != nil {
					r.stop()
					r.start()
				}
			}
			await(t, a, func(_ stream.Status, s stream.State) bool { return s.End.Seq == begin+200 })
			confirmed = append(confirmed, added...)
			if node == 3 {
				break
			}
			if node == 1 { // taken over while it lives: it notices by its next beat
				next, stopNext := appender(t, r.connect(), lastState(t, l), 10)
				status, s := stream.Campaigning, stream.State{}
				for ; status == stream.Campaigning; status, s = next.Status() {
					await(t, next, campaigned)
				}
				if status != stream.Leading { // a beat of the old writer was first: the old one goes on
					t.Logf("the campaign lost at %d", s.Seq)
				} else {
					await(t, a, func(s stream.Status, _ stream.State) bool { return s == stream.Fenced })
					if err := stop(); !errors.Is(err, jet.ErrFenced) {
						t.Errorf("the old writer: %v", err)
					}
					if _, err := a.Add([]byte("late")); !errors.Is(err, jet.ErrFenced) {
						t.Errorf("an addition: %v", err)
					}
				}
				_ = stopNext()
			}
			_ = stop()
			at = lastState(t, l)
		}
		got, s := executed(t, l, end(t, l))
		if len(got) != len(confirmed) || s.End.Seq != uint64(len(confirmed)) {
			t.Fatalf("%d records count, %d were confirmed", len(got), len(confirmed))
		}
		for i := range got {
			if got[i] != confirmed[i] {
				t.Fatalf("record %d is %q, want %q", i, got[i], confirmed[i])
			}
		}
		if s.Term < 3 {
			t.Errorf("term %d", s.Term)
		}
	})
}

// lastState reads the whole log.
func lastState(t *testing.T, l jet.Log) stream.State {
	t.Helper()
	_, s := executed(t, l, end(t, l))
	return s
}

// end returns the number of the last message, once the log is available.
func end(t *testing.T, l jet.Log) uint64 {
	t.Helper()
	for ctx := within(t); ; {
		last, err := l.Last(ctx)
		if err == nil {
			return last
		}
		if !errors.Is(err, jet.ErrUnavailable) || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// A log that has lost what it confirmed ends the writer.
func TestALostLogEndsTheAppender(t *testing.T) {
	t.Parallel()
	m := jettest.NewMem()
	a, stop := appender(t, m.Connect(), stream.State{}, 1)
	await(t, a, leads)
	m.Cut(1)
	if _, err := a.Add([]byte("r")); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := a.Add([]byte("r")); err != nil {
			break
		}
		<-a.Wake()
	}
	if err := stop(); !errors.Is(err, stream.ErrShrunk) {
		t.Errorf("ended with %v", err)
	}
}

// behind is a log whose server answers for a while from the state that it had before, and takes nothing.
type behind struct {
	jet.Log
	mu    sync.Mutex
	was   uint64
	times int // so many answers are old
}

func (b *behind) old() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.times > 0
}

func (b *behind) Publish(number, expect uint64, data []byte) error {
	if b.old() {
		return jet.ErrUnavailable
	}
	return b.Log.Publish(number, expect, data)
}

func (b *behind) Last(ctx context.Context) (uint64, error) {
	if b.old() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.times--
		return b.was, nil
	}
	return b.Log.Last(ctx)
}

// A server that answers from an older state than it has confirmed, as one does that was frozen, does not end the
// writer.
func TestAServerThatIsBehindDoesNotEndTheAppender(t *testing.T) {
	t.Parallel()
	l := &behind{Log: jettest.NewMem().Connect()}
	a, stop := appender(t, l, stream.State{}, 1)
	await(t, a, leads)
	l.mu.Lock()
	l.was, l.times = 1, 3
	l.mu.Unlock()
	if _, err := a.Add([]byte("r")); err != nil {
		t.Fatal(err)
	}
	await(t, a, func(_ stream.Status, s stream.State) bool { return s.End.Seq == 1 })
	if err := stop(); !errors.Is(err, errEnough) {
		t.Errorf("ended with %v", err)
	}
}

// Records that are collected share a message, which is sent when the owner says so, or is full.
func TestCollectedRecordsShareAMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := jettest.NewMem().Connect()
		a, stop := appender(t, l, stream.State{}, 1)
		await(t, a, leads)
		collect := func(text string) {
			if _, err := a.Collect([]byte(text)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		before := end(t, l)
		for _, text := range []string{"a", "b", "c"} {
			collect(text)
		}
		if at := end(t, l); at != before {
			t.Errorf("%d messages were sent before Send", at-before)
		}
		a.Send()
		synctest.Wait()
		records, _ := executed(t, l, end(t, l))
		if at := end(t, l); at != before+1 || len(records) != 3 {
			t.Errorf("%d messages with %q", at-before, records)
		}
		collect("d")
		collect(strings.Repeat("x", stream.MaxRecord))
		if records, _ = executed(t, l, end(t, l)); len(records) < 4 {
			t.Errorf("a full message waits: %d records", len(records))
		}
		if err := stop(); !errors.Is(err, errEnough) {
			t.Error(err)
		}
	})
}
