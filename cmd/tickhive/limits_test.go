package main

import (
	"strings"
	"syscall"
	"testing"
)

// The engine's limits determine the meaning of the journal. A replay with other limits would
// accept and refuse different commands and lose acknowledged ones. A start with other limits
// is refused and changes nothing; a start with the directory's limits succeeds.
func TestADirectoryIsReplayedByItsOwnLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startEmpty(t, "--data-dir", dir)
	first.pair("BTC_USDT")
	hash := first.do("GET", first.internal+"/state-hash", "").body
	first.signal(syscall.SIGKILL)
	<-first.exited
	for _, limit := range []string{
		"engine.account_orders=1", "engine.open_orders=16777216",
		"engine.account_stops=201",
	} {
		other := launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir",
			dir,
			"--pairs", "none", "--sim", "off", "--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z",
			"--set", limit)
		key, _, _ := strings.Cut(limit, "=")
		if code := other.wait(); code != 2 || !strings.Contains(other.stderr.String(), key) {
			t.Errorf("%s: exit code %d: %s", limit, code, other.stderr.String())
		}
	}
	again := startEmpty(t, "--data-dir", dir, "--set", "engine.account_orders=1048576", "--set",
		"engine.account_stops=0")
	if got := again.do("GET", again.internal+"/state-hash", "").body; got != hash {
		t.Errorf("state %s, was %s", got, hash)
	}
}
