package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"github.com/tickhive/tickhive/test/harness"
)

// behindAGate returns the instance as a page sees it behind a slow line, and a function that holds the requests of a
// path until the function that it returns is called.
func behindAGate(t *testing.T, in *harness.Instance) (through *harness.Instance, hold func(path string) (open func())) {
	t.Helper()
	target, err := url.Parse(in.Public)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	var gates sync.Map // path: a channel that is closed when it opens
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open, held := gates.Load(r.URL.Path); held {
			select {
			case <-open.(chan struct{}):
			case <-r.Context().Done():
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	seen := *in
	seen.Public = site.URL
	return &seen, func(path string) func() {
		open := make(chan struct{})
		gates.Store(path, open)
		return func() { close(open) }
	}
}

// boxes returns the places of the panels by name.
const boxes = `[...document.querySelectorAll('.market > .panel')].filter((e) => e.checkVisibility()).map((e) => {
	const r = e.getBoundingClientRect();
	return [e.className.split(' ')[1], r.x, r.y, r.width, r.height].map((v) => Math.round(v) || v).join(' ');
}).sort().join('\n')`

// waiting returns the panels whose first data are on their way.
const waiting = `[...document.querySelectorAll('[data-panel][aria-busy=true]')].map((e) => e.dataset.panel).
	sort().join(' ')`

// bars returns the animation of the bars in a part of the page, none without bars or where the reader wants no motion.
func bars(part string) string {
	return fmt.Sprintf(`(() => { const s = getComputedStyle(document.querySelector(%q), '::after');
		return s.content + ' ' + s.animationName; })()`, part)
}

// On a slow line each panel of the market has its place and its size from the beginning, and bars stand in it until its
// first data are there. Nothing moves then. Without motion they stand still.
func TestBrowserPanelsWaitForTheirData(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	through, hold := behindAGate(t, in)
	b := newBrowser(t, through, 1440, 900)
	openSummary, openStream := hold("/api/summary"), hold("/ws")
	b.open("/?pair=BTC_USDT")
	b.wait("the places of the panels", `document.querySelectorAll('.market[aria-busy] > .panel').length === 7`)
	first := b.js(boxes)
	if got := b.js(bars(".market > .book")); got != `"" waits, appear` {
		t.Errorf("in the place of the book are bars: %s", got)
	}
	if n := strings.Count(first, "\n"); n != 5 {
		t.Errorf("the places are\n%s", first)
	}
	openSummary()
	b.wait("the panels", `document.querySelector('[data-panel=book]') && !document.querySelector('.market[aria-busy]')`)
	if got := b.js(waiting); got != "book chart tape" {
		t.Errorf("%s wait for their data", got)
	}
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	for _, part := range []string{".chart .stage", ".book .ladder", ".tape .scroll"} {
		if got := b.js(bars(part)); got != `"" none` {
			t.Errorf("without motion %s has bars: %s", part, got)
		}
	}
	if got := b.js(boxes); got != first {
		t.Errorf("the panels have moved from\n%s\nto\n%s", first, got)
	}
	openStream()
	b.wait("the first data", waiting+` === '' && document.querySelector('.bid .row') && tickhive.candles().length > 10`)
	if got := b.js(boxes); got != first {
		t.Errorf("with their data the panels have moved from\n%s\nto\n%s", first, got)
	}
	b.stays()

	b.signIn(funded(in, "waits"))
	openOrders := hold("/api/user/orders")
	b.js(`document.querySelector('[data-list=history]').click()`)
	b.wait("the bars of the history", waiting+` === 'orders' && !/No past orders/.test(document.body.innerText)`)
	openOrders()
	b.wait("the history", waiting+` === '' && /No past orders/.test(document.querySelector('.orders').innerText)`)
	for page, path := range map[string]string{"/hive": "/api/agents/workers", "/launchpad": "/api/launchpad/tokens"} {
		open := hold(path)
		b.open(page)
		b.wait(page+": the places of its lists", `document.querySelector('main .wide:empty')`)
		open()
		b.wait(page+": its lists",
			`document.querySelector('main tbody tr') && !document.querySelector('main .wide:empty')`)
		b.stays()
	}
	b.clean()
}

// stays checks that the layout of the page has not moved.
func (b *browser) stays() {
	b.t.Helper()
	if shift, err := strconv.ParseFloat(b.js(shifts), 64); err != nil || shift > mostShift {
		b.t.Errorf("the layout shifts by %g, at most %g: %v", shift, mostShift, err)
	}
}

// The column of the ticket is used to its end, with a key and without: below the form are the account's assets, the
// rules of the pair, where it stands, and the pairs that moved most, one of which a click shows.
func TestBrowserTheTicketsColumnIsFull(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1280, 800)
	b.open("/?pair=BTC_USDT")
	const full = `(() => { const bottom = document.querySelector('.ticket').getBoundingClientRect().bottom,
		ends = [...document.querySelectorAll('.ticket :is(button, td, dd, .facts span)')].
			filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect().bottom);
		return Math.max(...ends) > bottom - 80; })()`
	for _, key := range []bool{false, true} {
		if key {
			b.signIn(funded(in, "column"))
			b.wait("the assets",
				`document.querySelector('.facts tbody').innerText.replace(/\s/g, '') === 'BTC00USDT1000000'`)
		}
		for _, size := range [][2]int64{{1280, 800}, {1920, 1080}} {
			what := b.screen(size[0], size[1])
			b.wait(fmt.Sprintf("%s, with a key %t: no empty column", what, key), full)
		}
	}
	pair := harness.Object(t, `{"rules":`+in.Do("GET", in.Public+"/api/currencies/pairs?decimals=string", "").Body+`}`)
	for _, row := range pair["rules"].([]any) {
		if r := row.(map[string]any); r["code"] == "BTC_USDT" {
			want := fmt.Sprintf("0.01 USDT, 0.00001 BTC, %s USDT",
				strings.TrimSuffix(r["minQuoteAmount"].(string), ".0"))
			if got := b.js(`[...document.querySelectorAll('.facts dd')].map((d) => d.innerText).
				join(', ')`); got != want {
				t.Errorf("the rules are %s, want %s", got, want)
			}
		}
	}
	b.wait("both sides of the book", `(() => {
		const [bids, asks] = [...document.querySelector('.facts .tally').children].
			map((e) => parseFloat(e.style.width));
		return bids > 0 && asks > 0 && Math.round(bids + asks) === 100; })()`)
	b.js(`(window.mover = document.querySelector('.movers button')).click()`)
	b.wait("the pair that moved most",
		`document.querySelector('.head h1').textContent === mover.firstChild.textContent`)
	for _, v := range b.axe(axeSource(t)) {
		t.Error(v)
	}
	b.clean()
}
