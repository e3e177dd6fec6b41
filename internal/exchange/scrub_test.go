package exchange_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/setting"
)

// scrubbed waits until scrubs have ended at least n times and returns the metrics.
func scrubbed(t *testing.T, x *exchangetest.Rig, n int) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		m := x.Do("GET", strings.TrimSuffix(x.Internal, "/internal/v1")+"/metrics", "").Body
		_, count, _ := strings.Cut(m, "\ntickhive_scrubs_total ")
		count, _, _ = strings.Cut(count, "\n")
		if ended, err := strconv.Atoi(count); err == nil && ended >= n {
			return m
		}
		if time.Now().After(end) {
			t.Fatalf("no scrub number %d in\n%s", n, m)
		}
	}
}

// A scrub of a running exchange that takes orders finds nothing. One flipped bit in a segment that no start
// would read is an incident, once, and a metric.
func TestAScrubFindsDamage(t *testing.T) {
	o := exchangetest.Options(t.TempDir())
	o.Journal.SegmentBytes, o.Journal.Keep = 4096, exchange.KeepAll
	o.Journal.ScrubEvery = setting.Duration(time.Millisecond)
	o.Pairs = []*engine.Instrument{{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 5}}
	x := exchangetest.Start(t, o)
	for i := range int64(300) {
		b := sequencer.Batch{Commands: []engine.Command{
			{Kind: engine.Place, Side: engine.Side(i % 2), Price: 1_000_000 + i%3, Amount: 1000 + i},
		}}
		if err := x.Submit(&b); err != nil {
			t.Fatal(err)
		}
	}
	if m := scrubbed(t, x, 3); !strings.Contains(m, "\ntickhive_scrub_damaged_files 0\n") || x.Incidents() != 0 {
		t.Fatalf("%d incidents\n%s", x.Incidents(), x.Log)
	}
	name := exchangetest.Files(t, filepath.Join(o.Dir, "engine"), "*.wal")[1]
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var bit [1]byte
	if _, err := f.ReadAt(bit[:], 2000); err != nil {
		t.Fatal(err)
	}
	bit[0] ^= 4
	if _, err := f.WriteAt(bit[:], 2000); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); x.Incidents() == 0; {
		if time.Now().After(end) {
			t.Fatal("no incident")
		}
	}
	for end := time.Now().Add(time.Minute); ; {
		m := x.Do("GET", strings.TrimSuffix(x.Internal, "/internal/v1")+"/metrics", "").Body
		if strings.Contains(m, "\ntickhive_scrub_damaged_files 1\n") {
			break
		}
		if time.Now().After(end) {
			t.Fatal(m)
		}
	}
	x.Stop()
	status := x.Log.String()
	if n := strings.Count(status, "incident=damage"); n != 1 || !strings.Contains(status, filepath.Base(name)) {
		t.Errorf("%d incidents of damage:\n%s", n, status)
	}
}
