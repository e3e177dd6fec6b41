package harness

import (
	"os"
	"sync"
	"testing"
)

// Starting a browser and a demo market costs seconds of CPU. All tests of pages use one browser,
// each in a separate profile, and tests that leave the market to itself use one market.

// lasting is a testing.TB for what outlives the test that starts it: TestMain ends it.
type lasting struct{ testing.TB }

// lastingEnds ends what lasts.
var lastingEnds struct {
	sync.Mutex
	all []func()
}

func (lasting) Helper() {}

func (lasting) Failed() bool { return false }

func (lasting) Logf(string, ...any) {}

func (lasting) Cleanup(f func()) {
	lastingEnds.Lock()
	defer lastingEnds.Unlock()
	lastingEnds.all = append(lastingEnds.all, f)
}

func (l lasting) TempDir() string {
	dir, err := os.MkdirTemp("", "tickhive-test-")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// endLasting ends what the tests share, the newest first.
func endLasting() {
	for i := len(lastingEnds.all) - 1; i >= 0; i-- {
		lastingEnds.all[i]()
	}
}

// Shared makes a value when the first test asks for it.
type Shared[T any] struct {
	once sync.Once
	made bool
	v    T
}

func (s *Shared[T]) Get(t testing.TB, make func(t testing.TB) T) T {
	t.Helper()
	s.once.Do(func() { s.v, s.made = make(lasting{t}), true })
	if !s.made {
		t.Fatal("an earlier test could not start it")
	}
	return s.v
}

// Of returns the instance as seen by another test, which its failures stop.
func (in *Instance) Of(t testing.TB) *Instance {
	other := *in
	other.T = t
	return &other
}

var demo Shared[*Instance]

// TheDemo returns the demo market that tests share. It has a history of a few hours, and no test
// changes its pairs. All browsers have one address, so it has no limits per address.
func TheDemo(t *testing.T) *Instance {
	t.Helper()
	return demo.Get(t, func(t testing.TB) *Instance {
		return Start(t, "--backfill", "3h", "--set", "rate.allow=127.0.0.1")
	}).Of(t)
}
