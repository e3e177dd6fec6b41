package client

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tool skips the test where a program is not installed. `.ci/run` must have it.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("TICKHIVE_STRICT") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no %s: not run (TICKHIVE_STRICT=1 makes this an error)", name)
	}
	return path
}

// The tests of the JavaScript classes pass, file by file.
func TestJavaScriptClass(t *testing.T) {
	tool(t, "node")
	files, err := filepath.Glob("js/*_test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of tests: %v", len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			if out, err := exec.CommandContext(t.Context(), "node", name).CombinedOutput(); err != nil {
				t.Errorf("%v\n%.4000s", err, out)
			}
		})
	}
}

// The tests of the Python module pass. Those that need an exchange are run by cmd/tickhive.
func TestPythonModule(t *testing.T) {
	c := exec.CommandContext(t.Context(), tool(t, "python3"), "python/tickhive_test.py")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.4000s", err, out)
	}
}

// The package installs from its folder without a network, and a program elsewhere imports it with its types.
func TestPythonPackage(t *testing.T) {
	python := tool(t, "python3")
	const needs = "import pip"
	if out, err := exec.CommandContext(t.Context(), python, "-c", needs).CombinedOutput(); err != nil {
		if os.Getenv("TICKHIVE_STRICT") == "1" {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Skipf("%s: %s: not run (TICKHIVE_STRICT=1 makes this an error)", needs, out)
	}
	site, project := t.TempDir(), t.TempDir()
	c := exec.CommandContext(t.Context(), python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check",
		"--target", site, "./python")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
	c = exec.CommandContext(t.Context(), python, "-c", `
import importlib.metadata, importlib.resources, tickhive
assert tickhive.__file__.startswith(`+strconv.Quote(site)+`), tickhive.__file__
assert importlib.resources.files(tickhive).joinpath('py.typed').is_file()
assert importlib.metadata.requires('tickhive') in (None, []), importlib.metadata.requires('tickhive')
print(tickhive.order('buy', amount='0.1', market=True))`)
	c.Dir, c.Env = project, append(os.Environ(), "PYTHONPATH="+site)
	out, err := c.CombinedOutput()
	if want := "{'side': 'buy', 'amount': '0.1', 'isMarket': True}\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}

// shellStandIns returns a folder of programs that give sign.sh the time and the nonce of a vector and show what it
// would send, and the path of openssl.
func shellStandIns(t *testing.T) (bin, openssl string) {
	t.Helper()
	openssl, bin = tool(t, "openssl"), t.TempDir()
	for name, script := range map[string]string{
		"openssl": `if [ "$1" = rand ]; then echo "$NONCE"; else exec "$OPENSSL" "$@"; fi`,
		"curl": `case "$*" in */api/time) echo '{"serverTime":1767225600000,"iso":"x"}' ;; ` +
			`*) for a; do echo "$a"; done ;; esac`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return bin, openssl
}

// signedByShell returns what sign.sh would send at the time of the vectors.
func signedByShell(t *testing.T, bin, openssl, key, nonce string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "./sign.sh", args...)
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "OPENSSL="+openssl, "PUBLIC=pub",
		"NONCE="+nonce, key)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// sign.sh signs with an RSA key as the Go client does.
func TestShellSignsWithRSA(t *testing.T) {
	bin, openssl := shellStandIns(t)
	key, text := rsaPEM(t)
	file := filepath.Join(bin, "rsa.pem")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want, err := SignKey(key, "1767225600000", "n-1", "GET", "/api/apikeys", nil)
	if err != nil {
		t.Fatal(err)
	}
	if out := signedByShell(t, bin, openssl, "PRIVATE_FILE="+file, "n-1", "GET", "/api/apikeys"); !strings.Contains(out,
		"API-Signature: "+want+"\n") {
		t.Errorf("%s, want %s", out, want)
	}
}

// sign.sh computes the vectors of docs/contract/signing.md.
func TestShellVectors(t *testing.T) {
	bin, openssl := shellStandIns(t)
	pem := filepath.Join(bin, "key.pem")
	if err := os.WriteFile(pem, []byte(vectorPEM), 0o600); err != nil {
		t.Fatal(err)
	}
	documented, err := os.ReadFile("../docs/contract/signing.md")
	if err != nil {
		t.Fatal(err)
	}
	const target = "/api/affiliate/accruals?pageNumber=1&currencyCode=US%44T"
	get := []string{"GET", target}
	post := []string{"POST", "/api/launchpad/spawn", `{"name":"My Token","symbol":"ALPHA"}`}
	for _, v := range []struct {
		key, nonce string
		args       []string
		want       []string
	}{
		{"PRIVATE=privKEY456", "n-1", get, []string{
			"7c72f27d874d374164db11a4998dd423cdae47c857517918e62f06eb69370f37",
		}},
		{"PRIVATE=privKEY456", "n-2", post, []string{
			"1063a1ede675edbe514081291c52fb5572d123ed807dcff377e4a224cc7ffb5e",
		}},
		{"PRIVATE_FILE=" + pem, "n-1", get, []string{
			"8e29a52d8f7aa321c61e61a7b0dc3c3fe7c5653a21ff59c7b5c2bb22b4568aa1",
			"9d042af1998d9ee9e94ff925a137a187f9a1a4ddbc1c814dc37fee85daebd801",
		}},
		{"PRIVATE_FILE=" + pem, "n-2", post, []string{
			"677edfb52f1122f56714b9ab1f692687ae23b29fe5e995344ab01b63f3d91816",
			"6b982762339870b927e846b2db53b4ff8142765a4ecbb88f8f22212bc682f400",
		}},
	} {
		for _, half := range v.want {
			if !strings.Contains(string(documented), "`"+half+"`") {
				t.Errorf("the contract has no vector %s", half)
			}
		}
		out := signedByShell(t, bin, openssl, v.key, v.nonce, v.args...)
		want := "API-Signature: " + strings.Join(v.want, "") + "\n"
		if !strings.Contains(out, want) {
			t.Errorf("%s %s\n%s, want %s", v.key, v.nonce, out, want)
		}
	}
}
