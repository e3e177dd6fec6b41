package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// BenchmarkOrderBatches measures order entry over HTTP in batches of 1,000 limit orders around
// one price, of which about a third trade (docs/internals/performance.md#h10). Client and
// server share the same cores.
func BenchmarkOrderBatches(b *testing.B) {
	in := harness.StartEmpty(b)
	in.Pair("BTC_USDT")
	const orders = 1000
	bodies := make([][]byte, 16)
	rng := uint64(1)
	next := func(n uint64) uint64 {
		rng = rng*6364136223846793005 + 1442695040888963407
		return (rng >> 33) % n
	}
	for i := range bodies {
		body := []byte(`{"commands":[`)
		for j := range orders {
			if j > 0 {
				body = append(body, ',')
			}
			side := "buy"
			if next(2) == 0 {
				side = "sell"
			}
			body = append(body, `{"place":{"currencyPairCode":"BTC_USDT","side":"`+side+`","type":"limit","price":`...)
			body = strconv.AppendUint(body, 64_900+next(200), 10)
			body = append(body, `.50,"amount":0.125,"timeInForce":"`...)
			body = append(body, [2]string{"gtc", "ioc"}[next(2)]+`"}}`...)
		}
		bodies[i] = append(body, `]}`...)
	}
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			resp, err := harness.HTTPClient.Post(in.Internal+"/orders/batch", "application/json",
				bytes.NewReader(bodies[i%len(bodies)]))
			if err != nil {
				b.Error(err)
				return
			}
			n, err := io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK || n < orders*100 {
				b.Errorf("status %d, %d bytes, %v", resp.StatusCode, n, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)*orders/b.Elapsed().Seconds(), "orders/s")
}

// BenchmarkOrderSingle measures one order per request over 32 connections that each wait for
// the response. For comparison it sends the same requests to a route that returns a few
// constant bytes: docs/internals/performance.md#h10 requires half of that rate. The client
// writes and reads bytes and parses nothing else.
func BenchmarkOrderSingle(b *testing.B) {
	in := harness.StartEmpty(b)
	in.Pair("BTC_USDT")
	post := func(path, body string) []byte {
		return []byte("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + strconv.Itoa(len(body)) +
			"\r\n\r\n" + body)
	}
	orders := make([][]byte, 200)
	for i := range orders {
		side := [2]string{"buy", "sell"}[i%2]
		orders[i] = post("/internal/v1/orders",
			`{"currencyPairCode":"BTC_USDT","side":"`+side+`","type":"limit","price":`+
				strconv.Itoa(64_900+i*7919%200)+`.50,"amount":0.125,"timeInForce":"`+[2]string{
				"gtc",
				"ioc",
			}[i/2%2]+`"}`)
	}
	constant := []byte("GET /internal/v1/ready HTTP/1.1\r\nHost: x\r\n\r\n")
	b.Run("order", func(b *testing.B) { benchRequests(b, in, func(i int) []byte { return orders[i%len(orders)] }) })
	b.Run("constant", func(b *testing.B) { benchRequests(b, in, func(int) []byte { return constant }) })
}

func benchRequests(b *testing.B, in *harness.Instance, request func(i int) []byte) {
	const connections = 32
	var done sync.WaitGroup
	b.ResetTimer()
	for c := range connections {
		done.Go(func() {
			conn, err := net.Dial("tcp", strings.TrimPrefix(in.Root, "http://"))
			if err != nil {
				b.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			r := bufio.NewReaderSize(conn, 16<<10)
			for i := c; i < b.N; i += connections {
				if _, err := conn.Write(request(i)); err != nil {
					b.Error(err)
					return
				}
				if err := readAnswer(r); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	done.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// readAnswer reads a response of status 200 to its end.
func readAnswer(r *bufio.Reader) error {
	length := -1
	for line := 0; ; line++ {
		text, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line == 0 && !bytes.HasPrefix(text, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("status line %q", text)
		}
		if n, ok := bytes.CutPrefix(text, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(n))); err != nil {
				return err
			}
		}
		if len(text) == 2 {
			break
		}
	}
	_, err := r.Discard(length)
	return err
}
