package sequencer

import (
	"errors"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
)

// Each putter's batches come out in its order, each exactly once; a closed intake refuses.
func TestIntakeKeepsOrder(t *testing.T) {
	const putters, each = 8, 500
	q := &intake{bell: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	for p := range putters {
		wg.Go(func() {
			for i := range each {
				b := &Batch{Commands: []engine.Command{{Account: engine.AccountID(p), Amount: int64(i)}}}
				if err := q.put(b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var next [putters]int64
	for got := 0; got < putters*each; {
		b := q.pop()
		if b == nil {
			if q.sleep() {
				<-q.bell // a putter that finds the loop asleep must ring
			}
			q.wake()
			continue
		}
		c := &b.Commands[0]
		if c.Amount != next[c.Account] {
			t.Fatalf("putter %d: batch %d comes where %d should", c.Account, c.Amount, next[c.Account])
		}
		next[c.Account]++
		got++
	}
	wg.Wait()
	if !q.close() || q.waiting.Load() != 0 {
		t.Errorf("%d wait in an empty intake", q.waiting.Load())
	}
	if err := q.put(&Batch{}); !errors.Is(err, ErrStopping) {
		t.Errorf("a closed intake: %v, want ErrStopping", err)
	}
}

// Batches accepted before the end are answered, later ones are refused; no submitter hangs.
func TestSubmitDuringStop(t *testing.T) {
	for range 50 {
		l := NewLoop(LoopOptions{Core: engine.NewCore(engine.Options{}), Clock: clock.Real{}})
		go l.Run()
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				var b Batch
				for {
					b.Commands = append(b.Commands[:0], engine.Command{Kind: engine.Cancel, Order: 1})
					if err := l.Submit(&b); err != nil {
						if !errors.Is(err, ErrStopping) {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		l.Stop()
		wg.Wait()
		if l.QueueLen() != 0 {
			t.Fatalf("%d batches wait after the end", l.QueueLen())
		}
	}
}
