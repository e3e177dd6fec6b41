package nets_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/test/nets"
)

// later are spans after which the state is read again: fields that time alone reads show only then. Within the first a
// trade leaves the window, the second fires a dead man's switch, the third closes proposals and ends a boost.
var later = []time.Duration{time.Second, time.Minute, 8 * 24 * time.Hour}

// Every GET of the documents has equal bytes before and after a restart in an unchanged state: after a kill, which
// replays the log, and after a stop in order, which restores snapshots. It still has when the same time has passed.
func TestEveryAnswerOutlivesARestart(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	x := exchangetest.Start(t, o)
	n := nodeOf(t, x)
	w := nets.Build(n, stepOf(n))
	states := []map[string]nets.Read{w.Reads(n)}
	counts, all := map[int]int{}, 0
	for name, r := range states[0] {
		if !strings.HasPrefix(name, "nobody ") { // who gets 404 of what the others have
			counts[r.Status]++
			all++
		}
	}
	t.Logf("answers by status: %v", counts)
	if ok := counts[http.StatusOK]; ok < all*9/10 || ok < 400 {
		t.Errorf("%d of %d answers are 200: the world has too little to read", ok, all)
	}
	if again := nets.Differ(states[0], w.Reads(n)); len(again) > 0 {
		t.Fatalf("the state is not at rest: %d reads differ without a restart, first %s", len(again), again[0])
	}
	o.Dir, o.Clock.StartGiven = x.Kill(), false
	for _, d := range later {
		stepOf(n)(d)
		states = append(states, w.Reads(n))
		if len(nets.Differ(states[len(states)-2], states[len(states)-1])) == 0 {
			t.Errorf("%s change nothing", d)
		}
	}
	x.Stop()
	x = exchangetest.Start(t, o)
	w.Same(nodeOf(t, x), "after a kill", states[0])
	x.Stop()
	x = exchangetest.Start(t, o)
	n = nodeOf(t, x)
	w.Same(n, "after a stop", states[0])
	for i, d := range later {
		stepOf(n)(d)
		w.Same(n, "after a stop and "+d.String(), states[i+1])
	}
	x.Stop()
}
