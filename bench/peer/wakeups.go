package peer

import (
	"bufio"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// WakeEvery is the time between two wake-ups of ServeWakeups.
const WakeEvery = 5 * time.Millisecond

// ServeWakeups wakes up every WakeEvery and does nothing else, so that its delays are those that the machine causes at
// its present load. For each line that it reads it writes the p99 of the delays since the line before, in ms.
func ServeWakeups(in io.Reader, answers io.Writer) error {
	var mu sync.Mutex
	delays := NewHist()
	stop, ended := make(chan struct{}), make(chan struct{})
	defer func() {
		close(stop)
		<-ended
	}()
	go func() {
		wakeUp(stop, &mu, delays)
		close(ended)
	}()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		mu.Lock()
		p99 := float64(delays.ValueAtQuantile(99)) / 1e3
		delays.Reset()
		mu.Unlock()
		if _, err := fmt.Fprintln(answers, p99); err != nil {
			return err
		}
	}
	return nil
}

// wakeUp notes how long after each intended time it wakes up, until stop is closed.
func wakeUp(stop <-chan struct{}, mu *sync.Mutex, delays *hdrhistogram.Histogram) {
	for due := time.Now().Add(WakeEvery); ; due = due.Add(WakeEvery) {
		time.Sleep(time.Until(due))
		late := time.Since(due)
		select {
		case <-stop:
			return
		default:
		}
		mu.Lock()
		_ = delays.RecordValue(late.Microseconds()) // it fails above a minute
		mu.Unlock()
	}
}
