package cli

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// The engine's limits are a part of the state: a start with others writes a record. Each record is replayed by the
// limits that were in force, so the state stays, and journal verify, which reads no configuration, prints it.
func TestADirectoryIsReplayedByItsOwnLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := harness.StartEmpty(t, "--data-dir", dir)
	first.Pair("BTC_USDT")
	market := func(in *harness.Instance) string {
		answer := in.Do("GET", in.Internal+"/state-hash", "").Body
		return fmt.Sprint(harness.Object(t, answer)["pairs"])
	}
	hash := market(first)
	first.Signal(syscall.SIGKILL)
	<-first.Exited
	for i, limit := range []string{
		"engine.account_orders=1", "engine.open_orders=16777216", "engine.account_stops=201",
	} {
		other := harness.StartEmpty(t, "--data-dir", dir, "--set", limit)
		if got := market(other); got != hash {
			t.Errorf("%s: state %s, was %s", limit, got, hash)
		}
		other.Signal(syscall.SIGKILL)
		<-other.Exited
		code, dump, errs := harness.Run(t, "journal", "dump", dir)
		key, value, _ := strings.Cut(limit, "=")
		if n := strings.Count(dump, `"kind":"set_settings"`); code != 0 || n != i+1 ||
			!strings.Contains(dump, fmt.Sprintf("%q:%s", key, value)) {
			t.Errorf("%s: exit code %d, %d records of settings: %s%s", limit, code, n, dump, errs)
		}
	}
}
