package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// Starting a browser and a demo market costs seconds of CPU. All tests of pages use one browser,
// each in a separate profile, and tests that leave the market to itself use one market.

// lasting is a testing.TB for what outlives the test that starts it: TestMain ends it.
type lasting struct{ testing.TB }

var (
	lastingMu   sync.Mutex
	lastingEnds []func()
)

func (lasting) Helper()             {}
func (lasting) Failed() bool        { return false }
func (lasting) Logf(string, ...any) {}

func (lasting) Cleanup(f func()) {
	lastingMu.Lock()
	defer lastingMu.Unlock()
	lastingEnds = append(lastingEnds, f)
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
	for i := len(lastingEnds) - 1; i >= 0; i-- {
		lastingEnds[i]()
	}
}

// shared makes a value when the first test asks for it.
type shared[T any] struct {
	once sync.Once
	made bool
	v    T
}

func (s *shared[T]) get(t testing.TB, make func(t testing.TB) T) T {
	t.Helper()
	s.once.Do(func() { s.v, s.made = make(lasting{t}), true })
	if !s.made {
		t.Fatal("an earlier test could not start it")
	}
	return s.v
}

// of returns the instance as seen by another test, which its failures stop.
func (in *instance) of(t testing.TB) *instance {
	other := *in
	other.t = t
	return &other
}

var demo shared[*instance]

// theDemo returns the demo market that tests share. It has a history of a few hours, and no test
// changes its pairs. All browsers have one address, so it has no limits per address.
func theDemo(t *testing.T) *instance {
	t.Helper()
	return demo.get(t, func(t testing.TB) *instance {
		return start(t, "--backfill", "3h", "--set", "rate.allow=127.0.0.1")
	}).of(t)
}

// ownDemo starts a demo market for a test that changes it or counts its requests.
func ownDemo(t testing.TB) *instance {
	t.Helper()
	return start(t, "--backfill", "3h")
}

// marketWithKey is a market and the key pair of a user with funds.
type marketWithKey struct {
	in  *instance
	key map[string]any
}

var manyPairsDemo shared[marketWithKey]

// manyPairs returns a demo market of 1,000 pairs, all but 12 of them without a trade, and the key
// pair of a user with funds.
func manyPairs(t *testing.T) (in *instance, key map[string]any) {
	t.Helper()
	m := manyPairsDemo.get(t, func(t testing.TB) marketWithKey {
		in := ownDemo(t)
		for i := range 988 {
			in.pair(fmt.Sprintf("P%03d_USDT", i))
		}
		return marketWithKey{in, in.funded("screen")}
	})
	return m.in.of(t), m.key
}

var fundedUsers atomic.Int64 // makes nicknames unique in a market that tests share

// funded makes a user with money and returns its key pair.
func (in *instance) funded(nickname string) (key map[string]any) {
	in.t.Helper()
	nickname += fmt.Sprint(fundedUsers.Add(1))
	user := in.call(200, "POST", "/users", fmt.Sprintf(`{"nickname":%q}`, nickname))["id"].(string)
	in.call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":100000}`)
	return in.call(200, "POST", "/users/"+user+"/apikeys", fmt.Sprintf(`{"name":%q}`, nickname))
}

var theBrowser shared[context.Context]

// startBrowser starts Chromium. Names of other hosts resolve to this machine for the tests of
// pages of other origins.
func startBrowser(t testing.TB) context.Context {
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP evil.test 127.0.0.1, MAP rebound.test 127.0.0.1"))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, stop := chromedp.NewContext(alloc)
	t.Cleanup(func() { stop(); stopAlloc() })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("browser: %v", err)
	}
	return ctx
}
