package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tickhive/tickhive/test/harness"
)

// The filter of the past leaves rows out of the table and of the file alike; trades say who made them; the balances are
// worth something in the chosen currency; the tape marks own trades, and the book shows one side and other amounts. The
// search knows the names of assets, and a list names the keys.
func TestBrowserATraderLooksBack(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Call(200, "POST", "/assets", `{"symbol":"TT","name":"Turtle"}`)
	in.Pair("TT_USDT")
	in.Pair("AA_USDT")
	in.Limit("TT_USDT", "buy", "99", "5")
	in.Limit("TT_USDT", "sell", "100", "5")
	key := funded(in, "back")
	b := newBrowser(t, in, 1280, 720)
	b.open("/?pair=TT_USDT&interval=minute")
	b.signIn(key)
	b.hasMoney()
	b.fill("market", map[string]string{"amount": "2"})
	b.toast("the purchase", "Order filled")
	b.js(`document.querySelector('.ticket [data-side=sell]').click()`)
	b.fill("market", map[string]string{"amount": "1"})
	b.toast("the sale", "Order filled Sell 1 TT")
	b.wait("own trades in the tape", `document.querySelectorAll('.tape .mine').length === 2`)

	b.run(chromedp.Click(`[data-list=history]`))
	b.wait("both orders", `document.querySelectorAll('.orders tbody tr').length === 2`)
	choose := func(name, value string) {
		b.js(fmt.Sprintf(`(() => { const f = document.querySelector('.filter [name=%s]'); f.value = %q;
			f.dispatchEvent(new Event('change', {bubbles: true})); return ''; })()`, name, value))
	}
	choose("filterSide", "sell")
	b.wait("the sale alone", `document.querySelectorAll('.orders tbody tr').length === 1 &&
		/Sell/.test(document.querySelector('.orders tbody').innerText)`)
	b.js(`URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return 'data:,'; }`)
	b.run(chromedp.Click(`[data-csv]`))
	b.wait("the file", `window.saved`)
	if file := b.js(`window.saved`); strings.Count(file, "\n") != 2 || !strings.Contains(file, "TT_USDT") ||
		!strings.Contains(file, "false") {
		t.Errorf("the file is %q", file)
	}
	choose("filterState", "canceled")
	b.wait("no canceled one", `/No past orders.*leaves out/.test(document.querySelector('.orders').innerText)`)
	b.run(chromedp.Click(`[data-clear]`))
	b.wait("both again", `document.querySelectorAll('.orders tbody tr').length === 2`)
	choose("filterTo", "2001-01-01")
	b.wait("none as old", `!document.querySelector('.orders tbody tr')`)
	b.run(chromedp.Click(`[data-clear]`), chromedp.Click(`[data-list=trades]`))
	b.wait("trades with their role and fee", `[...document.querySelectorAll('[data-trade]')].length === 2 &&
		/taker/.test(document.querySelector('.orders tbody').innerText) &&
		/0.002 TT/.test(document.querySelector('.orders tbody').innerText)`)
	b.run(chromedp.Click(`[data-list=balances]`))
	b.wait("the balances are worth USDT", `(() => {
		const worth = document.querySelector('[data-balance=TT]')?.children[4].innerText.replace('\u202f', '');
		return +worth > 98 && +worth < 100 && /Portfolio/.test(document.querySelector('.worth').innerText); })()`)

	b.js(`(() => { const s = document.querySelector('[name=sides]'); s.value = 'bids';
		s.dispatchEvent(new Event('change')); document.querySelector('.heads button').click(); return ''; })()`)
	b.wait("bids alone, in USDT", `!document.querySelector('.ask').checkVisibility() &&
		document.querySelector('.bid .row span:nth-of-type(2)').innerText === '396.000'`)
	b.shortcut("/")
	b.search("turt")
	b.wait("the pair by the name of its asset", listed+` === '1' && document.querySelector('[data-pair=TT_USDT]')`)
	b.press(kb.Escape, kb.Escape)
	b.js(`document.activeElement.blur()`)
	b.shortcut("?")
	b.wait("the keys, without a player's", `(() => {
		const text = document.querySelector('dialog.keylist[open]').innerText;
		return ['depth chart', 'edge of a panel'].every((part) => text.includes(part)) &&
			!text.includes('player'); })()`)
	for _, v := range b.axe(axeSource(t)) {
		t.Error(v)
	}
	b.press(kb.Escape)
	b.wait("the list is closed", `!document.querySelector('dialog')`)
	b.clean()
}

// A token is bought and sold on the launchpad with the key of the tab; without one the page says where to sign in. The
// chart of its price follows. The hive names tokens and takes votes.
func TestBrowserATokenIsBoughtAndSold(t *testing.T) {
	t.Parallel()
	in := ownDemo(t)
	user := in.Call(200, "POST", "/users", `{"nickname":"buyer","level":30}`)["id"].(string)
	for _, currency := range []string{"NATIVE", "USBI", "USDT"} {
		in.Call(200, "POST", "/users/"+user+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":1000}`, currency))
	}
	key := in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"buyer"}`)
	b := newBrowser(t, in, 1440, 900)
	b.open("/launchpad")
	b.wait("where to sign in", `/sign in/.test(document.querySelector('.swap')?.innerText)`)
	b.open("/")
	b.signIn(key)
	b.open("/launchpad")
	b.wait("what the buyer has", `/You have 1.?000/.test(document.querySelector('.swap')?.innerText)`)
	b.wait("prices", `/\d/.test(document.querySelector('tr[data-row] td:nth-child(2)').innerText)`)
	b.wait("the chart", `tickhive.candles().length && document.querySelector('.plot canvas')?.height > 100`)
	before := b.js(`String(tickhive.candles().at(-1).close)`)
	b.run(chromedp.SendKeys(`.swap [name=amountIn]`, "10"))
	b.wait("the estimate", `/You get about \d/.test(document.querySelector('.swap').innerText)`)
	b.press(kb.Enter)
	b.wait("bought", `/You bought at/.test(document.querySelector('.swap [role=status]').innerText)`)
	b.wait("the higher price in the chart", `tickhive.candles().at(-1).close > `+before+` &&
		/^O.*H.*L.*C.*V/s.test(document.querySelector('.plot .legend').innerText)`)
	b.js(`document.querySelector('.plot [data-interval=day]').click()`)
	b.wait("days", `tickhive.candles().length && tickhive.candles().every((c) => c.time % 86400 === 0) &&
		document.querySelector('.plot [aria-pressed=true]').dataset.interval === 'day'`)
	token := b.js(`(() => { const x = new XMLHttpRequest();
		x.open('GET', '/api/launchpad/tokens/' + document.querySelector('[data-shows]').dataset.shows, false); x.send();
		return String(JSON.parse(x.responseText).worker.agentNftId); })()`)
	in.Call(200, "POST", "/hive/proposals", fmt.Sprintf(`{"tokenId":%s,"topic":"slippage_cap",`+
		`"payload":{"slippageCapBps":120},"proposer":"token-holders"}`, token))
	b.open("/hive")
	b.wait("proposals of named tokens with a ballot", `document.querySelector('[data-vote=yes]') &&
		!/\b100\d\d\b/.test(document.querySelector('[aria-label=Proposals] table').innerText)`)
	b.js(`document.querySelector('[data-vote=yes]').click()`)
	b.wait("the vote is counted",
		`/voted yes/.test(document.querySelector('[aria-label=Proposals] tbody tr').innerText)`)

	b.open("/launchpad")
	b.wait("the token", `document.querySelector('.swap [data-side=sell]')`)
	b.run(chromedp.Click(`.swap [data-side=sell]`))
	b.wait("what there is to sell", `/You have (?!0 )/.test(document.querySelector('.between button').innerText)`)
	for _, v := range b.axe(axeSource(t)) {
		t.Error(v)
	}
	b.run(chromedp.Click(`.between button`), chromedp.Click(`.swap .main`))
	b.wait("sold", `/You sold at/.test(document.querySelector('.swap [role=status]').innerText)`)
	b.clean()
}
