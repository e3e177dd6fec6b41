package binance_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/binance"
)

// openCalls are the routes without credentials, with parameters with which they answer.
var openCalls = []string{
	"/api/v3/ping", "/api/v3/time", "/api/v3/exchangeInfo", "/api/v3/depth?symbol=BTCUSDT",
	"/api/v3/trades?symbol=BTCUSDT", "/api/v3/historicalTrades?symbol=BTCUSDT",
	"/api/v3/historicalBlockTrades?symbol=BTCUSDT", "/api/v3/aggTrades?symbol=BTCUSDT",
	"/api/v3/klines?symbol=BTCUSDT&interval=1m", "/api/v3/uiKlines?symbol=BTCUSDT&interval=1m",
	"/api/v3/avgPrice?symbol=BTCUSDT", "/api/v3/ticker/24hr?symbol=BTCUSDT",
	"/api/v3/ticker/tradingDay?symbol=BTCUSDT", "/api/v3/ticker/price?symbol=BTCUSDT",
	"/api/v3/ticker/bookTicker?symbol=BTCUSDT", "/api/v3/ticker?symbol=BTCUSDT", "/api/v3/executionRules",
	"/sapi/v1/system/status", "/fapi/v1/exchangeInfo",
}

// times returns the numbers of an answer that are times of 2026 in a unit, in their order.
func times(t *testing.T, text string, unit time.Duration) (list []int64) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err == io.EOF {
			return list
		} else if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if n, ok := token.(json.Number); ok {
			v, _ := n.Int64()
			if year := time.Unix(0, v*int64(unit)).UTC().Year(); v > 0 && v < 1<<52 && year == 2026 {
				list = append(list, v)
			}
		}
	}
}

// inUnit sends a request with the header that names the unit of the answer.
func (u *user) inUnit(unit, method, target string) string {
	u.r.t.Helper()
	req, err := http.NewRequest(method, u.r.base+target, nil)
	if err != nil {
		u.r.t.Fatal(err)
	}
	req.Header.Set("X-MBX-APIKEY", u.APIKey)
	req.Header.Set("X-MBX-TIME-UNIT", unit)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		u.r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		u.r.t.Fatalf("%s %s: %d %s, %v", method, target, res.StatusCode, b, err)
	}
	return string(b)
}

// Every time of every answer is in microseconds for a client that asks for them, and is the same time.
func TestEveryAnswerInMicroseconds(t *testing.T) {
	r, signers := matrix(t, func(o *exchange.Options) { o.Engine.AccountLists = 100 })
	r.advance("1h1m1.234567s")
	r.Limit("BTC_USDT", "buy", "100", "1")
	r.Limit("BTC_USDT", "sell", "100", "1")
	u, found, exact := signers["HMAC"], 0, 0
	same := func(what, ms, us string) {
		t.Helper()
		short, long := times(t, ms, time.Millisecond), times(t, us, time.Microsecond)
		if len(times(t, ms, time.Microsecond))+len(times(t, us, time.Millisecond)) > 0 || len(short) != len(long) {
			t.Errorf("%s:\n%s\n%s", what, ms, us)
			return
		}
		for i := range short {
			if found++; long[i]/1000 != short[i] {
				t.Errorf("%s: %d and %d", what, short[i], long[i])
			}
			if long[i]%1000 == 567 {
				exact++
			}
		}
	}
	for _, target := range openCalls {
		same(target, u.inUnit("millisecond", "GET", target), u.inUnit("MICROSECOND", "GET", target))
	}
	ms, us := r.socket("/ws-api/v3"), r.socket("/ws-api/v3?timeUnit=microsecond")
	for _, route := range binance.SignedRoutes() {
		if route.Path == "" || strings.Contains(route.Path, "userDataStream") {
			continue
		}
		name := route.Method + " " + route.Path
		if !strings.HasPrefix(route.Path, "/api/") {
			continue // TestTheWalletHasMilliseconds
		}
		ask := func(unit string) string {
			a := u.finish(u.attempt(u.soundParams(name, ""), false))
			return u.inUnit(unit, route.Method, route.Path+"?"+a.query())
		}
		if name == "DELETE /api/v3/openOrders" {
			ask("") // then each call cancels one order
		}
		same(name, ask("MILLISECOND"), ask("microsecond"))
		if route.API == "" {
			continue
		}
		call := func(s *socket) string {
			return s.ask(u.finish(u.attempt(u.soundParams(name, ""), true)).message(route.API))
		}
		same(route.API, call(ms), call(us))
	}
	if found < 100 || exact < 50 {
		t.Errorf("%d times, of which %d are exact", found, exact)
	}
	status := func(s *socket) string { return string(s.request("session.status", nil).Result) }
	same("session.status", status(ms), status(us))
	u.r.socketEvents(u, same)
}

// socketEvents compares the events of an order on two sockets.
func (r *rig) socketEvents(u *signer, same func(what, ms, us string)) {
	r.t.Helper()
	var sockets []*socket
	for _, unit := range []string{"MILLISECOND", "MICROSECOND"} {
		s := r.socket("/ws-api/v3?timeUnit=" + unit)
		if a := s.request("userDataStream.subscribe.signature", u.stamped(u.user.sign, nil)); a.Status != 200 {
			r.t.Fatalf("%+v", a)
		}
		sockets = append(sockets, s)
	}
	u.post(u.soundParams("POST /api/v3/order", ""))
	for range 2 {
		same("an event", sockets[0].next(), sockets[1].next())
	}
}

func TestTimeUnitsThatAreNone(t *testing.T) {
	r := newRig(t)
	const want = `{"code":-1194,"msg":"Invalid value for time unit; expected either MICROSECOND or MILLISECOND."}`
	for _, path := range []string{"/ws/btcusdt@trade", "/stream?streams=btcusdt@trade", "/ws-api/v3"} {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		r.is(path+separator+"timeUnit=NANOSECOND", 400, want)
	}
	req, err := http.NewRequest("GET", r.base+"/api/v3/time", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-MBX-TIME-UNIT", "us")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, _ := io.ReadAll(res.Body); res.StatusCode != 400 || string(b) != want {
		t.Errorf("%d %s", res.StatusCode, b)
	}
}

// Times of a request are in milliseconds or microseconds; a range in microseconds is exact to one.
func TestTimesOfRequestsInMicroseconds(t *testing.T) {
	r := newRig(t)
	r.Call("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":5}`)
	r.advance("1.000500s")
	u := r.user("anna")
	for range 3 {
		r.advance("250us")
		if status, body := u.raw("POST", "/api/v3/order", "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC"+
			"&quantity=1&price=100"); status != 200 {
			t.Fatal(body)
		}
		r.Limit("BTC_USDT", "buy", "100", "1")
	}
	now := r.now().UnixMicro()
	for span, want := range map[string]int{
		fmt.Sprintf("startTime=%d", now-500):                        3,
		fmt.Sprintf("startTime=%d", now-499):                        2,
		fmt.Sprintf("startTime=%d&endTime=%d", now-250, now-250):    1,
		fmt.Sprintf("startTime=%d&endTime=%d", now-249, now-1):      0,
		fmt.Sprintf("endTime=%d", now-251):                          1,
		fmt.Sprintf("startTime=%d&endTime=%d", now/1000, now/1000):  2,
		fmt.Sprintf("startTime=%d&endTime=%d", now/1000, now):       2,
		fmt.Sprintf("startTime=%d", now/1000-1):                     3,
		"startTime=9223372036854775807&endTime=9223372036854775807": 0,
	} {
		_, body, _ := r.get("/api/v3/aggTrades?symbol=BTCUSDT&" + span)
		if n := strings.Count(body, `"a":`); n != want {
			t.Errorf("aggTrades %s: %d, want %d", span, n, want)
		}
		for _, route := range []string{"myTrades", "allOrders"} {
			_, body := u.raw("GET", "/api/v3/"+route, "symbol=BTCUSDT&"+span)
			if n := strings.Count(body, `"orderId":`); n != want {
				t.Errorf("%s %s: %d, want %d: %s", route, span, n, want, body)
			}
		}
	}
	second := now / 1_000_000
	for _, span := range []string{
		fmt.Sprintf("startTime=%d&endTime=%d", second*1_000_000-999_999, second*1_000_000),
		fmt.Sprintf("startTime=%d&endTime=%d", second*1000-999, second*1000),
	} {
		_, body, _ := r.get("/api/v3/klines?symbol=BTCUSDT&interval=1s&" + span)
		if !strings.HasPrefix(body, fmt.Sprintf("[[%d,", second*1000)) || strings.Count(body, "[") != 2 {
			t.Errorf("klines %s: %s", span, body)
		}
	}
	r.is("/api/v3/klines?symbol=BTCUSDT&interval=1s&startTime=9223372036854775807", 200, "[]")
	for _, params := range []string{
		fmt.Sprintf("timestamp=%d&recvWindow=60000", now),
		fmt.Sprintf("timestamp=%d&recvWindow=6000.346", now-6_000_346),
		fmt.Sprintf("timestamp=%d&recvWindow=0.5", now-500),
		fmt.Sprintf("timestamp=%d", now+999_000),
	} {
		if status, body := u.send("GET", "/api/v3/account?"+params+"&signature="+u.sign(params)); status != 200 {
			t.Errorf("%s: %s", params, body)
		}
	}
}

// The unit is one of the spot interface: the wallet's times are milliseconds whatever the header says.
func TestTheWalletHasMilliseconds(t *testing.T) {
	_, signers := matrix(t)
	u, found := signers["HMAC"], 0
	for _, route := range binance.SignedRoutes() {
		if !strings.HasPrefix(route.Path, "/sapi/") {
			continue
		}
		a := u.finish(u.attempt(u.soundParams(route.Method+" "+route.Path, ""), false))
		answer := u.inUnit("MICROSECOND", route.Method, route.Path+"?"+a.query())
		found += len(times(t, answer, time.Millisecond))
		if n := len(times(t, answer, time.Microsecond)); n > 0 {
			t.Errorf("%s: %d times are microseconds: %s", route.Path, n, answer)
		}
	}
	if found < 2 {
		t.Errorf("%d times in all answers", found)
	}
}
