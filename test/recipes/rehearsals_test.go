package recipes

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/tickhive/tickhive/test/harness"
)

// rehearsal returns the words of a command of docs/programs.md behind the name of the program.
func rehearsal(t *testing.T, name string) []string {
	t.Helper()
	m := regexp.MustCompile("(?m)^\\| " + regexp.QuoteMeta(name) + " \\| `bin/tickhive ([^`]*)`").
		FindStringSubmatch(harness.ReadTree(t, "docs/programs.md"))
	if m == nil {
		t.Fatalf("docs/programs.md has no command for %s", name)
	}
	text := strings.ReplaceAll(m[1], "127.0.0.1:8090", "127.0.0.1:0")
	if before, quoted, found := strings.Cut(text, "'"); found {
		return append(strings.Fields(before), strings.TrimSuffix(quoted, "'"))
	}
	return strings.Fields(text)
}

// program is a program for Binance: an exchange, its address and a key.
type program struct {
	*harness.Instance
	base, public, private string
}

// begin starts an exchange in a folder.
func begin(t *testing.T, args ...string) *program {
	t.Helper()
	in := harness.Launch(t, nil, append(args, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0")...)
	line := in.WaitLine("ready ")
	in.TakeAddresses(line)
	return &program{Instance: in, base: "http://" + line[strings.LastIndex(line, "binance=")+len("binance="):]}
}

// account makes an account with money.
func (p *program) account() {
	p.T.Helper()
	user := p.Call(200, "POST", "/users", `{}`)["id"].(string)
	for _, code := range []string{"BTC", "USDT"} {
		p.Call(200, "POST", "/users/"+user+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":"100000"}`, code))
	}
	key := p.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"program"}`)
	p.public, p.private = key["publicKey"].(string), key["privateKey"].(string)
}

// tooEarly finds the first time of a signature that a start accepts: it refuses those that its predecessor may have
// accepted.
var tooEarly = regexp.MustCompile(`is before (\d+), so it may have been accepted before the exchange was restarted`)

// signed sends a signed request.
func (p *program) signed(method, path, query string) harness.Answer {
	p.T.Helper()
	ms, end := time.Now().UnixMilli(), time.Now().Add(harness.Patience)
	for {
		text := fmt.Sprintf("timestamp=%d&%s", ms, query)
		mac := hmac.New(sha256.New, []byte(p.private))
		mac.Write([]byte(text))
		a := p.Do(method, fmt.Sprintf("%s/api/v3/%s?%s&signature=%x", p.base, path, text, mac.Sum(nil)), "",
			"X-MBX-APIKEY", p.public)
		if m := tooEarly.FindStringSubmatch(a.Body); m != nil {
			ms, _ = strconv.ParseInt(m[1], 10, 64)
		} else if !strings.Contains(a.Body, "ahead of the server's time") || time.Now().After(end) {
			return a
		}
	}
}

// faults runs a command of faults.
func (p *program) faults(words []string) {
	p.T.Helper()
	code, out, errs := harness.Run(p.T, append(words, "--internal", strings.TrimPrefix(p.Root, "http://"))...)
	if code != 0 {
		p.T.Fatalf("%q: exit code %d: %s%s", words, code, out, errs)
	}
}

// reports connects to the user stream of the account.
func (p *program) reports() *websocket.Conn {
	p.T.Helper()
	var key struct{ ListenKey string }
	a := p.Do("POST", p.base+"/api/v3/userDataStream", "", "X-MBX-APIKEY", p.public)
	if err := json.Unmarshal([]byte(a.Body), &key); err != nil || key.ListenKey == "" {
		p.T.Fatalf("%d %s", a.Status, a.Body)
	}
	return p.DialSocket(p.base, "/ws/"+key.ListenKey)
}

// An acknowledgement is lost once, and the order and its report are there; the book is slow, and current; a ban says
// when it ends.
func TestTheRehearsalsOfFaults(t *testing.T) {
	t.Parallel()
	p := begin(t, "serve", "--data-dir", t.TempDir(), "--binance-listen", "127.0.0.1:0")
	p.account()
	reports := p.reports()
	p.faults(rehearsal(t, "a lost acknowledgement"))
	const order = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001&price=30000&newClientOrderId="
	if a := p.signed("POST", "order", order+"lost"); a.Status != 504 || !strings.HasPrefix(a.Body, `{"code":-1007,`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	harness.Hears(t, reports, `"s":"BTCUSDT","c":"lost",`)
	if a := p.signed("POST", "order", order+"kept"); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for _, id := range []string{"lost", "kept"} {
		a := p.signed("GET", "order", "symbol=BTCUSDT&origClientOrderId="+id)
		if a.Status != 200 || !strings.Contains(a.Body, `"status":"NEW"`) {
			t.Errorf("%s: %d %s", id, a.Status, a.Body)
		}
	}
	p.faults(rehearsal(t, "a slow book"))
	a := p.Do("GET", p.base+"/api/v3/depth?symbol=BTCUSDT&limit=5", "")
	if a.Status != 200 || !strings.HasPrefix(a.Header.Get("X-Fault"), "latency;") {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	p.faults([]string{"faults", "clear"})
	p.faults(rehearsal(t, "a ban"))
	for _, path := range []string{"time", "depth?symbol=BTCUSDT"} {
		from := time.Now()
		a := p.Do("GET", p.base+"/api/v3/"+path, "")
		to := time.Now()
		m := regexp.MustCompile(`^{"code":-1003,"msg":"[^"]* IP banned until (\d+)\.`).FindStringSubmatch(a.Body)
		if a.Status != 418 || a.Header.Get("Retry-After") != "120" || m == nil {
			t.Fatalf("%d %v %s", a.Status, a.Header, a.Body)
		}
		until, err := strconv.ParseInt(m[1], 10, 64)
		if ms := until - 120_000; err != nil || ms < from.UnixMilli() || ms > to.UnixMilli() {
			t.Errorf("%s: banned until %d, which is not two minutes from now", path, until)
		}
	}
	p.faults([]string{"faults", "clear"})
	if a := p.Do("GET", p.base+"/api/v3/depth?symbol=BTCUSDT", ""); a.Header.Get("X-Fault") != "" {
		t.Errorf("%v", a.Header)
	}
}

// An order list survives kill -9 as it was.
func TestTheRehearsalOfACrash(t *testing.T) {
	t.Parallel()
	words, dir := rehearsal(t, "a crash in the middle of an order list"), t.TempDir()
	for i := range words {
		if words[i] == "crash" {
			words[i] = dir
		}
	}
	p := begin(t, words...)
	p.account()
	list := p.signed("POST", "orderList/oco", "symbol=BTCUSDT&side=SELL&quantity=0.001&listClientOrderId=mine"+
		"&aboveType=LIMIT_MAKER&abovePrice=130000&belowType=STOP_LOSS&belowStopPrice=32000")
	if list.Status != 200 {
		t.Fatalf("%d %s", list.Status, list.Body)
	}
	before := p.signed("GET", "openOrderList", "recvWindow=60000")
	p.Signal(syscall.SIGKILL)
	<-p.Exited
	again := begin(t, words...)
	again.public, again.private = p.public, p.private
	after := again.signed("GET", "openOrderList", "recvWindow=60000")
	if after.Status != 200 || after.Body != before.Body || !strings.Contains(after.Body, `"listClientOrderId":"mine"`) {
		t.Errorf("%s\nthen %s", before.Body, after.Body)
	}
	if a := again.signed("GET", "openOrders", "symbol=BTCUSDT"); strings.Count(a.Body, `"status":"NEW"`) != 2 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// A program reads a day of a recorded market: its candles are the bars of the recording, by the minute and by the day.
func TestTheRehearsalOfARecordedDay(t *testing.T) {
	t.Parallel()
	words := rehearsal(t, "a recorded day")
	words[len(words)-1] = harness.Recorded(t, "coinbase/btcusd_20161007_second_trade.csv.gz")
	p := begin(t, words...)
	p.WaitLog("msg=replay records=4063", 1)
	minutes := harness.Rows(t, harness.Recorded(t, "coinbase/btcusd_20161007_minute_trade.csv.gz"))
	days := harness.Rows(t, harness.Recorded(t, "coinbase/btcusd_daily_trade_20161007.csv.gz"))
	if len(minutes) != 1419 || len(days) != 1 {
		t.Fatalf("%d minutes, %d days", len(minutes), len(days))
	}
	midnight := time.Date(2016, 10, 7, 0, 0, 0, 0, time.UTC).UnixMilli()
	days[0][0] = "0"
	p.hasBars("1d", midnight, days)
	p.hasBars("1m", midnight, minutes)
}

// hasBars compares the candles of a day that have trades with bars: milliseconds since midnight, prices, amount.
func (p *program) hasBars(interval string, midnight int64, bars [][]string) {
	p.T.Helper()
	var candles [][]any
	for from := midnight; from < midnight+86_400_000; from += 1000 * 60_000 {
		var page [][]any
		query := fmt.Sprintf("symbol=BTCUSD&interval=%s&limit=1000&startTime=%d&endTime=%d", interval, from,
			min(from+1000*60_000, midnight+86_400_000)-1)
		a := p.Do("GET", p.base+"/api/v3/klines?"+query, "")
		if err := json.Unmarshal([]byte(a.Body), &page); err != nil {
			p.T.Fatalf("%d %s", a.Status, a.Body)
		}
		for _, candle := range page {
			if candle[8].(float64) > 0 {
				candles = append(candles, candle)
			}
		}
	}
	if len(candles) != len(bars) {
		p.T.Fatalf("%s: %d candles, the recording has %d", interval, len(candles), len(bars))
	}
	for i, bar := range bars {
		got := []string{strconv.FormatInt(int64(candles[i][0].(float64))-midnight, 10)}
		for _, member := range candles[i][1:6] {
			got = append(got, trim(member.(string)))
		}
		for j := range bar {
			if trim(bar[j]) != got[j] {
				p.T.Errorf("%s: candle %d is %q, the recording has %q", interval, i, got, bar)
				break
			}
		}
	}
}

// trim takes the zeros at the end of a decimal away.
func trim(text string) string {
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}
