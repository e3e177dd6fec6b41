package cli

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// recorded writes the recorded trades to a file.
func recorded(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "recorded.csv")
	if err := os.WriteFile(file, []byte(harness.RecordedTrades), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReplayIsReadyThenFeedsThenHolds(t *testing.T) {
	t.Parallel()
	file := recorded(t)
	in := harness.Launch(t, nil, "replay", "--format", "trades", "--pair", "BTC_USDT", "--check", "--hold",
		"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", file)
	in.TakeAddresses(in.WaitLine("ready "))
	if line := in.WaitLine("check "); !strings.Contains(line, " of ") {
		t.Error(line)
	}
	a := in.Do("GET", in.Public+"/api/deals?currencyPairCode=BTC_USDT", "")
	if strings.Count(a.Body, `"id"`) != 3 || !strings.Contains(a.Body, `"dealDateUtc":"2026-01-01T00:01:30.0000000Z"`) {
		t.Errorf("%s", a.Body)
	}
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The program carries a recording that says that it is generated. It leaves no file.
func TestReplayOfTheSample(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	in := harness.Launch(t, []string{"TMPDIR=" + temp}, "replay", "--sample", "--check",
		"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0")
	in.WaitLine("check trades 9216 of 9216")
	if code := in.Wait(); code != 0 || !strings.Contains(in.Stderr.String(), "the sample is generated") {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
	for _, args := range [][]string{{"replay"}, {"replay", "--sample", "--format", "tardis"}} {
		if code, out, errs := harness.Run(t, args...); code != 2 {
			t.Errorf("%v: %d %s %s", args, code, out, errs)
		}
	}
}

// The object of a replay that a signal ended says so, and agrees with nothing.
func TestAnInterruptedReplaySaysSo(t *testing.T) {
	t.Parallel()
	in := harness.Launch(t, nil, "replay", "--format", "trades", "--json", "--speed", "1", "--pair", "BTC_USDT",
		"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", recorded(t))
	in.WaitLog("ready public=", 1)
	in.Signal(syscall.SIGINT)
	if line := in.WaitLine("{"); !strings.Contains(line, `"interrupted":true,"agrees":false`) {
		t.Error(line)
	}
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestReplayEndsByItself(t *testing.T) {
	t.Parallel()
	file := recorded(t)
	in := harness.Launch(t, nil, "replay", "--format", "trades", "--quiet", "--pair", "BTC_USDT",
		"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", file)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The name of a file tells a pair with a currency of one letter; where no file tells its pair, the program says so.
func TestAReplaySaysThatItDoesNotKnowThePair(t *testing.T) {
	t.Parallel()
	const said = "the files do not name their pair; name it with --pair"
	for name, c := range map[string]struct {
		pair  string
		knows bool
	}{"WUSDT-trades.csv": {"W_USDT", true}, "recorded.csv": {"BASE_QUOTE", false}} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(harness.RecordedTrades), 0o600); err != nil {
			t.Fatal(err)
		}
		in := harness.Launch(t, nil, "replay", "--format", "trades", "--check", "--hold",
			"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", file)
		in.TakeAddresses(in.WaitLine("ready "))
		in.WaitLine("check ")
		a := in.Do("GET", in.Public+"/api/deals?currencyPairCode="+c.pair, "")
		if strings.Count(a.Body, `"id"`) != 3 {
			t.Errorf("%s: %s", name, a.Body)
		}
		in.Signal(syscall.SIGTERM)
		if code := in.Wait(); code != 0 || strings.Contains(in.Stderr.String(), said) == c.knows {
			t.Errorf("%s: exit code %d, %s", name, code, in.Stderr.String())
		}
	}
}

func TestABadLineOfAReplayIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "recorded.csv")
	if err := os.WriteFile(file, []byte(harness.RecordedTrades+"2026-01-01T00:02:00Z,abc,1,buy\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := harness.Launch(t, nil, "replay", "--format", "trades", file)
	if code := in.Wait(); code == 0 || !strings.Contains(in.Stderr.String(), "recorded.csv:5:") {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
}

// replayOf returns the arguments of a replay on free ports.
func replayOf(file string, args ...string) []string {
	return append([]string{
		"replay", "--format", "trades", "--pair", "BTC_USDT", "--listen", "127.0.0.1:0", "--internal-listen",
		"127.0.0.1:0", file,
	}, args...)
}

// A replay without a data directory writes nothing to disk, however it ends.
func TestAReplayLeavesNothingOnTheDisk(t *testing.T) {
	t.Parallel()
	file, work, temp := recorded(t), t.TempDir(), t.TempDir()
	taken := strings.TrimPrefix(harness.StartEmpty(t).Public, "http://")
	for _, c := range []struct {
		args   []string
		signal syscall.Signal
		code   int
	}{
		{nil, 0, 0},
		{nil, 0, 0}, // a second time in the same folder
		{[]string{"--hold"}, syscall.SIGTERM, 0},
		{[]string{"--hold"}, syscall.SIGINT, 0},
		{[]string{"--loop", "--speed", "1"}, syscall.SIGTERM, 0},
		{[]string{"--listen", taken}, 0, 1},
		{[]string{"--set", "engine.open_orders=-1"}, 0, 2},
	} {
		in := harness.LaunchWith(t, func(cmd *exec.Cmd) { cmd.Dir = work }, []string{"TMPDIR=" + temp},
			replayOf(file, c.args...)...)
		if c.signal != 0 {
			in.WaitLine("ready ")
			in.Signal(c.signal)
		}
		if code := in.Wait(); code != c.code {
			t.Errorf("%v: exit code %d: %s", c.args, code, in.Stderr.String())
		}
		for _, dir := range []string{work, temp} {
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("%v: left in %s: %v %v", c.args, dir, left, err)
			}
		}
	}
}

// A named directory is retained and accepts only trades after its clock.
func TestAReplayKeepsANamedDirectory(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	file, dir := recorded(t), t.TempDir()
	for _, source := range [][]string{{"--data-dir", dir}, {"--set", "data.dir=" + dir}} {
		in := harness.Launch(t, nil, replayOf(file, source...)...)
		if source[0] == "--data-dir" {
			if code := in.Wait(); code != 0 {
				t.Errorf("exit code %d: %s", code, in.Stderr.String())
			}
			continue
		}
		if code := in.Wait(); code != 2 || !strings.Contains(in.Stderr.String(),
			"the files begin at 2026-01-01T00:00:01Z, before 2026-01-01T00:01:30Z, where the clock of the data "+
				"directory "+dir+" is: begin another --data-dir") {
			t.Errorf("exit code %d: %s", code, in.Stderr.String())
		}
	}
	// After a kill the CLOCK file may be behind the journal. The first record is then
	// refused.
	behind := fmt.Appendf(nil, "%019d", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	behind = fmt.Appendf(behind, " %08x\n", crc32.Checksum(behind, crc32.MakeTable(crc32.Castagnoli)))
	if err := os.WriteFile(filepath.Join(dir, "CLOCK"), behind, 0o600); err != nil {
		t.Fatal(err)
	}
	in := harness.Launch(t, nil, replayOf(file, "--data-dir", dir)...)
	if code := in.Wait(); code != 1 || !strings.Contains(in.Stderr.String(),
		"the recording starts before the last record of the data directory "+dir+"; use an empty --data-dir") {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	real := t.TempDir()
	runOnce(t, real)
	startRefused(t, replayOf(file, "--data-dir", real), "was begun with a real clock", "--data-dir DIR")
}

// A replay sets its clock and its market itself. A command line with other values is refused.
func TestAReplayRefusesFlagsThatItDecides(t *testing.T) {
	t.Parallel()
	file := recorded(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{
			[]string{"--clock-start", "2026-01-01T00:00:00Z"},
			"replay: clock.start=2026-01-01T00:00:00Z: the clock starts with the recording",
		},
		{[]string{"--clock", "real"}, "replay: clock.mode=real"},
		{[]string{"--sim", "on"}, "replay: sim.enabled=on"},
		{[]string{"--backfill", "1h"}, "replay: sim.backfill=1h"},
		{[]string{"--set", "market.pairs=builtin"}, "replay: market.pairs=builtin"},
	} {
		startRefused(t, replayOf(file, c.args...), c.want, "remove the setting")
	}
	// settings of serve
	env := []string{"TICKHIVE_SIM_BACKFILL=1h", "TICKHIVE_CLOCK_MODE=real", "TICKHIVE_SIM_ENABLED=on"}
	in := harness.Launch(t, env, replayOf(file, "--sim", "off", "--pairs", "none", "--clock", "virtual")...)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
}

// Flags and files that do not go together end the program with exit code 2, a problem of a file with 1.
func TestAReplayWhoseFlagsDoNotFitItsFilesExitsWithTwo(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	file, dir := recorded(t), t.TempDir()
	message, book, bad := filepath.Join(dir, "m.csv"), filepath.Join(dir, "b.csv"), filepath.Join(dir, "bad.csv")
	for path, text := range map[string]string{
		message: "34200.1,1,7,10,1000000,1\n", book: "1000500,7,1000000,10\n", bad: "1700000000,x,1,buy\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"trades", "--passive", file}, 2, "replay: passive is an option of lobster"},
		{[]string{"trades", "--exchange-time", file}, 2, "the exchange's time is an option of binance and tardis"},
		{[]string{"trades", "--quotes", "0", file}, 2, `replay: quotes "0": want an amount in `},
		{[]string{"lobster", "--quotes", "1", message, book}, 2, "and this one has a book; leave the option out"},
		{[]string{"trades", "--digits", "2", file}, 2, `replay: digits "2": want P,A`},
		{[]string{"trades", "--speed", "fast", file}, 2, `replay: speed "fast"`},
		{[]string{"trades", "--pair", "btc", file}, 2, `replay: pair "btc"`},
		{[]string{"trades", "--from", "noon", file}, 2, `replay: from "noon"`},
		{[]string{"trades", "--from", "2030-01-01", file}, 2, "is after the last record"},
		{[]string{"lobster", "--digits", "2,2", message, book}, 2, "files of this format have 4,0; leave --digits out"},
		{[]string{"lobster", message}, 2, "lobster takes a message file and an orderbook file"},
		{[]string{"bitstamp", file, file}, 2, "bitstamp takes one file"},
		{[]string{"none", file}, 2, `replay: format "none": want one of`},
		{[]string{"trades", bad}, 1, `bad.csv:1:12: price "x"`},
	} {
		args := append([]string{
			"replay", "--quiet", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--format",
		}, c.args...)
		if code, out, errs := harness.Run(t, args...); code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d, want %d and %q: %s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
}

// A replay refuses input that it would misread, before it listens or writes anything.
func TestARefusedReplayStartsAndWritesNothing(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for _, c := range []struct{ format, text, place, found, todo string }{
		{
			"trades", "2024-01-02,10:30:00,100.5,1\n", "x.csv:1:12: ", "split over the columns",
			"join them",
		},
		{
			"trades", "symbol,time,price,amount\nA,1700000000,1,1\nB,1700000000,1,1\n", "x.csv:3:1: ", "symbol \"B\"",
			"one symbol at a time",
		},
		{
			"trades", "timestamp,is_snapshot,side,price,amount\n1700000000,true,bid,1,1\n", "x.csv:1:11: ",
			"is_snapshot",
			"file of trades",
		},
		{
			"trades", "time,price,volume,amount\n1700000000,1,1,1\n", "x.csv:1:19: ", "\"volume\" and \"amount\"",
			"base amount",
		},
		{"trades", "20240102,1,1,buy\n", "x.csv:1:1: ", "20240102", "write 2024-01-02"},
		{"trades", "time,open,high,low,close\n1700000000,1,2,1,2\n", "x.csv:1:1: ", "without a volume", "add a column"},
		{
			"binance",
			`1723161254000000000 ` +
				`{"stream":"btcusdt@depth","data":{"s":"BTCUSDT","U":1,"u":2,"b":[["99","1"]],"a":[]}}` + "\n",
			"x.csv:1:1: ", "no depth snapshot", "/api/v3/depth",
		},
		{"trades", "1700000000,1.25,1,buy\n", "", "", ""}, // for comparison: this one starts
	} {
		file, dir := filepath.Join(t.TempDir(), "x.csv"), filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		in := harness.Launch(t, nil, "replay", "--format", c.format, "--data-dir", dir,
			"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", file)
		code, said, lines := in.Wait(), in.Stderr.String(), 0
		for range in.Lines {
			lines++
		}
		_, err := os.Stat(dir)
		if c.place == "" {
			if code != 0 || lines == 0 || err != nil {
				t.Errorf("%q: exit code %d, %d lines, data directory %v: %s", c.text, code, lines, err, said)
			}
			continue
		}
		if code == 0 || !strings.Contains(said, c.place) || !strings.Contains(said, c.found) ||
			!strings.Contains(said, c.todo) {
			t.Errorf("%q: exit code %d: %s", c.text, code, said)
		}
		if left, _ := os.ReadDir(in.Cmd.Dir); lines != 0 || !os.IsNotExist(err) || len(left) != 0 {
			t.Errorf("%q: %d lines on standard output, data directory %v, %d files written", c.text, lines, err,
				len(left))
		}
	}
}

// A comparison below --check-min ends the program with exit code 4, and --json prints the results.
func TestACheckOfAReplayCanFail(t *testing.T) {
	file := recorded(t)
	bars := filepath.Join(t.TempDir(), "minute.csv")
	const text = "time,open,high,low,close,volume\n2026-01-01T00:01:00Z,1,1,1,1,1\n"
	if err := os.WriteFile(bars, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--check-min", "100", file}, 0, "check trades 3 of 3"},
		{[]string{"--check-min", "100", file, bars}, 4, "miss minute candles minute.csv:2: ours "},
		{[]string{"--check", file, bars}, 0, "miss minute candles minute.csv:2: ours "},
		{
			[]string{"--check-min", "100", "--json", file, bars},
			4, `"agrees":false,"checks":[{"kind":"trades","good":3,"all":3,"given":false}`,
		},
		{[]string{"--json", file, bars}, 0, `"agrees":false`},
		{[]string{"--json", file}, 0, `"agrees":true`},
		{[]string{"--json", "--check-min", "1", file}, 0, `"agrees":true`},
	} {
		args := append([]string{
			"replay", "--format", "trades", "--pair", "BTC_USDT", "--listen", "127.0.0.1:0", "--internal-listen",
			"127.0.0.1:0", "--quiet",
		}, c.args...)
		code, out, errs := harness.Run(t, args...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%v: exit code %d, %s %s", c.args, code, out, errs)
		}
		object := json.Valid([]byte(out)) && strings.Contains(errs, "listening public=")
		if object != slices.Contains(c.args, "--json") {
			t.Errorf("%v: standard output is one object, and the addresses are on standard error: %v", c.args, object)
		}
	}
}

func TestReplayDetectsFormatsAndStartsNothing(t *testing.T) {
	file := recorded(t)
	code, out, _ := harness.Run(t, "replay", "--detect", file)
	for _, want := range []string{
		"recorded.csv: trades\n", `time = column "time"`, "  rows         3 trades sampled, 2026-01-01T00:00:",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code != 0 || strings.Contains(out, "ready") || strings.Contains(out, "problem") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	other := filepath.Join(t.TempDir(), "other.bin")
	if err := os.WriteFile(other, []byte("ARROW1\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ = harness.Run(t, "replay", "--detect", file, other)
	if code != 4 || !strings.Contains(out, "other.bin: unknown\n") ||
		!strings.Contains(out, "are those of Arrow") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// A replay keeps the history of its recording, and what the configuration drops the replay and the export name.
func TestAReplayAndAnExportNameTheHistoryThatIsDropped(t *testing.T) {
	t.Parallel()
	const minutes = 20_500 // more than the candles and the trades that a market keeps by default
	text := []byte("time,open,high,low,close,volume\n")
	for i := range minutes {
		text = fmt.Appendf(text, "%d,10,10,10,10,1\n", 1_700_000_040+60*i)
	}
	file := filepath.Join(t.TempDir(), "minutes.csv")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args            []string
		trades, candles int
		says            bool
	}{
		{nil, minutes, minutes, false},
		{
			[]string{
				"--set", "market.trades_min=1500",
				"--set", "market.candles_kept=1000,10080,8640,8640,8640,8760,6570,7300,1200,1000",
			},
			1500, 1001, true,
		},
	} {
		in := harness.Launch(t, nil, replayOf(file, append(c.args, "--check", "--hold")...)...)
		in.TakeAddresses(in.WaitLine("ready "))
		in.WaitLine("check minute candles 20500 of 20500")
		for _, note := range []string{
			"up to 82000 trades, and the exchange keeps the newest 1500 ",
			"the newest 1000 of up to 20501 minute candles: --set market.candles_kept=20501,10080,",
		} {
			if said := strings.Contains(in.Stderr.String(), note); said != c.says {
				t.Errorf("%q: %v, want %v", note, said, c.says)
			}
		}
		for what, rows := range map[string]int{"trades": c.trades, "candles": c.candles} {
			code, out, errs := harness.Run(t, "export", what, "--target", in.Public, "--pair", "BTC_USDT")
			n := strings.Count(out, "\n") - 1
			said := strings.Contains(errs,
				"and the market has traded since 2023-11-14T00:00:00: the exchange has dropped")
			if code != 0 || n != rows || said != c.says {
				t.Errorf("%s: exit code %d, %d rows, want %d; %s", what, code, n, rows, errs)
			}
		}
		_, _, errs := harness.Run(t, "export", "candles", "--target", in.Public, "--pair", "BTC_USDT", "--until",
			"2023-11-15")
		if strings.Contains(errs, "candles are all gone") != c.says {
			t.Errorf("until a time before the oldest row: %s", errs)
		}
		in.Signal(syscall.SIGTERM)
		if code := in.Wait(); code != 0 {
			t.Errorf("exit code %d: %s", code, in.Stderr.String())
		}
	}
}
