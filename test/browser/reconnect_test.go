package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tickhive/tickhive/test/harness"
)

// drawn returns the candles of the page's chart in the same form.
const drawn = `(globalThis.tickhive?.candles() ?? []).map((c) => [c.time, ...[c.open, c.high, c.low, c.close, ` +
	`c.volume].map((v) => v.toFixed(8))].join(' ') + '\n').join('')`

// drawsAll waits until the chart shows exactly the candles of the API.
func (b *browser) drawsAll(what string, api *harness.Instance, pair, interval string) (candles string, n int) {
	b.t.Helper()
	candles, n = api.Candles(pair, interval)
	b.wait(what+fmt.Sprintf(": the %d candles of /api/ohlc", n),
		fmt.Sprintf(`%s === %q`, drawn, candles))
	return candles, n
}

// tradeFor makes trades over the given minutes: some with three trades, some with none.
func tradeFor(in *harness.Instance, pair string, from, minutes int) {
	in.T.Helper()
	for i := from; i < from+minutes; i++ {
		if i%5 != 3 {
			for j := range 3 {
				price := fmt.Sprint(100 + (i*7+j*13)%40)
				in.Limit(pair, "sell", price, "0.5")
				in.Limit(pair, "buy", price, "0.5")
			}
		}
		in.Call(200, "POST", "/clock", `{"advance":"25s"}`)
		in.Limit(pair, "sell", "111", "0.25")
		if i%5 != 3 {
			in.Limit(pair, "buy", "111", "0.25")
		}
		in.Call(200, "POST", "/clock", `{"advance":"35s"}`)
	}
}

// After a lost connection every candle of the chart equals /api/ohlc: those of the time
// without a connection, the one that was open when it broke, and those afterwards. Meanwhile
// the page says that it is reconnecting. A cut line closes its connections; a frozen one gives
// no sign.
func TestBrowserChartAfterALostConnection(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("CC_USDT")
	tradeFor(in, "CC_USDT", 0, 20)
	l := harness.NewLine(t, strings.TrimPrefix(in.Public, "http://"))
	through := *in
	through.Public = l.URL()
	b := newBrowser(t, &through, 1280, 800)
	b.open("/")
	b.live()
	b.signIn(funded(in, "lost"))
	b.equalsTheAPI("at first", in, "CC_USDT")
	const trading = `!document.querySelector('.ticket .main').disabled`
	b.wait("trading is on", trading)
	if _, n := b.drawsAll("at first", in, "CC_USDT", "minute"); n < 10 {
		t.Fatalf("only %d candles to begin with", n)
	}
	for at, state := range []harness.Wire{harness.WireCut, harness.WireHeld} {
		// A candle is open when the connection breaks, and its trading continues.
		in.Limit("CC_USDT", "sell", "131", "1")
		in.Limit("CC_USDT", "buy", "131", "1")
		before, n := b.drawsAll("live", in, "CC_USDT", "minute")
		l.Set(state)
		b.wait("the page says so", `document.getElementById('link').textContent === 'reconnecting'`)
		b.shot("reconnecting")
		tradeFor(in, "CC_USDT", 100*(at+1), 11)
		missed, more := in.Candles("CC_USDT", "minute")
		if more < n+8 || strings.HasPrefix(missed, before) {
			t.Fatalf("%d candles after %d: nothing was missed", more, n)
		}
		if got := b.js(drawn); got != before {
			t.Errorf("without a connection the chart changed from\n%s\nto\n%s", before, got)
		}
		if word := b.js(`document.getElementById('link').textContent`); word != "reconnecting" {
			t.Errorf("without a connection the page says %q", word)
		}
		if said := b.js(`document.querySelector('.lost').checkVisibility() + ' ' +
			getComputedStyle(document.querySelector('[data-panel=book]'), '::after').content`); said !=
			`true "not live"` {
			t.Errorf("without a connection the page and the book say: %s", said)
		}
		if on := b.js(trading); on != "false" {
			t.Error("without a connection an order can be placed")
		}
		l.Set(harness.WireUp)
		b.live()
		b.drawsAll("after the reconnect", in, "CC_USDT", "minute")
		b.equalsTheAPI("after the reconnect", in, "CC_USDT")
		b.wait("trading is on again", trading)
		tradeFor(in, "CC_USDT", 100*(at+1)+50, 2)
		b.drawsAll("afterwards", in, "CC_USDT", "minute")
		b.run(chromedp.Click(`[data-interval="minutes5"]`))
		b.drawsAll("five minutes", in, "CC_USDT", "minutes5")
		b.run(chromedp.Click(`[data-interval="minute"]`))
	}
}

// While candles cannot be loaded the chart says so. It does not show candles of another
// interval or pair under the new label, and it recovers by itself.
func TestBrowserChartThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("CC_USDT")
	tradeFor(in, "CC_USDT", 0, 20)
	b := newBrowser(t, in, 1280, 800)
	b.open("/")
	b.drawsAll("at first", in, "CC_USDT", "minute")
	b.block(in.Public + "/udf/history*")
	b.run(chromedp.Click(`[data-interval="minutes5"]`))
	b.wait("the chart says that it is not loaded",
		`/could not be loaded/.test(document.querySelector('[data-panel=chart] [role=status]').innerText)`)
	if got := b.js(drawn); got != "" {
		t.Errorf("under 5m the chart shows\n%s", got)
	}
	in.Limit("CC_USDT", "sell", "131", "1")
	in.Limit("CC_USDT", "buy", "131", "1")
	b.block()
	b.drawsAll("healed", in, "CC_USDT", "minutes5")
	b.wait("the notice is gone",
		`document.querySelector('[data-panel=chart] [role=status]').innerText === ''`)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		if !strings.Contains(w, "/udf/history") || !strings.Contains(w, "BLOCKED") {
			t.Errorf("noticed: %s", w)
		}
	}
}
