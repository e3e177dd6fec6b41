package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/tickhive/tickhive/test/harness"
)

// The commands set, list and remove rules of a running exchange, over TCP with a token and over a socket.
func TestFaultCommands(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"token", "socket"} {
		var in *harness.Instance
		env, args := []string(nil), []string{"--pairs", "none", "--sim", "off"}
		address := ""
		if way == "socket" {
			address = "unix:" + t.TempDir() + "/s"
			args = append([]string{"serve", "--listen", "127.0.0.1:0", "--internal-listen", address}, args...)
			in = harness.Launch(t, nil, args...)
			in.WaitLine("ready ")
		} else {
			in = harness.Start(t, append(args, "--internal-token", "secret-token-of-the-test")...)
			in.Token = "secret-token-of-the-test"
			env, address = []string{"TICKHIVE_INTERNAL_TOKEN=" + in.Token}, strings.TrimPrefix(in.Root, "http://")
		}
		faults := func(code int, args ...string) string {
			t.Helper()
			c := harness.Command(t, append([]string{"faults", args[0], "--internal", address}, args[1:]...)...)
			c.Env = append(c.Env, env...)
			said, err := c.CombinedOutput()
			if got := c.ProcessState.ExitCode(); got != code {
				t.Errorf("%v: exit code %d, want %d: %v: %s", args, got, code, err, said)
			}
			return string(said)
		}
		for _, name := range []string{
			"flaky-network", "overload", "stale-feed", "lost-ack", "failing-cdn", "dirty-listing",
		} {
			if got := faults(0, "apply", name, "--seed", "3", "--for", "1h"); !strings.Contains(got, "seed=3 until=") {
				t.Errorf("apply %s prints %s", name, got)
			}
		}
		if got := faults(0, "clear"); got != "removed 28 rules\n" {
			t.Errorf("clear prints %s", got)
		}
		if got := faults(0, "add", "drop channel=book", "close probability=0.5"); !strings.HasPrefix(got,
			"29  drop channel=book seed=1  matched=0 applied=0 skipped=0\n30  close ") {
			t.Errorf("add prints %s", got)
		}
		faults(0, "clear", "29")
		if got := faults(0, "list"); !strings.HasPrefix(got, "30  close probability=0.5 ") {
			t.Errorf("list prints %s", got)
		}
		if got := faults(1, "clear", "29"); !strings.Contains(got, ": There is no fault rule with this id.") {
			t.Errorf("clear of an unknown id: %s", got)
		}
		if got := faults(2, "clear", "all"); !strings.Contains(got, "without one all rules are removed") {
			t.Errorf("clear all: %s", got)
		}
		faults(0, "clear")
		if got := faults(0, "list"); got != "no fault rules are in force\n" {
			t.Errorf("list prints %s", got)
		}
		if got := faults(2, "apply", "nope"); !strings.Contains(got, "flaky-network") {
			t.Errorf("an unknown scenario: %s", got)
		}
		faults(2, "add", "latency")
	}
}

// A rule that no request can match is refused, also at the start. One that changes nothing for now has a warning, which
// ends with its reason.
func TestRulesThatMatchNothingAreNamed(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	for _, rule := range []string{
		"broken-json route=/nope", "status method=DELETE route=/api/summary", "skew skew=1s route=/api/summary",
		"lost-ack method=GET", "null method=POST", "close listener=binance", "close listener=aggregator",
	} {
		said := f.Call(400, "POST", "/faults", `{"rules":["close",`+fmt.Sprintf("%q", rule)+`]}`)
		if !strings.Contains(fmt.Sprint(said), "rules[1]: ") || !strings.Contains(fmt.Sprint(said), "/swagger") {
			t.Errorf("%s: %v", rule, said)
		}
	}
	run := harness.Launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0",
		"--pairs", "none", "--set", `faults.rules=["status route=/nope"]`)
	if code := run.Wait(); code == 0 || !strings.Contains(run.Stderr.String(), "/swagger lists") {
		t.Errorf("a start with such a rule: exit code %d: %s", code, run.Stderr.String())
	}
	warned := func() (texts []string) {
		t.Helper()
		for _, r := range f.Call(200, "GET", "/faults", "")["rules"].([]any) {
			text, _ := r.(map[string]any)["warning"].(string)
			texts = append(texts, text)
		}
		return texts
	}
	f.rules("missing pair=AA_CC", "null pair=AA_BB member=nope", "null pair=AA_BB", "crossed route=/api/summary",
		"drop pair=CC_BB")
	want := []string{"There is no pair AA_CC.", "", "", "", "There is no pair CC_BB."}
	if got := warned(); !slices.Equal(got, want) {
		t.Errorf("before a request: %q", got)
	}
	f.Pair("AA_CC")
	if _, err := f.get(faultyBook); err != nil {
		t.Fatal(err)
	}
	want[0], want[1] = "Of 1 documents none had anything that could change.",
		"Of 1 documents none had a member nope that could change."
	if got := warned(); !slices.Equal(got, want) {
		t.Errorf("after a request: %q, want %q", got, want)
	}
	c := harness.Command(t, "faults", "list", "--internal", strings.TrimPrefix(f.Root, "http://"))
	if said, err := c.CombinedOutput(); err != nil || !strings.Contains(string(said),
		"applied=0 skipped=0\n    warning: Of 1 documents none had a member nope that could change.\n") {
		t.Errorf("faults list: %v: %s", err, said)
	}
}

// The listener of the facade has the faults of requests too, in its own form of errors.
func TestFaultsOfTheFacade(t *testing.T) {
	t.Parallel()
	in := harness.Serve(t, nil, "--binance-listen", "127.0.0.1:0", "--sim", "off",
		"--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z")
	line := in.WaitLine("ready ")
	in.TakeAddresses(line)
	base := "http://" + line[strings.LastIndex(line, "binance=")+len("binance="):]
	in.Call(200, "POST", "/faults",
		`{"rules":["skew listener=binance skew=5s","rate-limit pair=BTC_USDT retry-after=4"]}`)
	if a := in.Do("GET", base+"/api/v3/time", ""); a.Body != `{"serverTime":1767225605000}` {
		t.Errorf("the skewed time: %s", a.Body)
	}
	a := in.Do("GET", base+"/api/v3/depth?symbol=BTCUSDT", "")
	if a.Status != 429 || a.Header.Get("Retry-After") != "4" || a.Header.Get("X-Fault") != "rate-limit; rule=2" ||
		!strings.HasPrefix(a.Body, `{"code":-1003`) {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	in.Call(200, "DELETE", "/faults", "")
	in.Call(200, "POST", "/faults", `{"rules":["missing listener=binance pair=BTC_USDT"]}`)
	if a := in.Do("GET", base+"/api/v3/ticker/price", ""); a.Status != 200 || strings.Contains(a.Body, "BTCUSDT") ||
		!strings.Contains(a.Body, "ETHUSDT") {
		t.Errorf("the list without the pair: %d %s", a.Status, a.Body)
	}
	for _, target := range []string{"depth?", "ticker/24hr?"} {
		a := in.Do("GET", base+"/api/v3/"+target+"symbol=BTCUSDT", "")
		if a.Status != 400 || a.Body != `{"code":-1121,"msg":"Invalid symbol."}` {
			t.Errorf("%s of the pair: %d %s", target, a.Status, a.Body)
		}
	}
	in.Call(200, "DELETE", "/faults", "")
	in.Call(200, "POST", "/faults", `{"rules":["close listener=binance channel=book"]}`)
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(base, "http")+"/ws/btcusdt@depth@100ms", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.Close() }()
	if err := ws.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
		t.Fatal(err)
	}
	in.Limit("BTC_USDT", "buy", "100", "1")
	var closed *websocket.CloseError
	if _, m, err := ws.ReadMessage(); !errors.As(err, &closed) || closed.Code != websocket.CloseAbnormalClosure {
		t.Errorf("a socket that a rule closes: %s, error %v", m, err)
	}
	if a := in.Do("GET", in.Public+"/api/time", ""); !strings.Contains(a.Body, `"serverTime":1767225600000`) {
		t.Errorf("the time of the public listener: %s", a.Body)
	}
}
