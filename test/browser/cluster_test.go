package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"github.com/tickhive/tickhive/test/harness"
)

// The page of the demo of a cluster: the keyboard alone kills the writer and starts it again, the sentence says who
// took over and that nothing is lost, and the page violates no rule of axe-core.
func TestBrowserClusterDemo(t *testing.T) {
	t.Parallel()
	source := axeSource(t)
	in, _ := harness.ClusterDemo(t)
	in.Public = strings.Fields(in.WaitLine("page "))[1]
	go func() { // a demo that nobody reads waits
		for range in.Lines {
		}
	}()
	b := newBrowser(t, in, 1280, 800)
	look := func(what string) {
		t.Helper()
		for scheme, rules := range map[string][]string{"light": nil, "dark": {"color-contrast"}} {
			command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			for _, v := range b.axe(source, rules...) {
				t.Errorf("%s, %s: %s", what, scheme, v)
			}
		}
	}
	role := func(node, role string) string {
		return fmt.Sprintf(`document.querySelector('[data-row=%s]').children[2].innerText === %q`, node, role)
	}
	b.open("/")
	b.wait("the bot trades", `document.querySelector('[data-figure=acknowledged]').innerText > '0'`)
	b.wait("a standby", role("node-2", "replica"))
	look("a whole cluster")
	b.js(`document.querySelector('[data-turn=node-1]').focus()`)
	b.shortcut("Enter")
	b.wait("the killed writer", role("node-1", "down"))
	if name := b.js(`document.activeElement.getAttribute('aria-label')`); name != "Start node-1" {
		t.Errorf("the focus is on %q", name)
	}
	b.wait("the sentence", `/^node-2 took over after \d+\.\d s; [\d,]+ acknowledged orders, 0 lost\.$/.test(
		document.querySelector('main [role=status]').innerText)`)
	b.wait("the new writer", role("node-2", "writer"))
	look("after a takeover")
	b.shortcut("Enter")
	b.wait("node-1 as a standby", role("node-1", "replica"))
	b.clean()
}
