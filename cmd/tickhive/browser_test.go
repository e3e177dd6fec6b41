package main

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
)

// chromium is where Debian puts the browser.
const chromium = "/usr/bin/chromium"

// browser is one headless browser on one page of the running program. It keeps what must
// not happen: console errors, exceptions, requests to other hosts, answers that are errors.
type browser struct {
	t   *testing.T
	in  *instance
	ctx context.Context

	mu       sync.Mutex
	wrong    []string
	requests map[string]int // by path, since the start
}

func newBrowser(t *testing.T, in *instance, width, height int) *browser {
	t.Helper()
	if _, err := os.Stat(chromium); err != nil {
		if os.Getenv("TICKHIVE_STRICT") == "1" {
			t.Fatalf("no browser: %v", err)
		}
		t.Skipf("no browser at %s: the page is not looked at (TICKHIVE_STRICT=1 makes this an error)", chromium)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.WindowSize(width, height),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, stop := chromedp.NewContext(alloc)
	ctx, stopTime := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(func() { stopTime(); stop(); stopAlloc() })
	b := &browser{t: t, in: in, ctx: ctx, requests: map[string]int{}}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatalf("browser: %v", err)
	}
	command(b, network.Enable, network.EnableParams{})
	command(b, runtime.Enable, cdp.Empty{})
	command(b, log.Enable, cdp.Empty{})
	return b
}

// command sends one command of the protocol.
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
		if err != nil || u.Scheme != "data" && "http://"+u.Host != b.in.public {
			b.note("a request to %s", e.Request.URL)
			return
		}
		b.mu.Lock()
		b.requests[u.Path]++
		b.mu.Unlock()
	case *network.EventWebSocketCreated:
		if u, err := url.Parse(e.URL); err != nil || "http://"+u.Host != b.in.public {
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
	b.run(chromedp.Navigate(b.in.public + path))
}

// js evaluates an expression to text.
func (b *browser) js(expression string) string {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		b.t.Fatalf("browser: %s: %v", expression, err)
	}
	return out
}

// wait looks every 25 ms until the expression is true. Polling inside the page would need
// eval, which the page's policy refuses.
func (b *browser) wait(within time.Duration, what, expression string) {
	b.t.Helper()
	look := time.NewTicker(25 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(within); ; <-look.C {
		if b.js("!!("+expression+")") == "true" {
			return
		}
		if time.Now().After(end) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.t.Fatalf("%s: not within %s; noticed %q; the page says %.600q", what, within, b.wrong, b.js("document.body.innerText"))
		}
	}
}

// clean fails the test for anything noticed.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		b.t.Errorf("noticed: %s", w)
	}
}

// shot writes a picture to the folder in TICKHIVE_SHOTS, if it is set.
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
		_ = exec.Command(tool, "--force", "--ext", ".png", path).Run() // only smaller
	}
}

// theDemo is a demo market with a day behind it.
func theDemo(t *testing.T) *instance {
	t.Helper()
	return start(t, "--backfill", "6h")
}

// on picks a pair and waits until chart and book show it.
func (b *browser) on(pair string) {
	b.t.Helper()
	b.wait(20*time.Second, "pair list", `document.querySelectorAll('[data-pair]').length > 5`)
	b.run(chromedp.Click(fmt.Sprintf(`[data-pair=%q]`, pair)))
	b.wait(10*time.Second, "book of "+pair, fmt.Sprintf(
		`document.querySelector('.head h1')?.textContent === %q && document.querySelectorAll('.bid .row').length > 0`, strings.ReplaceAll(pair, "_", "/")))
}

// The market page moves: a chart is drawn, at least ten levels a side are shown, and book,
// tape and chart follow a trade within three seconds; nothing leaves the host, nothing is
// written to the console, and the figures are the API's.
func TestBrowserMarketMoves(t *testing.T) {
	in := theDemo(t)
	b := newBrowser(t, in, 1440, 900)
	b.open("/")
	b.on("BTC_USDT")
	b.wait(5*time.Second, "ten levels a side",
		`document.querySelectorAll('.bid .row').length >= 10 && document.querySelectorAll('.ask .row').length >= 10`)
	b.wait(5*time.Second, "chart", `document.querySelectorAll('.canvas canvas').length > 0`)
	b.wait(5*time.Second, "tape", `document.querySelectorAll('.tape tbody tr').length >= 10`)
	b.js(`(window.was = {seq: document.querySelector('.book').dataset.seq, id: document.querySelector('.tape tbody tr').dataset.id}, '')`)
	in.call(200, "POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","type":"market","amount":0.01}`)
	b.wait(3*time.Second, "book, tape and chart move", `document.querySelector('.book').dataset.seq !== was.seq
		&& document.querySelector('.tape tbody tr').dataset.id !== was.id && document.querySelector('.chart').dataset.close !== undefined`)
	b.shot("desktop")
	b.clean()
}

// dark makes the browser prefer dark colours.
func (b *browser) dark() {
	b.t.Helper()
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
}
