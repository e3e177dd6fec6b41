package browser

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tickhive/tickhive/test/harness"
)

// knownTokenScript sends requests of a page to an internal API at %[1]s with the token %[2]s.
const knownTokenScript = `(async () => {
	const headers = {Authorization: 'Bearer %[2]s'};
	const ask = (method, path, body) => fetch('%[1]s' + path, {method, body, headers}).then(
		async (r) => r.status + ' ' + await r.text(), (e) => String(e));
	window.answers = [await ask('GET', '/totals'), await ask('POST', '/users', '{"nickname":"with-token"}'),
		await ask('PATCH', '/log', '{"level":"debug"}')];
})(), ''`

// In a real browser, against a listener with a token, pages of another origin and of a rebound name neither change nor
// read anything; one of another origin does not even with the token. A page of the listener's own origin and a program
// do both with it.
func TestSmokeBrowserPagesNeedTheToken(t *testing.T) {
	t.Parallel()
	const token = "secret-token-of-the-test"
	in := harness.StartEmpty(t, "--internal-token", token)
	in.Token = token
	in.Pair("AA_BB")
	in.Call(200, "PATCH", "/log", `{"level":"info"}`)
	before := in.Do("GET", in.Internal+"/state-hash", "").Body
	evil := hostileSite(t, in.Internal)
	b := newBrowser(t, in, 800, 600)

	b.run(chromedp.Navigate(evil + "/"))
	b.wait("the page has sent everything", "window.said && said.done")
	if said := b.js("said.read + said.patch"); strings.Count(said, "TypeError") != 2 {
		t.Errorf("the page read something: %s", said)
	}
	for _, with := range []string{"guessed-token-of-a-page", token} {
		b.js(fmt.Sprintf(knownTokenScript, in.Internal, with))
		b.wait("the page has asked with a token", "window.answers")
		if said := b.js("answers.join()"); strings.Count(said, "TypeError") != 3 {
			t.Errorf("a page of another origin with the token %s: %s", with, said)
		}
		b.js("delete window.answers")
	}
	b.run(chromedp.Navigate(evil + "/form"))
	b.wait("the form has navigated", `location.href.endsWith("/internal/v1/users")`)
	if text := b.js("document.body.innerText"); !strings.HasPrefix(text, `{"code":"UNAUTHORIZED"`) {
		t.Errorf("the form: %s", text)
	}
	rebound := strings.Replace(in.Root, "127.0.0.1", "rebound.test", 1)
	b.run(chromedp.Navigate(rebound + "/internal/v1/ready"))
	b.js(reboundScript)
	b.wait("the rebound page has asked", "window.said")
	if said := b.js("said.join('\\n')"); strings.Count("\n"+said, "\n401 ") != 5 {
		t.Errorf("the rebound page: %s", said)
	}
	if after := in.Do("GET", in.Internal+"/state-hash", "").Body; after != before {
		t.Errorf("the market changed: %s, before %s", after, before)
	}
	if level := in.Call(200, "GET", "/log", "")["level"]; level != "info" {
		t.Errorf("the log level is %v", level)
	}
	for _, name := range []string{"page-fetch", "page-beacon", "page-form", "page-top", "page-rebound"} {
		in.Call(200, "POST", "/users", fmt.Sprintf(`{"nickname":%q}`, name)) // free, so no page made it
	}

	b.run(chromedp.Navigate(in.Root + "/internal/v1/ready"))
	b.js(fmt.Sprintf(knownTokenScript, in.Internal, token))
	b.wait("the listener's own page has asked", "window.answers")
	if said := b.js("answers.join('\\n')"); strings.Count("\n"+said, "\n200 ") != 3 {
		t.Errorf("the listener's own page with the token: %s", said)
	}
	in.Refuse(409, "CONFLICT", "nickname", "POST", "/users", `{"nickname":"with-token"}`)
	if level := in.Call(200, "GET", "/log", "")["level"]; level != "debug" {
		t.Errorf("the log level is %v", level)
	}
}

// socketScript tries the addresses by which a page could name a unix socket, and the internal routes on the public
// listener. %[1]s is the public listener, %[2]s the path of the socket.
const socketScript = `(async () => {
	const ask = (url, o) => fetch(url, o).then(async (r) => r.type === 'opaque' ? 'opaque' : r.status + ' ' +
		 await r.text(), (e) => String(e));
	const socket = (url) => new Promise((done) => { const s = new WebSocket(url);
		s.onopen = () => done('open'); s.onerror = () => done('TypeError'); }).catch((e) => 'TypeError: ' + e);
	window.answers = [
		await ask('unix:%[2]s'), await ask('http+unix://' + encodeURIComponent('%[2]s') + '/internal/v1/totals'),
		await ask('file://%[2]s'), await ask('http://unix:%[2]s:/internal/v1/totals'),
		await socket('ws+unix://%[2]s'), await ask('%[1]s/internal/v1/totals'),
		await ask('%[1]s/internal/v1/users', {method: 'POST', body: '{"nickname":"page-public"}'}),
	];
})(), ''`

// A page reaches no internal API on a unix socket, by no address, not even a page of the exchange itself. A program of
// the same user reaches it.
func TestSmokeBrowserPagesDoNotReachASocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := dir + "/internal"
	in := harness.Launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "unix:"+path, "--pairs",
		"none",
		"--sim", "off")
	in.TakeAddresses(in.WaitLine("ready "))
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	program := http.Client{Transport: &http.Transport{DialContext: dial}}
	user := func(name string) (int, string) {
		t.Helper()
		res, err := program.Post("http://socket/internal/v1/users", "text/plain", strings.NewReader(
			`{"nickname":"`+name+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	evil := hostileSite(t, "http://unix/internal/v1")
	b := newBrowser(t, in, 800, 600)
	for _, page := range []string{evil + "/", in.Public + "/docs"} {
		b.run(chromedp.Navigate(page))
		b.js(fmt.Sprintf(socketScript, in.Public, path))
		b.wait("the page has tried everything", "window.answers")
		for i := range 7 {
			answer := b.js(fmt.Sprintf("answers[%d]", i))
			if !strings.HasPrefix(answer, "TypeError") && !strings.HasPrefix(answer, "404 ") {
				t.Errorf("%s, request %d: %.200s", page, i, answer)
			}
		}
	}
	for _, name := range []string{"page-public", "page-fetch", "page-beacon"} {
		if status, text := user(name); status != 200 {
			t.Errorf("the user %s cannot be made: %d %s", name, status, text)
		}
	}
	if status, text := user("page-public"); status != 409 {
		t.Errorf("the same user again: %d %s", status, text)
	}
}
