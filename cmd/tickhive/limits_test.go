package main

import (
	"strings"
	"syscall"
	"testing"
)

// The limits of the engine belong to the meaning of the journal: with others its commands
// would be accepted and refused differently, and what was acknowledged be gone. Another
// limit is refused and nothing is changed; the directory's own go on.
func TestADirectoryIsReplayedByItsOwnLimits(t *testing.T) {
	dir := t.TempDir()
	first := startEmpty(t, "--data-dir", dir)
	first.pair("BTC_USDT")
	hash := first.do("GET", first.internal+"/state-hash", "").body
	first.signal(syscall.SIGKILL)
	<-first.exited
	for _, limit := range []string{"engine.account_orders=1", "engine.open_orders=16777216"} {
		other := launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir", dir,
			"--pairs", "none", "--sim", "off", "--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z", "--set", limit)
		key, _, _ := strings.Cut(limit, "=")
		if code := other.wait(); code != 2 || !strings.Contains(other.stderr.String(), key) {
			t.Errorf("%s: exit code %d: %s", limit, code, other.stderr.String())
		}
	}
	again := startEmpty(t, "--data-dir", dir, "--set", "engine.account_orders=1048576")
	if got := again.do("GET", again.internal+"/state-hash", "").body; got != hash {
		t.Errorf("state %s, was %s", got, hash)
	}
}
