package cli

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/datadir"

	"github.com/tickhive/tickhive/test/harness"
)

// The program serves as long as its standard input is open, whatever arrives there, and stops in order when it closes.
func TestServeUntilStdinCloses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var input io.WriteCloser
	in := harness.LaunchWith(t, func(c *exec.Cmd) {
		var err error
		if input, err = c.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--sim", "off", "--data-dir", dir,
		"--until-stdin-closes")
	in.TakeAddresses(in.WaitLine("ready "))
	// A pipe holds 64 KiB: the write ends once the program has read of it.
	if _, err := io.WriteString(input, strings.Repeat("stop\n\x04\x00", 20<<10)); err != nil {
		t.Fatal(err)
	}
	if a := in.Do("GET", in.Public+"/api/healthcheck", ""); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if said := in.Stderr.String(); in.Ended() || strings.Contains(said, "msg=stopping") {
		t.Fatalf("it stops while its input is open:\n%s", said)
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	in.EndsClean(dir)
	if said := in.Stderr.String(); !strings.Contains(said, `msg=stopping signal="standard input closed"`) {
		t.Errorf("%s", said)
	}
}

// A program that is killed leaves no exchange behind that it started with a pipe.
func TestServeEndsWithAKilledParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent := exec.Command("sh", "-c", `mkfifo input && { "$0" "$@" <input & } && exec 3>input && wait`,
		harness.Program(t), "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--sim", "off",
		"--data-dir", dir, "--until-stdin-closes")
	in := harness.LaunchCommand(t, nil, parent)
	in.TakeAddresses(in.WaitLine("ready "))
	if a := in.Do("GET", in.Public+"/api/healthcheck", ""); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	in.Wait() // for the end of the exchange, which has the outputs of its parent
	if meta, err := datadir.ReadMeta(dir); err != nil || !meta.Clean {
		t.Errorf("%v, clean %t: %s", err, meta.Clean, in.Stderr.String())
	}
}

// An input that is closed at the start ends the program; without the flag it does not matter.
func TestServeWithAClosedStdin(t *testing.T) {
	t.Parallel()
	in := harness.Launch(t, nil, "serve", "--ephemeral", "--sim", "off", "--until-stdin-closes")
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	in = harness.Launch(t, nil, "serve", "--ephemeral", "--sim", "off")
	in.WaitLine("{")
	if in.Ended() {
		t.Errorf("it ended: %s", in.Stderr.String())
	}
	bad := harness.Launch(t, nil, "serve", "--until-stdin-closes=soon")
	if code := bad.Wait(); code != 2 || !strings.Contains(bad.Stderr.String(), "--until-stdin-closes") {
		t.Errorf("exit code %d: %s", code, bad.Stderr.String())
	}
}
