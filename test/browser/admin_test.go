package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tickhive/tickhive/test/harness"
)

// says waits until the place for the results of a section has a text.
func (b *browser) says(section, text string) {
	b.t.Helper()
	b.wait(text, fmt.Sprintf(`[...document.querySelectorAll('[aria-label=%q] > .notice')].some((n) =>
		!n.hidden && n.textContent.includes(%q))`, section, text))
}

// answers presses Enter on a button of the open question.
func (b *browser) answers(value string) {
	b.t.Helper()
	b.wait("the question", fmt.Sprintf(`document.querySelector('dialog[open] [value=%q]')`, value))
	b.js(fmt.Sprintf(`document.querySelector('dialog[open] [value=%q]').focus()`, value))
	b.shortcut("Enter")
	b.wait("no question", `!document.querySelector('dialog')`)
}

// typed replaces the text of a field of the admin page by keys, and sends its form with Enter.
func (b *browser) typed(field, text string) {
	b.t.Helper()
	b.run(chromedp.SendKeys(`.admin `+field, text), chromedp.SendKeys(`.admin `+field, kb.Enter))
}

// accessible fails the test for each rule of axe-core that the page violates, in light and in dark colours.
func (b *browser) accessible(source, what string) {
	b.t.Helper()
	for _, v := range b.axe(source) {
		b.t.Errorf("%s: %s", what, v)
	}
	b.dark()
	for _, v := range b.axe(source, "color-contrast") {
		b.t.Errorf("%s, dark: %s", what, v)
	}
	b.shot("admin-dark")
	b.light()
}

// An operator finds a user among a thousand. The keyboard alone creates a user, gives it money and a key, which is
// shown once and signs in, revokes the key, and halts the user.
func TestBrowserAdminUsers(t *testing.T) {
	t.Parallel()
	source := axeSource(t)
	in := harness.StartEmpty(t, "--console", "loopback")
	in.Pair("BTC_USDT")
	for i := range 1000 {
		in.Call(200, "POST", "/users", fmt.Sprintf(`{"nickname":"trader-%04d"}`, i))
	}
	b := newBrowser(t, in, 1280, 900)
	b.open("/admin")
	shown := func(n int, first string) string {
		return fmt.Sprintf(`(() => { const all = document.querySelectorAll('[data-user]');
			return all.length === %d && all[0]?.textContent === %q; })()`, n, first)
	}
	b.wait("the newest users", shown(50, "trader-0999"))
	b.wait("the link", `document.querySelector('nav a[href="/admin"][aria-current=page]')`)
	b.js(`document.querySelector('[data-more]').click()`)
	b.wait("more users", shown(100, "trader-0999"))
	b.run(chromedp.SendKeys(`.admin [name=search]`, "TRADER-051"))
	b.wait("the users that the search finds", shown(10, "trader-0519"))
	b.run(chromedp.SendKeys(`.admin [name=search]`, "3"))
	b.wait("one user", shown(1, "trader-0513"))
	b.shortcut("Enter")
	b.wait("the user", `document.querySelector('[data-detail] h2').textContent === 'trader-0513'`)

	b.typed("[name=nickname]", "ada")
	b.says("Users", "User ada is created.")
	b.wait("the new user", `document.querySelector('[data-detail] h2').textContent === 'ada'`)
	b.run(chromedp.SendKeys(`.admin [name=currencyCode]`, "usdt"))
	b.typed("[name=amount]", "1,000.5")
	b.says("Users", "ada has 1\u202f000.5 USDT.")
	b.wait("the balance", `document.querySelector('[data-balance=USDT]').textContent.includes('1\u202f000.5')`)
	b.typed("[data-detail] [name=name]", "bot")
	b.wait("the key", `document.querySelectorAll('dialog[open] code').length === 2`)
	id := b.js(`document.querySelector('[data-detail]').dataset.detail`)
	public := b.js(`document.querySelectorAll('dialog code')[0].textContent`)
	private := b.js(`document.querySelectorAll('dialog code')[1].textContent`)
	if file := b.js(`document.querySelector('dialog a[download="key.json"]').href`); !strings.HasPrefix(file, "blob:") {
		t.Errorf("the file of the key is %q", file)
	}
	b.accessible(source, "a new key")
	b.answers("")
	b.says("Users", "The key bot is made.")
	if b.js(`String(document.documentElement.outerHTML.includes(`+fmt.Sprintf("%q", private)+`))`) != "false" {
		t.Error("the private key stays in the page")
	}
	ada := &harness.Voter{ID: id, Public: public, Private: private}
	in.AwaitSigned(ada)
	b.accessible(source, "a user with a key")

	b.wait("the key", fmt.Sprintf(`document.querySelector('[data-key=%q] [data-revoke]')`, public))
	b.js(`document.querySelector('[data-revoke]').focus()`)
	b.shortcut("Enter")
	b.answers("")
	b.js(`document.querySelector('[data-revoke]').focus()`)
	b.shortcut("Enter")
	b.answers("revoke")
	b.says("Users", "The key bot is revoked.")
	if a := in.Send(ada, "GET", "/api/apikeys", ""); a.Status != 401 {
		t.Errorf("the revoked key: %d %s", a.Status, a.Body)
	}
	if b.js(`document.activeElement.name`) != "name" {
		t.Errorf("the focus is on %s", b.js(`document.activeElement.outerHTML`))
	}
	b.js(`document.querySelector('[data-halt]').click()`)
	b.answers("halt")
	b.says("Users", "ada is halted.")
	b.wait("the halted row", `document.querySelector('[data-row="`+id+`"]').textContent.includes('halted')`)
	b.js(`document.querySelector('[data-halt]').click()`)
	b.says("Users", "ada trades again.")
	b.clean()
}

// An operator adds a pair, halts and changes it, and delists it behind a question that says what happens.
func TestBrowserAdminPairs(t *testing.T) {
	t.Parallel()
	source := axeSource(t)
	in := harness.StartEmpty(t, "--console", "loopback")
	in.Pair("BTC_USDT")
	b := newBrowser(t, in, 1280, 900)
	b.open("/admin")
	b.wait("the pair", `document.querySelector('[data-pair=BTC_USDT]')`)
	b.typed("[name=code]", "eth/usdt")
	b.says("Pairs", "ETH/USDT is listed and online.")
	do := func(name string) {
		t.Helper()
		b.js(fmt.Sprintf(`document.querySelector('[data-pair=ETH_USDT] [data-do=%s]').focus()`, name))
		b.shortcut("Enter")
	}
	state := func() any { return in.Call(200, "GET", "/pairs/ETH_USDT", "")["state"] }
	do("halt")
	b.says("Pairs", "ETH/USDT is halted")
	if state() != "halted" || b.js(`document.activeElement.textContent`) != "Resume" {
		t.Errorf("%v, the focus is on %s", state(), b.js(`document.activeElement.outerHTML`))
	}
	do("edit")
	b.wait("the form", `document.querySelector('dialog [name=makerFee]').value === '0.001'`)
	b.accessible(source, "a form of a pair")
	b.js(`document.querySelector('dialog [name=state]').value = 'post_only'`)
	b.js(`document.querySelector('dialog [name=makerFee]').value = '0.0002'`)
	b.answers("save")
	b.says("Pairs", "ETH/USDT is post only; fees 0.0002 and 0.001.")
	if p := in.Call(200, "GET", "/pairs/ETH_USDT", ""); fmt.Sprint(p["makerFee"]) != "0.0002" ||
		state() != "post_only" {
		t.Errorf("%v", p)
	}
	do("edit")
	b.wait("the form", `document.querySelector('dialog [name=makerFee]')`)
	b.js(`document.querySelector('dialog [name=makerFee]').value = '2'`)
	b.answers("save")
	b.says("Pairs", "makerFee must be a rate from 0 to 1")
	do("delist")
	b.wait("what happens", `document.querySelector('dialog').textContent.includes('never used again')`)
	b.accessible(source, "the question")
	b.answers("")
	if state() != "post_only" {
		t.Errorf("the pair is %v", state())
	}
	do("delist")
	b.answers("delist")
	b.says("Pairs", "ETH/USDT is delisted.")
	b.wait("no button", `!document.querySelector('[data-pair=ETH_USDT] button')`)
	if state() != "delisted" {
		t.Errorf("the pair is %v", state())
	}
	b.mu.Lock()
	b.wrong = nil // the browser notes the answer 400 of the wrong fee
	b.mu.Unlock()
	b.run(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateScale(2)))
	b.shot("admin-phone")
	if wide := b.js(`document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide != "0" {
		t.Errorf("%s px wider than a phone", wide)
	}
	b.accessible(source, "a phone")
	b.clean()
}

// Without a console the page says how to turn one on, asks the internal API for nothing, and no page links to it.
func TestBrowserAdminWithoutAConsole(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1280, 900)
	b.open("/admin")
	b.wait("what to do", `document.querySelector('main').textContent.includes('--console loopback')`)
	b.accessible(axeSource(t), "without a console")
	if b.js(`String(document.querySelector('nav a[href="/admin"], #console'))`) != "null" {
		t.Error("the page has parts of an operator")
	}
	b.clean()
}
