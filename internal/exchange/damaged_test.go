package exchange_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
)

// A start that passes a damaged snapshot over says so and sets it aside, so that it is
// not counted as one of the two retained ones. The state is the same.
func TestADamagedSnapshotIsReportedAndSetAside(t *testing.T) {
	o := exchangetest.Options(t.TempDir())
	o.Journal.SnapshotBytes, o.Journal.Keep = 4096, exchange.KeepAll
	first := exchangetest.Start(t, o)
	first.Pair("BTC_USDT")
	for len(exchangetest.Files(t, o.Dir, "engine/*.snap")) < 2 {
		first.Limit("BTC_USDT", "buy", "1", "1")
	}
	hash := first.Hash()
	o.Dir = first.Kill()
	snapshots := exchangetest.Files(t, o.Dir, "engine/*.snap")
	newest := snapshots[len(snapshots)-1]
	flip(t, newest)

	next := exchangetest.Start(t, o)
	if got := next.Hash(); got != hash {
		t.Errorf("%s, was %s", got, hash)
	}
	status := next.Do("GET", next.Public+"/api/status", "").Body
	if !strings.Contains(status, "damaged snapshot ignored; using the previous one") ||
		strings.Contains(status, newest) {
		t.Errorf("the status does not report a snapshot, or names its file to everybody: %s", status)
	}
	if own := next.Do("GET", next.Internal+"/incidents", "").Body; !strings.Contains(own, newest) {
		t.Errorf("the operator does not see that %s is damaged: %s", newest, own)
	}
	if _, err := os.Stat(newest + ".damaged"); err != nil {
		t.Error(err)
	}
}

// flip changes a bit in the middle of a file.
func flip(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		b[len(b)/2] ^= 1
		err = os.WriteFile(name, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
