package recipes

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
	"github.com/tickhive/tickhive/test/harness"
)

// block is a program of a page that a test runs: the word run is behind its language.
var block = regexp.MustCompile("(?ms)^```(sh|js) run\n(.*?)^```$")

// pages returns the README and the pages of the guide, by their paths in the source tree.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"README.md": harness.ReadTree(t, "README.md")}
	names, err := filepath.Glob(harness.SourceTree + "/docs/guide/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name = "docs/guide/" + filepath.Base(name)
		all[name] = harness.ReadTree(t, name)
	}
	return all
}

// Every program of the README and of the guide that is marked so runs as a reader pastes it: in order, in one folder
// and one environment for each page, against an exchange with its default settings.
func TestThePagesRun(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t)
	blocks := 0
	for name, text := range pages(t) {
		found := block.FindAllStringSubmatch(text, -1)
		if blocks += len(found); len(found) == 0 || name == deploymentPage { // TestTheFirstDeployment pastes that page
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReader(t, in)
			for _, m := range found {
				if out, err := r.paste(m[1], m[2]); err != nil {
					t.Fatalf("%v\n%s\n%.3000s", err, m[2], out)
				}
			}
		})
	}
	if blocks < 20 {
		t.Fatalf("only %d blocks were found", blocks)
	}
}

// reader pastes the programs of a page into a terminal at the top of a copy of the source tree. Owner: its test.
type reader struct {
	t      *testing.T
	in     *harness.Instance
	folder string
	env    []string
}

// readers counts the readers, whose nicknames differ.
var readers atomic.Int64

// newReader returns a reader with the key of a user who has money.
func newReader(t *testing.T, in *harness.Instance) *reader {
	t.Helper()
	in = in.Of(t)
	user := in.Call(200, "POST", "/users", fmt.Sprintf(`{"nickname":"reader%d"}`, readers.Add(1)))["id"].(string)
	for _, c := range []string{"USDT", "BTC"} {
		in.Call(200, "POST", "/users/"+user+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":1000}`, c))
	}
	key := in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"reader"}`)
	r := &reader{t, in, t.TempDir(), append(harness.Environ(), "BASE="+in.Public,
		fmt.Sprintf("PUBLIC=%s", key["publicKey"]), fmt.Sprintf("PRIVATE=%s", key["privateKey"]))}
	tree, err := filepath.Abs(harness.SourceTree)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"client", "cmd", "docs", "go.mod", "go.sum", "internal"} {
		if err := os.Symlink(filepath.Join(tree, name), filepath.Join(r.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(r.folder, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.writeProgram()
	return r
}

// writeProgram makes the program bin/tickhive, by which a command that reaches the internal listener gets its address.
func (r *reader) writeProgram() {
	r.t.Helper()
	program := fmt.Sprintf(`#!/bin/sh
case $('%[1]s' "$@" --help 2>&1) in *--internal=*) set -- "$@" --internal '%[2]s' ;; esac
exec '%[1]s' "$@"
`, harness.Program(r.t), r.in.Root)
	if err := os.WriteFile(filepath.Join(r.folder, "bin/tickhive"), []byte(program), 0o700); err != nil {
		r.t.Fatal(err)
	}
}

// paste runs a program. Every line of a shell program must succeed; the next one has what it exports.
func (r *reader) paste(language, text string) (string, error) {
	text = strings.NewReplacer("http://127.0.0.1:8080", r.in.Public, "ws://127.0.0.1:8080",
		strings.Replace(r.in.Public, "http", "ws", 1), "127.0.0.1:8080", strings.TrimPrefix(r.in.Public, "http://"),
		"http://127.0.0.1:8081", r.in.Root, "127.0.0.1:8081", strings.TrimPrefix(r.in.Root, "http://"),
		"curl -s ", "curl -sS --fail-with-body ",
		"localhost:8443", "localhost:"+r.in.Public[strings.LastIndex(r.in.Public, ":")+1:],
		"sudo ", "", "/etc/", r.folder+"/etc/", "/var/", r.folder+"/var/").Replace(text)
	name, args := "bash", []string{"-euo", "pipefail", "-c", "[ ! -e .env ] || . ./.env\n" + text + "\nexport -p >.env"}
	if language == "js" {
		name, args = "node", append(harness.NodeFlags(), "--input-type=module", "-e", text)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), harness.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, harness.NeedTool(r.t, name), args...)
	cmd.Dir, cmd.Env = r.folder, r.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The pages for a reader with a clone name the program as it is there. The page of a deployment is about an installed
// one.
func TestThePagesNameTheProgramOfTheClone(t *testing.T) {
	for name, text := range pages(t) {
		if name == "docs/guide/operate.md" {
			continue
		}
		for _, m := range regexp.MustCompile("(?ms)^```sh[^\n]*\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
			if line := regexp.MustCompile(`(?m)^tickhive .*$`).FindString(m[1]); line != "" {
				t.Errorf("%s: %q must begin with bin/tickhive", name, line)
			}
		}
	}
}

// The tour names every public route.
func TestTourNamesEveryRoute(t *testing.T) {
	raw, err := servertest.PublicDocument()
	if err != nil {
		t.Fatal(err)
	}
	page := harness.ReadTree(t, "docs/guide/tour.md")
	for path := range harness.Object(t, string(raw))["paths"].(map[string]any) {
		parts := regexp.MustCompile(`\{[^}]*\}`).Split(path, -1)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		if !regexp.MustCompile(strings.Join(parts, `[^/\s]+`)).MatchString(page) {
			t.Errorf("docs/guide/tour.md does not show %s", path)
		}
	}
}

// The JavaScript class runs each of its methods once against the program.
func TestJavaScriptClient(t *testing.T) {
	t.Parallel()
	node := harness.NeedTool(t, "node")
	in := harness.Start(t, "--backfill", "3h")
	user := in.Call(200, "POST", "/users", `{"nickname":"js"}`)["id"].(string)
	in.Call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":1000}`)
	key := in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"js"}`)
	for _, script := range []string{"smoke.mjs", "kinds.mjs"} {
		args := append(harness.NodeFlags(), harness.SourceTree+"/client/js/"+script)
		c := exec.CommandContext(t.Context(), node, args...)
		c.Env = append(os.Environ(), "BASE="+in.Public, "INTERNAL="+in.Root, fmt.Sprintf("PUBLIC=%s", key["publicKey"]),
			fmt.Sprintf("PRIVATE=%s", key["privateKey"]))
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %.4000s", script, err, out)
		}
	}
}

// The Python module runs its tests of a running exchange, and of those that it starts, against the program.
func TestPythonClient(t *testing.T) {
	t.Parallel()
	python := harness.NeedTool(t, "python3")
	in := harness.Launch(t, nil, "serve", "--ephemeral", "--backfill", "1h")
	var said struct {
		Public, Internal      string
		PublicKey, PrivateKey string
	}
	if err := json.Unmarshal([]byte(in.WaitLine("{")), &said); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), python, harness.SourceTree+"/client/python/tickhive_test.py")
	c.Env = append(os.Environ(), "BASE="+said.Public, "INTERNAL="+said.Internal, "PUBLIC="+said.PublicKey,
		"PRIVATE="+said.PrivateKey, "TICKHIVE_BINARY="+harness.Program(t))
	if out, err := c.CombinedOutput(); err != nil || strings.Contains(string(out), "skipped") {
		t.Errorf("%v: %s", err, out)
	}
}
