package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"

	"github.com/tickhive/tickhive/test/harness"
)

// A click on the launchpad page is answered at once, not in the turn of a poll. When the limit of
// requests is reached, the page says when it continues, and a newer click replaces one that waits.
func TestBrowserLaunchpadAnswersClicks(t *testing.T) {
	t.Parallel()
	in := ownDemo(t)
	b := newBrowser(t, in, 1280, 800)
	command(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: "window.setInterval = () => 0", // no poll
	})
	b.open("/launchpad")
	b.wait("the first token", `document.querySelector('[data-shows]')`)
	click := func(row int) string {
		address := b.js(fmt.Sprintf(`document.querySelectorAll('[data-token]')[%d].dataset.token`, row))
		b.js(fmt.Sprintf(`document.querySelectorAll('[data-token]')[%d].click()`, row))
		return address
	}
	for row := 1; row <= 6; row++ {
		b.wait("the clicked token",
			fmt.Sprintf(`document.querySelector('[data-shows=%q]')`, click(row)))
	}
	b.js(`document.querySelector('[data-sort=holders]').click()`)
	b.wait("sorted by holders", `(() => {
		const n = [...document.querySelectorAll('tr[data-row]')].map((r) => +r.children[4].textContent);
		return n.every((v, i) => !i || n[i - 1] >= v) &&
			document.querySelector('[data-sort=holders]').getAttribute('aria-pressed') === 'true'; })()`)

	b.js(`localStorage.setItem('requests', JSON.stringify(Array(56).fill(Date.now() - 57000)))`)
	click(2)
	b.wait("the countdown", `/in \d+ s: the limit/.test(document.querySelector('.busy').innerText)`)
	last := click(3)
	b.wait("the newer click, after the countdown", fmt.Sprintf(
		`document.querySelector('[data-shows=%q]') && document.querySelector('.busy').innerText === ''`, last))
	if shown := b.js(`document.querySelector('tr.picked').dataset.row`); !strings.EqualFold(shown, last) {
		t.Errorf("the list marks %s, the last click was %s", shown, last)
	}
	b.clean()
}

// An agent is spawned on the page of the hive. What is wrong stands at its field, and what no field has below the form.
func TestBrowserAnAgentIsSpawned(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	user := in.Call(200, "POST", "/users", `{"nickname":"spawner"}`)["id"].(string)
	in.Call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"NATIVE","amount":1000}`)
	in.Pair("CC_USDT")
	b := newBrowser(t, in, 1280, 800)
	b.open("/hive")
	b.wait("where to sign in", `/sign in/.test(document.querySelector('main details').textContent)`)
	b.open("/")
	b.signIn(in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"spawner"}`))
	b.open("/hive")
	b.wait("the form", `document.querySelector('form.spawn')`)
	b.js(`document.querySelector('main details summary').click()`)
	spawn := func(fields string) {
		t.Helper()
		b.js(`(() => { for (const [name, value] of Object.entries(` + fields + `))
			document.querySelector('.spawn [name="' + name + '"]').value = value;
			document.querySelector('.spawn button').click(); })()`)
	}
	wrong := func(field, what string) {
		t.Helper()
		b.wait(what+" at "+field, fmt.Sprintf(`(() => { const at = document.querySelector('.spawn [aria-invalid=true]');
			return at?.name === %q && document.activeElement === at && document.getElementById(
				at.getAttribute('aria-describedby')).innerText.includes(%q); })()`, field, what))
	}
	spawn(`{}`)
	wrong("name", "Please fill in")
	spawn(`{name: 'Bee one', symbol: 'ab'}`)
	wrong("symbol", "symbol")
	spawn(`{symbol: 'BEE', 'metadata.website': 'ftp://x'}`)
	wrong("metadata.website", "https")
	spawn(`{'metadata.website': 'https://bee.example', 'metadata.description': 'A bee.', poolSide: 'wNATIVE'}`)
	b.wait("the agent", `/BEE was spawned/.test(document.querySelector('.spawn [role=status]').innerText) &&
		/BEE/.test(document.querySelector('[aria-label=Workers] table').innerText)`)
	if got := in.Do("GET", in.Public+"/api/launchpad/tokens?sort=recent", "").Body; !strings.Contains(
		got, `"Bee one"`) {
		t.Errorf("the tokens are %s", got)
	}
	for _, v := range b.axe(axeSource(t)) {
		t.Error(v)
	}
	spawn(`{name: 'Bee two', symbol: 'BTO'}`)
	b.wait("what no field has", `/spawn/i.test(document.querySelector('.spawn .notice.bad').innerText)`)
	b.open("/launchpad")
	b.wait("no chart without a price", `/no price yet/.test(document.querySelector('.plot')?.innerText) &&
		!tickhive.candles().length`)
	in.Call(200, "POST", "/launchpad/tokens/10001/liquidity",
		fmt.Sprintf(`{"userId":%q,"tokenAmount":1000,"quoteAmount":"0.05"}`, user))
	b.open("/launchpad")
	b.wait("the first price", `/Nobody has bought/.test(document.querySelector('.plot')?.innerText) &&
		/C ?0.000050000/.test(document.querySelector('.plot .legend').innerText.replace(/\s+/g, ' '))`)
	in.Call(200, "POST", "/clock", `{"advance":"5m"}`)
	in.Call(200, "POST", "/launchpad/tokens/10001/liquidity",
		fmt.Sprintf(`{"userId":%q,"tokenAmount":1000,"quoteAmount":"0.05"}`, user))
	b.open("/launchpad")
	b.wait("the chart", `tickhive.candles().length`)
	b.js(`document.querySelector('.plot [data-interval=minute]').click()`)
	b.wait("a flat candle for each minute between", `(() => { const all = tickhive.candles();
		return all.length === 6 && all.every((c, i) => c.time === all[0].time + 60 * i) &&
			all.slice(1, 5).every((c) => c.volume === 0 && c.low === c.high && c.close === all[0].close); })()`)
	b.answered(3, "400 from")
}

// An answer that breaks off says so: it is not taken for one without rows.
func TestBrowserABrokenAnswerIsSaid(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Call(200, "POST", "/faults", `{"rules":["broken-json route=/api/launchpad/tokens"]}`)
	b := newBrowser(t, in, 1440, 900)
	b.open("/launchpad")
	b.wait("the reason", `/Loading the tokens failed: .*JSON/.test(document.querySelector('main .busy').innerText)`)
}
