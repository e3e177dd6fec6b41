package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// live waits until the page says that it is connected.
func (b *browser) live() {
	b.t.Helper()
	b.wait("live", `document.getElementById('link').textContent === 'live'`)
}

// equalsTheAPI waits until tape, book, header, list and clock of the page show what the API answers
// for a pair that does not trade meanwhile.
func (b *browser) equalsTheAPI(what string, api *harness.Instance, pair string) {
	b.t.Helper()
	get := func(path string, args ...any) string {
		a := api.Do("GET", api.Public+fmt.Sprintf(path, args...), "")
		if a.Status != 200 {
			b.t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		return a.Body
	}
	var deals []struct{ DealDateUtc, Price, Volume string }
	if err := json.Unmarshal([]byte(get("/api/deals?decimals=string&pageSize=60&currencyPairCode=%s", pair)),
		&deals); err != nil || len(deals) < 10 {
		b.t.Fatalf("%d deals: %v", len(deals), err)
	}
	tape := make([]string, len(deals))
	for i, d := range deals {
		at, err := time.Parse(time.RFC3339Nano, d.DealDateUtc)
		if err != nil {
			b.t.Fatal(err)
		}
		tape[i] = fmt.Sprintf("%d %s %s", at.UnixMilli(), d.Price, d.Volume)
	}
	b.wait(what+": tape", fmt.Sprintf(`(() => {
		const rows = [...document.querySelectorAll('.tape tbody tr')].map((r) => r.children[0].dataset.at + ' ' +
			r.children[1].textContent + ' ' + r.children[2].textContent).map((text) => text.replaceAll('\u202f', ''));
		return rows.length >= 10 && rows.join('|') === %q.split('|').slice(0, rows.length).join('|'); })()`,
		strings.Join(tape, "|")))
	book := get("/api/marketdata/getaggregator/orderbook?decimals=string&depth=100&ticker_id=%s", pair)
	b.wait(what+": book", fmt.Sprintf(`(() => { const api = %s;
		const rows = (side) => [...document.querySelectorAll(side + ' .row')].
			map((r) => (r.children[1].textContent + ' ' + r.children[2].textContent).replaceAll('\u202f', ''));
		const all = (ls, n) => ls.slice(0, n).map((l) => l.join(' ')).join('|');
		const bids = rows('.bid'), asks = rows('.ask').reverse();
		return bids.length + asks.length > 0 && bids.length >= Math.min(api.bids.length, 5) &&
			asks.length >= Math.min(api.asks.length, 5) &&
			bids.join('|') === all(api.bids, bids.length) &&
			asks.join('|') === all(api.asks, asks.length); })()`, book))
	ticker := get("/api/tickers?decimals=string&currencyPairCode=%s", pair)
	b.wait(what+": header and list", fmt.Sprintf(`(() => { const api = %s;
		const plain = (e) => e.textContent.replaceAll('\u202f', '');
		const change = (+api.priceChangePercentage24h).toFixed(2).replace('-0.00', '0.00');
		const dd = (name) => plain([...document.querySelectorAll('.head dl div')].
			find((d) => d.querySelector('dt').textContent === name).querySelector('dd'));
		const or = (v) => (+v > 0 ? v : '–');
		const row = document.querySelector('[data-pair="' + api.currencyPairCode + '"]');
		return [plain(document.getElementById('last')), dd('Bid'), dd('Ask')].join() ===
			[api.price, or(api.bidPrice), or(api.askPrice)].join() && plain(row.querySelector('.p')) === api.price &&
			plain(row.querySelector('.c')).replace('+', '') === change + ' %%'; })()`, ticker))
	now := harness.Object(b.t, get("/api/time"))["serverTime"]
	b.wait(what+": clock", fmt.Sprintf("Math.abs(tickhive.now() - %s) < 60000", now))
}

// A line that is cut, and one that freezes, for 150 seconds in a market that goes on: afterwards every
// candle equals /api/ohlc, and so does everything else on the page.
func TestBrowserALineThatIsLostFor150Seconds(t *testing.T) {
	t.Parallel()
	if os.Getenv("TICKHIVE_SOAK") != "1" {
		t.Skip("takes 5 minutes: TICKHIVE_SOAK=1 runs it; TestBrowserChartAfterALostConnection moves the clock instead")
	}
	in := ownDemo(t)
	const pair = "BTC_USDT"
	l := harness.NewLine(t, strings.TrimPrefix(in.Public, "http://"))
	through := *in
	through.Public = l.URL()
	b := newBrowser(t, &through, 1440, 900)
	b.open("/?interval=minute&pair=" + pair)
	b.live()
	for _, state := range []harness.Wire{harness.WireCut, harness.WireHeld} {
		harness.WaitFor(t, func() bool { // so late in a minute, no trade may follow in it
			s := time.Now().Second()
			return s >= 5 && s < 35
		})
		before, n := in.Candles(pair, "minute")
		l.Set(state)
		<-time.After(150 * time.Second)
		if word := b.js(`document.getElementById('link').textContent`); word != "reconnecting" {
			t.Errorf("without a connection the page says %q", word)
		}
		if missed, more := in.Candles(pair, "minute"); more < n+2 || strings.HasPrefix(missed, before) {
			t.Fatalf("%d candles after %d: nothing was missed", more, n)
		}
		l.Set(harness.WireUp)
		b.live()
		in.Call(200, "PATCH", "/pairs/"+pair, `{"state":"halted"}`) // keeps the values constant
		for _, interval := range []string{"minute", "minutes5", "hour"} {
			b.js(fmt.Sprintf(`document.querySelector('[data-interval=%s]').click()`, interval))
			candles, all := in.Candles(pair, interval)
			b.wait(interval, fmt.Sprintf(`%q.endsWith(%s) && tickhive.candles().length >= %d`,
				candles, drawn, min(all, 100)))
		}
		b.equalsTheAPI("after 150 s", in, pair)
		b.js(`document.querySelector('[data-interval=minute]').click()`)
		in.Call(200, "PATCH", "/pairs/"+pair, `{"state":"online"}`)
	}
}

// A pair that is delisted leaves the page, which shows another one and says so. When the connection is lost and comes
// back, the page does not ask for it again.
func TestBrowserAPairIsDelisted(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	for _, code := range []string{"CC_USDT", "DD_USDT", "EE_USDT"} {
		in.Pair(code)
		in.Limit(code, "sell", "101", "1")
	}
	l := harness.NewLine(t, strings.TrimPrefix(in.Public, "http://"))
	through := *in
	through.Public = l.URL()
	b := newBrowser(t, &through, 1280, 800)
	b.open("/?pair=CC_USDT")
	b.live()
	b.pairs()
	b.wait("three pairs", listed+` === '3' && document.querySelector('.ask .row')`)
	in.Call(200, "DELETE", "/pairs/EE_USDT", "")
	b.wait("two pairs", listed+` === '2' && document.querySelector('.head h1').textContent === 'CC/USDT'`)
	in.Call(200, "DELETE", "/pairs/CC_USDT", "")
	b.wait("one pair", listed+` === '1' && document.querySelector('.head h1').textContent === 'DD/USDT' &&
		document.querySelector('.ask .row') && location.search.includes('DD_USDT')`)
	b.toast("what was delisted", "CC.USDT was delisted")
	b.clean()
	l.Set(harness.WireCut)
	b.wait("the cut", `document.getElementById('link').textContent === 'reconnecting'`)
	l.Set(harness.WireUp)
	b.live()
	in.Limit("DD_USDT", "sell", "102", "1")
	b.wait("the book moves", `document.querySelectorAll('.ask .row').length === 2`)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		if strings.Contains(w, "NOT_FOUND") {
			t.Errorf("noticed: %s", w)
		}
	}
}
