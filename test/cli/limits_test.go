package cli

import (
	"strings"
	"syscall"
	"testing"

	"tickhive/test/harness"
)

// The engine's limits determine the meaning of the journal. A replay with other limits would
// accept and refuse different commands and lose acknowledged ones. A start with other limits
// is refused and changes nothing; a start with the directory's limits succeeds.
func TestADirectoryIsReplayedByItsOwnLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := harness.StartEmpty(t, "--data-dir", dir)
	first.Pair("BTC_USDT")
	hash := first.Do("GET", first.Internal+"/state-hash", "").Body
	first.Signal(syscall.SIGKILL)
	<-first.Exited
	for _, limit := range []string{
		"engine.account_orders=1", "engine.open_orders=16777216",
		"engine.account_stops=201",
	} {
		other := harness.Serve(t, nil, "--data-dir",
			dir,
			"--pairs", "none", "--sim", "off", "--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z",
			"--set", limit)
		key, _, _ := strings.Cut(limit, "=")
		if code := other.Wait(); code != 2 || !strings.Contains(other.Stderr.String(), key) {
			t.Errorf("%s: exit code %d: %s", limit, code, other.Stderr.String())
		}
	}
	again := harness.StartEmpty(t, "--data-dir", dir, "--set", "engine.account_orders=1048576", "--set",
		"engine.account_stops=0")
	if got := again.Do("GET", again.Internal+"/state-hash", "").Body; got != hash {
		t.Errorf("state %s, was %s", got, hash)
	}
}
