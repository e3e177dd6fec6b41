package recipes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/test/harness"
)

const deploymentPage = "docs/guide/operate.md"

// machine is the server of the deployment: a folder has its /etc and /var, and the test is its systemd. Owner: its
// test.
type machine struct {
	reader
	restarts int
}

// The commands of the first deployment work in order: what the page installs, configures, starts, backs up, restores
// and upgrades is one exchange, whose market is the same before and after.
func TestTheFirstDeployment(t *testing.T) {
	t.Parallel()
	harness.NeedTool(t, "openssl")
	folder := t.TempDir()
	m := &machine{reader: reader{t: t, folder: folder, env: append(harness.Environ(),
		"PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))}}
	for _, name := range []string{"bin", "etc/tickhive", "etc/systemd/system", "var/lib", "var/backups"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m.in = &harness.Instance{Public: "http://127.0.0.1:0", Root: "http://127.0.0.1:0"} // until systemd starts one
	m.writeProgram()
	var out strings.Builder
	blocks := block.FindAllStringSubmatch(harness.ReadTree(t, deploymentPage), -1)
	for _, b := range blocks {
		out.WriteString(m.operate(b[2]))
	}
	for _, want := range []string{
		`configuration ok: \d+ keys, 11 assets, 12 pairs`, `(?m)^ready$`, `"status":"ok"`,
		`with money in 11 currencies: alice.json`,
		`(?m)^USDT free=10000\.0`, `(?m)^tickhive_build_info\{`, `first\.snap verified: record \d+`,
		`(?m)^the same market$`,
		`(?m)^ready public=`,
		`before-upgrade\.snap verified`, `(?m)^market +[0-9a-f]{64}$`, `(?m)^ready\n\[\]tickhive_changes_refused 0$`,
		`(?m)^tickhive_panics_total 0$`,
		`tickhive_scrub_damaged_files 0`, `(?m)/var/backups/tickhive/first\.snap$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("nothing matches %s", want)
		}
	}
	if len(blocks) != 14 || m.restarts != 2 || t.Failed() {
		t.Errorf("%d blocks, %d starts:\n%s", len(blocks), m.restarts, out.String())
	}
}

// operate pastes a block. What it asks of systemd the test does.
func (m *machine) operate(text string) (out string) {
	m.t.Helper()
	flush := func(lines string) {
		said, err := m.paste("sh", lines)
		if out += said; err != nil {
			m.t.Fatalf("%v\n%s\n%.3000s", err, lines, said)
		}
	}
	lines := ""
	for line := range strings.Lines(text) {
		asked, ok := strings.CutPrefix(line, "sudo systemctl ")
		if !ok {
			lines += line
			continue
		}
		flush(lines)
		lines = ""
		m.systemctl(strings.TrimSpace(asked))
	}
	flush(lines)
	return out
}

// systemctl does what a command asks of systemd.
func (m *machine) systemctl(asked string) {
	m.t.Helper()
	switch asked {
	case "daemon-reload", "enable --now tickhive-backup.timer":
	case "stop tickhive":
		m.in.Signal(syscall.SIGTERM)
		if code := m.in.Wait(); code != 0 {
			m.t.Fatalf("exit code %d: %s", code, m.in.Stderr.String())
		}
	case "enable --now tickhive", "start tickhive":
		m.restarts++
		set, env := regexp.MustCompile(config.EnvPrefix+`\S+`), []string(nil)
		for _, name := range []string{"tls.conf", "secret.conf"} {
			conf, err := os.ReadFile(filepath.Join(m.folder, "etc/systemd/system/tickhive.service.d", name))
			if err != nil {
				m.t.Fatal(err)
			}
			for _, v := range set.FindAllString(string(conf), -1) {
				env = append(env, strings.Replace(v, "%d/", m.folder+"/etc/tickhive/", 1))
			}
		}
		m.in = harness.Launch(m.t, env, "serve", "--config", filepath.Join(m.folder, "etc/tickhive/tickhive.toml"),
			"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0")
		m.in.TakeAddresses(m.in.WaitLine("listening "))
		m.writeProgram()
	default:
		m.t.Fatalf("systemctl %s: the test does not know what that does", asked)
	}
}

// Every line with curl to the internal listener works with a token, too.
func TestTheDeploymentSendsTheToken(t *testing.T) {
	page := harness.ReadTree(t, deploymentPage)
	lines := regexp.MustCompile(`curl [^\n]*127\.0\.0\.1:8081`).FindAllString(page, -1)
	if len(lines) < 5 {
		t.Errorf("only %d lines", len(lines))
	}
	for _, line := range lines {
		if !strings.Contains(line, `-H "$auth"`) {
			t.Errorf("%s: without a token", line)
		}
	}
	if strings.Count(page, `auth="Authorization: Bearer ${TICKHIVE_INTERNAL_TOKEN-}"`) != 3 {
		t.Error("not each block sets the header")
	}
}

// plainShell runs lines of a page in a folder, with a program tickhive that a test has written.
func plainShell(t *testing.T, lines, tickhive string) (folder, out string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range map[string]string{"sudo": `exec "$@"`, "tickhive": tickhive} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lines = strings.NewReplacer("/var/backups/tickhive", folder, "cd /backup ", "cd "+folder+" ",
		"/usr/local/bin/tickhive", "tickhive").Replace(lines)
	c := exec.CommandContext(t.Context(), "sh", "-c", lines)
	c.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, lines, said)
	}
	return folder, string(said)
}

// The rehearsal of a restore reports success only if both directories have printed the same hash.
func TestTheRehearsalOfARestoreNeedsBothHashes(t *testing.T) {
	t.Parallel()
	lines := regexp.MustCompile(`(?m)^newest=(?s:.*?)\nif .*\n`).FindString(harness.ReadTree(t, deploymentPage))
	if lines == "" {
		t.Fatal("the page has no comparison")
	}
	for _, c := range []struct{ copy, live, want string }{
		{"echo market a", "echo market a", "the same market"},
		{"echo market a", "echo market b", "NOT the same market"},
		{"echo market a", "echo tickhive: before >&2; exit 1", "NOT the same market"},
		{"exit 1", "echo market a", "NOT the same market"},
		{"exit 1", "exit 1", "NOT the same market"},
	} {
		_, out := plainShell(t, ": >/var/backups/tickhive/first.snap\n"+lines, `
case "$*" in
restore*) ;;
*rehearsal\ --at*) `+c.copy+` ;;
*/var/lib/tickhive\ --at*) `+c.live+` ;;
*rehearsal*) echo seq 7 ;;
esac`)
		if last := strings.TrimSpace(out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]); last != c.want {
			t.Errorf("copy %q, live %q: %q, want %q", c.copy, c.live, last, c.want)
		}
	}
}

// The hourly backup removes the oldest hourly files alone: one that an operator has named is the way back.
func TestTheHourlyBackupKeepsNamedFiles(t *testing.T) {
	t.Parallel()
	for page, pattern := range map[string]string{
		deploymentPage: `(?m)^ExecStart=/bin/sh -c '(.*)'$`, "docs/operating.md": `(?m)^    0 \* \* \* \* (.*)$`,
	} {
		m := regexp.MustCompile(pattern).FindStringSubmatch(harness.ReadTree(t, page))
		if m == nil {
			t.Fatalf("%s has no hourly backup", page)
		}
		const files = `cd /var/backups/tickhive
touch -d 2001-01-01 first.snap before-upgrade.snap before.snap tickhive-2026-11-22-1400.snap
for n in $(seq 10 69); do touch -d "2002-01-01 00:$((n-10))" "hourly-2002-01-01-$n.snap"; done
`
		line := strings.NewReplacer(`\%`, "%", "%%", "%", "$$", "$").Replace(m[1]) // of cron, and of systemd
		folder, _ := plainShell(t, files+line, `for last; do :; done; touch "$last"`)
		hourly, err := filepath.Glob(folder + "/hourly-*.snap")
		if err != nil || len(hourly) != 48 {
			t.Errorf("%s: %d hourly files are kept, want 48: %v", page, len(hourly), err)
		}
		if _, err := os.Stat(folder + "/hourly-2002-01-01-69.snap"); err != nil {
			t.Errorf("%s: %v", page, err)
		}
		for _, name := range []string{"first", "before-upgrade", "before", "tickhive-2026-11-22-1400"} {
			if _, err := os.Stat(filepath.Join(folder, name+".snap")); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
