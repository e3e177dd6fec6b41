package recipes

import (
	"os"
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
	for _, name := range []string{"bin", "etc/tickhive", "etc/cron.d", "etc/systemd/system", "var/lib", "var/backups"} {
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
		`(?m)^USDT free=10000\.0`, `(?m)^tickhive_build_info\{`, `first\.snap verified: record \d+`, `(?m)^1$`,
		`(?m)^ready public=`,
		`before-upgrade\.snap verified`, `(?m)^market +[0-9a-f]{64}$`, `(?m)^ready\n\[\]tickhive_panics_total 0$`,
		`tickhive_scrub_damaged_files 0`, `(?m)/var/backups/tickhive/first\.snap$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("nothing matches %s", want)
		}
	}
	if len(blocks) != 13 || m.restarts != 2 || t.Failed() {
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
	case "daemon-reload":
	case "stop tickhive":
		m.in.Signal(syscall.SIGTERM)
		if code := m.in.Wait(); code != 0 {
			m.t.Fatalf("exit code %d: %s", code, m.in.Stderr.String())
		}
	case "enable --now tickhive", "start tickhive":
		m.restarts++
		conf, err := os.ReadFile(filepath.Join(m.folder, "etc/systemd/system/tickhive.service.d/tls.conf"))
		if err != nil {
			m.t.Fatal(err)
		}
		var env []string
		set := regexp.MustCompile(config.EnvPrefix + `\S+`)
		for _, v := range set.FindAllString(string(conf), -1) {
			env = append(env, strings.Replace(v, "%d/", m.folder+"/etc/tickhive/", 1))
		}
		m.in = harness.Launch(m.t, env, "serve", "--config", filepath.Join(m.folder, "etc/tickhive/tickhive.toml"),
			"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0")
		m.in.TakeAddresses(m.in.WaitLine("listening "))
		m.writeProgram()
	default:
		m.t.Fatalf("systemctl %s: the test does not know what that does", asked)
	}
}
