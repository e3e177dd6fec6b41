package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tickhive/tickhive/test/harness"
)

// toast waits for a message of the page that matches.
func (b *browser) toast(what, pattern string) {
	b.t.Helper()
	b.wait(what, fmt.Sprintf(`/%s/.test([...document.querySelectorAll('.toast')].
		map((t) => t.innerText.replaceAll('\u202f', '')).join('|').replaceAll('\n', ' '))`, pattern))
}

// fee waits for the fee that the ticket estimates.
func (b *browser) fee(want string) {
	b.t.Helper()
	b.wait("the fee "+want, fmt.Sprintf(`document.querySelectorAll('.ticket dl dd')[1].textContent === %q`, want))
}

// set writes a value into a field of the ticket as a user would. The usual types of orders are buttons, the others are
// in a field.
func (b *browser) set(name, value string) {
	b.t.Helper()
	b.js(fmt.Sprintf(`(() => { const type = %[1]q === 'type' && document.querySelector('.ticket [data-type=%[2]s]');
		if (type) { type.click(); return ''; }
		const f = document.querySelector('.ticket [name=%[1]s]'); f.value = %[2]q;
		f.dispatchEvent(new Event(f.tagName === 'SELECT' ? 'change' : 'input', {bubbles: true}));
		return ''; })()`, name, value))
}

// A wrong key pair does not open the ticket. The right one does, and survives a reload until the
// user forgets it. The page says what became of each order, and lists orders of all pairs, the past
// ones and the trades.
func TestBrowserOrdersCanBeFollowed(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	for _, pair := range []string{"TT_USDT", "UU_USDT"} {
		in.Pair(pair)
		in.Limit(pair, "buy", "99", "1")
	}
	in.Limit("TT_USDT", "sell", "101", "0.3")
	in.Limit("TT_USDT", "sell", "103", "0.1")
	key := funded(in, "follow")
	b := newBrowser(t, in, 1440, 900)
	b.open("/?pair=TT_USDT&interval=minute")
	b.wait("the key form", `document.querySelector('.ticket [name=privateKey]')`)
	b.js(`document.querySelector('.ticket [name=publicKey]').value = 'a'.repeat(38)`)
	b.js(`document.querySelector('.ticket [name=privateKey]').value = 'b'.repeat(64)`)
	b.js(`document.querySelector('.ticket form').requestSubmit()`)
	b.wait("the wrong key is refused",
		`/not valid/.test(document.querySelector('.ticket [role=alert]').innerText)`)
	const opened = `!!document.querySelector('.ticket [name=price]') + ' ' + sessionStorage.length`
	if got := b.js(opened); got != "false 0" {
		t.Errorf("with a wrong key: order form, stored: %s", got)
	}
	b.answered(2, "/api/apikeys") // the refusal, and the console's line about it
	b.mu.Lock()
	b.wrong = nil
	b.mu.Unlock()
	b.signIn(key)
	b.run(chromedp.Reload())
	b.wait("the order form after a reload", `document.querySelector('.ticket [name=price]')`)
	b.hasMoney()

	// A quarter of the money at this price, all of it, and the total. The fee is a part of what is bought.
	b.set("price", "100")
	for share, want := range map[string]string{"25": "250", "100": "1000"} {
		b.run(chromedp.Click(`[data-share="` + share + `"]`))
		if got := b.js(`document.querySelector('.ticket [name=amount]').value`); got != want {
			t.Errorf("%s %% of 100,000 USDT at 100 is %s TT, want %s", share, got, want)
		}
	}
	b.set("amount", "2")
	b.fee("0.002 TT")
	if total := b.js(`document.querySelector('.ticket [name=total]').value`); total != "200" {
		t.Errorf("the total is %s", total)
	}
	b.run(chromedp.Click(`.ticket .main`))
	b.toast("the order is accepted", `Order accepted Buy 2 TT in TT.USDT at 100`)
	b.wait("the order is marked in book and chart", `document.querySelector('.bid .row.mine') &&
		document.querySelector('.chart').dataset.lines === '1'`)

	// A market order that the book cannot fill: what was filled, the average, and the rest.
	b.set("type", "market")
	b.run(chromedp.Click(`[data-share="100"]`)) // what the first order does not hold
	b.fee("more than the book shows")
	if got := b.js(`document.querySelector('.ticket [name=total]').value`); got != "99800" {
		t.Errorf("100 %% is %s USDT", got)
	}
	b.set("total", "30.3")
	b.fee("of ≈ 0.3: 0.0003 TT")
	b.set("amount", "1")
	b.fee("of ≈ 1: 0.001 TT")
	b.run(chromedp.Click(`.ticket .main`))
	b.toast("the cut order is explained",
		`partly filled, rest canceled Buy 0.4 of 1 TT at 101.5 on average in TT.USDT. The rest found no match.`)
	b.run(chromedp.Click(`[data-list=history]`))
	b.wait("the order is in the history", `/TT.USDT.*Buy.*avg 101.5.*partly filled, canceled/.
		test(document.querySelector('.orders tbody').innerText.replaceAll('\t', ' '))`)
	b.run(chromedp.Click(`[data-list=balances]`))
	b.wait("balances of at most eight digits behind the point",
		`document.querySelectorAll('.orders tbody tr').length === 2 &&
			!/\.\d{9}/.test(document.querySelector('.orders').innerText)`)
	b.run(chromedp.Click(`[data-list=trades]`))
	b.wait("both trades are listed", `document.querySelectorAll('[data-trade]').length === 2`)
	b.wait("the fills are marked in the chart", `document.querySelector('.chart').dataset.marks === '1'`)

	// A stop in another pair: the list has orders of both, and one button cancels them.
	b.pick("UU_USDT")
	b.wait("the other pair", `document.querySelector('.head h1').textContent === 'UU/USDT'`)
	if at := b.js("location.search"); at != "?pair=UU_USDT&interval=minute" {
		t.Errorf("the address is %s", at)
	}
	b.wait("its book says that a side is empty",
		`document.querySelector('[data-panel=book]').innerText.includes('one side is empty')`)
	if got := b.js(`document.querySelector('[data-pair=UU_USDT]').textContent.includes('%')`); got != "false" {
		t.Error("a pair that never traded has a change")
	}
	b.set("type", "stop_limit")
	for name, value := range map[string]string{"stopPrice": "120", "price": "121", "amount": "3"} {
		b.set(name, value)
	}
	b.run(chromedp.Click(`.ticket .main`), chromedp.Click(`[data-list=open]`))
	b.toast("the stop is said", `Order accepted Buy 3 UU in UU.USDT at 121.00, stop at 120.00`)
	b.set("type", "stop_market")
	b.set("stopPrice", "130")
	b.set("total", "50")
	b.run(chromedp.Click(`.ticket .main`))
	b.wait("the stop for 50 USDT", `document.querySelectorAll('[data-order]').length === 3`)
	b.set("stopPrice", "140")
	b.set("amount", "4")
	b.run(chromedp.Click(`.ticket .main`))
	b.wait("open orders of both pairs, with their stop prices and amounts", `(() => {
		const text = document.querySelector('.orders').innerText.replaceAll('\t', ' ');
		return document.querySelectorAll('[data-order]').length === 4 && /TT.USDT Limit Buy 100.00 2.0/.test(text) &&
			/UU.USDT Stop limit Buy stop 120.00 → 121.00 3.0/.test(text) &&
			/UU.USDT Stop market Buy stop 130.00 50 USDT/.test(text) &&
			/UU.USDT Stop market Buy stop 140.00 4.0/.test(text); })()`)
	b.shot("follow")
	sent := func() int { b.mu.Lock(); defer b.mu.Unlock(); return b.requests["/api/orders"] }
	before := sent()
	b.run(chromedp.Click(`[data-cancel-all]`), chromedp.Click(`dialog [value=all]`))
	b.wait("none is open", `document.querySelectorAll('[data-order]').length === 0`)
	b.toast("the cancellation is said", `All orders canceled 4 open orders`)
	if said := b.js(`document.querySelector('.toasts').innerText`); strings.Contains(said, "Order canceled") {
		t.Errorf("want one message for each canceled order: %q", said)
	}
	if n := sent() - before; n != 1 {
		t.Errorf("one request cancels the orders of all pairs, %d were sent", n)
	}
	b.run(chromedp.NavigateBack())
	b.wait("back", `document.querySelector('.head h1').textContent === 'TT/USDT'`)
	b.run(chromedp.Click(`[data-forget]`))
	b.wait("the key is forgotten",
		`document.querySelector('.ticket [name=privateKey]') && sessionStorage.length === 0`)
	b.live()

	// An order or a list that is placed before the stream reports the account's orders has its message too.
	b.js(`(WebSocket.prototype.send = new Proxy(WebSocket.prototype.send, {apply: (send, socket, [text]) =>
		text.includes('"op":"auth"') ? undefined : send.call(socket, text)}), '')`)
	b.signIn(key)
	b.set("type", "limit")
	b.set("price", "98")
	b.set("amount", "1")
	b.run(chromedp.Click(`.ticket .main`))
	b.toast("the early order is accepted", `Order accepted Buy 1 TT in TT.USDT at 98.00`)
	b.fill("oco", map[string]string{"price": "97", "stopPrice": "120", "amount": "1"})
	b.toast("the early list is accepted", `Orders accepted OCO in TT.USDT`)
	b.clean()
}

// A user who enters a key pair can trade: the order appears in the open orders and in the book,
// and its button cancels it.
func TestSmokeBrowserTicketPlacesAndCancels(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	for i := range 6 {
		in.Pair(fmt.Sprintf("P%d_USDT", i))
	}
	in.Pair("TT_USDT")
	in.Limit("TT_USDT", "buy", "99.00", "1.0")
	in.Limit("TT_USDT", "sell", "101.00", "1.0")
	key := funded(in, "browser")
	b := newBrowser(t, in, 1440, 900)
	b.open("/")
	b.on("TT_USDT")
	b.signIn(key)
	b.hasMoney()
	const price = "100.00"
	b.run(chromedp.SetValue(`.ticket [name=price]`, price), chromedp.SetValue(`.ticket [name=amount]`, "0.5"),
		chromedp.Click(`.ticket .buy`))
	b.wait("the open order", `document.querySelectorAll('[data-order]').length === 1`)
	b.wait("the level in the book",
		fmt.Sprintf(`[...document.querySelectorAll('.bid .p')].some((p) => p.textContent === %q)`, price))
	b.shot("ticket")
	b.run(chromedp.Click(`[data-order] [aria-label^=Cancel]`))
	b.wait("the order is gone", `document.querySelectorAll('[data-order]').length === 0`)
	b.run(chromedp.Click(`[data-list=balances]`))
	b.wait("held money is back",
		`document.querySelector('[data-balance=USDT]').children[2].textContent === '0'`)
	b.clean()
}

// mouse sends one event of the left button at a place in the chart, counted from the chart's corner.
func (b *browser) mouse(kind input.DispatchMouseEventType, x, y float64, buttons int64) {
	b.t.Helper()
	var left, top float64
	corner := `(() => { const r = document.querySelector('.canvas').getBoundingClientRect();
		return r.left + ' ' + r.top; })()`
	if _, err := fmt.Sscan(b.js(corner), &left, &top); err != nil {
		b.t.Fatal(err)
	}
	command(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{
		Type: kind, X: left + x, Y: top + y, Button: input.MouseButtonLeft, Buttons: buttons, ClickCount: 1,
	})
}

// lineOf returns the height of an order's line in the chart.
func (b *browser) lineOf(id string) (y float64) {
	b.t.Helper()
	if _, err := fmt.Sscan(b.js(fmt.Sprintf(`tickhive.lines().find((l) => l.id === %q).y`, id)), &y); err != nil {
		b.t.Fatal(err)
	}
	return y
}

// The line of an open order can be dragged to another price, and the list has a field for it. A
// line that is only clicked, given up with Escape, or of a waiting stop stays; elsewhere the pointer
// changes no order.
func TestBrowserAPriceLineMovesItsOrder(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("TT_USDT")
	tradeFor(in, "TT_USDT", 0, 6)
	key := funded(in, "drag")
	b := newBrowser(t, in, 1440, 900)
	b.open("/?pair=TT_USDT&interval=minute")
	b.signIn(key)
	b.hasMoney()
	order := func(kind string, fields map[string]string) (id string) {
		b.set("type", kind)
		n := b.js(`document.querySelectorAll('[data-order]').length`)
		for name, value := range fields {
			b.set(name, value)
		}
		b.run(chromedp.Click(`.ticket .main`))
		b.wait("the order", fmt.Sprintf(`document.querySelectorAll('[data-order]').length > %s`, n))
		id = b.js(`document.querySelector('[data-order]').dataset.order`)
		b.wait("its line", fmt.Sprintf(`tickhive.lines().find((l) => l.id === %q).y > 0`, id))
		return id
	}
	const limit, stop = "100.00", "125.00"
	stopID := order("stop_limit", map[string]string{"stopPrice": stop, "price": stop, "amount": "0.25"})
	id := order("limit", map[string]string{"price": limit, "amount": "0.5"})
	prices := func() string {
		return b.js(`[...document.querySelectorAll('[data-order]')].map((r) => r.dataset.order + ' ' +
			r.children[4].innerText).sort().join(', ')`)
	}
	before := prices()
	drag := func(y, by float64, escape bool) {
		b.mouse(input.DispatchMouseEventTypeMouseMoved, 200, y, 0)
		b.mouse(input.DispatchMouseEventTypeMousePressed, 200, y, 1)
		for i := range 4 {
			b.mouse(input.DispatchMouseEventTypeMouseMoved, 200+10*float64(i), y+by*float64(i+1)/4, 1)
		}
		if escape {
			b.press(kb.Escape)
		}
		b.mouse(input.DispatchMouseEventTypeMouseReleased, 230, y+by, 0)
	}
	patched := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.requests["/api/orders/"+id] + b.requests["/api/orders/"+stopID]
	}
	drag(b.lineOf(id), 0, false)
	drag(b.lineOf(id), -40, true)
	drag(b.lineOf(stopID), 40, false)
	drag((b.lineOf(id)+b.lineOf(stopID))/2, 30, false)
	if after, n := prices(), patched(); after != before || n != 0 {
		t.Errorf("without a drag of a line the orders are %s, before %s; %d requests", after, before, n)
	}
	drag(b.lineOf(id), -40, false)
	b.toast("the change is said", `Order changed Buy 0.5 TT in TT.USDT at 1\d\d`)
	b.wait("the list has the new price", fmt.Sprintf(
		`document.querySelector('[data-order=%q]').children[4].innerText > %q`, id, limit))
	if n := patched(); n != 1 {
		t.Errorf("%d requests for one drag", n)
	}

	b.run(chromedp.Click(fmt.Sprintf(`[data-order=%q] .link-like[aria-label*=change]`, id)))
	b.focus("the field for the price", `.orders td input`)
	b.press("98.5", kb.Enter)
	b.wait("the typed price", fmt.Sprintf(
		`document.querySelector('[data-order=%q]').children[4].innerText === '98.50'`, id))
	// The stop price, the price and the amount of an order that waits have fields too.
	for _, c := range []struct{ name, cell, value, want string }{
		{"stop price", "4", "126", "stop 126.00 → 125.00"},
		{"price", "4", "127", "stop 126.00 → 127.00"},
		{"amount", "5", "0.3", "0.3"},
	} {
		b.run(chromedp.Click(fmt.Sprintf(`[data-order=%q] [aria-label*="change the %s of"]`, stopID, c.name)))
		b.focus("the field for the "+c.name, `.orders td input`)
		b.press(c.value, kb.Enter)
		b.wait("the new "+c.name, fmt.Sprintf(`document.querySelector('[data-order=%q]').children[%s].innerText.
			replace(/\s+/g, ' ').startsWith(%q)`, stopID, c.cell, c.want))
	}
	b.clean()
}
