package browser

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/tickhive/tickhive/test/harness"
)

// axeCore is the published axe.min.js of axe-core (Mozilla Public License 2.0), compressed.
const axeCore = "testdata/axe/axe-4.14.1.min.js.gz"

// axeSource returns the script of axe-core.
func axeSource(t *testing.T) string {
	t.Helper()
	file, err := os.Open(axeCore)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// axe runs rules of axe-core on the page, all of them if none is named, and returns the violations.
func (b *browser) axe(source string, rules ...string) (violations []string) {
	b.t.Helper()
	if b.js("typeof window.axe") != "object" {
		b.js("(() => {" + source + "; return ''; })()")
	}
	only, err := json.Marshal(append([]string{}, rules...))
	if err != nil {
		b.t.Fatal(err)
	}
	run := `axe.run({exclude: [['#swagger-ui']]},
		Object.assign({resultTypes: ['violations']}, ` + string(only) + `.length ?
		{runOnly: ` + string(only) + `} : {})).then((r) => JSON.stringify(r.violations.map((v) =>
		v.id + ' (' + v.impact + ') ' + v.nodes.length + ': ' + v.nodes.slice(0, 3).map((n) => n.target.join(' ') +
		' ' + (n.any[0]?.message ?? n.all[0]?.message ?? n.none[0]?.message ?? '')).join(' | '))))`
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](run, chromedp.EvalAwaitPromise))
	if err == nil {
		err = json.Unmarshal([]byte(out), &violations)
	}
	if err != nil {
		b.t.Fatalf("axe: %v", err)
	}
	return violations
}

// No page violates a rule of axe-core in light colours, or its rule of contrast in dark ones: the
// market without and with a key, its lists and the depth chart, the other pages, and the frame
// around Swagger UI.
func TestBrowserPagesAreAccessible(t *testing.T) {
	t.Parallel()
	text := axeSource(t)
	in := harness.TheDemo(t)
	b := newBrowser(t, in, 1440, 900)
	look := func(what string) {
		t.Helper()
		for scheme, rules := range map[string][]string{"light": nil, "dark": {"color-contrast"}} {
			command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			for _, v := range b.axe(text, rules...) {
				t.Errorf("%s, %s: %s", what, scheme, v)
			}
		}
	}
	b.open("/?pair=BTC_USDT&interval=minute")
	b.wait("the market", complete)
	look("market")
	b.signIn(funded(in, "axe"))
	b.hasMoney()
	b.set("type", "stop_limit")
	above := b.js(`(document.querySelector('.ask .p').dataset.price * 1.05).toFixed(2)`)
	for name, value := range map[string]string{"stopPrice": above, "price": above, "amount": "0.01"} {
		b.set(name, value)
	}
	b.js(`document.querySelector('.ticket details').open = true`)
	b.run(chromedp.Click(`.ticket .main`))
	b.toast("the order is accepted", "Order accepted")
	b.wait("the open order", `document.querySelector('[data-order]')`)
	b.js(`document.querySelectorAll('[data-study]').forEach((s) => s.click())`)
	look("market with an order")
	b.run(chromedp.Click(`[data-depth]`), chromedp.Click(`[data-list=history]`))
	look("depth chart and history")
	for page, there := range map[string]string{
		"/status":                 `document.querySelector('main').innerText.includes('BTC_USDT')`,
		"/launchpad":              `document.querySelector('[data-shows]')`,
		"/hive":                   `document.querySelectorAll('main table').length > 0`,
		"/docs":                   `document.querySelector('#pages a')`,
		"/docs/guide/tour":        `document.querySelector('.codebar')`,
		"/docs/streams":           `document.querySelector('.codebar')`,
		"/docs/programs":          `document.querySelector('.codebar')`,
		"/docs/contract/commands": `document.querySelector('#pages ul ul')`,
		"/docs/contract/matching": `document.querySelector('.toc')`,
		"/swagger":                `document.querySelector('#swagger-ui .opblock')`,
	} {
		b.open(page)
		b.wait(page, there)
		b.js(`document.querySelectorAll('#swagger-ui .opblock').forEach((e) => e.remove())`) // the markup of others
		look(page)
	}
	b.js(`document.querySelector('main, body').append(document.createElement('button'))`)
	if found := fmt.Sprint(b.axe(text)); found == "[]" {
		t.Error("a button without a name is not noticed")
	}
	b.clean()
}
