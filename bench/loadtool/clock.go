package loadtool

import (
	"context"
	"sync"
	"time"

	"github.com/tickhive/tickhive/client"
)

const (
	// clockEvery is the time after which a run reads the exchange's clock again. The exchange refuses a timestamp that
	// is a second ahead, and its clock may be slower than this machine's, or virtual and stand still.
	clockEvery = 250 * time.Millisecond
	// clockStep is the step in which the exchange tells its time.
	clockStep = time.Millisecond
	// clockSamples are read before a run of MixStreams, as far as they come within clockPatience.
	clockSamples  = 200
	clockPatience = time.Second
	// clockDrift is the part of the time that passes by which two clocks may move apart.
	clockDrift = 10_000
)

// exchangeClock knows the bounds of the time that the exchange's clock is ahead of this machine's. Each sample sets
// some: the exchange read its clock between the sending and the arrival, somewhere within the step that it told. What
// all samples have in common is much less than a step wide. Any goroutine may use it.
type exchangeClock struct {
	client *client.Client

	mu        sync.Mutex
	low, high time.Duration
	at        time.Time // of the last sample; zero: none
}

// read takes one sample.
func (x *exchangeClock) read(ctx context.Context) error {
	sent := time.Now()
	ms, err := x.client.Time(ctx)
	if err == nil {
		x.take(sent, time.Now(), time.UnixMilli(ms))
	}
	return err
}

// take narrows the bounds by a sample. One that contradicts them shows that a clock was set, and begins again.
func (x *exchangeClock) take(sent, got, told time.Time) {
	low, high := told.Sub(got), told.Add(clockStep).Sub(sent)
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.at.IsZero() {
		drift := x.drift(got)
		if l, h := max(low, x.low-drift), min(high, x.high+drift); l <= h {
			low, high = l, h
		}
	}
	x.low, x.high, x.at = low, high, got
}

// drift returns the time by which the bounds may have moved since the last sample. The caller holds the lock.
func (x *exchangeClock) drift(now time.Time) time.Duration { return max(now.Sub(x.at), 0) / clockDrift }

// ahead returns the time that the exchange's clock is ahead of this machine's, and by how much that may be wrong.
func (x *exchangeClock) ahead(now time.Time) (ahead, within time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.low + (x.high-x.low)/2, (x.high-x.low)/2 + x.drift(now)
}

// now returns the time of the exchange.
func (x *exchangeClock) now() time.Time {
	now := time.Now()
	ahead, _ := x.ahead(now)
	return now.Add(ahead)
}

// readOften takes so many samples that the bounds are close.
func (x *exchangeClock) readOften(ctx context.Context) error {
	began := time.Now()
	for i := 0; i < clockSamples && time.Since(began) < clockPatience; i++ {
		if err := x.read(ctx); err != nil && x.at.IsZero() {
			return err
		}
	}
	return nil
}

// follow takes a sample every clockEvery until ctx or the returned function ends it. A clock that cannot be read keeps
// its last bounds.
func (x *exchangeClock) follow(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(clockEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = x.read(ctx)
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}
