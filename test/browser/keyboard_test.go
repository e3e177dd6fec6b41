package browser

import (
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tickhive/tickhive/test/harness"
)

// Everything can be reached and used with the keyboard alone.
func TestBrowserKeyboard(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1440, 900)
	b.open("/")
	b.on("BTC_USDT")
	b.js(`document.querySelector('.skip').focus()`)
	for range 20 {
		b.press(kb.Tab)
		if b.js(`document.activeElement.matches('.head h1 button')`) == "true" {
			break
		}
	}
	b.press(kb.Enter)
	b.focus("the search of the list", ".pairs input")
	// until presses a key until the focus is on a wanted pair.
	until := func(key string, most int, wanted func(pair string) bool) {
		t.Helper()
		seen := ""
		for range most {
			b.run(chromedp.KeyEvent(key))
			if seen = b.js(`document.activeElement.dataset.pair ?? ''`); wanted(seen) {
				return
			}
		}
		t.Fatalf("%d times %q did not reach the pair; the last was %q", most, key, seen)
	}
	until("\t", 25, func(pair string) bool { return pair == "BTC_USDT" }) // the list is one tab stop: the selected pair
	b.run(chromedp.KeyEvent(kb.Home))
	if b.js(`document.activeElement.dataset.pair`) != "ETH_USDT" {
		until(kb.ArrowDown, 12, func(pair string) bool { return pair == "ETH_USDT" })
	}
	b.run(chromedp.KeyEvent("\r"))
	b.wait("the pair chosen by Enter", `document.querySelector('.head h1').textContent === 'ETH/USDT'`)
	b.focus("the name of the pair", ".head h1 button")
	b.press(kb.Enter)
	b.focus("the search of the list, open again", ".pairs input")
	b.press(kb.Escape)
	b.focus("the name of the pair after Escape", ".head h1 button")
	if open := b.js(`document.querySelector('.pairs').checkVisibility()`); open != "false" {
		t.Error("Escape leaves the list open")
	}
	if n := b.js(`document.querySelectorAll('button:not([aria-label])').length &&
		[...document.querySelectorAll('button, input, select, a')].filter((e) =>
		!(e.textContent.trim() || e.getAttribute('aria-label') || e.closest('label'))).length`); n != "0" {
		t.Errorf("%s controls have no name", n)
	}
	b.clean()
}

// press presses keys one after the other, wherever the focus is.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.run(chromedp.KeyEvent(k))
	}
}

// shortcut presses a key as a keyboard does: the character follows only if the page does not handle
// the key. chromedp.KeyEvent sends the character in any case, to the field that has the focus then.
func (b *browser) shortcut(key string) {
	b.t.Helper()
	text := key
	if key == "Enter" {
		text = kb.Enter
	}
	for _, e := range []input.DispatchKeyEventParams{
		{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Text: text},
		{Type: input.DispatchKeyEventTypeKeyUp, Key: key},
	} {
		command(b, input.DispatchKeyEvent, e)
	}
}

// focus waits until the focus is on the element that the selector names.
func (b *browser) focus(what, selector string) {
	b.t.Helper()
	b.wait(what, "document.activeElement.matches("+strconv.Quote(selector)+")")
}

// From the search for a pair over the key pair to a placed and a canceled order no pointer is
// needed: each key goes to the element that has the focus.
func TestBrowserAnOrderByKeyboardAlone(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	for _, pair := range []string{"AA_USDT", "BB_USDT", "CC_USDT"} {
		in.Pair(pair)
		in.Limit(pair, "buy", "99.00", "1.0")
		in.Limit(pair, "sell", "101.00", "1.0")
	}
	key := funded(in, "keys")
	b := newBrowser(t, in, 1440, 900)
	b.open("/")
	b.wait("the book", `document.querySelector('.bid .row')`)
	b.shortcut("/")
	b.focus("the search", ".pairs input")
	b.press("bbusdt")
	b.shortcut("Enter")
	b.wait("the pair", `document.querySelector('.head h1').textContent === 'BB/USDT' &&
		document.querySelector('.bid .row')`)
	b.focus("the name of the pair, which opens the list", ".head h1 button")
	if got := b.js("document.querySelector('.pairs input').value + " + listed); got != "3" {
		t.Errorf("after the choice the search and the number of pairs are %s", got)
	}
	b.shortcut("b")
	b.focus("the public key", "[name=publicKey]")
	b.press(key["publicKey"].(string), kb.Tab)
	b.focus("the private key", "[name=privateKey]")
	b.press(key["privateKey"].(string))
	b.press(kb.Enter)
	b.focus("the price", ".ticket [name=price]")
	b.press("100", kb.Tab)
	b.focus("the amount", ".ticket [name=amount]")
	b.press("0.5", kb.Enter)
	b.toast("the order is accepted", `Order accepted Buy 0.5 BB in BB.USDT at 100`)
	b.wait("the open order", `document.querySelectorAll('[data-order]').length === 1`)
	for range 40 {
		b.press(kb.Tab)
		if b.js(`document.activeElement.matches('[data-order] [aria-label^=Cancel]')`) == "true" {
			break
		}
	}
	b.focus("the button that cancels", "[data-order] [aria-label^=Cancel]")
	b.press(kb.Enter)
	b.wait("the order is gone", `document.querySelectorAll('[data-order]').length === 0`)
	b.clean()
}
