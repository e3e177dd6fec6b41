package browser

import (
	"encoding/json"
	"fmt"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tickhive/tickhive/test/harness"
)

// A recorded hour is played, paused, stepped through, traded and taken back by keyboard and mouse. After the start
// nothing needs a terminal.
func TestARecordedHourIsPlayedAndTradedOnThePage(t *testing.T) {
	in := harness.Launch(t, nil, "replay", "--sample", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0")
	in.TakeAddresses(in.WaitLine("ready "))
	b := newBrowser(t, in, 1280, 800)
	b.open("/")
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
	b.js(`((slider) => { slider.value = slider.min; slider.dispatchEvent(new Event('change')); })(
		document.querySelector('.player input'))`)
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
		`document.querySelector('.toasts')?.checkVisibility() && /went back/.test(document.querySelector('.toasts').innerText)`)
	b.open("/")
	is("paused", "2026-01-05 10:00:00")
	b.js(`((speed) => { speed.value = '1000'; speed.dispatchEvent(new Event('change')); })(
		document.querySelector('.player select[aria-label=Speed]'))`)
	b.run(chromedp.Click(`.player .main`))
	is("ended", "2026-01-05 10:59:59")
	in.Signal(syscall.SIGTERM)
}
