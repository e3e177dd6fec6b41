package browser

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tickhive/tickhive/test/harness"
)

// drawnCandle is a candle of the chart. The page calculates studies with binary fractions, so the reference does.
type drawnCandle struct{ Time, Open, High, Low, Close, Volume float64 }

// drawnStudy holds the settings of a study of the chart and the points of its lines.
type drawnStudy struct {
	Settings map[string]float64
	Lines    map[string][]struct{ Time, Value float64 }
}

// studied returns the candles and the studies that the chart shows at one moment.
func (b *browser) studied() (candles []drawnCandle, studies map[string]drawnStudy) {
	b.t.Helper()
	var all struct {
		Candles []drawnCandle
		Studies map[string]drawnStudy
	}
	text := b.js(`JSON.stringify({candles: tickhive.candles(), studies: tickhive.studies()})`)
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		b.t.Fatal(err)
	}
	return all.Candles, all.Studies
}

// The slow references begin at the first candle for each point.

func slowMean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// slowSmooth starts with the mean of the first n values and then moves towards each one by a part of the distance.
func slowSmooth(values []float64, n int, part float64) float64 {
	last := slowMean(values[:n])
	for _, v := range values[n:] {
		last += (v - last) * part
	}
	return last
}

func slowEMA(values []float64, n int) float64 { return slowSmooth(values, n, 2/(float64(n)+1)) }

func closesOf(candles []drawnCandle) (values []float64) {
	for _, c := range candles {
		values = append(values, c.Close)
	}
	return values
}

func slowBand(candles []drawnCandle, n int, width float64) float64 {
	closes := closesOf(candles[len(candles)-n:])
	mean, squares := slowMean(closes), 0.0
	for _, v := range closes {
		squares += (v - mean) * (v - mean)
	}
	return mean + width*math.Sqrt(squares/float64(n))
}

func slowVWAP(candles []drawnCandle, n int) float64 {
	last := candles[len(candles)-1]
	paid, volume := 0.0, 0.0
	for i, c := range candles {
		if n > 0 && i < len(candles)-n || n == 0 && math.Floor(c.Time/86400) != math.Floor(last.Time/86400) {
			continue
		}
		paid += (c.High + c.Low + c.Close) / 3 * c.Volume
		volume += c.Volume
	}
	if volume == 0 {
		return last.Close
	}
	return paid / volume
}

func slowRSI(candles []drawnCandle, n int) float64 {
	var gains, losses []float64
	for i := 1; i < len(candles); i++ {
		change := candles[i].Close - candles[i-1].Close
		gains, losses = append(gains, math.Max(change, 0)), append(losses, math.Max(-change, 0))
	}
	gain, loss := slowSmooth(gains, n, 1/float64(n)), slowSmooth(losses, n, 1/float64(n))
	if gain+loss == 0 {
		return 50
	}
	return 100 - 100/(1+gain/loss)
}

// slowMACD returns the line, and the signal where there are enough candles for it.
func slowMACD(candles []drawnCandle, fast, slow, signal int) (line, mark float64) {
	var lines []float64
	for end := slow; end <= len(candles); end++ {
		closes := closesOf(candles[:end])
		lines = append(lines, slowEMA(closes, fast)-slowEMA(closes, slow))
	}
	if len(lines) < signal {
		return lines[len(lines)-1], math.NaN()
	}
	return lines[len(lines)-1], slowEMA(lines, signal)
}

// equalsTheReference compares each point of each line with the reference.
func equalsTheReference(t *testing.T, candles []drawnCandle, studies map[string]drawnStudy) {
	t.Helper()
	of := func(study, name string) int { return int(studies[study].Settings[name]) }
	line := map[string]struct {
		first int // candles that the first point needs
		value func(candles []drawnCandle) float64
	}{
		"ma line": {of("ma", "length"), func(c []drawnCandle) float64 { return slowBand(c, of("ma", "length"), 0) }},
		"ema line": {of("ema", "length"), func(c []drawnCandle) float64 {
			return slowEMA(closesOf(c), of("ema", "length"))
		}},
		"vwap line": {1, func(c []drawnCandle) float64 { return slowVWAP(c, of("vwap", "length")) }},
		"bollinger upper": {of("bollinger", "length"), func(c []drawnCandle) float64 {
			return slowBand(c, of("bollinger", "length"), studies["bollinger"].Settings["width"])
		}},
		"bollinger middle": {of("bollinger", "length"), func(c []drawnCandle) float64 {
			return slowBand(c, of("bollinger", "length"), 0)
		}},
		"bollinger lower": {of("bollinger", "length"), func(c []drawnCandle) float64 {
			return slowBand(c, of("bollinger", "length"), -studies["bollinger"].Settings["width"])
		}},
		"rsi line": {of("rsi", "length") + 1, func(c []drawnCandle) float64 { return slowRSI(c, of("rsi", "length")) }},
		"macd line": {of("macd", "slow"), func(c []drawnCandle) float64 {
			line, _ := slowMACD(c, of("macd", "fast"), of("macd", "slow"), of("macd", "signal"))
			return line
		}},
		"macd signal": {of("macd", "slow") + of("macd", "signal") - 1, func(c []drawnCandle) float64 {
			_, mark := slowMACD(c, of("macd", "fast"), of("macd", "slow"), of("macd", "signal"))
			return mark
		}},
		"macd bars": {of("macd", "slow") + of("macd", "signal") - 1, func(c []drawnCandle) float64 {
			line, mark := slowMACD(c, of("macd", "fast"), of("macd", "slow"), of("macd", "signal"))
			return line - mark
		}},
	}
	seen := 0
	for study, d := range studies {
		for part, points := range d.Lines {
			seen++
			want := line[study+" "+part]
			if len(points) != len(candles)-want.first+1 || len(points) < 20 {
				t.Errorf("%s %s %v: %d points of %d candles", study, part, d.Settings, len(points), len(candles))
				continue
			}
			for i, p := range points {
				end := want.first + i
				value := want.value(candles[:end])
				if p.Time != candles[end-1].Time || math.Abs(p.Value-value) > 1e-9*candles[end-1].Close {
					t.Errorf("%s %s %v: point %d is %v, want %v", study, part, d.Settings, i, p, value)
					break
				}
			}
		}
	}
	if seen != len(line) {
		t.Errorf("%d lines are drawn, want %d", seen, len(line))
	}
}

// Each study is what a slow calculation of each of its points gives, with its first settings and with others, which
// the keyboard changes; after a change of the newest candle too. The browser keeps studies and settings.
func TestBrowserStudiesAreExact(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1440, 900)
	b.open("/?pair=BTC_USDT&interval=minute")
	b.wait("the candles", `tickhive.candles().length > 100`)
	b.js(`document.querySelector('[data-menu=studies]').focus()`)
	b.press(kb.Enter)
	b.wait("the menu", `document.querySelector('[data-study=ma]').checkVisibility()`)
	for i, name := range []string{"ma", "ema", "vwap", "bollinger", "rsi", "macd"} {
		b.js(fmt.Sprintf(`document.querySelector('[data-study=%s]').focus()`, name))
		b.press(" ")
		b.wait(name, fmt.Sprintf(`Object.keys(tickhive.studies()).length === %d`, i+1))
	}
	candles, studies := b.studied()
	equalsTheReference(t, candles, studies)
	for setting, value := range map[string]string{
		"ma length": "7", "ema length": "9", "vwap length": "30", "bollinger length": "10", "bollinger width": "2.5",
		"rsi length": "6", "macd fast": "5", "macd slow": "13", "macd signal": "4",
	} {
		b.js(fmt.Sprintf(`document.querySelector('[data-setting=%q]').select()`, setting))
		b.press(value, kb.Tab)
	}
	b.js(`document.querySelector('[data-setting="ma length"]').select()`)
	b.press("0", kb.Tab) // outside of the limits: the last one stays
	candles, studies = b.studied()
	if got := studies["ma"].Settings["length"]; got != 7 {
		t.Errorf("a length of 0 makes %v", got)
	}
	if got := studies["bollinger"].Settings["width"]; got != 2.5 {
		t.Errorf("the width is %v", got)
	}
	equalsTheReference(t, candles, studies)
	was := b.js(`JSON.stringify(tickhive.candles().at(-1))`)
	in.Call(200, "POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","type":"market","amount":0.05}`)
	b.wait("the newest candle changes", fmt.Sprintf(`JSON.stringify(tickhive.candles().at(-1)) !== %q`, was))
	candles, studies = b.studied()
	equalsTheReference(t, candles, studies)
	b.press(kb.Escape)
	b.focus("the button of the menu", "[data-menu=studies]")
	b.run(chromedp.Reload())
	b.wait("the same studies", `tickhive.candles().length > 100 && Object.keys(tickhive.studies()).length === 6`)
	candles, studies = b.studied()
	equalsTheReference(t, candles, studies)
	if got := studies["macd"].Settings["slow"]; got != 13 {
		t.Errorf("after a reload the slow average has the length %v", got)
	}
	b.wait("each pane has its legend", `[...document.querySelectorAll('.stage .legend')].map((e) => e.innerText).
		filter((text) => /^RSI 6\s+\d+\.\d\s*$|^MACD 5 13 4(\s+-?[\d\u202f]+\.\d\d){3}\s*$/.test(text)).length === 2`)
	b.clean()
}

// The tag at the axis shows the live price, also while the view is in the past.
func TestBrowserThePriceTagIsLive(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("TT_USDT")
	tradeFor(in, "TT_USDT", 0, 300)
	b := newBrowser(t, in, 1280, 800)
	b.open("/?pair=TT_USDT&interval=minute")
	b.wait("the tag", `tickhive.candles().length > 100 && tickhive.price() === tickhive.candles().at(-1).close`)
	n := b.js(`tickhive.candles().length`)
	for range 3 {
		b.mouse(input.DispatchMouseEventTypeMousePressed, 100, 60, 1)
		for x := 100.0; x <= 600; x += 100 {
			b.mouse(input.DispatchMouseEventTypeMouseMoved, x, 60, 1)
		}
		b.mouse(input.DispatchMouseEventTypeMouseReleased, 600, 60, 0)
	}
	b.wait("the view is in the past, with older candles", fmt.Sprintf(`tickhive.candles().length > %s`, n))
	in.Limit("TT_USDT", "buy", "50.00", "1")
	in.Limit("TT_USDT", "sell", "50.00", "1")
	b.wait("the live price", `tickhive.price() === 50 && tickhive.candles().at(-1).close === 50`)
	b.clean()
}

// An alert is set by a form, with words for what is wrong, or by a click in the chart. It is a line in the chart and a
// row of the list, outlives a reload, and can be removed. When the last price reaches it, also of a pair that is not
// shown, a message says so and the title has a mark until a key is pressed.
func TestBrowserPriceAlerts(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	trade := func(pair, price string) {
		in.Limit(pair, "sell", price, "1")
		in.Limit(pair, "buy", price, "1")
	}
	for _, pair := range []string{"TT_USDT", "UU_USDT"} {
		in.Pair(pair)
		trade(pair, "100.00")
	}
	b := newBrowser(t, in, 1280, 800)
	b.open("/?pair=UU_USDT&interval=minute")
	const last = `document.getElementById('last').dataset.price === '100.00'`
	b.wait("the price", last)
	add := func(price, says string) {
		t.Helper()
		b.js(`document.querySelector('[data-menu=alerts]').focus()`)
		b.press(kb.Enter)
		b.wait("the form", `document.querySelector('[name=alert]').checkVisibility()`)
		b.js(`(document.querySelector('[name=alert]').value = '')`)
		b.focus("the price of the alert", "[name=alert]")
		b.press(price, kb.Enter)
		b.wait("what is said of "+price, fmt.Sprintf(
			`document.querySelector('#menu-alerts [role=status]').innerText === %q`, says))
		b.press(kb.Escape)
	}
	const list = `[...document.querySelectorAll('[data-alert]')].map((e) => e.dataset.alert).join()`
	add("90.5", "")
	b.pick("TT_USDT")
	b.wait("the other pair", `document.querySelector('.head h1').textContent === 'TT/USDT' && `+last)
	add("abc", "\u201cabc\u201d is not a number.")
	add("", "Please write a price.")
	add("100", "TT/USDT is at 100.00 now.")
	add("1.001", "A price in TT/USDT has at most 2 decimals.")
	add("105", "")
	add("105.00", "There is an alert at this price.")
	b.js(`document.querySelector('[data-menu=alerts]').click()`)
	b.run(chromedp.Click(`[data-place]`))
	b.mouse(input.DispatchMouseEventTypeMousePressed, 300, 60, 1)
	b.mouse(input.DispatchMouseEventTypeMouseReleased, 300, 60, 0)
	b.wait("the alert of the click", `document.querySelectorAll('[data-alert]').length === 3`)
	b.run(chromedp.Reload())
	b.wait("the alerts after a reload", last+` && document.querySelectorAll('[data-alert]').length === 3 &&
		tickhive.alerts().length === 2`)
	if got := b.js(list); !strings.HasPrefix(got, "UU_USDT 90.5,TT_USDT 105,TT_USDT ") {
		t.Errorf("the alerts are %s", got)
	}
	b.js(`document.querySelector('[data-menu=alerts]').click()`)
	b.js(`[...document.querySelectorAll('[data-alert] button')].at(-1).click()`)
	if got := b.js(list + ` + ' ' + tickhive.alerts().join()`); got != "UU_USDT 90.5,TT_USDT 105 105" {
		t.Errorf("after the removal the alerts are %s", got)
	}
	b.press(kb.Escape)
	trade("TT_USDT", "104.99")
	b.wait("the price below", `document.getElementById('last').dataset.price === '104.99'`)
	if got := b.js(`document.querySelectorAll('.toast').length + document.title.slice(0, 3)`); got != "0104" {
		t.Errorf("too early: %s", got)
	}
	trade("TT_USDT", "106.00")
	b.toast("the alert", `TT.USDT rose to 105. The last price is 106.00`)
	trade("UU_USDT", "90.00")
	b.toast("the alert of the other pair", `UU.USDT fell to 90.5. The last price is 90.00`)
	b.wait("the title is marked", `document.title.startsWith('(!) ')`)
	b.press("x")
	b.wait("the mark is gone", `document.title.startsWith('106.00 ')`)
	if got := b.js(list + ` + localStorage.getItem('alerts')`); got != "[]" {
		t.Errorf("left is %s", got)
	}
	b.clean()
}

// The depth chart says amount and total up to the pointer, marks own orders, and a click or Enter fills the price into
// the ticket.
func TestBrowserTheDepthChart(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("TT_USDT")
	for i := range 10 {
		in.Limit("TT_USDT", "buy", fmt.Sprintf("%d", 99-i), "2")
		in.Limit("TT_USDT", "sell", fmt.Sprintf("%d", 101+i), "3")
	}
	key := funded(in, "depth")
	b := newBrowser(t, in, 1440, 900)
	b.open("/?pair=TT_USDT")
	b.wait("the book", `document.querySelectorAll('.bid .row').length > 3`)
	b.signIn(key)
	b.hasMoney()
	b.order("limit", map[string]string{"price": "98", "amount": "1"})
	b.openOrders(1)
	b.run(chromedp.Click(`[data-depth]`))
	b.wait("an own order is marked", `document.querySelector('.depth canvas').dataset.own === '1'`)
	const tip = `document.querySelector('.tip').innerText.replaceAll('\u202f', '')`
	const price = `document.querySelector('.ticket [name=price]').value`
	b.js(`(() => { const c = document.querySelector('.depth canvas'); c.focus(); })()`)
	for _, c := range []struct {
		key  string
		low  float64 // the price is between it and high
		high float64
		says string // of the levels up to 97 and 102
	}{
		{kb.ArrowLeft, 96.01, 97, "7.00000 TT for 686.000 USDT"},
		{kb.ArrowRight, 102, 102.99, "6.00000 TT for 609.000 USDT"},
	} {
		found := false
		for range 150 {
			b.press(c.key)
			var at float64
			if _, err := fmt.Sscan(b.js(tip), &at); err != nil {
				t.Fatalf("%s: %v", b.js(tip), err)
			}
			if at >= c.low && at <= c.high {
				found = true
				break
			}
		}
		said := b.js(tip)
		if !found || !strings.Contains(said, c.says) {
			t.Errorf("the pointer says %q, want %s", said, c.says)
		}
		b.press(kb.Enter)
		if got := b.js(price); !strings.HasPrefix(said, got+" USDT") || got == "" {
			t.Errorf("Enter fills in %q at %q", got, said)
		}
		b.js(`document.querySelector('.depth canvas').focus()`)
	}
	b.run(chromedp.Click(`.depth canvas`)) // in the middle
	if got, said := b.js(price), b.js(tip); !strings.HasPrefix(said, got+" USDT") || !strings.HasPrefix(got, "100.0") {
		t.Errorf("a click fills in %q at %q", got, said)
	}
	b.run(chromedp.Click(`[data-candles]`))
	b.wait("the candles again", `!document.querySelector('.canvas').hidden`)
	b.clean()
}

// At each width every button of the chart is whole, on a desktop in one line; its menus are within the screen, and
// nothing of the chart violates a rule of axe-core.
func TestBrowserTheChartFitsItsPanel(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1440, 900)
	source := axeSource(t)
	for _, c := range []struct {
		width, height int64
		scheme        string
	}{{1440, 900, "dark"}, {1280, 720, "light"}, {1024, 768, "dark"}, {768, 1024, "light"}, {390, 844, "dark"}} {
		what := b.screen(c.width, c.height)
		command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: c.scheme}},
		})
		b.open("/?pair=BTC_USDT&interval=minute")
		b.wait("the market", `document.querySelectorAll('.bid .row').length > 0 && tickhive.candles().length > 100`)
		b.js(`document.querySelectorAll('[data-study]:not(:checked)').forEach((s) => s.click())`)
		if got := b.settles("", `(() => { const p = document.querySelector('.chart').getBoundingClientRect();
			return [...document.querySelectorAll('.tools button')].filter((e) => e.checkVisibility()).filter((e) => {
			const r = e.getBoundingClientRect(); return r.left < p.left || r.right > p.right || r.top < p.top ||
				e.scrollWidth > e.clientWidth + 1; }).map((e) => e.textContent).join(); })()`); got != "" {
			t.Errorf("%s: not whole: %s", what, got)
		}
		lines := b.js(`new Set([...document.querySelectorAll('.tools > div')].map((e) => {
			const r = e.getBoundingClientRect(); return Math.round((r.top + r.bottom) / 2); })).size`)
		if c.width >= 1280 && lines != "1" {
			t.Errorf("%s: the buttons of the chart are in %s lines", what, lines)
		}
		b.shot("chart-" + what)
		for _, name := range []string{"studies", "alerts"} {
			b.run(chromedp.Click(fmt.Sprintf(`[data-menu=%s]`, name)))
			inside := fmt.Sprintf(`(() => { const p = document.getElementById('menu-%s'), r = p.getBoundingClientRect();
				return p.checkVisibility() && r.left >= 0 && r.right <= innerWidth && r.top >= 0 &&
				r.bottom <= innerHeight && p.scrollWidth <= p.clientWidth; })()`, name)
			if got := b.settles("true", inside); got != "true" {
				t.Errorf("%s: the menu %s is not within the screen", what, name)
			}
			for _, v := range b.axe(source) {
				t.Errorf("%s, menu %s: %s", what, name, v)
			}
			b.press(kb.Escape)
		}
		b.run(chromedp.Click(`[data-depth]`))
		for _, v := range b.axe(source) {
			t.Errorf("%s, depth: %s", what, v)
		}
		b.shot("depth-" + what)
	}
	b.clean()
}
