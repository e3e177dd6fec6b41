package browser

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/tickhive/tickhive/test/harness"
)

// block answers no request of the page to these addresses, until it is called without one.
func (b *browser) block(patterns ...string) {
	b.t.Helper()
	var all []*network.BlockPattern
	for _, p := range patterns {
		all = append(all, &network.BlockPattern{URLPattern: p, Block: true})
	}
	command(b, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: all})
}

// A recorded hour is played, paused, stepped through, traded, taken back and left by keyboard and mouse. After the
// start nothing needs a terminal. The bar can be used as soon as it knows where the recording is, and is one line.
func TestBrowserPlaysARecordedHourAndTradesIt(t *testing.T) {
	in := harness.Launch(t, nil, "replay", "--sample", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0")
	in.TakeAddresses(in.WaitLine("ready "))
	b := newBrowser(t, in, 720, 800)
	b.block(in.Public + "/internal/v1/replay")
	b.open("/")
	const controls = `[...document.querySelectorAll('.player :is(button, select, input)')]`
	b.wait("a bar without a state", controls+`.length === 6 && `+controls+`.every((e) => e.disabled)`)
	b.block()
	b.wait("a bar in one line", `!document.querySelector('.player button').disabled &&
		document.querySelector('.player').offsetHeight < 56`)
	b.run(chromedp.EmulateViewport(1280, 800))
	is := func(status, time string) {
		t.Helper()
		b.wait(status+" at "+time, `document.querySelector('.player')?.dataset.status === '`+status+
			`' && document.querySelector('.player .at').textContent.includes('`+time+`')`)
	}
	is("playing", "2026-01-05 10:00:")
	b.signIn(funded(in, "replay"))
	b.js(`document.querySelector('.player').focus()`)
	b.press(" ")
	is("paused", "2026-01-05 10:00:")
	b.run(chromedp.SetValue(`.player select[aria-label="Size of a step"]`, "10 min"))
	b.js(`[...document.querySelectorAll('.player button')].find((e) => e.textContent === 'Step').click()`)
	is("paused", "2026-01-05 10:10:")
	b.wait("the day of the trades", `document.querySelector('.tape h2').textContent.includes('2026-01-05')`)
	for _, v := range b.axe(axeSource(t)) {
		t.Error(v)
	}

	b.set("type", "market")
	b.set("amount", "0.001")
	b.run(chromedp.Click(`.ticket .main`))
	b.toast("a paused market fills an order", "filled")
	back := func() {
		b.js(`((slider) => { slider.value = slider.min; slider.dispatchEvent(new Event('change')); })(
			document.querySelector('.player input'))`)
	}
	back()
	b.wait("what would be lost",
		`document.querySelector('dialog p').innerText.startsWith('One own order and its trades are deleted')`)
	b.answers("")
	is("paused", "2026-01-05 10:10:")
	back()
	b.answers("back")
	b.wait("the page says what is gone",
		`document.querySelector('.toasts')?.textContent.includes('orders and trades are gone')`)
	is("paused", "2026-01-05 10:00:00")
	b.wait("the key is there", `document.querySelector('.ticket [name=amount]')`)
	b.js(`document.activeElement.blur()`)
	b.shortcut("?")
	b.wait("the keys of the player", `document.querySelector('dialog.keylist')?.innerText.includes('player')`)

	b.open("/status")
	b.wait("the cockpit and the date of the recording", `document.querySelector('.cockpit') &&
		document.querySelector('.replayed')?.checkVisibility() &&
		document.querySelector('.replayed').textContent.startsWith('2026-01-05')`)
	begin, err := in.Call(200, "GET", "/replay", "")["begin"].(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	in.Call(200, "POST", "/replay/seek", fmt.Sprintf(`{"to":%d}`, begin+60000))
	b.wait("the way on", `document.querySelector('.replayed')?.textContent.includes('10:01:00')`)
	in.Call(200, "POST", "/replay/seek", fmt.Sprintf(`{"to":%d}`, begin))
	b.wait("this page says it, too",
		`document.querySelector('.toasts')?.checkVisibility() &&
			/went back/.test(document.querySelector('.toasts').innerText)`)
	b.open("/")
	is("paused", "2026-01-05 10:00:00")
	b.js(`((speed) => { speed.value = '1000'; speed.dispatchEvent(new Event('change')); })(
		document.querySelector('.player select[aria-label=Speed]'))`)
	b.run(chromedp.Click(`.player .main`))
	is("ended", "2026-01-05 10:59:59")
	in.Call(200, "POST", "/replay/speed", `{"speed":"1"}`)
	back() // there is no order any more, so nothing is asked
	b.wait("the page goes back", `/went back/.test(document.querySelector('.toasts')?.textContent)`)
	is("paused", "2026-01-05 10:00:00") // a seek back after the end stands where it lands
	leave := `[...document.querySelectorAll('.player button')].find((e) => e.textContent === 'Leave')`
	b.js(leave + `.click()`)
	b.answers("leave")
	b.wait("the end", `document.querySelector('main h1').innerText === 'You have left the replay' &&
		document.getElementById('link').innerText === 'ended'`)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
}
