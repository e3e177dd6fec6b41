package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// The status page of an exchange with a console has the cockpit: its figures are those of the internal API, live. A
// page without a console has what is public and asks for nothing else.
func TestBrowserCockpit(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--console", "loopback")
	in.Pair("BTC_USDT")
	in.Limit("BTC_USDT", "sell", "100.00", "1")
	b := newBrowser(t, in, 1280, 800)
	b.open("/status")
	b.wait("the cards of the cockpit", `document.querySelectorAll('.cockpit .graph').length === 8`)
	if strip := b.js(`document.getElementById('console')`); strip != "null" {
		t.Error("above the page is a strip with nothing in it")
	}
	b.wait("a graph with two points",
		`document.querySelector('.graph polyline').getAttribute('points').split(' ').length > 1`)
	b.wait("the route of the order", `[...document.querySelectorAll('[aria-label=Routes] tbody tr')].some((row) =>
		row.textContent.includes('POST /internal/v1/orders') && row.lastChild.textContent === '1')`)
	in.Call(200, "POST", "/faults", `{"rules":["drop channel=book"]}`)
	b.wait("the rule in force", `[...document.querySelectorAll('.figures dd')].some((d) =>
		d.textContent.startsWith('drop channel=book'))`)
	b.wait("the public figures below it",
		`document.querySelector('[aria-label=Pairs]').textContent.includes('BTC_USDT')`)
	if b.js(`document.querySelector('[aria-label=Nodes]')?.checkVisibility() ?? false`) != "false" {
		t.Error("an exchange without a stream lists nodes")
	}
	b.wait("no dash in the place of a figure", `!document.querySelector('main').textContent.includes('–')`)

	plain := harness.StartEmpty(t)
	plain.Pair("BTC_USDT")
	b = newBrowser(t, plain, 1280, 800)
	b.open("/status")
	b.wait("the public figures", `document.querySelector('[aria-label=Pairs]')`)
	b.wait("no cockpit", `!document.querySelector('.cockpit') && !performance.getEntriesByType('resource').some((r) =>
		r.name.includes('/internal/') || r.name.includes('console.js'))`)
}

// The status page of a node of a cluster has a row for each node, this one first.
func TestBrowserCockpitOfACluster(t *testing.T) {
	t.Parallel()
	at := harness.StreamAddress(t)
	in := harness.Start(t, "--console", "loopback", "--pairs", "none", "--sim", "off", "--data-dir", t.TempDir(),
		"--journal", "embedded", "--set", "stream.listen="+at, "--set", "cluster.key_file="+harness.StreamSeed.Key)
	replica := harness.StartReplica(t, at)
	b := newBrowser(t, in, 1280, 800)
	b.open("/status")
	b.wait("both nodes", fmt.Sprintf(`[...document.querySelectorAll('[aria-label=Nodes] tbody tr')].map((row) =>
		[...row.children].slice(0, 3).map((c) => c.textContent).join()).join(' ') === %q`,
		strings.TrimPrefix(in.Public, "http://")+",writer (this node),ok "+
			strings.TrimPrefix(replica.Public, "http://")+",replica,ok"))
	if v := b.axe(axeSource(t)); len(v) > 0 {
		t.Errorf("axe: %v", v)
	}
	b.clean()
}
