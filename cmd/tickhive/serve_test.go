package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestServeListensThenIsReadyThenEndsInOrder(t *testing.T) {
	t.Parallel()
	in := launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0")
	listening := in.waitLine("listening ")
	ready := in.waitLine("ready ")
	if strings.TrimPrefix(listening, "listening ") != strings.TrimPrefix(ready, "ready ") ||
		strings.Contains(ready, ":0 ") {
		t.Errorf("%q, then %q", listening, ready)
	}
	in.takeAddresses(ready)
	for _, url := range []string{
		in.public + "/api/healthcheck", in.public + "/api/status", in.internal + "/ready",
		in.root + "/metrics",
	} {
		if a := in.do("GET", url, ""); a.status != 200 {
			t.Errorf("%s: %d %s", url, a.status, a.body)
		}
	}
	if a := in.do("GET", in.public+"/api/currencies/pairs", ""); strings.Count(a.body, `"code"`) < 10 {
		t.Errorf("built-in pairs: %s", a.body)
	}
	in.signal(syscall.SIGTERM)
	if code := in.wait(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}

func TestTheBinanceListenerIsTheLastWord(t *testing.T) {
	t.Parallel()
	in := launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0",
		"--binance-listen", "127.0.0.1:0")
	listening, ready := in.waitLine("listening "), in.waitLine("ready ")
	words := strings.Fields(ready)
	last := words[len(words)-1]
	if !strings.HasPrefix(last, "binance=") || !strings.HasSuffix(listening, " "+last) {
		t.Fatalf("%q, then %q", listening, ready)
	}
	base := "http://" + strings.TrimPrefix(last, "binance=")
	if a := in.do("GET", base+"/api/v3/exchangeInfo", ""); a.status != 200 || !strings.Contains(a.body, `"BTCUSDT"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	in.takeAddresses(ready)
	if a := in.do("GET", in.public+"/api/v3/ping", ""); a.status != 404 {
		t.Errorf("the public listener has the facade's routes: %d", a.status)
	}
	if a := in.do("GET", base+"/api/status", ""); a.status != 404 {
		t.Errorf("the facade has the public routes: %d", a.status)
	}
}

func TestTheBuiltInMarketMoves(t *testing.T) {
	t.Parallel()
	in := start(t, "--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z", "--seed", "5")
	in.call(200, "POST", "/clock", `{"advance":"30s"}`)
	a := in.do("GET", in.public+"/api/summary", "")
	if a.status != 200 || strings.Count(a.body, `"trading_pairs"`) < 10 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := in.do("GET", in.public+"/api/tickers?currencyPairCode=BTC_USDT", ""); strings.Contains(a.body,
		`"price":0.00`) || strings.Contains(a.body, `"bidPrice":0.00`) {
		t.Errorf("%s", a.body)
	}
}

func TestSameSeedAndTimesGiveTheSameStateHash(t *testing.T) {
	t.Parallel()
	hash := func(args ...string) string {
		in := start(t, append([]string{"--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z"}, args...)...)
		in.call(200, "POST", "/clock", `{"advance":"20s"}`)
		in.call(200, "POST", "/clock", `{"advance":"13s"}`)
		return in.do("GET", in.internal+"/state-hash", "").body
	}
	a, b, c := hash("--seed", "5"), hash("--seed", "5"), hash("--seed", "6")
	if a != b {
		t.Errorf("one seed, two hashes:\n%.300s\n%.300s", a, b)
	}
	if a == c {
		t.Errorf("two seeds, one hash: %.300s", a)
	}
}

func TestTheInternalListenerNeedsATokenOnAnOpenAddress(t *testing.T) {
	t.Parallel()
	in := launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "0.0.0.0:0")
	if code := in.wait(); code == 0 || !strings.Contains(in.stderr.String(), "--internal-token") {
		t.Errorf("exit code %d: %s", code, in.stderr.String())
	}
}

func TestAConfiguredTokenIsAskedForEverywhere(t *testing.T) {
	t.Parallel()
	in := startEmpty(t, "--internal-token", "open sesame")
	for _, path := range []string{
		"/internal/v1/ready", "/internal/v1/clock", "/metrics", "/debug/pprof/",
		"/internal/v1/orders/1",
	} {
		for _, header := range [][]string{
			nil,
			{"Authorization", "Bearer wrong"},
			{"Authorization", "open sesame"},
			{"Authorization", "Bearer "},
		} {
			if a := in.do("GET", in.root+path, "", header...); a.status != 401 ||
				!strings.Contains(a.body, `"code":"UNAUTHORIZED"`) {
				t.Errorf("%s with %v: %d %.200s", path, header, a.status, a.body)
			}
		}
	}
	in.token = "open sesame"
	for _, path := range []string{"/internal/v1/ready", "/internal/v1/clock", "/metrics", "/debug/pprof/"} {
		if a := in.do("GET", in.root+path, ""); a.status != 200 {
			t.Errorf("%s: %d %.200s", path, a.status, a.body)
		}
	}
	if strings.Contains(in.stderr.String(), "sesame") {
		t.Error("the token is in the log")
	}
}

// The token of a file is made once and asked for over restarts; it is nowhere but in the file.
func TestTheTokenFileOfTheInternalListener(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"--internal-token-file", "token", "--data-dir", dir}
	var token string
	for range 2 {
		in := startEmpty(t, args...)
		text, err := os.ReadFile(filepath.Join(dir, "token"))
		if err != nil || len(text) != 65 || token != "" && token != string(text) {
			t.Fatalf("the token is %q, before %q: %v", text, token, err)
		}
		token = string(text)
		if a := in.do("GET", in.internal+"/totals", ""); a.status != 401 {
			t.Errorf("without the token: %d", a.status)
		}
		in.token = strings.TrimSpace(token)
		a := in.do("GET", in.internal+"/totals", "", "Host", "ops.example", "Sec-Fetch-Site", "cross-site")
		if a.status != 200 {
			t.Errorf("with the token: %d %s", a.status, a.body)
		}
		if a := in.do("GET", in.root+"/debug/pprof/cmdline", ""); strings.Contains(a.body, in.token) ||
			strings.Contains(in.stderr.String(), in.token) {
			t.Errorf("the token is shown: %s", a.body)
		}
		in.signal(syscall.SIGTERM)
		in.wait()
	}
}

// A token in the arguments is overwritten there, and works.
func TestATokenIsHiddenFromTheArguments(t *testing.T) {
	t.Parallel()
	in := startEmpty(t, "--internal-token", "open sesame")
	in.token = "open sesame"
	if a := in.do("GET", in.root+"/debug/pprof/cmdline", ""); a.status != 200 || strings.Contains(a.body, "sesame") ||
		!strings.Contains(a.body, "--internal-token\x00***********") {
		t.Errorf("%d %q", a.status, a.body)
	}
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", in.cmd.Process.Pid)); err == nil &&
		strings.Contains(string(line), "sesame") {
		t.Errorf("the system shows %q", line)
	}
}

// On a unix socket the internal API asks for nothing; the socket is its user's alone.
func TestTheInternalListenerOnAUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "internal")
	in := launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "unix:"+path, "--sim", "off")
	if line := in.waitLine("ready "); !strings.HasSuffix(line, " internal=unix:"+path) {
		t.Errorf("it prints %q", line)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v %v", info, err)
	}
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	res, err := c.Get("http://any.name/internal/v1/totals")
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%v %v", res, err)
	}
	_ = res.Body.Close()
	in.signal(syscall.SIGTERM)
	if code := in.wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.stderr.String())
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is left")
	}
}

// A scraper that uses a configured name of the internal listener is served. One that uses
// another name is refused.
func TestTheInternalListenerTakesItsConfiguredHosts(t *testing.T) {
	t.Parallel()
	in := launch(t, []string{"TICKHIVE_INTERNAL_HOSTS=ops.example, 10.0.0.5"}, "serve", "--listen", "127.0.0.1:0",
		"--internal-listen", "127.0.0.1:0", "--sim", "off")
	in.takeAddresses(in.waitLine("ready "))
	for host, want := range map[string]int{
		"ops.example": 200, "OPS.example:8081": 200, "10.0.0.5:8081": 200, "localhost": 200, "127.0.0.1:1": 200,
		"evil.example": 403, "10.0.0.6": 403,
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", in.root+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := httpClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want || (want == 200) != strings.Contains(string(body), "go_goroutines") {
			t.Errorf("Host %s: %d %.200s", host, res.StatusCode, body)
		}
	}
}

func TestAPortInUseIsAnError(t *testing.T) {
	t.Parallel()
	in := startEmpty(t)
	second := launch(t, nil, "serve", "--listen", strings.TrimPrefix(in.public, "http://"), "--internal-listen",
		"127.0.0.1:0")
	if code := second.wait(); code == 0 || !strings.Contains(second.stderr.String(), "server.listen") {
		t.Errorf("exit code %d: %s", code, second.stderr.String())
	}
}

func TestWrongFlagsAndConfigurationEndTheProgram(t *testing.T) {
	t.Parallel()
	file := writeConfig(t, "[server]\nlissen = \"127.0.0.1:0\"\n")
	for _, c := range []struct {
		env  []string
		args []string
		want string
	}{
		{nil, []string{"serve", "--config", file}, ":2: unknown key server.lissen; did you mean server.listen?"},
		{[]string{"TICKHIVE_JOURNAL_SYNC=never"}, []string{"serve"}, "journal.sync"},
		{nil, []string{"serve", "--backfill", "soon"}, "sim.backfill"},
		{nil, []string{"serve", "--colour", "red"}, "--colour"},
		{nil, []string{"nonsense"}, "nonsense"},
	} {
		in := launch(t, c.env, c.args...)
		if code := in.wait(); code == 0 || !strings.Contains(in.stderr.String(), c.want) {
			t.Errorf("%v: exit code %d: %s", c.args, code, in.stderr.String())
		}
	}
}

func TestTheLogLevelChangesAtRunTime(t *testing.T) {
	t.Parallel()
	in := startEmpty(t, "--log-level", "warn")
	if m := in.call(200, "GET", "/log", ""); m["level"] != "warn" {
		t.Errorf("%v", m)
	}
	if m := in.call(200, "PATCH", "/log", `{"level":"debug"}`); m["level"] != "debug" {
		t.Errorf("%v", m)
	}
	in.refuse(400, "INVALID_PARAM", "level", "PATCH", "/log", `{"level":"loud"}`)
	in.refuse(400, "INVALID_PARAM", "level", "PATCH", "/log", `{}`)
}

func TestMetricsAndProfilesAnswer(t *testing.T) {
	t.Parallel()
	in := startEmpty(t)
	in.pair("BTC_USDT")
	in.limit("BTC_USDT", "buy", "100", "1")
	in.limit("BTC_USDT", "sell", "100", "0.5")
	a := in.do("GET", in.root+"/metrics", "", "Accept-Encoding", "gzip")
	for _, want := range []string{
		"tickhive_trades_total 1\n", `tickhive_ring_trades{pair="BTC_USDT"} 1`,
		`tickhive_window_trades{pair="BTC_USDT"} 1`,
		`tickhive_book_levels{pair="BTC_USDT",side="bid"} 1`, "tickhive_queue_batches 0", "go_goroutines",
		`tickhive_requests_total{listener="internal",method="POST",route="/internal/v1/orders",status="2xx"} 2`,
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %s in\n%.2000s", want, a.body)
		}
	}
	if a.status != 200 || a.header.Get("Content-Encoding") != "" || a.header.Get("X-Request-Id") == "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	for path, want := range map[string]string{
		"/debug/pprof/": "goroutine", "/debug/pprof/goroutine?debug=1": "goroutine profile",
		"/debug/pprof/cmdline": "serve",
	} {
		if a := in.do("GET", in.root+path, ""); a.status != 200 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %.200s", path, a.status, a.body)
		}
	}
	for _, path := range []string{
		"/internal/v1/ready/", "/internal/v1//ready", "/internal/v1/READY", "/debug/pprofx",
		"/debug/pprof/nope",
	} {
		a := in.do("GET", in.root+path, "")
		if a.status != 404 || a.header.Get("Content-Type") != "application/json; charset=utf-8" ||
			object(t, a.body)["code"] != "NOT_FOUND" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := in.do("GET", in.root+"/debug/pprof/heap?seconds=x", ""); a.status != 400 ||
		object(t, a.body)["code"] != "INVALID_PARAM" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := in.do("GET", in.public+"/internal/v1/ready", ""); a.status != 404 {
		t.Errorf("the internal API answers on the public listener: %d", a.status)
	}
}

func TestConnectionsWithoutARequestDoNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	in := startEmpty(t, "--set", "server.read_timeout=60s") // a stop gives up before
	for _, base := range []string{in.public, in.root} {
		for _, begun := range []string{
			"", "G", "GET /api/healthcheck HTTP/1.1\r\nHo",
			"POST /internal/v1/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
		} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte(begun)); err != nil {
				t.Fatal(err)
			}
		}
	}
	in.do("GET", in.public+"/api/healthcheck", "") // the other connections were accepted before this one
	in.do("GET", in.root+"/internal/v1/ready", "")
	in.signal(syscall.SIGTERM)
	if code := in.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if text := in.stderr.String(); strings.Contains(text, "did not end in time") {
		t.Errorf("the end waited for a request:\n%s", text)
	}
}

func TestTheVersionIsPrinted(t *testing.T) {
	t.Parallel()
	in := launch(t, nil, "version")
	if line := in.waitLine("TickHive v"); !strings.HasPrefix(line, "TickHive v1.0.0.0") {
		t.Error(line)
	}
	if code := in.wait(); code != 0 {
		t.Error(code)
	}
}
