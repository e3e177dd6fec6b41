package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tickhive/tickhive/test/harness"
)

// panels returns the visible panels with their layout errors: outside the viewport,
// overlapping, tiny, or with text cut off at a side. The intervals of the chart may scroll
// sideways.
const panels = `(() => {
	const all = [...document.querySelectorAll('[data-panel]')].map((e) => [e.dataset.panel,
		e.getBoundingClientRect()]).filter(([, r]) => r.width && r.height);
	const wrong = [];
	for (const [name, r] of all) {
		if (r.left < -0.5 || r.top < -0.5 || r.right > innerWidth + 0.5 ||
			r.bottom > innerHeight + 0.5) wrong.push(name + ' is outside: ' + [r.left, r.top, r.right, r.bottom]);
		if (r.width < 150 || r.height < 90) wrong.push(name + ' is small: ' + [r.width, r.height]);
		for (const [other, q] of all) if (name < other && r.left < q.right - 1 && q.left < r.right - 1 &&
			r.top < q.bottom - 1 && q.top < r.bottom - 1) wrong.push(name + ' is upon ' + other);
	}
	for (const e of document.querySelectorAll('[data-panel] :is(td, th, button, .row span, label, input)')) {
		const r = e.getBoundingClientRect(), p = e.closest('[data-panel]').getBoundingClientRect();
		if (r.width && !e.closest('.tools') &&
			(r.left < p.left - 0.5 || r.right > p.right + 0.5)) { wrong.push((e.textContent ||
			e.outerHTML) + ' is cut off: ' + [r.left, r.right] + ' of ' + [p.left, p.right]); break; }
	}
	return all.map(([name]) => name).sort().join(' ') + (wrong.length ? '; ' + wrong.join('; ') : ''); })()`

// beyond returns by how much the document is wider and higher than the viewport.
const beyond = `[document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - ` +
	`innerHeight].map((d) => Math.max(d, 0)).join(' ')`

// fits checks that these panels are visible and that everything is within the screen.
func (b *browser) fits(what, want string) {
	b.t.Helper()
	if got := b.settles(want, panels); got != want {
		b.t.Errorf("%s: panels %s, want %s", what, got, want)
	}
	if got := b.settles("0 0", beyond); got != "0 0" {
		b.t.Errorf("%s: the document is %s px wider and higher than the screen", what, got)
	}
}

// showsTheMarket checks that chart and book have enough room.
func (b *browser) showsTheMarket(what string) {
	b.t.Helper()
	b.wait(what+": chart and five whole levels a side", `(() => {
		const box = (e) => e.getBoundingClientRect(), c = box(document.querySelector('.canvas canvas')),
			book = box(document.querySelector('[data-panel=book]'));
		const whole = (side) => [...document.querySelectorAll(side + ' .row')].
			filter((e) => box(e).top >= book.top && box(e).bottom <= book.bottom).length;
		const all = (side) => document.querySelectorAll(side + ' .row').length;
		return c.height > 0 && box(document.querySelector('.canvas')).height >= 160 && whole('.ask') >= 5 &&
			whole('.bid') >= 5
			&& whole('.ask') === all('.ask') && whole('.bid') === all('.bid'); })()`)
}

// listed returns the number of pairs in the list. Only those in view have rows.
const listed = `document.querySelector('.pairlist').dataset.count`

// search types into the empty search field.
func (b *browser) search(query string) {
	b.t.Helper()
	b.pairs()
	b.js(`(document.querySelector('.pairs input').value = '')`)
	b.run(chromedp.SendKeys(`.pairs input`, query))
}

// listsPairs checks that the list of pairs scrolls inside its panel and that the search
// filters it.
func (b *browser) listsPairs(what string) {
	b.t.Helper()
	b.pairs()
	b.js(`(document.querySelector('.pairlist').scrollTop = 1e6, '')`)
	b.wait(what+": the list scrolls to its last pair", `(() => {
		const list = document.querySelector('.pairlist').getBoundingClientRect(),
			last = Math.max(...[...document.querySelectorAll('[data-pair]')].
				map((e) => e.getBoundingClientRect().bottom));
		return document.querySelector('.pairlist').scrollTop > 1000 && scrollY === 0 &&
			Math.abs(last - list.bottom) < 3;
	})()`)
	if got := b.js(listed + ` + ' ' + (document.querySelectorAll('[data-pair]').length < 60)`); got != "1000 true" {
		b.t.Errorf("%s: pairs, few rows: %s", what, got)
	}
	for query, want := range map[string]string{
		"p07": "10", "p007": "1", "eth/us": "1", "ethusdt": "1", "ETH_USDT": "1",
		"zzz": "0", "usdt": "996",
	} {
		b.search(query)
		if got := b.js(listed); got != want {
			b.t.Errorf("%s: search %q: %s pairs, want %s", what, query, got, want)
		}
	}
	b.search("zz")
	b.wait("no pair is said", `/No pair/.test(document.querySelector('.pairs').innerText)`)
	b.run(chromedp.SendKeys(`.pairs input`, kb.Escape))
	b.wait("all pairs after Escape",
		listed+` === '1000' && !/No pair/.test(document.querySelector('.pairs').innerText)`)
}

// wholeTicket checks that every field of the ticket's form is within its panel.
func (b *browser) wholeTicket(what string) {
	b.t.Helper()
	if got := b.js(`(() => { const t = document.querySelector('[data-panel=ticket]'),
		r = t.getBoundingClientRect(),
			all = [...t.querySelectorAll('form :is(input, select, button)')].filter((e) => e.checkVisibility()).
				map((e) => e.getBoundingClientRect());
		return all.filter((e) => e.bottom > r.bottom || e.top < r.top).length + ' of ' + (all.length >= 3);
			})()`); got != "0 of true" {
		b.t.Errorf("%s: %s fields of the ticket are cut off", what, got)
	}
}

// With 1,000 pairs the whole market fits on one screen: only panels scroll.
func TestBrowserManyPairsOnADesktop(t *testing.T) {
	t.Parallel()
	in, key := manyPairs(t)
	b := newBrowser(t, in, 1440, 900)
	b.run(chromedp.EmulateViewport(1280, 720))
	b.open("/")
	b.on("BTC_USDT")
	b.wholeTicket("1280x720 without a key")
	b.signIn(key)
	b.hasMoney()
	for _, size := range [][2]int64{{1920, 1080}, {1440, 900}, {1280, 720}, {1181, 800}, {1024, 768}} {
		what := fmt.Sprintf("%dx%d", size[0], size[1])
		b.run(chromedp.EmulateViewport(size[0], size[1]))
		b.showsTheMarket(what)
		b.shot("many-" + what)
		want := "book chart orders tape ticket"
		if size[0] >= 1900 {
			want = "book chart orders pairs tape ticket"
		}
		b.fits(what, want)
		b.wholeTicket(what)
		if wide := b.js(`document.querySelector('.canvas').getBoundingClientRect().width >= 420`); wide != "true" {
			t.Errorf("%s: the chart is %s px wide", what,
				b.js(`document.querySelector('.canvas').getBoundingClientRect().width`))
		}
	}
	b.listsPairs("desktop")
	b.clean()
}

// sizeOf returns a panel's width or height in whole px.
func (b *browser) sizeOf(panel, side string) (px int) {
	b.t.Helper()
	text := b.js(fmt.Sprintf(`Math.round(document.querySelector('[data-panel=%s]').getBoundingClientRect().%s)`, panel,
		side))
	if _, err := fmt.Sscan(text, &px); err != nil {
		b.t.Fatal(err)
	}
	return px
}

// dragHandle drags the handle of a size.
func (b *browser) dragHandle(size string, x, y float64) {
	b.t.Helper()
	var left, top float64
	if _, err := fmt.Sscan(b.js(fmt.Sprintf(`(() => {
		const r = document.querySelector('[data-size=%s]').getBoundingClientRect();
		return (r.left + r.width / 2) + ' ' + (r.top + r.height / 2); })()`, size)), &left, &top); err != nil {
		b.t.Fatal(err)
	}
	for i, kind := range []input.DispatchMouseEventType{
		input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseMoved,
		input.DispatchMouseEventTypeMouseReleased,
	} {
		part := float64(min(i, 1))
		command(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: kind, X: left + x*part, Y: top + y*part, Button: input.MouseButtonLeft, ClickCount: 1,
			Buttons: int64(1 - i/2),
		})
	}
}

// The chart is the largest panel. Each size changes by a drag and by the keyboard, within its limits; what a panel
// takes comes from the chart. A reload keeps the sizes, and a button gives the panels their first ones again.
func TestBrowserPanelsChangeTheirSize(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1440, 900)
	b.open("/?pair=BTC_USDT")
	b.wait("the market", `document.querySelector('.bid .row') && tickhive.candles().length > 10`)
	if share := b.sizeOf("chart", "width") * 100 / 1440; share < 60 {
		t.Errorf("the chart has %d %% of the width", share)
	}
	const hidden = `document.querySelector('[data-reset]').hidden`
	if got := b.js(hidden); got != "true" {
		t.Error("there is something to reset at first")
	}
	first := map[string]int{}
	for _, c := range []struct {
		size, panel, side string
		x, y              float64
		key               string
	}{
		{"book", "book", "width", -40, 0, kb.ArrowLeft},
		{"ticket", "ticket", "width", -50, 0, kb.ArrowLeft},
		{"lower", "orders", "height", 0, -60, kb.ArrowUp},
	} {
		was, chart := b.sizeOf(c.panel, c.side), b.sizeOf("chart", c.side)
		first[c.panel] = was
		b.dragHandle(c.size, c.x, c.y)
		want := was - int(c.x+c.y)
		left := b.sizeOf("chart", c.side) + want - was // what it had before, but for the rounding of both
		if got := b.sizeOf(c.panel, c.side); got != want || left < chart-1 || left > chart+1 {
			t.Errorf("%s: after the drag %d, want %d; both have %d, before %d", c.size, got, want, left+was, chart+was)
		}
		b.js(fmt.Sprintf(`document.querySelector('[data-size=%s]').focus()`, c.size))
		b.press(c.key)
		if got := b.sizeOf(c.panel, c.side); got != want+16 {
			t.Errorf("%s: after the key %d, want %d", c.size, got, want+16)
		}
		says := fmt.Sprintf(`document.querySelector('[data-size=%s]').getAttribute('aria-valuenow')`, c.size)
		if got := b.settles(fmt.Sprint(want+16), says); got != fmt.Sprint(want+16) {
			t.Errorf("%s: the handle says %s, want %d", c.size, got, want+16)
		}
	}
	b.press(kb.End)
	b.showsTheMarket("the lists as high as they can be")
	b.press(kb.Enter)
	if got := b.sizeOf("orders", "height"); got != first["orders"] {
		t.Errorf("after Enter the lists are %d px high, want %d", got, first["orders"])
	}
	b.run(chromedp.Reload())
	b.wait("the market again", `document.querySelector('.bid .row') && tickhive.candles().length > 10`)
	if got, want := b.sizeOf("book", "width"), first["book"]+56; got != want {
		t.Errorf("after a reload the book is %d px wide, want %d", got, want)
	}
	b.fits("changed sizes", "book chart orders tape ticket")
	b.run(chromedp.Click(`[data-reset]`))
	for panel, side := range map[string]string{"book": "width", "ticket": "width", "orders": "height"} {
		if got := b.sizeOf(panel, side); got != first[panel] {
			t.Errorf("after the reset %s has %d px, want %d", panel, got, first[panel])
		}
	}
	if got := b.js(hidden + ` + localStorage.getItem('panels')`); got != "true{}" {
		t.Errorf("after the reset the button is hidden, and kept is: %s", got)
	}
	b.clean()
}

// On a phone chart and book fill the screen, and a tab bar shows the other panels.
func TestBrowserManyPairsOnAPhone(t *testing.T) {
	t.Parallel()
	in, key := manyPairs(t)
	b := newBrowser(t, in, 400, 800)
	b.run(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile, chromedp.EmulateScale(2)))
	b.open("/")
	b.wait("book", `document.querySelectorAll('.bid .row').length > 0`)
	b.signIn(key)
	b.showsTheMarket("phone")
	b.shot("many-phone")
	b.fits("phone", "book chart")
	for _, tab := range []string{"pairs", "tape", "ticket", "orders"} {
		b.run(chromedp.Click(fmt.Sprintf(`[data-tab=%s]`, tab)))
		b.shot("many-phone-" + tab)
		b.fits("phone, "+tab, tab)
	}
	b.run(chromedp.Click(`[data-tab=pairs]`))
	b.listsPairs("phone")
	b.search("ethusdt")
	b.run(chromedp.Click(`[data-pair=ETH_USDT]`))
	b.wait("the picked pair",
		`document.querySelector('.head h1').textContent === 'ETH/USDT' && document.querySelectorAll('.bid `+
			`.row').length > 0`)
	b.fits("phone, picked", "book chart")
	price := b.js(`(() => { const row = document.querySelector('.bid .row'); row.click(); return ` +
		`row.querySelector('.p').dataset.price; })()`)
	b.fits("phone, price", "ticket")
	if got := b.js(`document.querySelector('.ticket [name=price]').value`); got != price {
		t.Errorf("the ticket has the price %q, want %q", got, price)
	}
	b.clean()
}

// On a phone no page is wider than the screen.
func TestSmokeBrowserOnAPhone(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 400, 800)
	b.run(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateScale(2)))
	for _, page := range []string{
		"/", "/status", "/launchpad", "/hive", "/docs", "/docs/guide/tour", "/docs/programs", "/docs/contract/commands",
		"/docs/contract/matching", "/docs/operating", "/docs/streams", "/docs/guide/write-a-bot",
	} {
		b.open(page)
		if page == "/" {
			b.on("BTC_USDT")
			b.wait("chart", `document.querySelectorAll('.canvas canvas').length > 0`)
			b.js(`scrollTo(0, 0)`)
			b.shot("phone")
		} else {
			b.wait(page,
				`document.querySelector('main').innerText.length > 40 && !document.querySelector('main .wide:empty')`)
		}
		if cut := b.js(`[...document.querySelectorAll('main .wide')].filter((e) => e.scrollWidth > e.clientWidth).
			length`); cut != "0" {
			t.Errorf("%s: %s tables are cut at the edge of the screen", page, cut)
		}
		if wide := b.js(`document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide != "0" {
			t.Errorf("%s is %s px wider than the screen: %s", page, wide, b.js(
				`[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth `+
					`+ 1).slice(0, 4).map((e) => e.tagName + '.' + e.className).join(' ')`))
		}
	}
	b.clean()
}
