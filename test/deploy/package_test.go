package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// buildPackage makes the Debian package for this machine, unpacks it, and returns the folder that stands for /.
func buildPackage(t *testing.T) string {
	t.Helper()
	if os.Getenv("TICKHIVE_STRICT") != "1" {
		t.Skip("the Debian package is not built: that takes TICKHIVE_STRICT=1 (its tool compiles for half a minute)")
	}
	tool := harness.NeedTool(t, "dpkg-deb")
	pages, out, root := t.TempDir(), t.TempDir(), t.TempDir()
	const scripts = "internal/devtools/package/"
	inTree(t, scripts+"pages.sh", harness.Program(t), pages)
	inTree(t, scripts+"deb.sh", harness.Program(t), runtime.GOARCH, pages, out)
	packages, err := filepath.Glob(out + "/tickhive_*_" + runtime.GOARCH + ".deb")
	if err != nil || len(packages) != 1 {
		t.Fatalf("%v: %q", err, packages)
	}
	inTree(t, tool, "-x", packages[0], root)
	inTree(t, tool, "-e", packages[0], filepath.Join(root, "DEBIAN"))
	return root
}

// The package has all that an installation needs, and nothing else; its program runs with the packaged configuration,
// which has the built-in value of every key but the directory of the unit.
func TestTheDebianPackage(t *testing.T) {
	root := buildPackage(t)
	var files []string
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(name, root+"/DEBIAN/") {
			files = append(files, strings.TrimPrefix(name, root))
		}
		return err
	})
	want := []string{
		"/etc/tickhive/tickhive.toml",
		"/usr/bin/tickhive",
		"/usr/lib/systemd/system/tickhive.service",
		"/usr/share/bash-completion/completions/tickhive",
		"/usr/share/doc/tickhive/CHANGELOG.md",
		"/usr/share/doc/tickhive/THIRD_PARTY_NOTICES",
		"/usr/share/doc/tickhive/alerts.yml",
		"/usr/share/doc/tickhive/copyright",
		"/usr/share/doc/tickhive/grafana.json",
		"/usr/share/doc/tickhive/sign.sh",
		"/usr/share/fish/vendor_completions.d/tickhive.fish",
		"/usr/share/man/man1/tickhive.1.gz",
		"/usr/share/zsh/vendor-completions/_tickhive",
	}
	if err != nil || !slices.Equal(files, want) {
		t.Fatalf("%v: the package has %q, want %q", err, files, want)
	}
	installed := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if installed("/usr/share/doc/tickhive/copyright") != harness.ReadTree(t, "LICENSE") ||
		installed("/usr/share/doc/tickhive/CHANGELOG.md") != harness.ReadTree(t, "CHANGELOG.md") ||
		installed("/usr/share/doc/tickhive/THIRD_PARTY_NOTICES") != harness.ReadTree(t, "THIRD_PARTY_NOTICES") {
		t.Error("the licences are not those of the source tree")
	}
	if got := installed("/DEBIAN/conffiles"); got != "/etc/tickhive/tickhive.toml\n" {
		t.Errorf("an upgrade keeps the changes of %q, want those of the configuration", got)
	}
	for _, name := range []string{want[3], want[10], want[12]} {
		if text := installed(name); !strings.Contains(text, "tickhive") || strings.Contains(text, harness.Program(t)) {
			t.Errorf("%s calls another program than the installed one: %s", name, text)
		}
	}
	checkManual(t, filepath.Join(root, "usr/share/man/man1/tickhive.1.gz"))
	unit := strings.ReplaceAll(installed("/usr/lib/systemd/system/tickhive.service"), "/etc/", root+"/etc/")
	checkUnit(t, unit, "/usr/bin/tickhive", filepath.Join(root, "usr/bin/tickhive"))
	runInstalled(t, root)
	completeInBash(t, root)
}

// runInstalled starts and stops the installed program with the packaged configuration, on free ports.
func runInstalled(t *testing.T, root string) {
	t.Helper()
	program, file := filepath.Join(root, "usr/bin/tickhive"), filepath.Join(root, "etc/tickhive/tickhive.toml")
	configured := inTree(t, program, "config", "print", "--config", file)
	if builtIn := inTree(t, program, "config", "print", "--data-dir", "/var/lib/tickhive"); configured != builtIn {
		t.Errorf("the packaged configuration is\n%s\nwant the built-in one:\n%s", configured, builtIn)
	}
	in := harness.LaunchCommand(t, nil, exec.Command(program, "serve", "--config", file, "--data-dir", t.TempDir(),
		"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"))
	in.TakeAddresses(in.WaitLine("ready "))
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
}

// completeInBash completes a command in a bash that has the installed program in its PATH.
func completeInBash(t *testing.T, root string) {
	t.Helper()
	const script = `set -e
PATH=$0/usr/bin:$PATH
source "$0/usr/share/bash-completion/completions/tickhive"
export COMP_LINE='tickhive completi' COMP_POINT=17
[[ $(complete -p tickhive) =~ -C\ \'?([a-z]+)\'?\ tickhive$ ]]
exec "${BASH_REMATCH[1]}"`
	if got := inTree(t, harness.NeedTool(t, "bash"), "-c", script, root); got != "completion\n" {
		t.Errorf("bash completes %q, want completion", got)
	}
}

// checkManual checks that the packaged page is the program's.
func checkManual(t *testing.T, page string) {
	t.Helper()
	code, want, errs := harness.Run(t, "man")
	if got := inTree(t, "gzip", "-dc", page); code != 0 || got != want {
		t.Errorf("the manual page differs from what tickhive man prints: %s", errs)
	}
}
