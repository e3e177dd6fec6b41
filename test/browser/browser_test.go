package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/tickhive/tickhive/test/harness"
)

// chromiums are the paths of Debian's two packages. The first has no window, toolbar or extensions, and so needs half
// the processor time.
var chromiums = []string{"/usr/bin/chromium-headless-shell", "/usr/bin/chromium"}

// chromium returns the path of the browser, "" without one.
func chromium() string {
	for _, path := range chromiums {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// browser is one headless browser on one page of the running program. It records everything
// that must not happen: console errors, exceptions, requests to other hosts, error responses.
type browser struct {
	t   *testing.T
	in  *harness.Instance
	ctx context.Context

	mu       sync.Mutex
	wrong    []string
	requests map[string]int // by path, since the start
	wire     map[network.RequestID]*transfer
	pending  int // requests that have not ended
}

// transfer is one request and its bytes over the wire, headers included.
type transfer struct {
	path  string
	bytes int
	ended bool
}

func (b *browser) ended(id network.RequestID, bytes float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.wire[id]; r != nil && !r.ended {
		r.bytes, r.ended = int(bytes), true
		b.pending--
	}
}

// newBrowser opens a page in a new profile.
func newBrowser(t *testing.T, in *harness.Instance, width, height int64) *browser {
	t.Helper()
	if chromium() == "" {
		if os.Getenv("TICKHIVE_STRICT") == "1" {
			t.Fatalf("no browser at %s", strings.Join(chromiums, " or "))
		}
		t.Skipf("no browser at %s: the page is not looked at (TICKHIVE_STRICT=1 makes this an error)",
			strings.Join(chromiums, " or "))
	}
	ctx, stop := chromedp.NewContext(theBrowser.Get(t, startBrowser), chromedp.WithNewBrowserContext())
	limit := 2 * harness.Patience // a machine with other work needs longer than a quiet one, which needs seconds
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		limit = 10 * time.Minute
	}
	ctx, stopTime := context.WithTimeout(ctx, limit)
	t.Cleanup(func() { stopTime(); stop() })
	b := &browser{t: t, in: in, ctx: ctx, requests: map[string]int{}, wire: map[network.RequestID]*transfer{}}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatalf("browser: %v", err)
	}
	command(b, network.Enable, network.EnableParams{})
	command(b, runtime.Enable, cdp.Empty{})
	command(b, log.Enable, cdp.Empty{})
	b.run(chromedp.EmulateViewport(width, height))
	return b
}

// command runs one command of the DevTools protocol.
func command[P, R any](b *browser, c cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, c, params); err != nil {
		b.t.Fatalf("browser: %s: %v", c.Method, err)
	}
}

func (b *browser) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

func (b *browser) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			for _, a := range e.Args {
				b.note("console %s: %s %s", e.Type, a.Value, a.Description)
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" {
			b.note("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if o := e.ExceptionDetails.Exception; o != nil {
			text += " " + o.Description
		}
		b.note("exception: %s", text)
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Scheme != "data" && "http://"+u.Host != b.in.Public {
			b.note("a request to %s", e.Request.URL)
			return
		}
		b.mu.Lock()
		b.requests[u.Path]++
		if b.wire[e.RequestID] == nil {
			b.wire[e.RequestID] = &transfer{path: u.RequestURI()}
			b.pending++
		}
		b.mu.Unlock()
	case *network.EventLoadingFinished:
		b.ended(e.RequestID, e.EncodedDataLength)
	case *network.EventLoadingFailed:
		b.ended(e.RequestID, 0)
	case *network.EventWebSocketCreated:
		if u, err := url.Parse(e.URL); err != nil || "http://"+u.Host != b.in.Public {
			b.note("a socket to %s", e.URL)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			b.note("%d from %s", e.Response.Status, e.Response.URL)
		}
	}
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatalf("browser: %v; noticed %v", err, b.wrong)
	}
}

func (b *browser) open(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.in.Public + path))
}

// hasMoney waits until the list of balances has USDT, and shows the open orders again.
func (b *browser) hasMoney() {
	b.t.Helper()
	b.js(`document.querySelector('[data-list=balances]').click()`)
	b.wait("balances", `document.querySelector('[data-balance=USDT]')`)
	b.js(`document.querySelector('[data-list=open]').click()`)
}

// js returns the value of an expression as text.
func (b *browser) js(expression string) string {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		b.t.Fatalf("browser: %s: %v", expression, err)
	}
	return out
}

// wait evaluates the expression every 25 ms until it is true. An element that is not there yet
// counts as false, and so does a page that another one replaces meanwhile. Polling inside the page
// would need eval, which the page's policy forbids.
func (b *browser) wait(what, expression string) {
	b.t.Helper()
	look := time.NewTicker(25 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(harness.Patience); ; <-look.C {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("(() => { try { return !!("+expression+
			"); } catch { return false; } })()"))
		if err != nil && !strings.Contains(err.Error(), "Inspected target navigated") {
			b.t.Fatalf("browser: %s: %v", expression, err)
		}
		if is {
			return
		}
		if time.Now().After(end) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.t.Fatalf("%s: not within %s; noticed %q; the page says %.600q", what, harness.Patience, b.wrong,
				b.js("document.body.innerText"))
		}
	}
}

// settles waits until the expression returns want, and returns its last value. A page repeats
// its layout some frames after its size has changed.
func (b *browser) settles(want, expression string) string {
	b.t.Helper()
	look := time.NewTicker(25 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(harness.Patience); ; <-look.C {
		if got := b.js(expression); got == want || time.Now().After(end) {
			return got
		}
	}
}

// clean fails the test if anything was recorded.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		b.t.Errorf("noticed: %s", w)
	}
}

// shot saves a screenshot in the folder TICKHIVE_SHOTS, if it is set.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("TICKHIVE_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	path := filepath.Join(dir, name+".png")
	if err := os.WriteFile(path, png, 0o644); err != nil {
		b.t.Fatal(err)
	}
	if tool, err := exec.LookPath("pngquant"); err == nil {
		_ = exec.Command(tool, "--force", "--ext", ".png", path).Run() // optional: makes the file smaller
	}
}

// pairs opens the list of pairs: the name of the pair does, and on a phone a tab. A wide screen always has it.
func (b *browser) pairs() {
	b.t.Helper()
	b.wait("the page", `document.querySelector('.head h1 button')`)
	b.js(`(() => { if (document.querySelector('.pairs').checkVisibility()) return;
		[document.querySelector('[data-tab=pairs]'), document.querySelector('.head h1 button')].
			find((e) => e.checkVisibility()).click(); })()`)
	b.wait("the list of pairs", `document.querySelector('.pairs').checkVisibility()`)
}

// pick selects a pair.
func (b *browser) pick(pair string) {
	b.t.Helper()
	b.pairs()
	b.run(chromedp.Click(fmt.Sprintf(`[data-pair=%q]`, pair)))
}

// on selects a pair and waits until chart and book show it.
func (b *browser) on(pair string) {
	b.t.Helper()
	b.pick(pair)
	b.wait("book of "+pair, fmt.Sprintf(
		`document.querySelector('.head h1')?.textContent === %q &&
			document.querySelectorAll('.bid .row').length > 0`, strings.ReplaceAll(pair, "_", "/")))
}

// The market page is live: it draws a chart and at least ten levels per side, and book, tape
// and chart follow a trade within three seconds. It sends nothing to other hosts, writes
// nothing to the console, and its values equal the API's.
func TestSmokeBrowserMarketMoves(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1440, 900)
	b.open("/")
	b.on("BTC_USDT")
	b.wait("ten levels a side",
		`document.querySelectorAll('.bid .row').length >= 10 && document.querySelectorAll('.ask .row').length >= 10`)
	b.wait("chart", `document.querySelectorAll('.canvas canvas').length > 0`)
	b.wait("tape", `document.querySelectorAll('.tape tbody tr').length >= 10`)
	b.js(`(window.was = {seq: document.querySelector('.book').dataset.seq, ` +
		`id: document.querySelector('.tape tbody tr').dataset.id}, '')`)
	in.Call(200, "POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","type":"market","amount":0.01}`)
	b.wait("book, tape and chart move", `document.querySelector('.book').dataset.seq !== was.seq
		&& document.querySelector('.tape tbody tr').dataset.id !== was.id &&
			document.querySelector('.chart').dataset.close !== undefined`)
	b.shot("desktop")
	b.clean()
}

// dark sets the browser's preference to dark colours.
func (b *browser) dark() {
	b.t.Helper()
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
}

// light sets it to light ones.
func (b *browser) light() {
	b.t.Helper()
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}},
	})
}

// The header shows the values of /api/tickers of the same second, and the ladder shows the
// levels of the book at the same seq.
func TestBrowserFiguresAreTheAPIs(t *testing.T) {
	t.Parallel()
	in := ownDemo(t)
	in.Call(200, "PATCH", "/pairs/ETH_USDT", `{"state":"halted"}`) // keeps the values constant
	b := newBrowser(t, in, 1440, 900)
	b.open("/")
	b.on("ETH_USDT")
	ticker := harness.Object(t, in.Do("GET", in.Public+"/api/tickers?decimals=string&currencyPairCode=ETH_USDT",
		"").Body)
	want := fmt.Sprintf("%s %s %s", ticker["price"], ticker["bidPrice"], ticker["askPrice"])
	b.wait("header "+want, fmt.Sprintf(`(() => {
		const dd = (name) => [...document.querySelectorAll('.head dl div')].
			find((d) => d.querySelector('dt').textContent === name)?.querySelector('dd').textContent;
		return [document.getElementById('last')?.textContent, dd('Bid'), dd('Ask')].join(' ').
			replaceAll('\u202f', '') === %q;
	})()`, want))
	book := in.Do("GET",
		in.Public+"/api/marketdata/getaggregator/orderbook?decimals=string&depth=20&ticker_id=ETH_USDT", "")
	b.wait("ladder", fmt.Sprintf(`(() => {
		const api = %s, rows = (side) => [...document.querySelectorAll(side + ' .row .p')].map((p) => p.dataset.price);
		const asks = rows('.ask').reverse().slice(0, 10), bids = rows('.bid').slice(0, 10);
		return bids.length === 10 && bids.join() === api.bids.map((l) => l[0]).join() &&
			asks.join() === api.asks.map((l) => l[0]).join()
			&& document.querySelector('.spread .gap').textContent.startsWith('spread ' +
				(api.asks[0][0] - api.bids[0][0]).toFixed(api.asks[0][0].split('.')[1].length) + ' ')
			&& document.querySelector('.book').dataset.seq === %q; })()`, book.Body, book.Header.Get("X-Seq")))
	b.clean()
}

// The page follows the system's preference for dark colours, and its button overrides it.
func TestBrowserInTheDark(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1440, 900)
	b.dark()
	b.open("/")
	b.on("BTC_USDT")
	const bright = `getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).reduce((a, c) => a + ` +
		`+c, 0)`
	if sum := b.js(bright + " < 150"); sum != "true" {
		t.Errorf("the background is not dark: %s", b.js(bright))
	}
	b.wait("chart", `document.querySelectorAll('.canvas canvas').length > 0`)
	b.shot("dark")
	b.run(chromedp.Click("#theme"))
	b.wait("the light theme", bright+" > 600")
	b.clean()
}

// The status page shows every pair with the data of /api/status.
func TestBrowserStatusPage(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1280, 800)
	b.open("/status")
	status := harness.Object(t, in.Do("GET", in.Public+"/api/status", "").Body)
	for _, p := range status["pairs"].([]any) {
		code := p.(map[string]any)["currencyPairCode"].(string)
		b.wait("a row of "+code,
			fmt.Sprintf(`document.querySelector('main').innerText.includes(%q)`, code))
	}
	b.clean()
}
