package cluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// outcome says what a client knows about a change after its only attempt.
type outcome string

const (
	wasAcked   outcome = "acknowledged" // it is there, once
	wasRefused outcome = "refused"      // it is not there
	isUnknown  outcome = "unknown"      // it is there once, or not
)

// outcomeOf returns the outcome by the status of an answer, 0 for none (docs/contract/errors.md).
func outcomeOf(status int) outcome {
	switch {
	case status == 200:
		return wasAcked
	case status == 0 || status >= 500 && status != 503:
		return isUnknown
	}
	return wasRefused
}

// op is a change that a client has tried once. Its key finds its effect.
type op struct {
	kind, key  string
	client     int
	node       int           // that the client has asked; -1: the writer's internal listener
	begin, end time.Duration // since the begin of the run
	outcome    outcome
	answer     string
}

func (o *op) String() string {
	return fmt.Sprintf("%s %s of client %d at node %d, %v to %v, %s: %.200s", o.kind, o.key, o.client, o.node,
		o.begin.Round(time.Millisecond), o.end.Round(time.Millisecond), o.outcome, o.answer)
}

// history has every change of the clients. Any goroutine may add.
type history struct {
	begun time.Time
	mu    sync.Mutex
	ops   []op
}

// add notes a change that began at a time, and has ended.
func (h *history) add(o op, begun time.Time, status int, answer string) outcome {
	o.begin, o.end, o.outcome = begun.Sub(h.begun), time.Since(h.begun), outcomeOf(status)
	o.answer = fmt.Sprintf("%d %s", status, answer)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, o)
	return o.outcome
}

// firstAfter returns how long after a time the first change was acknowledged that began behind it. ok is false if none
// was.
func (h *history) firstAfter(at time.Duration) (took time.Duration, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.ops {
		if o.outcome == wasAcked && o.begin >= at && (!ok || o.end-at < took) {
			took, ok = o.end-at, true
		}
	}
	return took, ok
}

// counts returns the number of changes of each outcome.
func (h *history) counts() map[outcome]int {
	n := map[outcome]int{}
	for _, o := range h.ops {
		n[o.outcome]++
	}
	return n
}

// wrong returns the changes whose effect was found another number of times than their outcome permits.
func (h *history) wrong(found map[string]int) (lines []string) {
	known := map[string]bool{}
	for _, o := range h.ops {
		n := found[o.kind+" "+o.key]
		known[o.kind+" "+o.key] = true
		if n > 1 || o.outcome == wasAcked && n != 1 || o.outcome == wasRefused && n != 0 {
			lines = append(lines, fmt.Sprintf("found %d times: %v", n, &o))
		}
	}
	for key, n := range found {
		if !known[key] {
			lines = append(lines, fmt.Sprintf("found %d times: %s, which no client has sent", n, key))
		}
	}
	slices.Sort(lines)
	return lines
}

// The checker accepts what an outcome permits, and nothing else.
func TestTheHistoryIsChecked(t *testing.T) {
	t.Parallel()
	for status, times := range map[int][3]bool{ // found 0, 1 and 2 times
		200: {false, true, false}, 0: {true, true, false}, 504: {true, true, false}, 500: {true, true, false},
		503: {true, false, false}, 400: {true, false, false}, 421: {true, false, false}, 409: {true, false, false},
	} {
		for n, right := range times {
			h := history{begun: time.Now()}
			h.add(op{kind: "order", key: "1"}, h.begun, status, "")
			if lines := h.wrong(map[string]int{"order 1": n}); len(lines) == 0 != right {
				t.Errorf("status %d, found %d times: %v", status, n, lines)
			}
		}
	}
	h := history{begun: time.Now()}
	if lines := h.wrong(map[string]int{"order 7": 1}); len(lines) != 1 || !strings.Contains(lines[0], "no client") {
		t.Errorf("a change of no client: %v", lines)
	}
	h.add(op{}, h.begun.Add(-time.Second), 200, "")
	h.add(op{}, h.begun.Add(time.Second), 504, "")
	if _, ok := h.firstAfter(0); ok {
		t.Error("a change that began before a fault shows its end")
	}
}
