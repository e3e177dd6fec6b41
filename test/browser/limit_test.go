package browser

import (
	"strings"
	"testing"
	"time"
)

// Two tabs of the launchpad and hive pages together send fewer than 60 requests per minute and
// are never refused.
func TestBrowserPagesStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"/launchpad", "/hive"} {
		t.Run(page[1:], func(t *testing.T) {
			t.Parallel()
			withinTheLimit(t, page)
		})
	}
}

func withinTheLimit(t *testing.T, page string) {
	in := ownDemo(t)
	tabs := []*browser{newBrowser(t, in, 1280, 800), newBrowser(t, in, 1280, 800)}
	for _, b := range tabs {
		b.open(page)
		b.wait(page, `document.querySelectorAll('main table').length > 0`)
	}
	counted := func() (n int) {
		for _, b := range tabs {
			b.mu.Lock()
			for path, k := range b.requests {
				if strings.HasPrefix(path, "/api/launchpad/") || strings.HasPrefix(path, "/api/agents/") {
					n += k
				}
			}
			b.mu.Unlock()
		}
		return n
	}
	begin, first := time.Now(), counted()
	const span = 15 * time.Second
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for time.Since(begin) < span {
		<-look.C
	}
	then := counted() - first
	if minute := first + then*int(time.Minute/span); minute > 60 || then == 0 {
		t.Errorf("%s: %d requests to open two tabs and %d in %s: %d in the first minute", page, first, then, span,
			minute)
	}
	t.Logf("%s: %d requests to open two tabs, %d in %s", page, first, then, span)
	for _, b := range tabs {
		b.clean()
	}
}
