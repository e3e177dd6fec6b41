package engine_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"tickhive/engine"
)

// A submitter that is alone is answered at once: the loop does not let something that
// computes have its turn first. On one processor that shows in the turns that it gets.
func TestLoopDoesNotWaitForCompanyOfALoneSubmitter(t *testing.T) {
	l := startLoop(t, engine.LoopOptions{})
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
	b := engine.Batch{Commands: []engine.Command{limitOrder(engine.Buy, 100, 1)}}
	for range asked {
		if err := l.Submit(&b); err != nil {
			t.Fatal(err)
		}
	}
	got := turns.Load()
	stop.Store(true)
	<-done
	// Go itself lets whoever waits longest run once in 61 times.
	if got > asked/4 {
		t.Errorf("%d turns of another goroutine while %d batches were answered", got, asked)
	}
}
