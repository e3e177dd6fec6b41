package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/datadir"

	"github.com/tickhive/tickhive/test/harness"
)

// startOf returns the arguments of a start in a data directory, on free ports.
func startOf(dir string, args ...string) []string {
	return append([]string{"serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir", dir},
		args...)
}

// runOnce starts the program in dir, stops it when it is ready and returns its log.
func runOnce(t *testing.T, dir string, args ...string) string {
	t.Helper()
	in := harness.Launch(t, nil, startOf(dir, args...)...)
	in.WaitLine("ready ")
	in.Signal(syscall.SIGTERM)
	in.EndsClean(dir)
	return in.Stderr.String()
}

// startRefused checks that a start ends before it listens, with exit code 2 and an error that
// contains these texts.
func startRefused(t *testing.T, args []string, want ...string) {
	t.Helper()
	in := harness.Launch(t, nil, args...)
	code := in.Wait()
	if code != 2 {
		t.Errorf("%v: exit code %d: %s", args, code, in.Stderr.String())
	}
	for line := range in.Lines {
		t.Errorf("%v: it said %q", args, line)
	}
	for _, w := range want {
		if !strings.Contains(in.Stderr.String(), w) {
			t.Errorf("%v: no %q in %s", args, w, in.Stderr.String())
		}
	}
}

// files returns the files of a directory with their contents, except the lock.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" {
			return err
		}
		raw, err := os.ReadFile(path)
		all[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var virtual2026 = []string{"--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z"}

// A directory keeps its kind of clock. A start with the other kind is refused with a remedy
// and changes nothing.
func TestADirectoryKeepsItsKindOfClock(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for _, c := range []struct {
		kind, remedy string
		own, other   []string
	}{
		{"real", "without --clock virtual", nil, virtual2026},
		{"virtual", "with --clock virtual", virtual2026, nil},
	} {
		dir := t.TempDir()
		runOnce(t, dir, c.own...)
		before := files(t, dir)
		startRefused(t, startOf(dir, c.other...), "clock.mode",
			"the data directory "+dir+" was begun with a "+c.kind+" clock", c.remedy, "--data-dir")
		startRefused(t, startOf(dir, append([]string{"--backfill", "1h", "--seed", "9"}, c.other...)...),
			"clock.mode")
		after := files(t, dir)
		for name := range after {
			if after[name] != before[name] {
				t.Errorf("%s clock: a refused start changed %s: %s", c.kind, name, after[name])
			}
		}
		if len(after) != len(before) {
			t.Errorf("%s clock: %d files, %d before", c.kind, len(after), len(before))
		}
		if said := runOnce(t, dir, c.own...); strings.Contains(said, "level=WARN") {
			t.Errorf("%s", said)
		}
		if meta, err := datadir.ReadMeta(dir); err != nil || meta.Clock != c.kind || meta.Pairs != "builtin" {
			t.Errorf("%v, recorded as %q, pairs %q", err, meta.Clock, meta.Pairs)
		}
		if raw, _ := os.ReadFile(filepath.Join(dir, "meta.json")); !bytes.Contains(raw,
			[]byte(`"clock": "`+c.kind+`"`)) {
			t.Errorf("%s", raw)
		}
	}
}

// A start without a market fixes nothing in the directory: one whose port is in use, and one
// that is stopped during its backfill.
func TestAStartWithoutAMarketLeavesTheClockOpen(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	dir := t.TempDir()
	taken := strings.TrimPrefix(harness.StartEmpty(t).Public, "http://")
	for range 2 {
		in := harness.Launch(t, nil, startOf(dir, "--listen", taken, "--seed", "3")...)
		if code := in.Wait(); code != 1 || !strings.Contains(in.Stderr.String(), "server.listen") {
			t.Errorf("exit code %d: %s", code, in.Stderr.String())
		}
	}
	in := launchAt(t, dir, append([]string{"--backfill", "60d", "--seed", "4"}, virtual2026...)...)
	in.WaitUnderWay()
	endsWithinItsStart(in)
	runOnce(t, dir, "--backfill", "10m", "--seed", "5")
	if meta, err := datadir.ReadMeta(dir); err != nil || meta.Clock != "real" || meta.Seed != 5 ||
		meta.ClockStartNs != 0 {
		t.Errorf("%v %+v", err, meta)
	}
	if _, err := os.Stat(filepath.Join(dir, "CLOCK")); !os.IsNotExist(err) {
		t.Errorf("the file of a virtual clock in the directory of a real one: %v", err)
	}
	startRefused(t, startOf(dir, virtual2026...), "was begun with a real clock")
}

// A setting that a used directory cannot apply is refused where it would mislead, and reported
// in one line where it is harmless.
func TestAUsedDirectorySaysWhatHasNoEffect(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	dir := t.TempDir()
	if said := runOnce(t, dir, "--backfill", "10m", "--seed", "5"); strings.Contains(said, "is left out") {
		t.Errorf("the first start: %s", said)
	}
	const left = "the data directory %s has a market already, which goes on; the backfill of 25h0m0s is left out"
	said := runOnce(t, dir, "--backfill", "25h") // make run a second time
	if strings.Count(said, strings.ReplaceAll(left, "%s", dir)) != 1 {
		t.Errorf("%s", said)
	}
	startRefused(t, startOf(dir, "--seed", "6"), "sim.seed", dir+" was begun with seed 5", "--seed", "--data-dir")
	startRefused(t, startOf(dir, "--set", "sim.seed=1"), "sim.seed")
	runOnce(t, dir, "--seed", "5")
	if meta, err := datadir.ReadMeta(dir); err != nil || meta.Seed != 5 {
		t.Errorf("%v, seed %d", err, meta.Seed)
	}
	if said := runOnce(t, dir, "--pairs", "none"); strings.Count(said,
		dir+" has the configured pairs already; none takes no pair away") != 1 {
		t.Errorf("%s", said)
	}
	file := harness.WriteConfig(t,
		"[[assets]]\nsymbol = \"BTC\"\n[[assets]]\nsymbol = \"USDT\"\nname = \"Tether\"\n[[pairs]]\ncode = "+
			"\"BTC_USDT\"\ndigits_price = 4\ndigits_amount = 4\nreference = \"65000\"\n")
	if said := runOnce(t, dir, "--config", file); strings.Count(said, "take precedence") != 1 ||
		!strings.Contains(said, "BTC_USDT") || strings.Contains(said, "ETH_USDT") {
		t.Errorf("%s", said)
	}
	if said := runOnce(t, dir); strings.Contains(said, "take precedence") || strings.Contains(said, "left out") {
		t.Errorf("a start that asks for nothing else: %s", said)
	}
}

// A virtual clock continues from its last time. Its original start may remain on the command
// line. Another earlier start is refused; a later start moves the clock.
func TestTheStartOfAUsedVirtualClock(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	dir := t.TempDir()
	in := harness.Start(t, append([]string{"--data-dir", dir, "--backfill", "10m"}, virtual2026...)...)
	expect(t, in.Call(200, "GET", "/clock", ""), map[string]string{"now": "1767225600000"})
	in.Call(200, "POST", "/clock", `{"advance":"2h"}`)
	deals := in.Do("GET", in.Public+"/api/deals?currencyPairCode=BTC_USDT&pageSize=1", "").Body
	in.Signal(syscall.SIGKILL)
	<-in.Exited

	moved := map[string]string{"now": "1767232800000"}
	for _, args := range [][]string{nil, virtual2026[2:], append([]string{"--backfill", "10m"}, virtual2026[2:]...)} {
		in = harness.Start(t, append([]string{"--data-dir", dir, "--clock", "virtual"}, args...)...)
		expect(t, in.Call(200, "GET", "/clock", ""), moved)
		if again := in.Do("GET", in.Public+"/api/deals?currencyPairCode=BTC_USDT&pageSize=1", "").Body; again != deals {
			t.Errorf("%v: the last deal is %s, before %s", args, again, deals)
		}
		in.Signal(syscall.SIGTERM)
		in.EndsClean(dir)
		if n := strings.Count(in.Stderr.String(),
			"goes on from 2026-01-01T02:00:00Z; it was started at 2026-01-01T00:00:00Z"); n != min(len(args), 1) {
			t.Errorf("%v: said %d times: %s", args, n, in.Stderr.String())
		}
	}
	startRefused(t, startOf(dir, "--clock", "virtual", "--clock-start", "2026-01-01T01:00:00Z"),
		"clock.start", "2026-01-01T01:00:00Z is before 2026-01-01T02:00:00Z", dir, "--clock-start", "--data-dir")
	in = harness.Start(t, "--data-dir", dir, "--clock", "virtual", "--clock-start", "2026-01-03T00:00:00Z")
	expect(t, in.Call(200, "GET", "/clock", ""), map[string]string{"now": "1767398400000"})
	// The simulated market did not run in between: it continues from the new time.
	in.Call(200, "POST", "/clock", `{"advance":"10s"}`)
	list := in.Do("GET", in.Public+"/api/deals?currencyPairCode=BTC_USDT&pageSize=100", "").Body
	if strings.Contains(list, `"dealDateUtc":"2026-01-02`) || strings.Count(list, "2026-01-03T00:00:0") < 2 ||
		strings.Count(list, "2026-01-03T00:00:00.0000000Z") > 2 {
		t.Errorf("%.2000s", list)
	}
}

// Settings that another setting makes ineffective are refused before anything is created.
func TestSettingsWithoutEffectAreRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{
			[]string{"--clock-start", "2026-01-01T00:00:00Z"},
			"--clock-start (clock.start): a real clock shows the machine's time; add --clock virtual",
		},
		{[]string{"--clock", "real", "--set", "clock.start=2026-01-01T00:00:00Z"}, "clock.start"},
		{[]string{"--sim", "off", "--backfill", "1h"}, "sim.backfill"},
		{[]string{"--pairs", "none", "--backfill", "1h"}, "sim.backfill"},
		{[]string{"--pairs", "none", "--sim", "on"}, "sim.enabled"},
		{[]string{"--backfill", "soon"}, "sim.backfill"},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		startRefused(t, startOf(dir, c.args...), c.want)
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%v: the directory was made: %v", c.args, err)
		}
	}
}
