package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tickhive/tickhive/test/harness"
)

// Details that a reader of the market relies on: an address names pair and interval and survives a
// reload, a pressed button keeps the focus, changes have the colour of their sign, figures of a
// column have their points in line, and the legend has the values of the candle.
func TestBrowserDetailsOfTheMarket(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1440, 900)
	b.open("/?pair=sol-usdt&interval=minutes5")
	const there = `document.querySelector('.head h1').textContent === 'SOL/USDT' &&
		document.querySelector('.bid .row') && tickhive.candles().length > 10`
	b.wait("the pair of the address", there)
	b.js(`document.querySelector('[data-interval=minutes15]').focus()`)
	b.press("\r")
	b.wait("the interval", `location.search === '?pair=SOL_USDT&interval=minutes15'`)
	b.focus("the button keeps the focus", "[data-interval=minutes15]")
	b.run(chromedp.Reload())
	b.wait("the same after a reload", there+` &&
		document.querySelector('[data-interval=minutes15]').getAttribute('aria-pressed') === 'true'`)
	b.pairs()
	b.wait("colours of the changes", `(() => {
		const rows = [...document.querySelectorAll('.pairlist .c.up, .pairlist .c.down')];
		const colour = (name) => { const e = document.createElement('i'); e.style.color = 'var(' + name + ')';
			document.body.append(e); const c = getComputedStyle(e).color; e.remove(); return c; };
		return rows.length >= 10 && rows.every((e) => getComputedStyle(e).color ===
			colour(e.classList.contains('up') ? '--up' : '--down')); })()`)
	if n := b.js(`new Set([...document.querySelectorAll('.bid .row, .tape tbody tr')].
		map((r) => r.children[2].textContent.split('.')[1].length)).size`); n != "1" {
		t.Errorf("amounts have %s different numbers of digits", n)
	}
	b.wait("the legend", `(() => {
		const c = tickhive.candles().at(-1),
			text = document.querySelector('.legend').textContent.replaceAll('\u202f', '');
		return [['O', c.open], ['H', c.high], ['L', c.low], ['C', c.close]].every(([n, v]) =>
			text.includes(n + v.toFixed(2))); })()`)
	b.clean()
}

// /docs shows the address of the server that sent it, Swagger UI signs requests with the key pair of the
// market page, the hive tells no votes from votes against, and no two pages have the same title.
func TestBrowserDetailsOfTheOtherPages(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1280, 800)
	b.open("/docs/guide/tour")
	b.wait("a button to copy", `document.querySelector('.codebar button')`)
	host := strings.TrimPrefix(in.Public, "http://")
	if got := b.js(fmt.Sprintf(`(() => {
		const text = [...document.querySelectorAll('pre')].map((p) => p.innerText).join();
		return text.includes(%q) + ' ' + text.includes('127.0.0.1:8080'); })()`, host)); got != "true false" {
		t.Errorf("the examples have the address of the server, of the default: %s", got)
	}
	titles := map[string]bool{b.js("document.title"): true}
	const signed = `(async () => { const r = await ui.getConfigs().requestInterceptor({method: 'GET', headers: {},
		url: '/api/wallets/balances'}); window.status = '' + (await fetch(r.url, {headers: r.headers})).status; })()`
	for _, want := range []string{"401", "200"} {
		b.open("/swagger")
		b.wait("Swagger UI", `document.querySelector('#swagger-ui .opblock') && window.ui`)
		b.js("(" + signed + ", '')")
		b.wait("the answer", `['200', '401'].includes(window.status)`)
		if got := b.js("window.status"); got != want {
			said := b.js(`document.getElementById('signed').innerText`)
			t.Errorf("a request of Swagger UI got %s, want %s: %s", got, want, said)
		}
		titles[b.js("document.title")] = true
		if want == "401" {
			b.answered(2, "/api/wallets/balances") // the refusal, and the console's line about it
			b.mu.Lock()
			b.wrong = nil
			b.mu.Unlock()
			b.open("/")
			b.signIn(funded(in, "swagger"))
		}
	}
	for _, page := range []string{"/status", "/launchpad", "/hive"} {
		b.open(page)
		b.wait(page, `document.querySelector('main h1')`)
		titles[b.js("document.title")] = true
	}
	if len(titles) != 5 {
		t.Errorf("the titles of five pages are %v", titles)
	}
	b.wait("votes", `(() => { const all = [...document.querySelectorAll('.votes')];
		return all.length > 0 && all.every((v) => {
			const [yes, no] = v.querySelector('.tally').getAttribute('aria-label').match(/[\d.]+/g).map(Number);
			return v.querySelector('small').textContent === (yes + no ? Math.round(100 * yes / (yes + no)) + ' % yes' :
				'no votes') && v.querySelector('.tally').children.length === (yes + no ? 2 : 0); }); })()`)
	b.clean()
}

// A path without a page says so, and links to the page that was meant. The icon exists at its usual place.
func TestBrowserSaysThatThereIsNoSuchPage(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1280, 800)
	for path, near := range map[string]string{"/markets": "/", "/Status": "/status", "/Launchpad": "/launchpad"} {
		b.open(path)
		b.wait(path, `document.querySelector('main h1')?.innerText === 'No such page'`)
		if got := b.js(`document.querySelector('main a').getAttribute('href')`); got != near {
			t.Errorf("%s links to %s, want %s", path, got, near)
		}
	}
	b.answered(6, "404") // and nothing else is wrong: each refusal, and the console's line about it
	b.run(chromedp.Click("main a"))
	b.wait("the page that was meant", `['/', '/status', '/launchpad'].includes(location.pathname)`)
}
