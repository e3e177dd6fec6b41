package cli

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// playSample starts the player of the sample, which is paused.
func playSample(t *testing.T, args ...string) *harness.Instance {
	t.Helper()
	in := harness.Launch(t, nil, append([]string{
		"replay", "--sample", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0",
	}, args...)...)
	in.TakeAddresses(in.WaitLine("ready "))
	if page := in.WaitLine("page "); page != "page "+in.Public+"/" {
		t.Error(page)
	}
	hint := "or   tickhive player play|pause|step|speed|seek|leave --internal " + strings.TrimPrefix(in.Root, "http://")
	if got := in.WaitLine("or "); got != hint {
		t.Error(got)
	}
	in.Call(200, "POST", "/replay/pause", "")
	return in
}

// player runs a command of the player.
func player(in *harness.Instance, args ...string) (out, errs string) {
	in.T.Helper()
	code, out, errs := harness.Run(in.T, append(append([]string{"player"}, args...), "--internal", in.Root)...)
	if code != 0 {
		in.T.Fatalf("player %v: exit code %d: %s%s", args, code, out, errs)
	}
	return out, errs
}

// shown returns what the market shows to everybody, and the hash of its state.
func shown(in *harness.Instance) string {
	in.T.Helper()
	all := ""
	for _, path := range []string{
		"/api/orderbook?currencyPairCode=BTC_USDT&depth=0", "/api/deals?currencyPairCode=BTC_USDT",
		"/api/ohlc?currencyPairCode=BTC_USDT&interval=minute&start=2026-01-05&end=2026-01-06", "/api/time",
	} {
		a := in.Do("GET", in.Public+path, "")
		if a.Status != 200 {
			in.T.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
		all += a.Body + "\n"
	}
	return all + fmt.Sprint(in.Call(200, "GET", "/state-hash", "")["pairs"])
}

// A person plays the sample, trades in it while it is paused, and goes back: there the market is that of a replay which
// went straight to the time, and of the person's orders and trades nothing is left, but the user, the key and the
// money.
func TestAReplayIsPlayedTradedAndTakenBack(t *testing.T) {
	t.Parallel()
	in := playSample(t)
	began := in.Call(200, "GET", "/replay", "")
	if began["status"] != "paused" || began["speed"] != "1" || began["goesBack"] != true ||
		began["hasBook"] != true {
		t.Errorf("%v", began)
	}
	player(in, "seek", "10:20")
	u := in.Trader()
	buy := `{"currencyPairCode":"BTC_USDT","side":"buy","type":"market","quoteAmount":1000}`
	low := `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":10000,"amount":0.01}`
	for _, body := range []string{buy, low} {
		if a := in.As(u, "/api/orders", body); a.Status != 200 {
			t.Fatalf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	if a := in.Send(u, "GET", "/api/user/deals", ""); !strings.Contains(a.Body, `"price"`) {
		t.Errorf("in a paused market: %d %s", a.Status, a.Body)
	}
	player(in, "step", "100")
	player(in, "speed", "max")

	_, errs := player(in, "seek", "-12m")
	if !strings.Contains(errs, "orders and trades of users are gone") {
		t.Errorf("the seek back says %q", errs)
	}
	again := in.Call(200, "GET", "/replay", "")
	if again["epoch"] == began["epoch"] || harness.Within(again, "begunAgain") != "1" || again["status"] != "paused" {
		t.Errorf("%v", again)
	}
	if status := harness.Object(t, in.Do("GET", in.Public+"/api/status", "").Body); status["epoch"] != again["epoch"] {
		t.Errorf("the status has the epoch %v", status["epoch"])
	}
	for path, want := range map[string]string{
		"/api/user/orders": "[]", "/api/user/deals": "[]",
		"/api/wallets/balances": `"currencyCode":"USDT","free":10000.0,"held":0.0`,
	} {
		if a := in.Send(u, "GET", path, ""); a.Status != 200 || !strings.Contains(a.Body, want) {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	straight := playSample(t)
	straight.Call(200, "POST", "/replay/step", fmt.Sprintf(`{"to":%v}`, again["time"]))
	player(straight, "seek", "+0s")
	got, want := strings.Split(shown(in), "\n"), strings.Split(shown(straight), "\n")
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("after the seek back\n%.1000s\nwant\n%.1000s", got[i], want[i])
		}
	}
	if a := in.As(u, "/api/orders", buy); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for _, x := range []*harness.Instance{in, straight} {
		x.Signal(syscall.SIGTERM)
		if code := x.Wait(); code != 0 {
			t.Errorf("exit code %d: %s", code, x.Stderr.String())
		}
	}
}

// The pair of a replay has no fees. Those that an operator sets outlive a seek back.
func TestASeekBackKeepsTheFeesOfThePair(t *testing.T) {
	t.Parallel()
	in := playSample(t)
	fees := func() string {
		pair := in.Call(200, "GET", "/pairs/BTC_USDT", "")
		return harness.Within(pair, "makerFee") + " " + harness.Within(pair, "takerFee")
	}
	before := fees()
	player(in, "seek", "10:05")
	in.Call(200, "PATCH", "/pairs/BTC_USDT", `{"makerFee":0.001,"takerFee":0.002}`)
	player(in, "seek", "-2m")
	if after := fees(); before != "0.0 0.0" || after != "0.001 0.002" {
		t.Errorf("fees %s at the start, %s after the seek back", before, after)
	}
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
}

// What the player cannot do it refuses, and says what to do.
func TestThePlayerRefuses(t *testing.T) {
	t.Parallel()
	file := recorded(t)
	in := harness.Launch(t, nil, replayOf(file, "--speed", "1", "--hold", "--data-dir", t.TempDir()+"/kept")...)
	in.TakeAddresses(in.WaitLine("ready "))
	in.Call(200, "POST", "/replay/pause", "{}")
	in.Call(200, "POST", "/replay/step", `{"records":2}`)
	in.Refuse(400, "INVALID_PARAM", "to", "POST", "/replay/seek", `{"to":5}`)
	in.Refuse(400, "INVALID_PARAM", "to", "POST", "/replay/seek", `{}`)
	in.Refuse(400, "INVALID_PARAM", "speed", "POST", "/replay/speed", `{"speed":"fast"}`)
	in.Refuse(400, "INVALID_PARAM", "records", "POST", "/replay/step", `{}`)
	in.Refuse(400, "INVALID_PARAM", "to", "POST", "/replay/step", `{"records":1,"to":5}`)
	in.Refuse(409, "CONFLICT", "", "POST", "/replay/seek", fmt.Sprintf(`{"to":%v}`, in.Call(200, "GET", "/replay",
		"")["begin"]))
	in.Refuse(409, "CONFLICT", "", "POST", "/clock", `{"advance":"1h"}`)
	player(in, "seek", fmt.Sprint(in.Call(200, "GET", "/replay", "")["end"]))
	if s := in.Call(200, "GET", "/replay", ""); s["status"] != "ended" || s["hasBook"] != false {
		t.Errorf("%v", s)
	}
	in.Refuse(409, "CONFLICT", "", "POST", "/replay/play", "")
	if code, _, errs := harness.Run(t, "player", "seek", "10:99", "--internal", in.Root); code != 2 ||
		!strings.Contains(errs, `player: time "10:99" is not a time; write `) ||
		!strings.Contains(errs, "or a time of day such as 10:30, or a distance such as +10m or -90s") {
		t.Errorf("%d %s", code, errs)
	}
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}

	other := harness.Start(t, "--sim", "off")
	other.Refuse(409, "CONFLICT", "", "GET", "/replay", "")
	for _, args := range [][]string{{"speed", "fast"}, {"seek", "noon"}, {"step", "1", "--to", "10:00"}} {
		if code, _, errs := harness.Run(t, append([]string{"player", "--internal", other.Root},
			args...)...); code == 0 {
			t.Errorf("%v: %s", args, errs)
		}
	}
	const want = `speed "-1": want max, or a number`
	if _, _, errs := harness.Run(t, "player", "speed", "-1"); !strings.Contains(errs, want) {
		t.Error(errs)
	}
}

// Who leaves a replay gets an answer, and the program ends as it does after a signal.
func TestAReplayIsLeft(t *testing.T) {
	t.Parallel()
	in := playSample(t)
	if out, _ := player(in, "leave"); !strings.HasPrefix(out, "left at 2026-01-05T10:00:") {
		t.Error(out)
	}
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
}

// A replay finds the format by itself where one format alone takes the files.
func TestAReplayFindsTheFormat(t *testing.T) {
	t.Parallel()
	in := harness.Launch(t, nil, "replay", "--quiet", "--check", "--pair", "BTC_USDT", "--listen", "127.0.0.1:0",
		"--internal-listen", "127.0.0.1:0", recorded(t))
	in.WaitLine("check trades 3 of 3")
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
}
