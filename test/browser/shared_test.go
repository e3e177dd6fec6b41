package browser

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tickhive/tickhive/test/harness"
)

// ownDemo starts a demo market for a test that changes it or counts its requests.
func ownDemo(t testing.TB) *harness.Instance {
	t.Helper()
	return harness.Start(t, "--backfill", "3h")
}

// marketWithKey is a market and the key pair of a user with funds.
type marketWithKey struct {
	in  *harness.Instance
	key map[string]any
}

var manyPairsDemo harness.Shared[marketWithKey]

// manyPairs returns a demo market of 1,000 pairs, all but 12 of them without a trade, and the key
// pair of a user with funds.
func manyPairs(t *testing.T) (in *harness.Instance, key map[string]any) {
	t.Helper()
	m := manyPairsDemo.Get(t, func(t testing.TB) marketWithKey {
		in := ownDemo(t)
		for i := range 988 {
			in.Call(200, "POST", "/pairs", fmt.Sprintf(`{"code":"P%03d_USDT","digitsPrice":2,"digitsAmount":2}`, i))
		}
		return marketWithKey{in, funded(in, "screen")}
	})
	return m.in.Of(t), m.key
}

var fundedUsers atomic.Int64 // makes nicknames unique in a market that tests share

// funded makes a user with money and returns its key pair.
func funded(in *harness.Instance, nickname string) (key map[string]any) {
	in.T.Helper()
	nickname += fmt.Sprint(fundedUsers.Add(1))
	user := in.Call(200, "POST", "/users", fmt.Sprintf(`{"nickname":%q}`, nickname))["id"].(string)
	in.Call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":100000}`)
	return in.Call(200, "POST", "/users/"+user+"/apikeys", fmt.Sprintf(`{"name":%q}`, nickname))
}

var theBrowser harness.Shared[context.Context]

// startBrowser starts Chromium. Names of other hosts resolve to this machine for the tests of
// pages of other origins.
func startBrowser(t testing.TB) context.Context {
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium()),
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
