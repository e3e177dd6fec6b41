package main

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"testing"
)

// BenchmarkOrderBatches is order entry over HTTP in batches of 1,000 limit orders around
// one price, of which about a third trade (performance.md, H10), with client and server
// on the same cores.
func BenchmarkOrderBatches(b *testing.B) {
	in := startEmpty(b)
	in.pair("BTC_USDT")
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
			resp, err := httpClient.Post(in.internal+"/orders/batch", "application/json", bytes.NewReader(bodies[i%len(bodies)]))
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
