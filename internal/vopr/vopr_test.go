package vopr

import (
	"bytes"
	"flag"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

var (
	seeds   = flag.Int("vopr.seeds", 0, "number of seeds; 0: 30, with TICKHIVE_SOAK=1 those of vopr.time")
	first   = flag.Uint64("vopr.first", 0, "the first seed; 0: 1, with TICKHIVE_SOAK=1 a random one")
	span    = flag.Duration("vopr.time", 20*time.Minute, "how long a soak runs seeds")
	damaged = flag.Int("vopr.damaged", 150, "number of damages of a directory")
	trace   = flag.Bool("vopr.trace", false, "print the transcript of the first seed")
)

// A seed gives the same transcript every time.
func TestASeedRepeats(t *testing.T) {
	for seed := range uint64(3) {
		var a, b bytes.Buffer
		ra, err := Run(seed, &a)
		if err != nil {
			t.Error(err)
		}
		if rb, _ := Run(seed, &b); ra.Transcript != rb.Transcript {
			la, lb := strings.Split(a.String(), "\n"), strings.Split(b.String(), "\n")
			for i := range la {
				if i >= len(lb) || la[i] != lb[i] {
					t.Fatalf("seed %d: line %d differs:\n%.400s\n%.400s", seed, i, la[i], lb[min(i, len(lb)-1)])
				}
			}
		}
	}
}

// A failed sync in a record of any part stops every part, and nothing that was answered is lost.
func TestAFailedSyncStopsEverything(t *testing.T) {
	for seed := range uint64(8) {
		w := newWorld(seed, nil)
		w.plan.segment, w.plan.snapshot, w.plan.keepAll = 8192, 6000, false
		policy := syncPolicies[seed%3]
		w.plan.lives = []life{{commands: 200, end: kill, sync: policy}, {
			commands: 600, end: kill, sync: policy, strike: vfstest.SyncError, struck: machine.Part(seed % 4),
		}}
		r, err := w.simulate()
		if err != nil {
			t.Error(err)
		}
		if r.Mix.Faults[vfstest.SyncError] != 1 || r.Mix.Stopped != 1 {
			t.Errorf("seed %d: no sync failed", seed)
		}
	}
}

// Every rule about a moment holds in the last nanosecond before it and in the first one of it, under each policy.
func TestEdgesOfTime(t *testing.T) {
	for first, policy := range syncPolicies {
		var met [edges]int
		for try := 0; try < 5 && slices.Contains(met[:], 0); try++ { // a seed may lack what an edge needs
			w := newWorld(uint64(first+len(syncPolicies)*try), nil)
			w.plan.sync = policy
			w.plan.lives = []life{{commands: 150, end: kill, sync: policy}, {commands: 50, end: kill, sync: policy}}
			for e := range edges { // the window first: others take the clock over it
				w.plan.lives[1].edges = append(w.plan.lives[1].edges, edge((e+int(windowEdge))%edges))
			}
			r, err := w.simulate()
			if err != nil {
				t.Error(err)
			}
			for e, n := range r.Mix.Edges {
				met[e] += n
			}
		}
		if slices.Contains(met[:], 0) {
			t.Errorf("policy %v: edges met %v", policy, met)
		}
	}
}

// collectLess makes the collector run less often, because every life builds a whole exchange. The limit is needed:
// the pools of an exchange keep it for two collections, so the heap would grow without end. The result undoes it.
func collectLess() func() {
	percent, limit := debug.SetGCPercent(400), debug.SetMemoryLimit(1<<30)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// No seed breaks a promise. TICKHIVE_SOAK=1 runs new ones for 20 minutes.
func TestSeeds(t *testing.T) {
	n, from, more := *seeds, max(*first, 1), func() bool { return true }
	switch soak := os.Getenv("TICKHIVE_SOAK") == "1"; {
	case n == 0 && !soak:
		n = 30
	case n == 0:
		n = math.MaxInt
		if *first == 0 {
			from = 1_000_000 + rand.Uint64N(1<<40)
		}
		end := time.Now().Add(*span)
		more = func() bool { return time.Now().Before(end) }
	}
	t.Logf("seeds from %d on", from)
	defer collectLess()()
	var mu sync.Mutex
	var sum Mix
	ran := 0
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for k := range workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := k; i < n && more(); i += workers {
				seed := from + uint64(i)
				var out io.Writer
				if *trace && i == 0 {
					out = os.Stdout
				}
				r, err := Run(seed, out)
				mu.Lock()
				sum.Add(&r.Mix)
				ran++
				mu.Unlock()
				if err != nil {
					t.Errorf("%v\nrepeat it with: make vopr SEEDS=1 SEED=%d", err, seed)
				}
			}
		}()
	}
	wait.Wait()
	if sum.Within == 0 {
		t.Error("no step was paused while others ran")
	}
	t.Logf("%d seeds: %+v", ran, sum)
}
