package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tickhive/tickhive/test/harness"
)

// watched is a market of two pairs with a user, at prices as long as those of Bitcoin.
func watched(t *testing.T) (in *harness.Instance, key map[string]any) {
	t.Helper()
	in = harness.StartEmpty(t)
	for _, pair := range []string{"BTC_USDT", "TT_USDT"} {
		in.Pair(pair)
		in.Limit(pair, "sell", "66879.36", "0.5")
		in.Limit(pair, "buy", "66879.36", "0.25")
		in.Limit(pair, "buy", "66800.01", "0.25")
	}
	return in, funded(in, "page")
}

// screen sets the size of the screen; below 640 px it is a phone.
func (b *browser) screen(width, height int64) (what string) {
	b.t.Helper()
	if width < 640 {
		b.run(chromedp.EmulateViewport(width, height, chromedp.EmulateMobile, chromedp.EmulateScale(2)))
	} else {
		b.run(chromedp.EmulateViewport(width, height))
	}
	return fmt.Sprintf("%dx%d", width, height)
}

// show opens a tab where the panels have tabs.
func (b *browser) show(tab string) {
	b.t.Helper()
	b.js(fmt.Sprintf(`(() => { const t = document.querySelector('[data-tab=%s]'); if (t.checkVisibility()) t.click();
		return ''; })()`, tab))
}

// order fills the ticket and sends it.
func (b *browser) order(kind string, fields map[string]string) {
	b.t.Helper()
	b.set("type", kind)
	for _, name := range []string{"stopPrice", "price", "amount", "total"} {
		if value, ok := fields[name]; ok {
			b.set(name, value)
		}
	}
	b.js(`document.querySelector('.ticket .main').click()`)
}

// open waits until the list of open orders has n rows.
func (b *browser) openOrders(n int) {
	b.t.Helper()
	b.wait(fmt.Sprintf("%d open orders", n), fmt.Sprintf(`document.querySelectorAll('[data-order]').length === %d`, n))
}

// While the line is down the page says the time of the last message. It stays, however often the page tries
// again, and it is not the computer's.
func TestBrowserTimeOfTheLastFigure(t *testing.T) {
	t.Parallel()
	in, _ := watched(t)
	l := harness.NewLine(t, strings.TrimPrefix(in.Public, "http://"))
	through := *in
	through.Public = l.URL()
	b := newBrowser(t, &through, 1280, 800)
	b.open("/?pair=BTC_USDT")
	b.wait("the book", `document.querySelector('.bid .row')`)
	in.Call(200, "POST", "/clock", `{"advance":"61m"}`) // the page learns of it by the messages alone
	in.Limit("BTC_USDT", "buy", "66810.00", "0.25")
	b.wait("a message of the new hour",
		`[...document.querySelectorAll('.bid .p')].some((p) => p.dataset.price === '66810.00')`)
	now, err := harness.Object(t, in.Do("GET", in.Public+"/api/time", "").Body)["serverTime"].(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	b.js(`(window.tries = 0, window.WebSocket = new Proxy(WebSocket, {construct: (c, args) => { tries++;
		return new c(...args); }}), '')`)
	l.Set(harness.WireCut)
	want := "Figures are from " + time.UnixMilli(now).UTC().Format("15:04:05") + "."
	b.wait("the banner", `document.querySelector('.lost').checkVisibility()`)
	b.shot("lost")
	for tries := range 4 {
		b.wait("another attempt", fmt.Sprintf("tries >= %d", tries))
		if got := b.js(`document.querySelector('.lost').innerText`); !strings.Contains(got, want) {
			t.Errorf("after %d attempts the page says %q, want %q", tries, got, want)
		}
	}
	l.Set(harness.WireUp)
	b.wait("the banner is gone", `!document.querySelector('.lost').checkVisibility()`)
	b.live()
}

// A last price above the highest or below the lowest price of the day is never shown, not even for a moment, and
// the quote volume is that of the same trades.
func TestBrowserHeadAgreesWithItsLastPrice(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("TT_USDT")
	trade := func(price string) {
		in.Limit("TT_USDT", "sell", price, "1")
		in.Limit("TT_USDT", "buy", price, "1")
	}
	trade("100")
	b := newBrowser(t, in, 1280, 800)
	b.open("/?pair=TT_USDT")
	b.wait("the head", `document.getElementById('last').textContent === '100.00'`)
	const figures = `(() => { const dd = (name) => [...document.querySelectorAll('.head dl div')].
		find((d) => d.querySelector('dt').textContent.includes(name)).
		querySelector('dd').textContent.replaceAll('\u202f', '');
		return [document.getElementById('last').textContent, dd('high'), dd('low'), dd('volume USDT')]; })()`
	b.js(`(window.wrong = [], new MutationObserver(() => { const [last, high, low] = ` + figures + `.map(Number);
		if (!(low <= last && last <= high)) wrong.push([low, last, high].join(' ')); }).
		observe(document.querySelector('.head'), {childList: true, subtree: true, characterData: true}), '')`)
	before := b.requests["/api/summary"]
	for _, step := range [][2]string{
		{"120", "120.00,120.00,100.00,220.000"},
		{"90", "90.00,120.00,90.00,310.000"},
		{"130.55", "130.55,130.55,90.00,440.550"},
	} {
		trade(step[0])
		b.wait("the head after a trade at "+step[0], figures+`.join() === '`+step[1]+`'`)
	}
	if got := b.js("wrong.join(', ')"); got != "" {
		t.Errorf("lowest, last and highest price were %s", got)
	}
	b.mu.Lock()
	if n := b.requests["/api/summary"] - before; n > 1 {
		t.Errorf("%d more requests of /api/summary: the figures of the shown pair come by the stream", n)
	}
	b.mu.Unlock()
	b.clean()
}

// Each open order can be canceled on every screen: its button is whole, and nothing lies upon it.
func TestBrowserCancelIsInReach(t *testing.T) {
	t.Parallel()
	in, key := watched(t)
	b := newBrowser(t, in, 1440, 900)
	b.open("/?pair=BTC_USDT")
	b.signIn(key)
	b.hasMoney()
	for _, size := range [][2]int64{
		{1440, 900}, {1280, 720}, {1024, 768}, {1920, 1080}, {768, 1024}, {360, 740}, {320, 640},
	} {
		what := b.screen(size[0], size[1])
		b.order("limit", map[string]string{"price": "60000.25", "amount": "0.12345678"})
		b.openOrders(1)
		b.order("stop_limit", map[string]string{"stopPrice": "66901.25", "price": "66950.75", "amount": "0.12345678"})
		b.show("orders")
		b.openOrders(2)
		b.shot("cancel-" + what)
		if got := b.settles("", `(() => {
			const list = document.querySelector('#list').getBoundingClientRect();
			return [...document.querySelectorAll('[data-order] [aria-label^=Cancel]')].map((e) => {
				e.scrollIntoView({block: 'nearest'});
				const r = e.getBoundingClientRect(), at = (x) => document.elementFromPoint(x, (r.top + r.bottom) / 2);
				return r.left >= list.left && r.right <= list.right + 0.5 && r.right <= innerWidth &&
					at(r.left + 2) === e && at(r.right - 2) === e ? '' :
					[r.left, r.right, 'of', list.left, list.right].join(' ');
			}).join(''); })()`); got != "" {
			t.Errorf("%s: a button to cancel is cut off: %s", what, got)
		}
		fits := b.js(`document.querySelector('#list').scrollWidth <= document.querySelector('#list').clientWidth`)
		if size[0] > 320 && fits != "true" {
			t.Errorf("%s: the list of orders is wider than its panel", what)
		}
		for _, column := range map[int64][]string{1440: {"Time", "Amount", "Filled"}, 1280: {"Amount"}}[size[0]] {
			if got := b.js(fmt.Sprintf(`[...document.querySelectorAll('.orders th')].find((h) => h.textContent === %q).
				checkVisibility()`, column)); got != "true" {
				t.Errorf("%s: no column %s", what, column)
			}
		}
		for left := range 2 {
			b.run(chromedp.Click(`[data-order] [aria-label^=Cancel]`))
			b.openOrders(1 - left)
		}
		b.show("ticket")
	}
	b.clean()
}

// Messages have a place of their own: they lie upon nothing and leave everything where it is. What became of an
// order is said once, and why it was refused too.
func TestBrowserMessagesCoverNothing(t *testing.T) {
	t.Parallel()
	in, key := watched(t)
	b := newBrowser(t, in, 1440, 900)
	b.open("/?pair=BTC_USDT")
	b.signIn(key)
	b.hasMoney()
	b.js(`document.querySelector('[data-forget]').checkVisibility()`)
	const places = `[...document.querySelectorAll('[data-panel], .head, .tabs, header nav, .link')].
		filter((e) => e.checkVisibility()).map((e) => { const r = e.getBoundingClientRect();
		return [e.className, r.left, r.top, r.right, r.bottom].join(' '); }).join('\n')`
	const said = `[...document.querySelectorAll('.toast, .ticket [role=status], .lost')].
		filter((e) => e.checkVisibility()).
		map((e) => e.innerText.replaceAll('\n', ' ').replaceAll('\u202f', '')).join('|')`
	for _, size := range [][2]int64{{1440, 900}, {1280, 720}, {1024, 768}, {768, 1024}, {360, 740}} {
		what := b.screen(size[0], size[1])
		b.js(`(document.querySelectorAll('.toast button').forEach((x) => x.click()), '')`)
		b.show("ticket")
		b.set("price", "60000")
		b.set("amount", "0.1")
		before := b.js(places)
		b.js(`document.querySelector('.ticket .main').click()`)
		b.toast("the order is accepted", `Order accepted Buy 0.1 BTC in BTC.USDT at 60000.00`)
		b.shot("message-" + what)
		if got := b.js(said); strings.Count(got, "accepted") != 1 || strings.Contains(got, "|") {
			t.Errorf("%s: the page says %q", what, got)
		}
		if after := b.settles(before, places); after != before {
			t.Errorf("%s: a message moves\n%s\nto\n%s", what, before, after)
		}
		if got := b.settles("", `(() => { const m = [...document.querySelectorAll('.toast')].
			find((e) => e.checkVisibility()).getBoundingClientRect();
			if (m.left < 0 || m.right > innerWidth || m.top < 0 || m.bottom > innerHeight || m.width < 100)
				return 'outside';
			return [...document.querySelectorAll('[data-panel], .head, .tabs, header a, .link, #theme')].filter((e) =>
			e.checkVisibility()).filter((e) => { const r = e.getBoundingClientRect(); return m.left < r.right - 0.5 &&
			r.left < m.right - 0.5 && m.top < r.bottom - 0.5 && r.top < m.bottom - 0.5; }).
			map((e) => e.className || e.innerText).join(); })()`); got != "" {
			t.Errorf("%s: the message is upon %s", what, got)
		}
		b.js(`(document.querySelectorAll('.toast button').forEach((x) => x.click()), '')`)
		b.set("price", "60000.001")
		b.js(`document.querySelector('.ticket .main').click()`)
		b.wait("the refusal", `/at most 2 decimals/.test(`+said+`)`)
		if got := b.js(said); got != "A price in BTC_USDT has at most 2 decimals." {
			t.Errorf("%s: a refusal is said as %q", what, got)
		}
		b.shot("refusal-" + what)
	}
	b.answered(10, "/api/orders") // five refusals, and the console's lines about them
}

// Several messages do not displace each other: the newest is shown with the number of the others, which come back.
func TestBrowserMessagesWaitForEachOther(t *testing.T) {
	t.Parallel()
	in, key := watched(t)
	b := newBrowser(t, in, 1440, 900)
	b.open("/?pair=BTC_USDT")
	b.signIn(key)
	b.hasMoney()
	for i, price := range []string{"60001", "60002"} {
		b.order("limit", map[string]string{"price": price, "amount": "0.1"})
		b.openOrders(i + 1)
	}
	const shown = `[...document.querySelectorAll('.toast')].filter((e) => e.checkVisibility()).map((e) => e.innerText.
		replaceAll('\u202f', '')).join() + document.querySelector('.toasts').dataset.more`
	b.wait("the newer one and a number", `/60002.*\+1$/s.test(`+shown+`)`)
	b.js(`[...document.querySelectorAll('.toast button')].find((e) => e.checkVisibility()).click()`)
	b.wait("the older one", `/60001.*undefined$/s.test(`+shown+`)`)
	b.clean()
}

// The newest order is first in the list of open orders, before and after a reload.
func TestBrowserOpenOrdersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	in, key := watched(t)
	b := newBrowser(t, in, 1440, 900)
	b.open("/?pair=BTC_USDT")
	b.signIn(key)
	b.hasMoney()
	place := func(n int, pair string, price int) {
		b.pick(pair)
		b.wait("the pair", fmt.Sprintf(`document.querySelector('.head h1').textContent === %q`,
			strings.Replace(pair, "_", "/", 1)))
		in.Call(200, "POST", "/clock", `{"advance":"100ms"}`)
		b.order("limit", map[string]string{"price": fmt.Sprint(price), "amount": "0.1"})
		b.openOrders(n)
	}
	const prices = `[...document.querySelectorAll('[data-order]')].map((r) => r.innerText.replaceAll('\u202f', '').
		match(/60\d\d\d\.00/)[0]).join(' ')`
	want := ""
	for n, pair := range []string{"BTC_USDT", "TT_USDT", "BTC_USDT", "TT_USDT"} {
		place(n+1, pair, 60000+n)
		want = strings.TrimSpace(fmt.Sprintf("%d.00 %s", 60000+n, want))
	}
	if got := b.js(prices); got != want {
		t.Errorf("live: %s, want %s", got, want)
	}
	b.run(chromedp.Reload())
	b.openOrders(4)
	if got := b.js(prices); got != want {
		t.Errorf("after a reload: %s, want %s", got, want)
	}
	place(5, "BTC_USDT", 60004)
	if got, want := b.js(prices), "60004.00 "+want; got != want {
		t.Errorf("with one more: %s, want %s", got, want)
	}
	b.clean()
}

// What is wrong with an order is said with the limit, and the notice goes when the field changes, by typing or by the
// book. Numbers may be typed with marks between thousands; one that can be read in two ways is not guessed.
func TestBrowserTicketSaysLimitsInNumbers(t *testing.T) {
	t.Parallel()
	in, key := watched(t)
	in.Call(200, "PATCH", "/pairs/BTC_USDT", `{"minQuoteAmount":5,"priceBandUp":10,"priceBandDown":0.1}`)
	b := newBrowser(t, in, 1280, 800)
	b.open("/?pair=BTC_USDT")
	b.signIn(key)
	b.hasMoney()
	const notice = `document.querySelector('.ticket [role=status]').innerText`
	const marked = `document.querySelector('.ticket [aria-invalid]')?.name`
	const none = `document.querySelector('.ticket [role=status]').hidden &&
		!document.querySelector('.ticket [aria-invalid]')`
	refusals := 0
	for _, c := range []struct{ price, amount, want, field string }{
		{"60000.001", "0.1", "A price in BTC_USDT has at most 2 decimals.", "price"},
		{"60000", "0.123456789", "An amount in BTC_USDT has at most 8 decimals.", "amount"},
		{"60000", "0.00008", "Price times amount must be at least 5 USDT.", "amount"},
		{"1", "10", "The price must be between 6687.94 and 668793.60 USDT, by the last trade at 66879.36.", "price"},
		{"66,879", "0.1", "\u201c66,879\u201d can mean 66879 or 66.879. Write it without the comma.", "price"},
		{"abc", "0.1", "\u201cabc\u201d is not a number.", "price"},
		{"", "0.1", "Please fill in this field.", "price"},
	} {
		b.order("limit", map[string]string{"price": c.price, "amount": c.amount})
		b.wait(c.want, fmt.Sprintf(`%s === %q`, notice, c.want))
		if got := b.js(marked); got != c.field {
			t.Errorf("%q: the field %s is marked", c.want, got)
		}
		if !strings.Contains(c.want, "\u201c") && c.price != "" { // else the page itself knows
			refusals++
		}
		if c.price == "" { // by the book
			b.js(`document.querySelector('.bid .row').click()`)
		} else {
			b.set(c.field, "1")
		}
		b.wait("the notice is gone", none)
	}
	b.answered(2*refusals, "/api/orders") // each refusal, and the console's line about it
	b.mu.Lock()
	b.wrong = nil
	b.mu.Unlock()
	n := 0
	for typed, want := range map[string]string{
		"60,000.5": "60000.50", "60 000,25": "60000.25", "60.000,75": "60000.75", "60000,1": "60000.10",
	} {
		b.order("limit", map[string]string{"price": typed, "amount": "0,001"})
		n++
		b.openOrders(n)
		got := b.js(`document.querySelector('[data-order] .link-like[title]').innerText.replaceAll('\u202f', '')`)
		if got != want {
			t.Errorf("%q is an order at %s, want %s", typed, got, want)
		}
	}
	b.clean()
}

// The button that cancels all orders asks when orders of other pairs are among them, and does what is chosen. It does
// not ask for orders of the shown pair.
func TestBrowserCancelAllAsksForOtherPairs(t *testing.T) {
	t.Parallel()
	in, key := watched(t)
	b := newBrowser(t, in, 1280, 800)
	b.open("/?pair=TT_USDT")
	b.signIn(key)
	b.hasMoney()
	place := func(n int) {
		b.order("limit", map[string]string{"price": "60000", "amount": "0.1"})
		b.openOrders(n)
	}
	place(1)
	place(2)
	b.pick("BTC_USDT")
	b.wait("the pair", `document.querySelector('.head h1').textContent === 'BTC/USDT'`)
	place(3)
	ask := func() {
		t.Helper()
		b.js(`document.querySelector('[data-cancel-all]').focus()`)
		b.press(kb.Enter)
		b.wait("the question", `document.querySelector('dialog[open]')`)
	}
	ask()
	b.shot("cancel-all")
	if got := b.js(`document.querySelector('dialog').innerText.replaceAll('\n', ' ')`); !strings.Contains(got,
		"Cancel 3 open orders in 2 pairs?") {
		t.Errorf("the question is %q", got)
	}
	for _, v := range b.axe(axeSource(t)) {
		t.Error(v)
	}
	b.focus("the careful choice has the focus", `dialog [value=""]`)
	b.press(kb.Escape)
	b.focus("the focus is back", `[data-cancel-all]`)
	ask()
	b.press(kb.Enter)
	b.wait("the question is gone", `!document.querySelector('dialog')`)
	b.openOrders(3)
	ask()
	b.press(kb.Tab, kb.Enter) // this pair
	b.openOrders(2)
	b.toast("what was canceled", `1 open order in BTC.USDT`)
	ask() // no order is of the shown pair
	b.press(kb.Tab, kb.Enter)
	b.openOrders(0)
	b.toast("what was canceled", `2 open orders`)
	place(1)
	b.run(chromedp.Click(`[data-cancel-all]`)) // the shown pair alone
	b.openOrders(0)
	b.clean()
}

// The search puts a pair that is named exactly before those whose names begin so, and these before the others,
// whatever they trade.
func TestBrowserSearchPrefersTheExactName(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	for i, pair := range []string{"TOK77_USDT", "TOK776_USDT", "ATOK77_USDT", "TOK771_USDT"} {
		in.Pair(pair)
		in.Limit(pair, "sell", "10", fmt.Sprint(1+i))
		in.Limit(pair, "buy", "10", fmt.Sprint(1+i))
	}
	b := newBrowser(t, in, 1280, 800)
	b.open("/")
	b.wait("the pairs", `document.querySelectorAll('[data-pair]').length === 4`)
	const rows = `[...document.querySelectorAll('.pairrow')].
		sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).
		map((r) => r.querySelector('[data-pair]').dataset.pair.replace('_USDT', '')).join(' ')`
	for query, want := range map[string]string{
		"tok77": "TOK77 TOK771 TOK776 ATOK77", "tok77usdt": "TOK77 ATOK77", "TOK77/U": "TOK77 ATOK77",
	} {
		b.search(query)
		if got := b.settles(want, rows); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	b.search("tok77")
	b.run(chromedp.SendKeys(`.pairs input`, kb.Enter))
	b.wait("the exact name", `document.querySelector('.head h1').textContent === 'TOK77/USDT'`)
	b.clean()
}

// On a phone nothing is cut off: every entry of the menu and every figure of the head is whole, without scrolling. The
// chart's credit is shown, and the page violates no rule of axe-core.
func TestBrowserPhoneShowsEverything(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 400, 800)
	source := axeSource(t)
	for _, size := range [][2]int64{{360, 740}, {390, 844}, {412, 915}} {
		what := b.screen(size[0], size[1])
		b.open("/?pair=BTC_USDT&interval=minute")
		b.wait("the market", `document.querySelectorAll('.bid .row').length > 0 && tickhive.candles().length > 10`)
		b.live()
		b.shot("phone-" + what)
		if got := b.settles("", `[...document.querySelectorAll('header nav a, header .link, #theme, .head h1, `+
			`.head .price, .head dt, .head dd, .credit, .tabs button')].
			filter((e) => e.matches('.credit') || e.checkVisibility()).map((e) => {
			const r = e.getBoundingClientRect(); let name = '';
			for (let p = e; p !== document.documentElement; p = p.parentElement) { const q = p.getBoundingClientRect();
				if (q.width && getComputedStyle(p).overflowX !== 'visible' &&
				(r.right > q.right + 0.5 || r.left < q.left - 0.5 || r.bottom > q.bottom + 0.5)) name = e.innerText; }
			return !e.checkVisibility() || r.right > innerWidth + 0.5 || r.left < 0 || r.bottom > innerHeight ||
				e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline' ?
				'not whole: ' + e.innerText : name; }).
			filter(Boolean).join('; ')`); got != "" {
			t.Errorf("%s: %s", what, got)
		}
		head := b.js(`[...document.querySelectorAll('.head dt')].filter((e) => e.checkVisibility()).
			map((e) => e.innerText).join()`)
		if !strings.Contains(head, "24 h high,24 h low,24 h volume BTC,24 h volume USDT") {
			t.Errorf("%s: the head has %s", what, head)
		}
		if got := b.js(`document.querySelector('.credit a').href`); got != "https://www.tradingview.com/" {
			t.Errorf("%s: the credit links to %s", what, got)
		}
		b.showsTheMarket(what)
		for _, v := range b.axe(source) {
			t.Errorf("%s: %s", what, v)
		}
	}
	b.clean()
}
