package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tickhive/tickhive/test/harness"
)

// kind shows the form of a kind of order in the ticket.
func (b *browser) kind(kind string) {
	b.t.Helper()
	b.set("type", strings.Replace(kind, "attached", "limit", 1))
	b.js(fmt.Sprintf(`((box) => { if (box.checked !== %t) box.click(); return ''; })
		(document.querySelector('[name=attach]'))`, kind == "attached"))
}

// The ticket has the fields of each kind of order, all of them within its panel or in reach by scrolling, on a desktop
// and on a phone. No form violates a rule of axe-core, and the two forms are tabs that arrow keys change.
func TestBrowserTicketHasEachKindOfOrder(t *testing.T) {
	t.Parallel()
	in, key := watched(t)
	source := axeSource(t)
	b := newBrowser(t, in, 1280, 720)
	b.open("/?pair=BTC_USDT")
	b.signIn(key)
	b.hasMoney()
	const shown = `[...document.querySelectorAll('.ticket form label')].
		filter((e) => e.checkVisibility() && !e.querySelector('select') && e.innerText !== 'Post only').
		map((e) => e.innerText.split('\n')[0]).join(', ')`
	for _, size := range [][2]int64{{1280, 720}, {1024, 768}, {360, 740}} {
		what := b.screen(size[0], size[1])
		b.show("ticket")
		for _, c := range []struct{ kind, fields string }{
			{"limit", "Price, Amount, Total, Take profit / stop loss"},
			{"attached", "Price, Amount, Total, Take profit / stop loss, Take profit at, Its limit (optional), " +
				"Stop loss at, Its limit (optional)"},
			{"market", "Amount, Total"},
			{"stop_limit", "Stop price, Price, Amount, Total"},
			{"stop_market", "Stop price, Amount, Total"},
			{"take_profit_limit", "Trigger price, Price, Amount, Total"},
			{"take_profit_market", "Trigger price, Amount, Total"},
			{"trailing_limit", "Trail by, Start at (optional), Limit price, Amount, Total"},
			{"trailing_market", "Trail by, Start at (optional), Amount, Total"},
			{"oco", "Stop price, Stop limit (optional), Limit price, Amount, Total"},
			{"oto", "Price, Amount, Total, Price, Amount (optional)"},
			{"otoco", "Price, Amount, Total, Take profit at, Its limit (optional), Stop loss at, Its limit (optional)"},
		} {
			b.kind(c.kind)
			if got := b.js(shown); got != c.fields {
				t.Errorf("%s, %s: the fields are %s, want %s", what, c.kind, got, c.fields)
			}
			b.shot("ticket-" + what + "-" + c.kind)
			b.wholeTicket(what + ", " + c.kind)
			if size[0] == 1024 {
				continue
			}
			for _, v := range b.axe(source) {
				t.Errorf("%s, %s: %s", what, c.kind, v)
			}
		}
	}
	b.clean()
}

// between is a market whose last price trade sets: orders at 90 and at 110 take whatever triggers.
func between(t *testing.T, in *harness.Instance, pair string) (trade func(price string)) {
	t.Helper()
	in.Call(200, "POST", "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":2,"digitsAmount":3}`, pair))
	in.Limit(pair, "buy", "90", "1000")
	in.Limit(pair, "sell", "110", "1000")
	return func(price string) {
		t.Helper()
		in.Limit(pair, "sell", price, "1")
		in.Call(200, "POST", "/orders", fmt.Sprintf(`{"currencyPairCode":%q,"side":"buy","type":"limit",`+
			`"timeInForce":"ioc","price":%s,"amount":2}`, pair, price))
	}
}

// rows returns what the shown list of the page says of each order and list, the newest first, without times.
const rows = `[...document.querySelectorAll('.orders tbody tr')].map((r) => [...r.children].slice(1).
	map((c) => c.innerText.replaceAll('\u202f', '').replaceAll(/\s+/g, ' ').trim()).join(' ').
	replaceAll(/ +/g, ' ').replace(/ Cancel$/, '').trim()).join(' | ')`

// Each kind of order is placed in the ticket, shown while it waits with what it waits for, and seen to its end in the
// history with why it ended. A list is one row with its orders below it, which goes when the list is done; its button
// cancels all of it.
func TestBrowserEachKindOfOrderIsSeenToItsEnd(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	trade := between(t, in, "TT_USDT")
	user := in.Call(200, "POST", "/users", `{"nickname":"kinds"}`)["id"].(string)
	for _, currency := range []string{"TT", "USDT"} {
		in.Call(200, "POST", "/users/"+user+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":100000}`, currency))
	}
	b := newBrowser(t, in, 1440, 900)
	b.open("/?pair=TT_USDT&interval=minute")
	b.signIn(in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"kinds"}`))
	b.hasMoney()
	source := axeSource(t)
	type prices = map[string]string
	for _, c := range []struct {
		side, kind    string
		fields        prices
		waits, trades []string
		open, past    string // of the list of open orders, and the beginning of the history
		cancel        bool
	}{
		{
			"sell", "take_profit_limit",
			prices{"stopPrice": "105", "price": "90", "amount": "1"},
			[]string{"104"},
			[]string{"105"},
			"TT/USDT Take profit limit Sell at 105.00 → 90.00 1.000 0.000",
			"TT/USDT Take profit limit Sell 90.00 90 1.000 1.000 filled", false,
		},
		{
			"buy", "take_profit_market",
			prices{"stopPrice": "95", "amount": "1"},
			[]string{"96"},
			[]string{"95"},
			"TT/USDT Take profit market Buy at 95.00 1.000 0.000",
			"TT/USDT Take profit market Buy avg 110 110 1.000 1.000 filled", false,
		},
		{
			"buy", "stop_limit",
			prices{"stopPrice": "105", "price": "110", "amount": "1"},
			[]string{"104"},
			[]string{"105"},
			"TT/USDT Stop limit Buy stop 105.00 → 110.00 1.000 0.000",
			"TT/USDT Stop limit Buy 110.00 110 1.000 1.000 filled", false,
		},
		{
			"sell", "stop_market",
			prices{"stopPrice": "95", "total": "90"},
			[]string{"96"},
			[]string{"95"},
			"TT/USDT Stop market Sell stop 95.00 90 USDT 0.000",
			"TT/USDT Stop market Sell avg 90 90 90 USDT 1.000 filled", false,
		},
		{
			"sell", "trailing_market",
			prices{"trailingDelta": "5", "amount": "1"},
			[]string{"108", "103"},
			[]string{"102"},
			"TT/USDT Trailing stop Sell trails 5 % 1.000 0.000",
			"TT/USDT Trailing stop Sell avg 90 90 1.000 1.000 filled", false,
		},
		{
			"sell", "trailing_market",
			prices{"trailingDelta": "1.5", "stopPrice": "104", "amount": "1"},
			[]string{"103", "99", "104", "105"},
			[]string{"103.4"},
			"TT/USDT Trailing stop Sell trails 1.5 % from 104.00 1.000 0.000",
			"TT/USDT Trailing stop Sell avg 90 90 1.000 1.000 filled", false,
		},
		{
			"buy", "trailing_limit",
			prices{"trailingDelta": "2", "price": "110", "amount": "1"},
			[]string{"96", "97"},
			[]string{"98"},
			"TT/USDT Trailing stop limit Buy trails 2 % → 110.00 1.000 0.000",
			"TT/USDT Trailing stop limit Buy 110.00 110 1.000 1.000 filled", false,
		},
		{
			"sell", "market",
			prices{"total": "180"},
			nil, nil, "",
			"TT/USDT Market Sell avg 90 90 180 USDT 2.000 filled", false,
		},
		{
			"sell", "oco",
			prices{"price": "108", "stopPrice": "92", "amount": "1"},
			[]string{"107", "93"},
			[]string{"108"},
			"TT/USDT List OCO | Limit Sell 108.00 1.000 0.000 | Stop market Sell stop 92.00 1.000 0.000",
			"TT/USDT List OCO done | Limit Sell 108.00 108 1.000 1.000 filled | " +
				"Stop market Sell 92.00 – 1.000 0.000 canceled: the other leg ended it", false,
		},
		{
			"buy", "oco",
			prices{"price": "92", "stopPrice": "108", "stopLimit": "110", "amount": "1"},
			[]string{"93", "107"},
			[]string{"108"},
			"TT/USDT List OCO | Limit Buy 92.00 1.000 0.000 | Stop limit Buy stop 108.00 → 110.00 1.000 0.000",
			"TT/USDT List OCO done | Limit Buy 92.00 – 1.000 0.000 canceled: the other leg ended it " +
				"| Stop limit Buy 110.00 110 1.000 1.000 filled", false,
		},
		{
			"sell", "oco",
			prices{"price": "108", "stopPrice": "92", "amount": "1"},
			nil, nil,
			"TT/USDT List OCO | Limit Sell 108.00 1.000 0.000 | Stop market Sell stop 92.00 1.000 0.000",
			"TT/USDT List OCO done | Limit Sell 108.00 – 1.000 0.000 canceled | " +
				"Stop market Sell 92.00 – 1.000 0.000 canceled", true,
		},
		{
			"buy", "attached",
			prices{"price": "99", "amount": "1", "takeProfit": "105", "stopLoss": "94"},
			nil,
			[]string{"99", "105"},
			"TT/USDT List OPOCO | Limit Buy 99.00 1.000 0.000 | Take profit market Sell at 105.00 pending – 0.000 | " +
				"Stop market Sell stop 94.00 pending – 0.000",
			"TT/USDT List OPOCO done | Limit Buy 99.00 99 1.000 1.000 filled | " +
				"Take profit market Sell avg 90 90 0.999 0.999 filled | " +
				"Stop market Sell 94.00 – 0.999 0.000 canceled: the other leg ended it", false,
		},
		{
			"sell", "attached",
			prices{"price": "101", "amount": "1", "takeProfit": "95", "stopLoss": "106"},
			nil,
			[]string{"101", "106"},
			"TT/USDT List OTOCO | Limit Sell 101.00 1.000 0.000 | " +
				"Take profit market Buy at 95.00 pending 1.000 0.000 | Stop market Buy stop 106.00 pending 1.000 0.000",
			"TT/USDT List OTOCO done | Limit Sell 101.00 101 1.000 1.000 filled | " +
				"Take profit market Buy 95.00 – 1.000 0.000 canceled: the other leg ended it | " +
				"Stop market Buy avg 110 110 1.000 1.000 filled", false,
		},
		{
			"sell", "otoco",
			prices{
				"price": "101", "amount": "1", "takeProfit": "95", "takeProfitLimit": "110", "stopLoss": "106",
				"stopLossLimit": "110.5",
			},
			nil,
			[]string{"101", "106"},
			"TT/USDT List OTOCO | Limit Sell 101.00 1.000 0.000 | " +
				"Take profit limit Buy at 95.00 → 110.00 pending 1.000 0.000 | " +
				"Stop limit Buy stop 106.00 → 110.50 pending 1.000 0.000",
			"TT/USDT List OTOCO done | Limit Sell 101.00 101 1.000 1.000 filled | " +
				"Take profit limit Buy 110.00 – 1.000 0.000 canceled: the other leg ended it | " +
				"Stop limit Buy 110.50 110 1.000 1.000 filled", false,
		},
		{
			"buy", "oto",
			prices{"price": "99", "amount": "1", "then": "sell limit", "thenPrice": "105"},
			nil,
			[]string{"99", "105"},
			"TT/USDT List OPO | Limit Buy 99.00 1.000 0.000 | Limit Sell 105.00 pending – 0.000",
			"TT/USDT List OPO done | Limit Buy 99.00 99 1.000 1.000 filled | " +
				"Limit Sell 105.00 105 0.999 0.999 filled", false,
		},
		{
			"sell", "oto",
			prices{
				"price": "101", "amount": "1", "then": "buy stop_market", "thenStop": "104", "thenAmount": "2",
			},
			nil,
			[]string{"101", "104"},
			"TT/USDT List OTO | Limit Sell 101.00 1.000 0.000 | Stop market Buy stop 104.00 pending 2.000 0.000",
			"TT/USDT List OTO done | Limit Sell 101.00 101 1.000 1.000 filled | " +
				"Stop market Buy avg 110 110 2.000 2.000 filled", false,
		},
		{
			"buy", "attached",
			prices{"price": "99", "amount": "1", "stopLoss": "94"},
			nil,
			[]string{"99", "94"},
			"TT/USDT List OPO | Limit Buy 99.00 1.000 0.000 | Stop market Sell stop 94.00 pending – 0.000",
			"TT/USDT List OPO done | Limit Buy 99.00 99 1.000 1.000 filled | " +
				"Stop market Sell avg 90 90 0.999 0.999 filled", false,
		},
	} {
		what := c.side + " " + c.kind
		trade("100")
		b.wait("the last price", `document.getElementById('last').dataset.price === '100.00'`)
		b.run(chromedp.Click(`[data-list=open]`), chromedp.Click(`.ticket [data-side=`+c.side+`]`))
		b.fill(c.kind, c.fields)
		if c.open != "" {
			if got := b.settles(c.open, rows); got != c.open {
				t.Fatalf("%s: the open orders are %s, want %s", what, got, c.open)
			}
		}
		for _, price := range c.waits {
			trade(price)
			b.wait("the last price", fmt.Sprintf(`+document.getElementById('last').dataset.price === %s`, price))
		}
		if c.open != "" {
			if got := b.js(rows); got != c.open {
				t.Errorf("%s: after trades at %v the open orders are %s", what, c.waits, got)
			}
		}
		if strings.Contains(c.open, "OPOCO") {
			b.shot("lists-open")
			for _, v := range b.axe(source) {
				t.Errorf("%s: %s", what, v)
			}
		}
		for _, price := range c.trades {
			trade(price)
		}
		if c.cancel {
			b.run(chromedp.Click(`[data-list-id] [aria-label^="Cancel list"]`))
			b.toast("the cancel is said", `Orders canceled OCO: 2 open orders`)
		}
		b.wait(what+" has ended", `!document.querySelector('.orders tbody')`)
		b.run(chromedp.Click(`[data-list=history]`))
		begins := fmt.Sprintf(`(%s + ' | ').slice(0, %d)`, rows, len([]rune(c.past))+3)
		if got := b.settles(c.past+" | ", begins); got != c.past+" | " {
			t.Fatalf("%s: the history is %s, want %s", what, b.js(rows), c.past)
		}
	}
	b.shot("lists-past")
	for _, v := range b.axe(source) {
		t.Errorf("the history: %s", v)
	}

	// An order that waits is at no level of the book, though it has the price of one.
	const marked = `document.querySelectorAll('.bid .row.mine').length`
	b.run(chromedp.Click(`[data-list=open]`), chromedp.Click(`.ticket [data-side=buy]`))
	b.fill("stop_limit", prices{"stopPrice": "105", "price": "90", "amount": "1"})
	b.openOrders(1)
	if n := b.js(marked); n != "0" {
		t.Errorf("an order that waits marks %s levels of the book", n)
	}
	b.fill("limit", prices{"price": "90", "amount": "1"})
	b.wait("the level of the limit order", marked+` === 1`)
	b.run(chromedp.Click(`[data-cancel-all]`))
	b.openOrders(0)

	// What the exchange refuses of a list is said at the field of the order that it names.
	b.run(chromedp.Click(`[data-list=open]`), chromedp.Click(`.ticket [data-side=sell]`))
	b.fill("oco", prices{"price": "108", "stopPrice": "92.001", "amount": "1"})
	b.wait("the refusal", `document.querySelector('.ticket [aria-invalid]')?.name === 'stopPrice'`)
	b.fill("trailing_market", prices{"trailingDelta": "30", "amount": "1"})
	b.wait("the refusal", `document.querySelector('.ticket [aria-invalid]')?.name === 'trailingDelta'`)
	b.answered(2, "400 from "+in.Public+"/api/orders")
	b.mu.Lock()
	b.wrong = nil
	b.mu.Unlock()
	b.clean()
}

// fill fills the ticket for a kind of order and sends it.
func (b *browser) fill(kind string, fields map[string]string) {
	b.t.Helper()
	b.kind(kind)
	b.js(`document.querySelectorAll('.ticket form input:not([type])').forEach((i) => { i.value = ''; })`)
	for _, name := range []string{
		"trailingDelta", "stopPrice", "stopLimit", "price", "amount", "total", "takeProfit", "takeProfitLimit",
		"stopLoss",
		"stopLossLimit", "then", "thenStop", "thenPrice", "thenAmount",
	} {
		if value, ok := fields[name]; ok {
			b.set(name, value)
		}
	}
	b.js(`document.querySelector('.ticket .main').click()`)
}
