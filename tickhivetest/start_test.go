package tickhivetest_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/sim/replay/sample"
	"github.com/tickhive/tickhive/tickhivetest"
)

// BenchmarkStart measures from the call of Start to an exchange that serves, and its end.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		tickhivetest.Start(b).Stop()
	}
}

// free returns the free balance of a currency.
func free(t *testing.T, c *client.Client, currency string) string {
	t.Helper()
	rows, err := c.Balances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range rows {
		if b.Currency == currency {
			return b.Free.String()
		}
	}
	return ""
}

func buy(t *testing.T, c *client.Client, pair, amount, price string) {
	t.Helper()
	_, err := c.PlaceOrder(t.Context(), client.OrderRequest{
		Pair: pair, Side: "buy", Type: "limit", Price: client.Decimal(price), Amount: client.Decimal(amount),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// One process has several exchanges: none sees the orders, users and faults of another.
func TestExchangesOfOneProcessAreSeparate(t *testing.T) {
	t.Parallel()
	var all []*tickhivetest.Exchange
	for range 4 {
		all = append(all, tickhivetest.Start(t))
	}
	all[0].Sell("BTC_USDT", "1", "100")
	all[1].Fault("status status=503")
	all[2].Advance(time.Hour)
	u := all[3].NewUser("12.5 ETH")
	for i, x := range all {
		book, err := x.Client().OrderBook(t.Context(), "BTC_USDT", 0)
		switch {
		case i == 1:
			if err == nil {
				t.Error("the fault is not in force")
			}
		case err != nil || len(book.Asks) != map[int]int{0: 1}[i]:
			t.Errorf("exchange %d: %v: %v", i, book.Asks, err)
		}
		want := time.Date(2026, 1, 1, map[int]int{2: 1}[i], 0, 0, 0, time.UTC)
		if !x.Now().Equal(want) {
			t.Errorf("exchange %d: %v, want %v", i, x.Now(), want)
		}
	}
	if got := free(t, u.Client(), "ETH"); got != "12.5" {
		t.Errorf("12.5 ETH became %q", got)
	}
	for _, at := range []string{
		all[0].URL + "/api/time", all[0].Internal + "/ready", all[0].Binance + "/api/v3/time",
	} {
		resp, err := http.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", at, resp.StatusCode)
		}
	}
}

// What is stored survives a stop in order and a kill; the addresses stay, and between the two every connection fails at
// once.
func TestRestartAndKill(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*tickhivetest.Exchange){
		"stop": (*tickhivetest.Exchange).Stop, "kill": (*tickhivetest.Exchange).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := tickhivetest.Start(t)
			x.Sell("BTC_USDT", "1", "100")
			buy(t, x.Client(), "BTC_USDT", "0.5", "100")
			x.Advance(90 * time.Minute)
			before, url, now := free(t, x.Client(), "BTC"), x.URL, x.Now()
			stop(x)
			if _, err := x.Client().Time(t.Context()); err == nil {
				t.Error("an exchange that has ended answers")
			}
			x.Restart()
			if got := free(t, x.Client(), "BTC"); got != before || x.URL != url || !x.Now().Equal(now) {
				t.Errorf("%s BTC at %s on %v, before %s at %s on %v", got, x.URL, x.Now(), before, url, now)
			}
			book, err := x.Client().OrderBook(t.Context(), "BTC_USDT", 0)
			if err != nil || len(book.Asks) != 1 || book.Asks[0][1] != "0.50000" {
				t.Errorf("the book is %v: %v", book.Asks, err)
			}
		})
	}
}

// A request under way gets no answer from an exchange that is killed.
func TestAKillCutsConnections(t *testing.T) {
	t.Parallel()
	x := tickhivetest.Start(t)
	c, err := net.Dial("tcp", strings.TrimPrefix(x.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET /api/time HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 4096)
	if n, err := c.Read(answer); err != nil || !strings.Contains(string(answer[:n]), "serverTime") {
		t.Fatalf("%s: %v", answer[:n], err)
	}
	x.Kill()
	if n, err := c.Read(answer); err == nil {
		t.Errorf("read %q", answer[:n])
	}
}

// What a killed exchange has answered is there after Restart, also what it answered to connections that are made while
// it is killed.
func TestAKillLosesNothingThatWasAnswered(t *testing.T) {
	t.Parallel()
	x := tickhivetest.Start(t)
	x.User.Deposit("10000000", "USDT")
	var answered sync.Map // ids of orders
	for range 5 {
		var wg sync.WaitGroup
		var stop atomic.Bool
		began := make(chan struct{}, 1)
		for range 4 {
			c := x.Client()
			wg.Go(func() {
				for !stop.Load() {
					id, err := c.PlaceOrder(context.Background(), client.OrderRequest{
						Pair: "BTC_USDT", Side: "buy", Type: "limit", Price: "100", Amount: "0.05",
					})
					if refused := (*client.APIError)(nil); errors.As(err, &refused) {
						t.Error(err)
						return
					} else if err != nil {
						continue
					}
					answered.Store(id, true)
					select {
					case began <- struct{}{}:
					default:
					}
				}
			})
		}
		<-began
		x.Kill()
		stop.Store(true)
		wg.Wait()
		x.Restart()
		answered.Range(func(id, _ any) bool {
			if _, err := x.Client().Order(t.Context(), id.(string)); err != nil {
				t.Errorf("order %s was answered, then: %v", id, err)
			}
			return true
		})
	}
}

// A directory outlives its exchange, and another one goes on with it.
func TestADirectoryIsContinued(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := tickhivetest.Start(t, tickhivetest.Dir(dir))
	x.Buy("ETH_USDT", "2", "3000")
	x.Advance(time.Hour)
	then := x.Now()
	x.Stop()
	y := tickhivetest.Start(t, tickhivetest.Dir(dir))
	book, err := y.Client().OrderBook(t.Context(), "ETH_USDT", 0)
	if err != nil || len(book.Bids) != 1 || !y.Now().Equal(then) {
		t.Errorf("%v at %v, want one bid at %v: %v", book.Bids, y.Now(), then, err)
	}
}

func TestOwnPairs(t *testing.T) {
	t.Parallel()
	x := tickhivetest.Start(t, tickhivetest.Pairs(tickhivetest.Pair{
		Code: "ABC_XYZ", PriceDigits: 3, AmountDigits: 1, Fee: "0.01",
	}))
	x.Sell("ABC_XYZ", "10", "1.234")
	user := x.NewUser("1000 XYZ").Client()
	buy(t, user, "ABC_XYZ", "10", "1.234")
	if got := free(t, user, "ABC"); got != "9.9" {
		t.Errorf("%s ABC, want 10 less a fee of 1 %%", got)
	}
	if _, err := x.Client().OrderBook(t.Context(), "BTC_USDT", 0); err == nil {
		t.Error("the built-in pairs are there")
	}
}

// Two runs with one seed are equal; another seed makes another market.
func TestTheSimulatedMarketRepeats(t *testing.T) {
	t.Parallel()
	price := func(seed int64) string {
		x := tickhivetest.Start(t, tickhivetest.Market(seed))
		x.Advance(time.Minute)
		ticker, err := x.Client().Ticker(t.Context(), "BTC_USDT")
		if err != nil {
			t.Fatal(err)
		}
		return ticker.Price.String() + " " + ticker.Volume24h.String()
	}
	first := price(7)
	if again := price(7); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	if other := price(8); other == first {
		t.Errorf("the seeds 7 and 8 both give %s", first)
	}
}

// A recording is fed as far as the clock has gone.
func TestARecordingFollowsTheClock(t *testing.T) {
	t.Parallel()
	files, err := sample.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := tickhivetest.Start(t, tickhivetest.Recording(sample.Format, files...))
	volume := func() string {
		ticker, err := x.Client().Ticker(t.Context(), sample.Pair)
		if err != nil {
			t.Fatal(err)
		}
		return ticker.Volume24h.String()
	}
	begin := x.Now()
	if v := volume(); v != "0.00000" {
		t.Errorf("a volume of %s before the clock was moved", v)
	}
	x.Advance(time.Minute)
	first := volume()
	if got := x.Now().Sub(begin); first == "0.00000" || got != time.Minute {
		t.Errorf("a volume of %s in the first minute, which took %v", first, got)
	}
	x.Advance(2 * time.Hour) // the recording has one
	if got := x.Now().Sub(begin); volume() == first || got != 121*time.Minute {
		t.Errorf("a volume of %s at the end and of %s after a minute; the clock went %v", volume(), first, got)
	}
}

// trades writes a recording of trades, whose file does not name a pair.
func trades(t *testing.T, rows string) tickhivetest.Option {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trades.csv")
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	return tickhivetest.Recording("trades", path)
}

// Quotes let a market order trade in a recording of trades alone, directly after Start, which feeds the first record.
func TestQuotesAroundARecordingOfTrades(t *testing.T) {
	t.Parallel()
	recording := trades(t, "1700000000.25,10.5,1,buy\n1700000060,10.4,1,sell\n")
	for _, flags := range [][]string{{"--pair=AAA_BBB", "--quotes=5"}, {"--pair=AAA_BBB"}} {
		x := tickhivetest.Start(t, recording, tickhivetest.RecordingFlags(flags...))
		if want := time.UnixMilli(1700000000250).UTC(); !x.Now().Equal(want) {
			t.Errorf("the clock shows %v, want %v", x.Now(), want)
		}
		_, err := x.Client().PlaceOrder(t.Context(), client.OrderRequest{
			Pair: "AAA_BBB", Side: "buy", Type: "market", Amount: "2",
		})
		fills, _, err2 := x.Client().Fills(t.Context(), client.ListQuery{})
		switch quotes := len(flags) == 2; {
		case err2 != nil:
			t.Fatal(err2)
		case !quotes && (err == nil || len(fills) > 0):
			t.Errorf("without quotes: %v, %v", err, fills)
		case quotes && (err != nil || len(fills) != 1 || fills[0].Price != "10.5" || fills[0].Volume != "2.0"):
			t.Errorf("%v, %+v", err, fills)
		}
	}
}

// Flags say how a recording is read.
func TestRecordingFlags(t *testing.T) {
	t.Parallel()
	x := tickhivetest.Start(t, trades(t, "1700000000,10.5,1,buy\n1700000030,none,1,buy\n1700000060,10.4,1,sell\n"),
		tickhivetest.RecordingFlags("--pair=AAA_BBB", "--digits=3,2"), tickhivetest.RecordingFlags("--skip-bad=50"))
	x.Advance(time.Minute)
	deals, err := x.Client().Ticker(t.Context(), "AAA_BBB")
	if err != nil || deals.Price != "10.400" || deals.Volume24h != "2.00" {
		t.Errorf("%+v, %v", deals, err)
	}
}

// A real clock is not moved by a test.
func TestARealClock(t *testing.T) {
	t.Parallel()
	before := time.Now().Add(-time.Second)
	x := tickhivetest.Start(t, tickhivetest.RealClock())
	if now := x.Now(); now.Before(before) || now.After(time.Now().Add(time.Second)) {
		t.Errorf("the clock shows %v", now)
	}
	if _, err := x.Client().Balances(t.Context()); err != nil {
		t.Error(err)
	}
}

// probe is a test whose failures and logs are kept.
type probe struct {
	testing.TB
	fatal  string
	failed bool
	logs   []string
	ends   []func()
}

func (p *probe) Helper()                   {}
func (p *probe) Cleanup(f func())          { p.ends = append(p.ends, f) }
func (p *probe) Failed() bool              { return p.failed || p.fatal != "" }
func (p *probe) Log(a ...any)              { p.logs = append(p.logs, a[0].(string)) }
func (p *probe) Logf(f string, a ...any)   { p.logs = append(p.logs, a[0].(string)) }
func (p *probe) Fatalf(f string, a ...any) { p.Fatal(errors.New(strings.TrimSpace(f)), a) }
func (p *probe) Fatal(a ...any) {
	var text strings.Builder
	for _, v := range a {
		if list, ok := v.([]any); ok && len(list) > 0 {
			if err, ok := list[len(list)-1].(error); ok {
				text.WriteString(err.Error())
			}
		}
	}
	p.fatal = text.String()
	runtime.Goexit()
}

// run runs f as a test.
func (p *probe) run(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
	for i := len(p.ends) - 1; i >= 0; i-- {
		p.ends[i]()
	}
}

// The log is for a test that has failed, and for one that asks for it.
func TestTheLogIsShownWhenTheTestFails(t *testing.T) {
	for _, c := range []struct {
		failed bool
		option []tickhivetest.Option
		shown  bool
	}{{false, nil, false}, {true, nil, true}, {false, []tickhivetest.Option{tickhivetest.Logs()}, true}} {
		p := &probe{TB: t, failed: c.failed}
		p.run(func() { tickhivetest.Start(p, c.option...) })
		if shown := strings.Contains(strings.Join(p.logs, "\n"), "msg=ready"); shown != c.shown {
			t.Errorf("failed %v, %d options: the log is shown: %v", c.failed, len(c.option), shown)
		}
	}
}

// Wrong options end the test with what is wrong.
func TestWrongOptionsNameTheirPlace(t *testing.T) {
	recording := trades(t, "1700000000,10.5,1,buy\n")
	for want, options := range map[string][]tickhivetest.Option{
		"unknown key rate.per_secnd": {tickhivetest.Set("rate.per_secnd=5")},
		"pairs: A_B":                 {tickhivetest.Pairs(tickhivetest.Pair{Code: "A_B", PriceDigits: -1})},

		"leave out RealClock": {tickhivetest.RealClock(), tickhivetest.Recording("kraken", "none.csv")},

		"give Recording too":                           {tickhivetest.RecordingFlags("--quotes=5")},
		"--PAIR is none of --amount":                   {recording, tickhivetest.RecordingFlags("--PAIR=A_B")},
		"form --NAME=VALUE":                            {recording, tickhivetest.RecordingFlags("pair=A_B")},
		"does not name the pair: give RecordingFlags(": {recording},
		"(RecordingFlags takes the flag)":              {trades(t, "1700000000,x,1\n1700000001,2,1\n")},
		"none.csv":                                     {tickhivetest.Recording("kraken", "none.csv")},
	} {
		p := &probe{TB: t}
		p.run(func() { tickhivetest.Start(p, options...) })
		if !strings.Contains(p.fatal, want) {
			t.Errorf("want %q in %q", want, p.fatal)
		}
	}
}

// After a test nothing of its exchange is left.
func TestNothingIsLeft(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var url string
	t.Run("exchange", func(t *testing.T) {
		x := tickhivetest.Start(t, tickhivetest.Market(1))
		url = x.URL
		x.Advance(time.Minute)
		x.Fault("lost-ack probability=0.5")
		_, _ = x.Client().Balances(t.Context())
		x.Kill()
		x.Restart()
	})
	var stacks strings.Builder
	for _, stack := range strings.Split(allStacks(), "\n\n") {
		if strings.Contains(stack, "github.com/tickhive/") && !strings.Contains(stack, "testing.tRunner") {
			stacks.WriteString(stack + "\n\n")
		}
	}
	if stacks.Len() > 0 {
		t.Errorf("goroutines are left:\n%s", &stacks)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
		t.Error("the socket is left")
	}
	left, err := filepath.Glob(filepath.Join(temp, "*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files are left: %v %v", left, err)
	}
}

func allStacks() string {
	buf := make([]byte, 4<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
