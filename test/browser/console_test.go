package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tickhive/tickhive/test/harness"
)

// asked returns how often the page has requested a path.
func (b *browser) asked(path string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests[path]
}

// simOf returns the state of the simulated market.
func simOf(in *harness.Instance) map[string]any { return in.Call(200, "GET", "/sim", "") }

// One click on the page of this machine makes an account with money, and it can buy at once. Another one adds money.
func TestBrowserTradeWithADemoAccount(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--console", "loopback", "--backfill", "1h")
	b := newBrowser(t, in, 1280, 800)
	b.open("/?pair=BTC_USDT")
	b.wait("the button", `document.querySelector('.ticket [data-demo]')`)
	b.js(`document.querySelector('[data-demo]').click()`)
	b.wait("the order form", `document.querySelector('.ticket form.order [name=price]')`)
	b.hasMoney()
	b.set("price", "60000.00")
	b.set("amount", "0.001")
	b.run(chromedp.Click(`.ticket .main`))
	b.openOrders(1)
	if got := b.js(`getComputedStyle(document.querySelector('.orders td.parts')).display`); got != "table-cell" {
		t.Errorf("beside the console a cell of the orders is shown as %s", got)
	}
	b.js(`document.querySelector('[data-funds]').click()`)
	b.wait("more funds", `document.querySelector('.toasts').innerText.includes('Funds added')`)
	if b.asked("/internal/v1/demo-accounts") != 1 || b.asked("/internal/v1/demo-accounts/funds") != 1 {
		t.Errorf("%d accounts, funds %d times, want one of each", b.asked("/internal/v1/demo-accounts"),
			b.asked("/internal/v1/demo-accounts/funds"))
	}
	b.clean()
}

// The page asks before it forgets the key of a demo account, which nobody else has, and offers it as a file. The market
// goes on behind it, as behind a key of the user's own, of which nothing is asked.
func TestBrowserADemoKeyIsNotLost(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--console", "loopback", "--backfill", "1h")
	b := newBrowser(t, in, 1280, 800)
	b.open("/?pair=BTC_USDT")
	b.wait("the button", `document.querySelector('.ticket [data-demo]')`)
	b.js(`document.querySelector('[data-demo]').click()`)
	b.wait("the order form", `document.querySelector('.ticket form.order [name=price]')`)
	b.open("/?pair=BTC_USDT") // the tab still knows that it is a demo account
	b.wait("the order form again", `document.querySelector('[data-funds]')`)
	b.hasMoney()
	b.js(`(window.outages = 0, new MutationObserver(() => { outages += document.body.classList.contains('stale'); }).
		observe(document.body, {attributes: true}), '')`)
	forget := func() { b.js(`document.querySelector('[data-forget]').click()`) }
	forget()
	b.wait("the key and its file", `(({publicKey, privateKey}) => { const asks = document.querySelector('dialog[open]');
		return asks.innerText.includes(publicKey) && asks.innerText.includes(privateKey) &&
			asks.querySelector('[download="key.json"]'); })(JSON.parse(sessionStorage.getItem('key')))`)
	for _, v := range b.axe(axeSource(t)) {
		t.Error(v)
	}
	b.answers("")
	b.wait("the key is kept", `document.querySelector('.ticket form.order') && sessionStorage.getItem('key')`)
	forget()
	b.answers("forget")
	const forgotten = `document.querySelector('.ticket [name=privateKey]') && sessionStorage.length === 0`
	b.wait("the key is forgotten", forgotten)
	goesOn := func() {
		b.js(`(window.was = document.querySelector('.book').dataset.seq, '')`)
		b.wait("the market goes on", `document.querySelector('.book').dataset.seq !== was`)
	}
	goesOn()
	b.signIn(funded(in, "own"))
	forget()
	b.wait("nothing is asked", forgotten)
	goesOn()
	if n := b.js(`outages`); n != "0" {
		t.Errorf("the page looked lost %s times", n)
	}
	b.clean()
}

// The control bar can be used as soon as it knows the state of the exchange.
func TestBrowserTheConsoleWaitsForTheState(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--console", "loopback", "--backfill", "1h")
	b := newBrowser(t, in, 1280, 800)
	b.block(in.Public + "/internal/v1/sim")
	b.open("/")
	const controls = `[...document.querySelectorAll('.controls :is(button, select)')]`
	b.wait("no answer", `/no answer/.test(document.querySelector('.chips').innerText)`)
	if on := b.js(controls + `.filter((e) => !e.disabled).length`); on != "0" {
		t.Errorf("%s controls can be used without a state", on)
	}
	b.block()
	b.wait("the state", controls+`.every((e) => !e.disabled) &&
		/as usual/.test(document.querySelector('.chips').innerText)`)
}

// Without a console the page has no part of an operator, and asks for none.
func TestBrowserWithoutAConsoleThereIsNone(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1280, 800)
	b.open("/")
	b.wait("the key form", `document.querySelector('.ticket [name=privateKey]')`)
	if b.js(`String(document.querySelector('#console, [data-demo], [data-funds]'))`) != "null" {
		t.Error("the page has parts of an operator")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for path := range b.requests {
		if strings.Contains(path, "console") || strings.HasPrefix(path, "/internal") {
			t.Errorf("the page asks for %s", path)
		}
	}
}

// The text of a key file that is pasted whole signs in, wherever the cursor is; other text goes into its field.
func TestBrowserAKeyFileIsPastedWhole(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	file := filepath.Join(t.TempDir(), "key.json")
	if c := harness.Launch(t, nil, "demo-key", "--internal", in.Root, file); c.Wait() != 0 {
		t.Fatal("no key")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, in, 1280, 800)
	b.open("/")
	b.wait("the key form", `document.querySelector('.ticket [name=publicKey]')`)
	paste := func(into, text string) (taken string) {
		return b.js(fmt.Sprintf(`(() => { const data = new DataTransfer(); data.setData('text', %q);
			const e = new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true});
			document.querySelector('.ticket [name=%s]').dispatchEvent(e);
			return String(e.defaultPrevented); })()`, text, into))
	}
	for _, other := range []string{"abc", `{"publicKey":"abc"}`, `{"publicKey":1,"privateKey":2}`, "[]", "null"} {
		if paste("publicKey", other) != "false" {
			t.Errorf("%s is taken for a key file", other)
		}
	}
	if paste("privateKey", string(text)) != "true" {
		t.Error("the text of the file is not taken")
	}
	b.wait("the order form", `document.querySelector('.ticket form.order [name=price]')`)
	b.hasMoney()
	b.clean()
}

// A key file that is dropped on the form signs in. One that is none is named, and changes nothing.
func TestBrowserAKeyFileIsDropped(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	file := filepath.Join(t.TempDir(), "key.json")
	if c := harness.Launch(t, nil, "demo-key", "--internal", in.Root, file); c.Wait() != 0 {
		t.Fatal("no key")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, in, 1280, 800)
	b.open("/")
	b.wait("the key form", `document.querySelector('.ticket [name=publicKey]')`)
	drop := func(name, text string) {
		t.Helper()
		if got := b.js(fmt.Sprintf(`(() => {
			const data = new DataTransfer(), form = document.querySelector('.ticket form');
			data.items.add(new File([%q], %q));
			return ['dragover', 'drop'].map((type) => {
				const e = new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true});
				form.dispatchEvent(e); return e.defaultPrevented; }).join(); })()`,
			text, name)); got != "true,true" {
			t.Errorf("the page takes %s: %s", name, got)
		}
	}
	drop("notes.txt", "abc")
	b.wait("what is wrong",
		`/notes.txt is no file of tickhive demo-key/.test(document.querySelector('.ticket [role=alert]').innerText)`)
	if got := b.js(`document.querySelector('.ticket form').className`); got != "keys" {
		t.Errorf("after a file without a key the ticket has the form %s", got)
	}
	drop("key.json", string(text))
	b.wait("the order form", `document.querySelector('.ticket form.order [name=price]')`)
	b.hasMoney()
	b.clean()
}

// The control bar shows the state of the exchange, also what a command has changed, and the keyboard alone changes it.
func TestBrowserControlBar(t *testing.T) {
	t.Parallel()
	source := axeSource(t)
	in := harness.Start(t, "--console", "loopback", "--clock", "virtual", "--backfill", "1h")
	b := newBrowser(t, in, 1280, 800)
	b.open("/?pair=BTC_USDT")
	b.wait("the folded bar",
		`document.querySelector('.controls:not([open]) .chips')?.innerText.includes('clock stands still')`)
	b.js(`document.querySelector('.controls summary').focus()`)
	b.shortcut("Enter")
	b.wait("the open bar", `document.querySelector('.controls[open] [data-act=pause]')?.checkVisibility()`)
	b.js(`document.querySelector('[data-act=pause]').focus()`)
	b.shortcut("Enter")
	b.wait("the pause", `document.querySelector('.chips').innerText.includes('market paused')`)
	if simOf(in)["paused"] != true || b.js(`document.activeElement.dataset.act`) != "pause" {
		t.Errorf("%v, the focus is on %s", simOf(in), b.js(`document.activeElement.outerHTML`))
	}
	b.shortcut("Enter")
	b.wait("no pause", `!document.querySelector('.chips').innerText.includes('market paused')`)
	in.Call(200, "PATCH", "/sim", `{"scenario":"flash-crash"}`)
	b.wait("the scenario of a command", `document.querySelector('.chips').innerText.includes('flash crash') &&
		document.querySelector('.controls [name=scenario]').value === 'flash-crash'`)
	b.js(`document.querySelector('.controls [name=fault]').value = 'dirty-listing'`)
	b.js(`document.querySelector('[data-act=fault]').click()`)
	b.wait("faults", `document.querySelectorAll('.rules li').length > 0 &&
		/faults? on/.test(document.querySelector('.chips').innerText)`)
	if v := b.axe(source); len(v) > 0 {
		t.Errorf("axe: %v", v)
	}
	b.js(`document.querySelector('[data-act=clear]').click()`)
	b.wait("no faults", `document.querySelectorAll('.rules li').length === 0`)
	hour := b.js(`document.querySelector('.controls .time').innerText.slice(11, 13)`)
	b.js(`document.querySelector('[data-jump="1h"]').click()`)
	b.wait("an hour later", fmt.Sprintf(`document.querySelector('.controls .time').innerText.slice(11, 13) !== %q`,
		hour))
	b.js(`document.querySelector('[data-speed="60"]').click()`)
	b.wait("a clock that runs", `document.querySelector('.chips').innerText.includes('clock ×60')`)
	b.js(`document.querySelector('[data-speed="0"]').click()`)
	b.wait("a clock that stands", `document.querySelector('.chips').innerText.includes('clock stands still')`)
	b.wait("the time in UTC", `document.querySelector('.controls .time').innerText.endsWith('UTC')`)
	b.js(`document.querySelector('[data-zone]').click()`)
	b.wait("the zone of the page", `/:\d\d$/.test(document.querySelector('.controls .time').innerText)`)
	b.clean()
}

// The console is on a market without pairs, too. A page that has no part of it does not load it.
func TestBrowserConsoleWhereThereIsLittle(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--console", "loopback")
	b := newBrowser(t, in, 1280, 800)
	b.open("/hive")
	b.wait("the hive", `document.querySelector('[aria-label=Overview] b')?.innerText === '0'`)
	b.open("/launchpad")
	b.wait("the launchpad", `document.querySelector('main .empty') && /Page 1 of 1/.test(document.body.innerText)`)
	b.mu.Lock()
	for path := range b.requests {
		if strings.HasSuffix(path, "/console.js") {
			t.Errorf("a page without a part of the console asks for %s", path)
		}
	}
	b.mu.Unlock()
	b.open("/")
	b.wait("the bar above no pairs",
		`document.querySelector('.controls .chips').innerText.includes('clock stands still') &&
		/no pairs yet/.test(document.querySelector('main').innerText)`)
	b.clean()
}

// A console with a token asks for it when the bar is opened, and not before. A wrong one is asked for again.
func TestBrowserConsoleAsksForTheToken(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("open-sesame-of-the-test"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := harness.Start(t, "--console", "token", "--internal-token-file", token, "--pairs", "builtin")
	b := newBrowser(t, in, 1280, 800)
	b.open("/")
	b.wait("the locked bar", `document.querySelector('.chips')?.innerText.includes('locked')`)
	if b.asked("/internal/v1/sim") != 0 {
		t.Error("the page asks the console without a token")
	}
	b.js(`document.querySelector('.controls summary').click()`)
	b.wait("the question", `document.querySelector('dialog [name=token]')`)
	b.js(`document.querySelector('dialog [name=token]').value = 'open-sesame-of-the-test'`)
	b.js(`document.querySelector('dialog [value=use]').click()`)
	b.wait("the state", `document.querySelector('.chips').innerText.includes('as usual')`)
	b.clean()
}

// moved returns the places of the page's content between which a layout shift has moved it.
const moved = `(() => { const o = new PerformanceObserver(() => {}); o.observe({type: 'layout-shift', buffered: true});
	return o.takeRecords().flatMap((e) => e.sources.filter((s) => s.node?.id === 'page').map((s) =>
		s.previousRect.top + ' to ' + s.currentRect.top)).join(); })()`

// The strip of the console comes into the place that the page has kept for it, on a phone too, and with the player of a
// replay: the market does not move.
func TestBrowserTheConsoleMovesNothing(t *testing.T) {
	t.Parallel()
	market := harness.Start(t, "--console", "loopback", "--backfill", "1h")
	replay := harness.Launch(t, nil,
		"replay", "--sample", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0")
	replay.TakeAddresses(replay.WaitLine("ready "))
	for name, in := range map[string]*harness.Instance{"market": market, "replay": replay} {
		for _, width := range []int64{1280, 390} {
			b := newBrowser(t, in, width, 800)
			b.open("/")
			b.wait("the market and the strip", `document.querySelectorAll('.bid .row').length > 4 &&
				document.querySelector('.controls .chips').innerText`)
			if places := b.js(moved); places != "" {
				t.Errorf("%s, %d px: the market moves from %s px", name, width, places)
			}
		}
	}
}
