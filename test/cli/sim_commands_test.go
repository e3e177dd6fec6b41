package cli

import (
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// tickhive sim and tickhive clock change a running exchange and print its state. A restart proves that the log has all
// that the market did meanwhile, and that the behaviour of the configuration holds again.
func TestSimAndClockCommands(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	args := []string{"--clock", "virtual", "--clock-start", "2026-01-05T10:00:00Z", "--past", "0", "--data-dir", data}
	in := harness.Start(t, args...)
	run := func(code int, args ...string) string {
		t.Helper()
		c := harness.Command(t, append([]string{args[0], "--internal", in.Root}, args[1:]...)...)
		said, err := c.CombinedOutput()
		if got := c.ProcessState.ExitCode(); got != code {
			t.Errorf("%v: exit code %d, want %d: %v: %s", args, got, code, err, said)
		}
		return string(said)
	}
	expect := func(want string, args ...string) {
		t.Helper()
		if got := run(0, args...); got != want {
			t.Errorf("%v prints %q, want %q", args, got, want)
		}
	}
	expect("running scenario=none intensity=100\n", "sim")
	expect("2026-01-05T10:00:00Z virtual speed=0\n", "clock")
	expect("2026-01-05T10:10:00Z virtual speed=0\n", "clock", "--advance", "10m")
	expect("paused scenario=none intensity=100\n", "sim", "--pause")
	seq := in.Call(200, "GET", "/clock", "")["seq"]
	expect("2026-01-05T10:20:00Z virtual speed=0\n", "clock", "--advance", "10m")
	if after := in.Call(200, "GET", "/clock", "")["seq"]; after != seq {
		t.Errorf("the paused market went from seq %v to %v", seq, after)
	}
	expect("running scenario=flash-crash intensity=200\n",
		"sim", "--resume", "--scenario", "flash-crash", "--intensity", "200")
	run(0, "clock", "--advance", "25s")
	if after := in.Call(200, "GET", "/clock", "")["seq"]; after == seq {
		t.Error("the market does not go on")
	}
	if got := run(0, "clock", "--speed", "60"); !strings.HasSuffix(got, " virtual speed=60\n") {
		t.Errorf("clock --speed prints %q", got)
	}
	stood := in.Call(200, "GET", "/clock", "")["nowNs"]
	for in.Call(200, "GET", "/clock", "")["nowNs"] == stood { // until it has moved by itself
		if in.Ended() {
			t.Fatal("the exchange has ended")
		}
	}
	run(0, "clock", "--speed", "0")
	stood = in.Call(200, "GET", "/clock", "")["nowNs"]
	if now := in.Call(200, "GET", "/clock", "")["nowNs"]; now != stood {
		t.Errorf("the stopped clock went from %v to %v", stood, now)
	}
	for _, bad := range [][]string{
		{"sim", "--scenario", "storm"},
		{"sim", "--intensity", "9"},
		{"sim", "--intensity", "0"},
		{"clock", "--speed", "86401"},
	} {
		if got := run(1, bad...); !strings.Contains(got, "400") {
			t.Errorf("%v: %s", bad, got)
		}
	}
	hash := in.Call(200, "GET", "/state-hash", "")["hash"]
	in.Signal(syscall.SIGTERM)
	in.EndsClean(data)
	code, out, errs := harness.Run(t, "journal", "verify", data, "--quiet", "--json")
	if got := harness.Object(t, out)["hash"]; code != 0 || got != hash {
		t.Errorf("journal verify has %v, the process had %v: %s", got, hash, errs)
	}
	in = harness.Start(t, "--clock", "virtual", "--past", "0", "--data-dir", data)
	if got := in.Call(200, "GET", "/state-hash", "")["hash"]; got != hash {
		t.Errorf("the restart has %v, the process before it had %v", got, hash)
	}
	expect("running scenario=none intensity=100\n", "sim")
}
