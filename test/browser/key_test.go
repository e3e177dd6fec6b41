package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/tickhive/tickhive/test/harness"
)

// A key pair stays in the tab: no entry of the browser's history, no lasting storage and no cookie
// has it after it was used. It survives a reload until the user forgets it.
func TestSmokeBrowserTheKeyPairStaysInTheTab(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	key := funded(in, "memory")
	b := newBrowser(t, in, 1440, 900)
	b.open("/")
	b.signIn(key)
	b.hasMoney()
	b.run(chromedp.Click(`nav a[href="/status"]`))
	b.wait("the status page", `document.querySelector('main').innerText.includes('BTC_USDT')`)
	history, err := chromedp.Call(b.ctx, page.GetNavigationHistory, cdp.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(history.Entries); n < 2 {
		t.Fatalf("%d entries in the history, want the market page and the status page", n)
	}
	kept := []string{b.js(`JSON.stringify([Object.entries(localStorage), ` +
		`document.cookie, history.state])`)}
	for _, e := range history.Entries {
		kept = append(kept, e.URL, e.UserTypedURL, e.Title)
	}
	for _, text := range kept {
		for _, half := range []string{"publicKey", "privateKey"} {
			if strings.Contains(text, key[half].(string)) {
				t.Errorf("the browser keeps the %s in %q", half, text)
			}
		}
	}
	b.clean()
}

// signIn enters a key pair into the ticket of the market page and waits for the order form.
func (b *browser) signIn(key map[string]any) {
	b.t.Helper()
	b.wait("the key form", `document.querySelector('.ticket [name=privateKey]')`)
	for _, half := range []string{"publicKey", "privateKey"} {
		b.js(fmt.Sprintf(`document.querySelector('.ticket [name=%s]').value = %q`, half, key[half]))
	}
	b.js(`document.querySelector('.ticket form').requestSubmit()`)
	b.wait("the order form", `document.querySelector('.ticket [name=price]')`)
}
