package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// Plain lines of progress appear every two seconds with the share, the rate and the remaining time. The rate is of the
// records since the first report, so what came before (a survey of the files) does not count. A second pass begins
// again.
func TestPlainLinesOfProgressHaveTheirRate(t *testing.T) {
	for unit, want := range map[string]string{
		"records": "replay 25%, 500000 records/s, 6s left\nreplay 50%, 500000 records/s, 4s left\n" +
			"replay 50%, 1000000 records/s, 2s left\nreplay done in 13.5s\n",
		"bytes": "replay 25%, 0.5 MB/s, 6s left\nreplay 50%, 0.5 MB/s, 4s left\n" +
			"replay 50%, 1.0 MB/s, 2s left\nreplay done in 13.5s\n",
		"": "replay 25%, 12.5%/s, 6s left\nreplay 50%, 12.5%/s, 4s left\n" +
			"replay 50%, 25.0%/s, 2s left\nreplay done in 13.5s\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			g := newProgress(&out, "replay", unit, false)
			pass := func(times ...time.Duration) {
				for i, d := range times {
					<-time.After(d)
					g.Set(int64(i)*1_000_000, 4_000_000)
				}
			}
			pass(5*time.Second, 2*time.Second, 2*time.Second, time.Second)
			pass(500*time.Millisecond, time.Second, time.Second, time.Second)
			g.Done()
			if out.String() != want {
				t.Errorf("got\n%s\nwant\n%s", out.String(), want)
			}
		})
	}
	var out bytes.Buffer
	g := newProgress(&out, "replay", "records", true)
	g.Set(1, 2)
	g.Done()
	if out.Len() > 0 {
		t.Errorf("quiet: %s", out.String())
	}
}
