package sequencer_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
)

// A submitter that is alone is answered at once: the loop does not let something that
// computes have its turn first. On one processor that shows in the turns that it gets. A
// source that acts all the time is no contention.
func TestLoopDoesNotWaitForCompanyOfALoneSubmitter(t *testing.T) {
	for _, c := range []struct {
		name    string
		sources []sequencer.Source
	}{{"alone", nil}, {"beside a source", []sequencer.Source{&hasty{}}}} {
		t.Run(c.name, func(t *testing.T) {
			now := time.Now().UnixNano()
			turnsOfAnother(t, startLoop(t, sequencer.LoopOptions{
				Clock: clock.Real{}, StartNs: now,
				Sources: c.sources,
			}))
		})
	}
}

// hasty acts 50,000 times a second, as far as the loop gets to it.
type hasty struct{ due int64 }

func (h *hasty) NextNs() int64 { return h.due }

func (h *hasty) Act(_ int64, dst []engine.Command) []engine.Command {
	h.due = time.Now().UnixNano() + 20_000
	return append(dst, limitOrder(engine.Buy, 100, 1))
}

func (h *hasty) Skip(nowNs int64) { h.due = nowNs }

func turnsOfAnother(t *testing.T, l *sequencer.Loop) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var turns atomic.Int64
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			turns.Add(1)
			runtime.Gosched()
		}
	}()
	const asked = 2000
	b := sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Buy, 100, 1)}}
	for range asked {
		if err := l.Submit(&b); err != nil {
			t.Fatal(err)
		}
	}
	got := turns.Load()
	stop.Store(true)
	<-done
	// Go itself runs the goroutine that waits longest once in 61 times.
	if got > asked/4 {
		t.Errorf("%d turns of another goroutine while %d batches were answered", got, asked)
	}
}
