package public_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/servertest"
)

// renderMarket returns a market of n pairs, each with trades and at least 40 levels per side.
func renderMarket(n, levels int) *benchMarket {
	m := newDirect()
	for i := range n {
		code := fmt.Sprintf("P%04d_USDT", i)
		m.pair(code)
		for k := int64(1); k <= int64(levels); k++ {
			m.limit(code, engine.Buy, 6_500_000-k, k*12_345_678)
			m.limit(code, engine.Sell, 6_500_000+k, k*54_321_012)
		}
		m.limit(code, engine.Buy, 6_500_001, 1)
	}
	return m
}

// BenchmarkRender measures docs/internals/performance.md#h4: a document after one change,
// allocation included. The change itself is measured separately, to subtract it.
func BenchmarkRender(b *testing.B) {
	for _, c := range []struct {
		name, target  string
		pairs, levels int
	}{
		{"book40x40", "/api/orderbook?currencyPairCode=P0000_USDT", 1, 60},
		{"aggBook40x40", servertest.Agg + "/orderbook?depth=100&ticker_id=P0000_USDT", 1, 50},
		{"tickers100", servertest.Agg + "/tickers", 100, 2},
		{"tickers1000", servertest.Agg + "/tickers", 1000, 2},
	} {
		m := renderMarket(c.pairs, c.levels)
		machine := servertest.StartNs
		o := m.options()
		o.MachineNs = func() int64 { machine += 10_000_000; return machine }
		s, err := edge.New(o)
		l := serveBench(b, s, err)
		request := []byte("GET " + c.target + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
		// A trade at the touch: the ticker, the first page and every document change.
		m.limit("P0000_USDT", engine.Buy, 6_500_000, 1<<50)
		change := func() { m.limit("P0000_USDT", engine.Sell, 6_500_000, 1) }
		b.Run(c.name+"/unchanged", func(b *testing.B) {
			runCPU(b, l, &feedConn{requests: request, each: 1, left: b.N})
		})
		b.Run(c.name+"/change-alone", func(b *testing.B) {
			start := cpuNs()
			for range b.N {
				change()
			}
			b.ReportMetric(float64(cpuNs()-start)/float64(b.N), "cpu-ns/op")
		})
		b.Run(c.name+"/changed-each-time", func(b *testing.B) {
			runCPU(b, l, &feedConn{requests: request, each: 1, left: b.N, change: change})
		})
	}
}

// cpuNs returns the CPU time of this process.
func cpuNs() int64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return r.Utime.Nano() + r.Stime.Nano()
}

// TestH1Ratio prints CPU per answer of the real handlers against constant bytes over TCP
// (docs/internals/performance.md#h1), with client and server in one process and the same client
// for both.
func TestH1Ratio(t *testing.T) {
	if os.Getenv("TICKHIVE_BENCH") != "1" {
		t.Skip("a measurement, not a check: TICKHIVE_BENCH=1")
	}
	m := renderMarket(100, 60)
	real, err := edge.New(m.options())
	if err != nil {
		t.Fatal(err)
	}
	real.SetReady()
	for _, target := range []string{
		"/api/tickers?currencyPairCode=P0000_USDT", servertest.Agg +
			"/orderbook?depth=100&ticker_id=P0000_USDT", servertest.Agg +
			"/tickers", "/api/orderbook?currencyPairCode=P0000_USDT",
	} {
		body := ""
		best := map[string]float64{}
		for round := range 7 {
			for _, kind := range []string{"real", "constant"} {
				s := real
				if kind == "constant" {
					if s, err = edge.NewConstant(m.options(), []byte(body)); err != nil {
						t.Fatal(err)
					}
				}
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				go func() { _ = s.Serve(ln) }()
				ns, got := hammer(t, ln.Addr().String(), target, 20_000)
				_ = ln.Close()
				if body == "" {
					body = got
				}
				if best[kind] == 0 || ns < best[kind] {
					best[kind] = ns
				}
				_ = round
			}
		}
		t.Logf("%-60s %6d B real %.2f us constant %.2f us, ratio %.3f (client included in both)", target, len(body),
			best["real"]/1e3, best["constant"]/1e3, best["real"]/best["constant"])
	}
}

// hammer sends n requests on one connection, 16 requests apart, and returns CPU ns per answer.
func hammer(t *testing.T, addr, target string, n int) (float64, string) {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request := []byte("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
	buf := make([]byte, 1<<20)
	read := func() string {
		have := 0
		for {
			k, err := conn.Read(buf[have:])
			if err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			have += k
			if head, length := headOf(buf[:have]); head > 0 && have >= head+length {
				return string(buf[head : head+length])
			}
		}
	}
	if _, err := conn.Write(request); err != nil {
		t.Fatal(err)
	}
	body := read()
	start := cpuNs()
	for range n {
		if _, err := conn.Write(request); err != nil {
			t.Fatal(err)
		}
		have, want := 0, -1
		for want < 0 || have < want {
			k, err := conn.Read(buf[have:])
			if err != nil {
				t.Fatal(err)
			}
			have += k
			if want < 0 {
				if head, length := headOf(buf[:have]); head > 0 {
					want = head + length
				}
			}
		}
	}
	return float64(cpuNs()-start) / float64(n), body
}

// headOf returns the length of the head and of the body that the head announces.
func headOf(b []byte) (head, length int) {
	end := indexOf(b, "\r\n\r\n")
	at := indexOf(b, "Content-Length: ")
	if end < 0 || at < 0 {
		return 0, 0
	}
	for _, c := range b[at+16:] {
		if c < '0' || c > '9' {
			break
		}
		length = length*10 + int(c-'0')
	}
	return end + 4, length
}

func indexOf(b []byte, s string) int {
	for i := 0; i+len(s) <= len(b); i++ {
		if string(b[i:i+len(s)]) == s {
			return i
		}
	}
	return -1
}
