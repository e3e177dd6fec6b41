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

// A clock that runs far ahead dates every request of the page late. The page keeps the key pair, and is signed in when
// the clock stands.
func TestBrowserAKeyOutlivesAClockThatRunsAhead(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--console", "loopback")
	in.Pair("CC_USDT")
	b := newBrowser(t, in, 1440, 900)
	command(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `window.fetch = new Proxy(window.fetch, {apply: (fetch, self, [url, options]) => {
				if (String(url).startsWith('/api/apikeys') && sessionStorage.late > 0) {
					sessionStorage.late--;
					const x = new XMLHttpRequest();
					x.open('POST', '/internal/v1/clock', false);
					x.send('{"advance":"70s"}');
				}
				return fetch.call(self, url, options);
			}});`,
	})
	b.open("/")
	b.signIn(funded(in, "late"))
	b.js(`sessionStorage.late = 3`)
	b.open("/")
	b.answered(3, "401 from")
	b.wait("the order form", `document.querySelector('.ticket [name=price]')`)
}

// A sign-in of the stream counts though it is half a minute late, and one that is later is repeated: neither costs the
// key.
func TestBrowserASignInMayBeLate(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--console", "loopback")
	in.Pair("CC_USDT")
	b := newBrowser(t, in, 1440, 900)
	command(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `window.delays = ['70s', '70s', '30s'], window.auths = [], window.sockets = [], window.answers = [];
			WebSocket.prototype.send = new Proxy(WebSocket.prototype.send, {apply: (send, socket, [text]) => {
				if (text.includes('"op":"auth"')) {
					auths.push(text);
					sockets.push(socket);
					socket.addEventListener('message', (e) => answers.push(JSON.parse(e.data)));
					const x = new XMLHttpRequest();
					x.open('POST', '/internal/v1/clock', false);
					x.send(JSON.stringify({advance: delays.shift() ?? '3m'}));
				}
				send.call(socket, text);
			}});`,
	})
	b.open("/")
	b.signIn(funded(in, "late"))
	b.hasMoney()
	if left := b.js(`delays.length`); left != "0" {
		t.Errorf("%s sign-ins were not needed", left)
	}
	// One that comes late beside another that counts ends nothing.
	b.js(`(sockets[0].send(JSON.stringify({...JSON.parse(auths[0]), id: 'late'})), '')`)
	b.wait("its answer", `answers.some((m) => m.id === 'late' && m.field === 'timestamp')`)
	b.set("price", "50.00")
}

// What was typed last is what an order at the market's price takes, whatever it came to at a price.
func TestBrowserAMarketOrderTakesWhatWasTyped(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("CC_USDT")
	b := newBrowser(t, in, 1440, 900)
	b.open("/")
	b.signIn(funded(in, "typed"))
	const values = `['amount', 'total'].map((name) =>
		document.querySelector('.ticket [name=' + name + ']').value).join('/')`
	pick := func(kind string) string {
		b.js(`document.querySelector('.ticket [data-type=` + kind + `]').click()`)
		return b.js(values)
	}
	b.set("price", "50.00")
	b.set("amount", "2")
	if got := b.js(values); got != "2/100" {
		t.Errorf("2 at 50: %s", got)
	}
	if got := pick("market"); got != "2/" {
		t.Errorf("at the market's price, after an amount: %s", got)
	}
	if got := pick("limit"); got != "2/100" {
		t.Errorf("at a price again: %s", got)
	}
	b.set("total", "150")
	if got := pick("market"); got != "/150" {
		t.Errorf("at the market's price, after a total: %s", got)
	}
}
