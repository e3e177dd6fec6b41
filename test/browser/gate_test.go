package browser

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tickhive/tickhive/test/harness"
)

// attackPage tries the requests that a page of another origin can send without a preflight: a
// fetch, a beacon and a form in a frame. It also tries to read responses. %[1]s is the
// internal API.
const attackPage = `<!doctype html><title>another origin</title><body><iframe name=frame></iframe>
<form id=framed method=POST enctype=text/plain target=frame action="%[1]s/users">
<input name='{"nickname":"page-form","name":"' value='"}'></form><script>
window.said = {};
(async () => {
	const send = (name, url, o) => fetch(url, o).then((r) => r.text()).then((t) => said[name] = t.slice(0, 40) ||
		 'opaque', (e) => said[name] = String(e));
	await send('fetch', '%[1]s/users', {method: 'POST', mode: 'no-cors', body: '{"nickname":"page-fetch"}'});
	await send('order', '%[1]s/orders', {method: 'POST', mode: 'no-cors',
		body: '{"currencyPairCode":"AA_BB","side":"buy","type":"limit","price":1,"amount":1}'});
	await send('read', '%[1]s/totals', {});
	await send('patch', '%[1]s/log', {method: 'PATCH', body: '{"level":"debug"}'});
	said.beacon = navigator.sendBeacon('%[1]s/users', '{"nickname":"page-beacon"}');
	framed.submit();
	document.querySelector('iframe').onload = () => said.done = true;
})();
</script>`

// formPage navigates to the internal API by a form: the only request that a page of a public
// address may send to a loopback address.
const formPage = `<!doctype html><body><form id=top method=POST enctype=text/plain action="%s/users">
<input name='{"nickname":"page-top","name":"' value='"}'></form>
<script>document.getElementById('top').submit()</script>`

// reboundScript is the script of a page whose host name now resolves to the internal listener.
// It has the same origin, so it may send any request and read the responses.
const reboundScript = `(async () => {
	const ask = async (method, path, body) => { const r = await fetch(path, {method, body});
		return r.status + ' ' + await r.text(); };
	window.said = [
		await ask('GET', '/internal/v1/totals'), await ask('POST', '/internal/v1/users', '{"nickname":"page-rebound"}'),
		await ask('PATCH', '/internal/v1/log', '{"level":"debug"}'), await ask('GET', '/metrics'),
			await ask('GET', '/debug/pprof/cmdline'),
	];
})(), ''`

// hostileSite serves the pages that attack an internal API, and returns their origin.
func hostileSite(t *testing.T, internal string) string {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		page := attackPage
		if r.URL.Path == "/form" {
			page = formPage
		}
		fmt.Fprintf(w, page, internal)
	}))
	t.Cleanup(site.Close)
	return strings.Replace(site.URL, "127.0.0.1", "evil.test", 1)
}

// In a real browser, a page of another origin, a form that navigates and a page whose name was
// pointed at the listener can neither change nor read anything. Programs on the machine send
// the same requests with success.
func TestSmokeBrowserPagesDoNotReachTheInternalAPI(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("AA_BB")
	before := in.Do("GET", in.Internal+"/state-hash", "").Body
	_, port, err := net.SplitHostPort(strings.TrimPrefix(in.Root, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	evil := hostileSite(t, in.Internal)
	b := newBrowser(t, in, 800, 600)

	b.run(chromedp.Navigate(evil + "/"))
	b.wait("the page has sent everything", "window.said && said.done")
	t.Logf("the page of another origin: %s", b.js("JSON.stringify(said)"))
	if said := b.js("said.read + said.patch"); strings.Count(said, "TypeError") != 2 {
		t.Errorf("the page read something: %s", said)
	}
	b.run(chromedp.Navigate(evil + "/form"))
	b.wait("the form has navigated", `location.href.endsWith("/internal/v1/users")`)
	refused(t, "the form", b.js("document.body.innerText"))

	b.answered(2, "403 from "+in.Internal+"/users") // both forms
	// The browser hides the answers to the others from the page, because of Cross-Origin-Resource-Policy.
	b.answered(2, "ERR_BLOCKED_BY_RESPONSE.NotSameOrigin "+in.Internal+"/users") // fetch, beacon
	b.answered(1, "ERR_BLOCKED_BY_RESPONSE.NotSameOrigin "+in.Internal+"/orders")

	b.run(chromedp.Navigate("http://rebound.test:" + port + "/internal/v1/ready")) // this route serves every host
	if origin := b.js("location.origin"); origin != "http://rebound.test:"+port {
		t.Fatalf("the origin is %s", origin)
	}
	b.js(reboundScript)
	b.wait("the rebound page has asked", "window.said")
	for i := range 5 {
		answer := b.js(fmt.Sprintf("said[%d]", i))
		status, body, _ := strings.Cut(answer, " ")
		if status != "403" {
			t.Errorf("the rebound page's request %d: %.200s", i, answer)
		}
		refused(t, "the rebound page", body)
	}

	if after := in.Do("GET", in.Internal+"/state-hash", "").Body; after != before {
		t.Errorf("the market changed: %s, before %s", after, before)
	}
	if level := in.Call(200, "GET", "/log", "")["level"]; level != "info" {
		t.Errorf("the log level is %v", level)
	}
	// The same bytes from a program are accepted, so it was the host check that refused
	// the page's. A free name shows that no page has created the user.
	for _, name := range []string{"page-fetch", "page-beacon", "page-form", "page-top", "page-rebound"} {
		a := in.Do("POST", in.Internal+"/users", fmt.Sprintf(`{"nickname":%q}`, name), "Content-Type",
			"text/plain;charset=UTF-8")
		if a.Status != 200 {
			t.Errorf("the user %s cannot be made: %d %s", name, a.Status, a.Body)
		}
	}
	in.Call(200, "POST", "/orders", `{"currencyPairCode":"AA_BB","side":"buy","type":"limit","price":1,"amount":1}`)
	if a := in.Do("GET", in.Internal+"/state-hash", ""); a.Body == before {
		t.Error("an order of a program changed nothing")
	}
}

// answered waits until the browser has seen this number of matching responses.
func (b *browser) answered(want int, what string) {
	b.t.Helper()
	look := time.NewTicker(25 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(harness.Patience); ; <-look.C {
		n := 0
		b.mu.Lock()
		for _, w := range b.wrong {
			if strings.Contains(w, what) {
				n++
			}
		}
		seen := strings.Join(b.wrong, "\n")
		b.mu.Unlock()
		if n == want {
			return
		}
		if time.Now().After(end) {
			b.t.Errorf("%q was noticed %d times, want %d, in\n%s", what, n, want, seen)
			return
		}
	}
}

// refused checks that a page received the refusal.
func refused(t *testing.T, who, body string) {
	t.Helper()
	if !strings.HasPrefix(body, `{"code":"FORBIDDEN","message":"The header `) {
		t.Errorf("%s: %.300s", who, body)
	}
}
