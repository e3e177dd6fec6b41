package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// Every wrong command line names what is meant and where to read on.
func TestCommandLines(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"":                     {2, "tickhive: name a command: tickhive help lists them"},
		"--data-dir d":         {2, "unknown flag --data-dir"},
		"help version":         {0, "Usage: tickhive version"},
		"help":                 {0, "Commands:"},
		"--version":            {0, "TickHive v1.0.0.0 (commit "},
		"completion bash":      {0, "source <(tickhive completion -c bash)"},
		"serv":                 {2, "no command serv, did you mean serve?; tickhive --help lists"},
		"xyzzy":                {2, "unexpected argument xyzzy; tickhive --help lists commands"},
		"serve --lisen 1":      {2, `unknown flag --lisen, did you mean "--listen"?`},
		"serve --sim maybe":    {2, "config: --sim (sim.enabled): "},
		"serve --listen 18090": {2, `--listen (server.listen): "18090" must have the form HOST:PORT`},
		"serve --binance-listen :1,18090": {
			2, `--binance-listen (binance.listen): "18090" must have the form HOST:PORT`,
		},
		"serve --binance-listen 127.0.0.1:0" + strings.Repeat(",127.0.0.1:0", 16): {
			2, "binance.listen): 17 addresses, at most 16",
		},
		"serve --set sim.enabled=2":      {2, "config: sim.enabled: "},
		"load --rps -5":                  {2, "-5 begins like a flag: if it is the value, give --rps=-5; "},
		"journal dump . --from 5 --to 2": {2, "--to 2 is before --from 5"},
	} {
		in := harness.Launch(t, nil, strings.Fields(args)...)
		code, printed := in.Wait(), ""
		for line := range in.Lines {
			printed += line + "\n"
		}
		got, other := printed, in.Stderr.String()
		if want.code != 0 {
			got, other = other, got
		}
		if code != want.code || !strings.Contains(got, want.text) || other != "" {
			t.Errorf("tickhive %s: exit code %d, %q and %q", args, code, got, other)
		}
	}
}

// A start whose address is in use names the flag that chooses another one, and writes nothing.
func TestAnAddressInUse(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for flag, other := range map[string]string{"--listen": "--internal-listen", "--internal-listen": "--listen"} {
		dir := filepath.Join(t.TempDir(), "data")
		in := harness.Launch(t, nil, "serve", flag, ln.Addr().String(), other, "127.0.0.1:0", "--data-dir", dir)
		if code := in.Wait(); code != 1 || !strings.Contains(in.Stderr.String(), "address already in use") ||
			!strings.Contains(in.Stderr.String(), "choose another one with "+flag+" HOST:PORT") {
			t.Errorf("%s: exit code %d: %s", flag, code, in.Stderr.String())
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a data directory is there: %v", flag, err)
		}
	}
}

// The probes answer without token, host name and limit on both listeners; everything else keeps its checks.
func TestTheProbes(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--set", "internal.token=a-token-of-16-or-more", "--set", "rate.market=true")
	for path, body := range map[string]string{"/healthz": `{"live":true}`, "/readyz": `{"ready":true}`} {
		for _, base := range []string{in.Public, in.Root} {
			if a := in.Do("GET", base+path, "", "Host", "evil.example"); a.Status != 200 || string(a.Body) != body {
				t.Errorf("%s%s: %d %s", base, path, a.Status, a.Body)
			}
		}
	}
	if a := in.Do("GET", in.Internal+"/clock", ""); a.Status != 401 {
		t.Errorf("without a token: %d", a.Status)
	}
}

// With log.format=json every line of the log is an object.
func TestTheLogAsJSON(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--set", "log.format=json")
	in.WaitLog(`"msg":"ready"`, 1)
	for line := range strings.Lines(in.Stderr.String()) {
		var entry struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Time == "" || entry.Msg == "" {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// The command ready answers by its exit code.
func TestReady(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	for _, base := range []string{in.Public, in.Root} {
		if r := harness.Launch(t, nil, "ready", base); r.Wait() != 0 {
			t.Errorf("%s: %s", base, r.Stderr.String())
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := ln.Addr().String()
	ln.Close()
	for target, code := range map[string]int{"http://" + gone: 1, "127.0.0.1": 2} {
		if r := harness.Launch(t, nil, "ready", target); r.Wait() != code || r.Stderr.String() == "" {
			t.Errorf("%s: %s", target, r.Stderr.String())
		}
	}
}

// Elsewhere than on a terminal the log is key=value pairs, unless the key asks for lines for a person.
func TestTheLogForAPerson(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"auto": " level=INFO msg=ready public=127.0.0.1:", "text": " level=INFO msg=ready public=127.0.0.1:",
		"human": " INF ready public=127.0.0.1:",
	} {
		in := harness.StartEmpty(t, "--set", "log.format="+format)
		in.WaitLog(want, 1)
		if said := in.Stderr.String(); strings.Contains(said, "\x1b") {
			t.Errorf("%s: %q", format, said)
		}
	}
}
