package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// form shows a form of the ticket: one order, or an OCO.
func (b *browser) form(name string) {
	b.t.Helper()
	b.run(chromedp.Click(`[data-form=` + name + `]`))
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
		filter((e) => e.checkVisibility() && !e.querySelector('select')).map((e) => e.innerText.split('\n')[0]).join(', ')`
	for _, size := range [][2]int64{{1280, 720}, {1024, 768}, {360, 740}} {
		what := b.screen(size[0], size[1])
		b.show("ticket")
		for _, c := range []struct{ form, kind, fields string }{
			{"one", "limit", "Price, Amount, Total, Take profit / stop loss"},
			{"one", "attached", "Price, Amount, Total, Take profit / stop loss, Take profit at, Stop loss at"},
			{"one", "market", "Amount, Total"},
			{"one", "stop_limit", "Stop price, Price, Amount, Total"},
			{"one", "stop_market", "Stop price, Amount, Total"},
			{"one", "take_profit_limit", "Trigger price, Price, Amount, Total"},
			{"one", "take_profit_market", "Trigger price, Amount, Total"},
			{"one", "trailing_limit", "Trail by, Start at (optional), Price, Amount, Total"},
			{"one", "trailing_market", "Trail by, Start at (optional), Amount, Total"},
			{"oco", "oco", "Stop price, Stop limit (optional), Limit price, Amount, Total"},
		} {
			b.form(c.form)
			b.js(fmt.Sprintf(`((a) => { if (a.checked !== (%q === 'attached')) a.click(); return ''; })
				(document.querySelector('.ticket [name=attach]'))`, c.kind))
			if c.form == "one" {
				b.set("type", map[string]string{"attached": "limit"}[c.kind]+map[bool]string{true: c.kind}[c.kind != "attached"])
			}
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
	b.js(`document.querySelector("[data-form=oco]").focus()`)
	b.press(kb.ArrowRight)
	b.focus("the other tab", `[data-form=one][aria-selected=true]`)
	b.wait("its form", `document.querySelector(".ticket [name=type]").checkVisibility()`)
	b.clean()
}
