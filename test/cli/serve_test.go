package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

func TestServeListensThenIsReadyThenEndsInOrder(t *testing.T) {
	t.Parallel()
	in := harness.Serve(t, nil)
	listening := in.WaitLine("listening ")
	ready := in.WaitLine("ready ")
	if strings.TrimPrefix(listening, "listening ") != strings.TrimPrefix(ready, "ready ") ||
		strings.Contains(ready, ":0 ") {
		t.Errorf("%q, then %q", listening, ready)
	}
	in.TakeAddresses(ready)
	for _, url := range []string{
		in.Public + "/api/healthcheck", in.Public + "/api/status", in.Internal + "/ready",
		in.Root + "/metrics",
	} {
		if a := in.Do("GET", url, ""); a.Status != 200 {
			t.Errorf("%s: %d %s", url, a.Status, a.Body)
		}
	}
	if a := in.Do("GET", in.Public+"/api/currencies/pairs", ""); strings.Count(a.Body, `"code"`) < 10 {
		t.Errorf("built-in pairs: %s", a.Body)
	}
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}

// The simulated market has quotes when the program says that it is ready: an order that is sent then meets a market.
func TestAReadyMarketHasQuotes(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--past", "0", "--pairs", "common")
	var rows []struct {
		Pair string   `json:"trading_pairs"`
		Bid  *float64 `json:"highest_bid"`
		Ask  *float64 `json:"lowest_ask"`
	}
	if err := json.Unmarshal([]byte(in.Do("GET", in.Public+"/api/summary", "").Body), &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Bid == nil || r.Ask == nil || *r.Bid <= 0 || *r.Ask <= *r.Bid {
			t.Errorf("%s has no bid and ask", r.Pair)
		}
	}
	if len(rows) != 44 {
		t.Errorf("%d pairs", len(rows))
	}
}

func TestTheBinanceListenerIsTheLastWord(t *testing.T) {
	t.Parallel()
	in := harness.Serve(t, nil, "--binance-listen", "127.0.0.1:0")
	listening, ready := in.WaitLine("listening "), in.WaitLine("ready ")
	words := strings.Fields(ready)
	last := words[len(words)-1]
	if !strings.HasPrefix(last, "binance=") || !strings.HasSuffix(listening, " "+last) {
		t.Fatalf("%q, then %q", listening, ready)
	}
	base := "http://" + strings.TrimPrefix(last, "binance=")
	if a := in.Do("GET", base+"/api/v3/exchangeInfo", ""); a.Status != 200 || !strings.Contains(a.Body, `"BTCUSDT"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	in.TakeAddresses(ready)
	if a := in.Do("GET", in.Public+"/api/v3/ping", ""); a.Status != 404 {
		t.Errorf("the public listener has the facade's routes: %d", a.Status)
	}
	if a := in.Do("GET", base+"/api/status", ""); a.Status != 404 {
		t.Errorf("the facade has the public routes: %d", a.Status)
	}
}

// The listener has several addresses, because programs for Binance connect to more than one port.
func TestTheBinanceListenerHasSeveralAddresses(t *testing.T) {
	t.Parallel()
	in := harness.Serve(t, nil, "--binance-listen", "127.0.0.1:0,127.0.0.1:0")
	words := strings.Fields(in.WaitLine("ready "))
	addresses := strings.Split(strings.TrimPrefix(words[len(words)-1], "binance="), ",")
	if len(addresses) != 2 || addresses[0] == addresses[1] {
		t.Fatalf("%q", words)
	}
	for _, at := range addresses {
		if a := in.Do("GET", "http://"+at+"/api/v3/ping", ""); a.Status != 200 {
			t.Errorf("%s: %d %s", at, a.Status, a.Body)
		}
	}
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, at := range addresses {
		if ln, err := net.Listen("tcp", at); err != nil {
			t.Errorf("%s is still in use: %v", at, err)
		} else {
			_ = ln.Close()
		}
	}
}

func TestTheBuiltInMarketMoves(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z", "--seed", "5")
	in.Call(200, "POST", "/clock", `{"advance":"30s"}`)
	a := in.Do("GET", in.Public+"/api/summary", "")
	if a.Status != 200 || strings.Count(a.Body, `"trading_pairs"`) < 10 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := in.Do("GET", in.Public+"/api/tickers?currencyPairCode=BTC_USDT", ""); strings.Contains(a.Body,
		`"price":0.00`) || strings.Contains(a.Body, `"bidPrice":0.00`) {
		t.Errorf("%s", a.Body)
	}
}

func TestSameSeedAndTimesGiveTheSameStateHash(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	hash := func(args ...string) string {
		in := harness.Start(t, append([]string{"--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z"},
			args...)...)
		in.Call(200, "POST", "/clock", `{"advance":"20s"}`)
		in.Call(200, "POST", "/clock", `{"advance":"13s"}`)
		return in.Do("GET", in.Internal+"/state-hash", "").Body
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
	in := harness.Launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "0.0.0.0:0")
	if code := in.Wait(); code == 0 || !strings.Contains(in.Stderr.String(), "--internal-token") {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
}

func TestAConfiguredTokenIsAskedForEverywhere(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--internal-token", "open sesame")
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
			if a := in.Do("GET", in.Root+path, "", header...); a.Status != 401 ||
				!strings.Contains(a.Body, `"code":"UNAUTHORIZED"`) {
				t.Errorf("%s with %v: %d %.200s", path, header, a.Status, a.Body)
			}
		}
	}
	in.Token = "open sesame"
	for _, path := range []string{"/internal/v1/ready", "/internal/v1/clock", "/metrics", "/debug/pprof/"} {
		if a := in.Do("GET", in.Root+path, ""); a.Status != 200 {
			t.Errorf("%s: %d %.200s", path, a.Status, a.Body)
		}
	}
	if strings.Contains(in.Stderr.String(), "sesame") {
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
		in := harness.StartEmpty(t, args...)
		text, err := os.ReadFile(filepath.Join(dir, "token"))
		if err != nil || len(text) != 65 || token != "" && token != string(text) {
			t.Fatalf("the token is %q, before %q: %v", text, token, err)
		}
		token = string(text)
		if a := in.Do("GET", in.Internal+"/totals", ""); a.Status != 401 {
			t.Errorf("without the token: %d", a.Status)
		}
		in.Token = strings.TrimSpace(token)
		a := in.Do("GET", in.Internal+"/totals", "", "Host", "ops.example", "Sec-Fetch-Site", "cross-site")
		if a.Status != 200 {
			t.Errorf("with the token: %d %s", a.Status, a.Body)
		}
		if a := in.Do("GET", in.Root+"/debug/pprof/cmdline", ""); strings.Contains(a.Body, in.Token) ||
			strings.Contains(in.Stderr.String(), in.Token) {
			t.Errorf("the token is shown: %s", a.Body)
		}
		in.Signal(syscall.SIGTERM)
		in.Wait()
	}
}

// A token in the arguments is overwritten there, and works.
func TestATokenIsHiddenFromTheArguments(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--internal-token", "open sesame")
	in.Token = "open sesame"
	if a := in.Do("GET", in.Root+"/debug/pprof/cmdline", ""); a.Status != 200 || strings.Contains(a.Body, "sesame") ||
		!strings.Contains(a.Body, "--internal-token\x00***********") {
		t.Errorf("%d %q", a.Status, a.Body)
	}
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", in.Cmd.Process.Pid)); err == nil &&
		strings.Contains(string(line), "sesame") {
		t.Errorf("the system shows %q", line)
	}
}

// On a unix socket the internal API asks for nothing; the socket is its user's alone.
func TestTheInternalListenerOnAUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "internal")
	in := harness.Launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "unix:"+path, "--sim", "off")
	if line := in.WaitLine("ready "); !strings.HasSuffix(line, " internal=unix:"+path) {
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
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is left")
	}
}

// A scraper that uses a configured name of the internal listener is served. One that uses
// another name is refused.
func TestTheInternalListenerTakesItsConfiguredHosts(t *testing.T) {
	t.Parallel()
	in := harness.Serve(t, []string{"TICKHIVE_INTERNAL_HOSTS=ops.example, 10.0.0.5"}, "--sim", "off")
	in.TakeAddresses(in.WaitLine("ready "))
	for host, want := range map[string]int{
		"ops.example": 200, "OPS.example:8081": 200, "10.0.0.5:8081": 200, "localhost": 200, "127.0.0.1:1": 200,
		"evil.example": 403, "10.0.0.6": 403,
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", in.Root+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := harness.HTTPClient.Do(req)
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
	in := harness.StartEmpty(t)
	second := harness.Launch(t, nil, "serve", "--listen", strings.TrimPrefix(in.Public, "http://"), "--internal-listen",
		"127.0.0.1:0")
	if code := second.Wait(); code == 0 || !strings.Contains(second.Stderr.String(), "server.listen") {
		t.Errorf("exit code %d: %s", code, second.Stderr.String())
	}
}

func TestWrongFlagsAndConfigurationEndTheProgram(t *testing.T) {
	t.Parallel()
	file := harness.WriteConfig(t, "[server]\nlissen = \"127.0.0.1:0\"\n")
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
		in := harness.Launch(t, c.env, c.args...)
		if code := in.Wait(); code == 0 || !strings.Contains(in.Stderr.String(), c.want) {
			t.Errorf("%v: exit code %d: %s", c.args, code, in.Stderr.String())
		}
	}
}

func TestTheLogLevelChangesAtRunTime(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--log-level", "warn")
	if m := in.Call(200, "GET", "/log", ""); m["level"] != "warn" {
		t.Errorf("%v", m)
	}
	if m := in.Call(200, "PATCH", "/log", `{"level":"debug"}`); m["level"] != "debug" {
		t.Errorf("%v", m)
	}
	in.Refuse(400, "INVALID_PARAM", "level", "PATCH", "/log", `{"level":"loud"}`)
	in.Refuse(400, "INVALID_PARAM", "level", "PATCH", "/log", `{}`)
}

func TestMetricsAndProfilesAnswer(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	in.Limit("BTC_USDT", "buy", "100", "1")
	in.Limit("BTC_USDT", "sell", "100", "0.5")
	a := in.Do("GET", in.Root+"/metrics", "", "Accept-Encoding", "gzip")
	for _, want := range []string{
		"tickhive_trades_total 1\n", `tickhive_ring_trades{pair="BTC_USDT"} 1`,
		`tickhive_window_trades{pair="BTC_USDT"} 1`,
		`tickhive_book_levels{pair="BTC_USDT",side="bid"} 1`, "tickhive_queue_batches 0", "go_goroutines",
		`tickhive_requests_total{listener="internal",method="POST",route="/internal/v1/orders",status="2xx"} 2`,
	} {
		if !strings.Contains(a.Body, want) {
			t.Errorf("no %s in\n%.2000s", want, a.Body)
		}
	}
	if a.Status != 200 || a.Header.Get("Content-Encoding") != "" || a.Header.Get("X-Request-Id") == "" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	for path, want := range map[string]string{
		"/debug/pprof/": "goroutine", "/debug/pprof/goroutine?debug=1": "goroutine profile",
		"/debug/pprof/cmdline": "serve",
	} {
		if a := in.Do("GET", in.Root+path, ""); a.Status != 200 || !strings.Contains(a.Body, want) {
			t.Errorf("%s: %d %.200s", path, a.Status, a.Body)
		}
	}
	for _, path := range []string{
		"/internal/v1/ready/", "/internal/v1//ready", "/internal/v1/READY", "/debug/pprofx",
		"/debug/pprof/nope",
	} {
		a := in.Do("GET", in.Root+path, "")
		if a.Status != 404 || a.Header.Get("Content-Type") != "application/json; charset=utf-8" ||
			harness.Object(t, a.Body)["code"] != "NOT_FOUND" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := in.Do("GET", in.Root+"/debug/pprof/heap?seconds=x", ""); a.Status != 400 ||
		harness.Object(t, a.Body)["code"] != "INVALID_PARAM" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := in.Do("GET", in.Public+"/internal/v1/ready", ""); a.Status != 404 {
		t.Errorf("the internal API answers on the public listener: %d", a.Status)
	}
}

func TestConnectionsWithoutARequestDoNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--set", "server.read_timeout=60s") // a stop gives up before
	for _, base := range []string{in.Public, in.Root} {
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
	in.Do("GET", in.Public+"/api/healthcheck", "") // the other connections were accepted before this one
	in.Do("GET", in.Root+"/internal/v1/ready", "")
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if text := in.Stderr.String(); strings.Contains(text, "did not end in time") {
		t.Errorf("the end waited for a request:\n%s", text)
	}
}

func TestTheVersionIsPrinted(t *testing.T) {
	t.Parallel()
	in := harness.Launch(t, nil, "version")
	if line := in.WaitLine("TickHive v"); !strings.HasPrefix(line, "TickHive v1.0.0.0") {
		t.Error(line)
	}
	if code := in.Wait(); code != 0 {
		t.Error(code)
	}
}
