package recipes

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
	"github.com/tickhive/tickhive/server/web"
	"github.com/tickhive/tickhive/test/harness"
)

var (
	docsExample   = regexp.MustCompile(`(?s)<pre class="run" data-run="(\w+)"[^>]*><code>(.*?)</code></pre>`)
	readmeExample = regexp.MustCompile("(?s)```sh\n(.*?)```")
)

// example is one documented example that must work.
type example struct{ where, kind, text string }

// Every example of the documentation page and of the README's first look works against the
// program with its default settings.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--backfill", "3h", "--set", "rate.allow=127.0.0.1")
	user := in.Call(200, "POST", "/users", `{"nickname":"reader"}`)["id"].(string)
	for _, c := range []string{"USDT", "BTC"} {
		in.Call(200, "POST", "/users/"+user+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":1000}`, c))
	}
	key := in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"reader"}`)
	env := append(os.Environ(), "BASE="+in.Public, fmt.Sprintf("PUBLIC=%s", key["publicKey"]),
		fmt.Sprintf("PRIVATE=%s", key["privateKey"]))
	examples := documented(t, in)
	if len(examples) < 15 {
		t.Fatalf("only %d examples were found", len(examples))
	}
	for i, e := range examples {
		t.Run(fmt.Sprintf("%02d", i), func(t *testing.T) { e.try(t, in, env) })
	}
}

// documented returns the runnable examples of the served page and of the README.
func documented(t *testing.T, in *harness.Instance) (all []example) {
	t.Helper()
	page := in.Do("GET", in.Public+"/docs", "")
	if page.Status != 200 || strings.Contains(page.Body, "<style") || strings.Contains(page.Body, " style=") {
		t.Fatalf("/docs: %d", page.Status)
	}
	for _, m := range docsExample.FindAllStringSubmatch(page.Body, -1) {
		all = append(all, example{"/docs", m[1], html.UnescapeString(m[2])})
	}
	readme, err := os.ReadFile(harness.SourceTree + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range readmeExample.FindAllStringSubmatch(string(readme), -1) {
		if strings.HasPrefix(m[1], "curl ") {
			all = append(all, example{
				"README.md", "sh",
				strings.ReplaceAll(m[1], "curl -s ", "curl -sS --fail-with-body "),
			})
		}
	}
	return all
}

// try runs an example. Every line of a shell example must succeed.
func (e example) try(t *testing.T, in *harness.Instance, env []string) {
	text := strings.NewReplacer("http://127.0.0.1:8080", in.Public, "127.0.0.1:8080",
		strings.TrimPrefix(in.Public, "http://"),
		"http://127.0.0.1:8081", in.Root, "127.0.0.1:8081", strings.TrimPrefix(in.Root, "http://")).Replace(e.text)
	name, args := "bash", []string{"-euo", "pipefail", "-c", text}
	if e.kind == "node" {
		name, args = "node", append(harness.NodeFlags(), "--input-type=module", "-e", text)
	}
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("TICKHIVE_STRICT") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no %s: not run (TICKHIVE_STRICT=1 makes this an error)", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = harness.SourceTree, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s\n%.1500s", e.where, err, text, out)
	}
	if e.kind == "node" {
		t.Logf("%s", out)
	}
}

// The tour names every public route.
func TestTourNamesEveryRoute(t *testing.T) {
	raw, err := servertest.PublicDocument()
	if err != nil {
		t.Fatal(err)
	}
	page, err := web.Files.ReadFile("app/docs.html")
	if err != nil {
		t.Fatal(err)
	}
	for path := range harness.Object(t, string(raw))["paths"].(map[string]any) {
		parts := regexp.MustCompile(`\{[^}]*\}`).Split(path, -1)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		if !regexp.MustCompile(strings.Join(parts, `[^/\s]+`)).Match(page) {
			t.Errorf("/docs does not show %s", path)
		}
	}
}

// The JavaScript class runs each of its methods once against the program.
func TestJavaScriptClient(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--backfill", "3h")
	user := in.Call(200, "POST", "/users", `{"nickname":"js"}`)["id"].(string)
	in.Call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":1000}`)
	key := in.Call(200, "POST", "/users/"+user+"/apikeys", `{"name":"js"}`)
	script, err := os.ReadFile(harness.SourceTree + "/client/js/smoke.mjs")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(script), "'./tickhive.mjs'", "'./client/js/tickhive.mjs'", 1)
	env := append(os.Environ(), "BASE="+in.Public, "INTERNAL="+in.Root, fmt.Sprintf("PUBLIC=%s", key["publicKey"]),
		fmt.Sprintf("PRIVATE=%s", key["privateKey"]))
	example{"client/js/smoke.mjs", "node", text}.try(t, in, env)
	kinds := harness.SourceTree + "/client/js/kinds.mjs"
	c := exec.CommandContext(t.Context(), "node", append(harness.NodeFlags(), kinds)...)
	c.Env = env
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %.4000s", err, out)
	}
}

// The Python module runs its tests of a running exchange against the program.
func TestPythonClient(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("TICKHIVE_STRICT") == "1" {
			t.Fatal(err)
		}
		t.Skip("no python3: not run (TICKHIVE_STRICT=1 makes this an error)")
	}
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
		"PRIVATE="+said.PrivateKey)
	if out, err := c.CombinedOutput(); err != nil || strings.Contains(string(out), "skipped") {
		t.Errorf("%v: %s", err, out)
	}
}
