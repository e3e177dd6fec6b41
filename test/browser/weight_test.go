package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

const (
	mostBytes = 130_000 // of a first visit of the market page
	mostShift = 0.05    // cumulative layout shift
)

// complete holds once the market page has everything of its first picture.
const complete = `tickhive.candles().length >= 100 && document.querySelectorAll('.bid .row').length >= 10 &&
	document.querySelectorAll('.ask .row').length >= 10 && document.querySelectorAll('.tape tbody tr').length >= 10 &&
	document.querySelectorAll('[data-pair]').length >= 6 && document.getElementById('last').textContent !== '–' &&
	document.querySelector('.ticket [name=privateKey]') && document.querySelector('.orders .empty')`

// A first visit of the market page transfers at most 130 KB until the picture is complete, headers
// included, the WebSocket not. The layout is stable meanwhile, and the scripts come compressed.
func TestSmokeBrowserFirstVisitIsLight(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1440, 900)
	b.open("/")
	b.wait("the first complete picture", complete)
	b.stays()
	total, list := b.transferred()
	t.Logf("%d bytes:\n%s", total, list)
	if total > mostBytes || total < mostBytes/2 || strings.Count(list, "\n") < 9 {
		t.Errorf("the first visit takes %d bytes, at most %d:\n%s", total, mostBytes, list)
	}
	b.js(`(document.body.prepend(document.createElement('p')), document.querySelector('p').style.height = '300px')`)
	b.wait("a shift is measured", fmt.Sprintf("%s > %g", shifts, mostShift))
	b.clean()
}

// shifts returns the cumulative layout shift of the page.
const shifts = `(() => { const o = new PerformanceObserver(() => {}); o.observe({type: 'layout-shift', buffered: true});
	return o.takeRecords().reduce((sum, e) => sum + (e.hadRecentInput ? 0 : e.value), 0); })()`

// transferred waits until no request is open. It returns the bytes over the wire since the start, in
// all and for each request.
func (b *browser) transferred() (total int, list string) {
	b.t.Helper()
	look := time.NewTicker(25 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(harness.Patience); ; <-look.C {
		b.mu.Lock()
		total, list = 0, ""
		seen := map[string]bool{}
		for _, r := range b.wire {
			if r.path == "/api/summary?decimals=string" && seen[r.path] {
				continue // the list reads it again every 15 s
			}
			seen[r.path] = true
			total += r.bytes
			list += fmt.Sprintf("%7d %s\n", r.bytes, r.path)
		}
		open := b.pending
		b.mu.Unlock()
		if open == 0 {
			return total, list
		}
		if time.Now().After(end) {
			b.t.Fatalf("%d requests do not end:\n%s", open, list)
		}
	}
}
