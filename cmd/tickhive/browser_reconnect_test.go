package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// lineState selects whether a line passes bytes.
type lineState int

const (
	lineUp     lineState = iota
	lineCut              // connections are closed, new ones immediately
	lineFrozen           // connections stay open, no bytes pass: a sleeping laptop, a lost network
)

// line is a TCP proxy in front of the program, which a test can cut and freeze.
type line struct {
	t      *testing.T
	ln     net.Listener
	target string

	mu    sync.Mutex
	moved *sync.Cond
	state lineState
	conns map[net.Conn]struct{}
}

func newLine(t *testing.T, target string) *line {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{t: t, ln: ln, target: u.Host, conns: map[net.Conn]struct{}{}}
	l.moved = sync.NewCond(&l.mu)
	var all sync.WaitGroup
	all.Go(func() { l.accept(&all) })
	t.Cleanup(func() {
		_ = ln.Close()
		l.set(lineCut)
		all.Wait()
	})
	return l
}

func (l *line) url() string { return "http://" + l.ln.Addr().String() }

// set changes the state. lineCut closes every connection.
func (l *line) set(s lineState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
	l.moved.Broadcast()
	if s == lineCut {
		for c := range l.conns {
			_ = c.Close()
		}
	}
}

func (l *line) accept(all *sync.WaitGroup) {
	for {
		in, err := l.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", l.target)
		if err != nil || !l.add(in, out) {
			_ = in.Close()
			continue
		}
		all.Go(func() { l.copy(out, in) })
		all.Go(func() { l.copy(in, out) })
	}
}

// add registers a pair of connections, unless the line is cut.
func (l *line) add(in, out net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == lineCut {
		_ = out.Close()
		return false
	}
	l.conns[in], l.conns[out] = struct{}{}, struct{}{}
	return true
}

func (l *line) copy(dst, src net.Conn) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, c := range []net.Conn{dst, src} {
			_ = c.Close()
			delete(l.conns, c)
		}
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		l.mu.Lock()
		for l.state == lineFrozen {
			l.moved.Wait()
		}
		l.mu.Unlock()
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// candle is one candle of /api/ohlc.
type candle struct {
	Date                              string
	Open, Max, Min, Close, VolumeBase json.Number
}

// candles returns the candles of /api/ohlc in the form of the page's hook: time, open, high,
// low, close and volume, one candle per line.
func (in *instance) candles(pair, interval string) (text string, n int) {
	in.t.Helper()
	a := in.do("GET", fmt.Sprintf("%s/api/ohlc?currencyPairCode=%s&interval=%s&start=2020-01-01&end=2100-01-01",
		in.public, pair, interval), "")
	var rows []candle
	if err := json.Unmarshal([]byte(a.body), &rows); err != nil || a.status != 200 {
		in.t.Fatalf("/api/ohlc: %d %v %.300s", a.status, err, a.body)
	}
	var b strings.Builder
	for _, r := range rows {
		at, err := time.Parse("2006-01-02T15:04:05", r.Date)
		if err != nil {
			in.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d", at.Unix())
		for _, f := range []json.Number{r.Open, r.Max, r.Min, r.Close, r.VolumeBase} {
			v, err := f.Float64()
			if err != nil {
				in.t.Fatal(err)
			}
			fmt.Fprintf(&b, " %.8f", v)
		}
		b.WriteByte('\n')
	}
	return b.String(), len(rows)
}

// drawn returns the candles of the page's chart in the same form.
const drawn = `(globalThis.tickhive?.candles() ?? []).map((c) => [c.time, ...[c.open, c.high, c.low, c.close, ` +
	`c.volume].map((v) => v.toFixed(8))].join(' ') + '\n').join('')`

// drawsAll waits until the chart shows exactly the candles of the API.
func (b *browser) drawsAll(what string, api *instance, pair, interval string) (candles string, n int) {
	b.t.Helper()
	candles, n = api.candles(pair, interval)
	b.wait(what+fmt.Sprintf(": the %d candles of /api/ohlc", n),
		fmt.Sprintf(`%s === %q`, drawn, candles))
	return candles, n
}

// tradeFor makes trades over the given minutes: some with three trades, some with none.
func tradeFor(in *instance, pair string, from, minutes int) {
	in.t.Helper()
	for i := from; i < from+minutes; i++ {
		if i%5 != 3 {
			for j := range 3 {
				price := fmt.Sprint(100 + (i*7+j*13)%40)
				in.limit(pair, "sell", price, "0.5")
				in.limit(pair, "buy", price, "0.5")
			}
		}
		in.call(200, "POST", "/clock", `{"advance":"25s"}`)
		in.limit(pair, "sell", "111", "0.25")
		if i%5 != 3 {
			in.limit(pair, "buy", "111", "0.25")
		}
		in.call(200, "POST", "/clock", `{"advance":"35s"}`)
	}
}

// After a lost connection every candle of the chart equals /api/ohlc: those of the time
// without a connection, the one that was open when it broke, and those afterwards. Meanwhile
// the page says that it is reconnecting. A cut line closes its connections; a frozen one gives
// no sign.
func TestBrowserChartAfterALostConnection(t *testing.T) {
	t.Parallel()
	in := startEmpty(t)
	in.pair("CC_USDT")
	tradeFor(in, "CC_USDT", 0, 20)
	l := newLine(t, in.public)
	through := *in
	through.public = l.url()
	b := newBrowser(t, &through, 1280, 800)
	b.open("/")
	b.live()
	b.signIn(in.funded("lost"))
	b.equalsTheAPI("at first", in, "CC_USDT")
	const trading = `!document.querySelector('.ticket .main').disabled`
	b.wait("trading is on", trading)
	if _, n := b.drawsAll("at first", in, "CC_USDT", "minute"); n < 10 {
		t.Fatalf("only %d candles to begin with", n)
	}
	for at, state := range []lineState{lineCut, lineFrozen} {
		// A candle is open when the connection breaks, and its trading continues.
		in.limit("CC_USDT", "sell", "131", "1")
		in.limit("CC_USDT", "buy", "131", "1")
		before, n := b.drawsAll("live", in, "CC_USDT", "minute")
		l.set(state)
		b.wait("the page says so", `document.getElementById('link').textContent === 'reconnecting'`)
		b.shot("reconnecting")
		tradeFor(in, "CC_USDT", 100*(at+1), 11)
		missed, more := in.candles("CC_USDT", "minute")
		if more < n+8 || strings.HasPrefix(missed, before) {
			t.Fatalf("%d candles after %d: nothing was missed", more, n)
		}
		if got := b.js(drawn); got != before {
			t.Errorf("without a connection the chart changed from\n%s\nto\n%s", before, got)
		}
		if word := b.js(`document.getElementById('link').textContent`); word != "reconnecting" {
			t.Errorf("without a connection the page says %q", word)
		}
		if said := b.js(`document.querySelector('.lost').checkVisibility() + ' ' +
			getComputedStyle(document.querySelector('[data-panel=book]'), '::after').content`); said !=
			`true "not live"` {
			t.Errorf("without a connection the page and the book say: %s", said)
		}
		if on := b.js(trading); on != "false" {
			t.Error("without a connection an order can be placed")
		}
		l.set(lineUp)
		b.live()
		b.drawsAll("after the reconnect", in, "CC_USDT", "minute")
		b.equalsTheAPI("after the reconnect", in, "CC_USDT")
		b.wait("trading is on again", trading)
		tradeFor(in, "CC_USDT", 100*(at+1)+50, 2)
		b.drawsAll("afterwards", in, "CC_USDT", "minute")
		b.run(chromedp.Click(`[data-interval="minutes5"]`))
		b.drawsAll("five minutes", in, "CC_USDT", "minutes5")
		b.run(chromedp.Click(`[data-interval="minute"]`))
	}
}

// While candles cannot be loaded the chart says so. It does not show candles of another
// interval or pair under the new label, and it recovers by itself.
func TestBrowserChartThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	in := startEmpty(t)
	in.pair("CC_USDT")
	tradeFor(in, "CC_USDT", 0, 20)
	b := newBrowser(t, in, 1280, 800)
	b.open("/")
	b.drawsAll("at first", in, "CC_USDT", "minute")
	block := func(blocked bool) {
		command(b, network.SetBlockedURLs, network.SetBlockedURLsParams{
			URLPatterns: []*network.BlockPattern{{URLPattern: in.public + "/udf/history*", Block: blocked}},
		})
	}
	block(true)
	b.run(chromedp.Click(`[data-interval="minutes5"]`))
	b.wait("the chart says that it is not loaded",
		`/could not be loaded/.test(document.querySelector('[data-panel=chart] [role=status]').innerText)`)
	if got := b.js(drawn); got != "" {
		t.Errorf("under 5m the chart shows\n%s", got)
	}
	in.limit("CC_USDT", "sell", "131", "1")
	in.limit("CC_USDT", "buy", "131", "1")
	block(false)
	b.drawsAll("healed", in, "CC_USDT", "minutes5")
	b.wait("the notice is gone",
		`document.querySelector('[data-panel=chart] [role=status]').innerText === ''`)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		if !strings.Contains(w, "/udf/history") || !strings.Contains(w, "BLOCKED") {
			t.Errorf("noticed: %s", w)
		}
	}
}
