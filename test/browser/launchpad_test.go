package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
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
