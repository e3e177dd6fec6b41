package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const recordedTrades = `time,price,amount,side
2026-01-01T00:00:01Z,100.5,1.25,buy
2026-01-01T00:00:01.5Z,100.4,0.5,sell
2026-01-01T00:01:30Z,100.6,2,buy
`

func TestReplayIsReadyThenFeedsThenHolds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recorded.csv")
	if err := os.WriteFile(file, []byte(recordedTrades), 0o600); err != nil {
		t.Fatal(err)
	}
	in := launch(t, nil, "replay", "--format", "trades", "--pair", "BTC_USDT", "--check", "--hold",
		"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", file)
	in.takeAddresses(in.waitLine("ready "))
	if line := in.waitLine("check "); !strings.Contains(line, " of ") {
		t.Error(line)
	}
	a := in.do("GET", in.public+"/api/deals?currencyPairCode=BTC_USDT", "")
	if strings.Count(a.body, `"id"`) != 3 || !strings.Contains(a.body, `"dealDateUtc":"2026-01-01T00:01:30.0000000Z"`) {
		t.Errorf("%s", a.body)
	}
	in.signal(syscall.SIGTERM)
	if code := in.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestReplayEndsByItself(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recorded.csv")
	if err := os.WriteFile(file, []byte(recordedTrades), 0o600); err != nil {
		t.Fatal(err)
	}
	in := launch(t, nil, "replay", "--format", "trades", "--quiet", "--pair", "BTC_USDT",
		"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", file)
	if code := in.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestABadLineOfAReplayIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recorded.csv")
	if err := os.WriteFile(file, []byte(recordedTrades+"2026-01-01T00:02:00Z,abc,1,buy\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := launch(t, nil, "replay", "--format", "trades", file)
	if code := in.wait(); code == 0 || !strings.Contains(in.stderr.String(), "recorded.csv:5:") {
		t.Errorf("exit code %d: %s", code, in.stderr.String())
	}
}
