package cluster

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// The year of candles that the first start makes is on a replica, in a restored directory and after a restart, in each
// interval that reaches so far back. Another seed has another year.
func TestTheYearOfTheFirstStartIsEverywhere(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	at, dir, config := harness.StreamAddress(t), t.TempDir(), harness.WriteConfig(t, "")
	args := []string{
		"--config", config, "--data-dir", dir, "--quiet", "--journal", "embedded", "--set", "stream.listen=" + at,
		"--set", "rate.allow=127.0.0.1",
	}
	now := time.Now().UTC()
	year := func(in *harness.Instance) string {
		t.Helper()
		var all strings.Builder
		for _, of := range []struct {
			interval string
			until    time.Time // when the candles no longer change
			least    int
		}{
			{"day", now.AddDate(0, 0, -10), 345},
			{"month", time.Date(now.Year(), now.Month(), 0, 0, 0, 0, 0, time.UTC), 10},
		} {
			a := in.Do("GET", fmt.Sprintf("%s/api/ohlc?currencyPairCode=BTC_USDT&interval=%s&start=%s&end=%s",
				in.Public,
				of.interval, now.AddDate(0, 0, -360).Format(time.DateOnly), of.until.Format(time.DateOnly)), "")
			var candles []map[string]any
			if err := json.Unmarshal([]byte(a.Body), &candles); err != nil || a.Status != 200 ||
				len(candles) < of.least {
				t.Fatalf("%s: status %d, %d candles, want %d: %v %.300s", of.interval, a.Status, len(candles), of.least,
					err, a.Body)
			}
			all.WriteString(a.Body)
		}
		return all.String()
	}
	same := func(what, want string, in *harness.Instance) {
		t.Helper()
		if got := year(in); got != want {
			t.Errorf("%s: %.600s\nwant %.600s", what, got, want)
		}
	}
	writer := harness.Start(t, args...)
	first := year(writer)
	same("a replica", first, harness.StartReplica(t, at))
	backup, restored := filepath.Join(t.TempDir(), "b.snap"), filepath.Join(t.TempDir(), "restored")
	for _, words := range [][]string{
		{"backup", "--internal", strings.TrimPrefix(writer.Root, "http://"), "--quiet", backup}, {
			"restore", backup,
			restored,
		},
	} {
		if code, out, errs := harness.Run(t, words...); code != 0 {
			t.Fatalf("%q: exit code %d: %s%s", words, code, out, errs)
		}
	}
	same("a restored directory", first, harness.Start(t, "--config", config, "--data-dir", restored, "--quiet"))
	writer.Signal(syscall.SIGKILL)
	writer.Wait()
	writer = harness.Start(t, args...)
	same("a restart after a kill", first, writer)
	writer.Signal(syscall.SIGTERM)
	writer.Wait()
	same("a restart after a stop", first, harness.Start(t, args...))
	other := harness.Start(t, "--config", config, "--data-dir", t.TempDir(), "--quiet", "--seed", "7")
	if year(other) == first {
		t.Error("another seed has the same year: the comparison shows nothing")
	}
}
