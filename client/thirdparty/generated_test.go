package thirdparty

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The documents of the public and the internal API by the package that a generator makes of each.
var documents = map[string]string{"public": "/swagger/v1/swagger.json", "operator": "/internal/v1/openapi.json"}

// Clients that oapi-codegen makes of both documents with its default options compile, and an order keeps the digits
// of its amount, as a number and as a string.
func TestGeneratedGoClients(t *testing.T) {
	g := generate(t)
	tools, err := filepath.Abs("../../internal/devtools")
	if err != nil {
		t.Fatal(err)
	}
	for name := range documents {
		g.run(tools, "go", "tool", "oapi-codegen", "-generate", "types,client", "-package", name,
			"-o", filepath.Join(g.dir, name, "client.go"), filepath.Join(g.dir, name+".json"))
	}
	g.copy("testdata/generated/main.go", "main.go")
	g.copy("../../internal/devtools/go.sum", "go.sum")
	g.copy("../../internal/devtools/go.mod", "go.mod") // pins what the clients import
	g.run(g.dir, "go", "mod", "edit", "-module=generated")
	g.run(g.dir, "go", "vet", ".", "./public", "./operator")
	const want = "number 0.123456789012345678\nstring 0.123456789012345678\n"
	if got := g.run(g.dir, "go", "run", "-pgo=off", "."); got != want {
		t.Errorf("the program with generated clients prints %q, want %q", got, want)
	}
}

// The types that openapi-typescript makes of both documents compile with its default options; members with a default
// may be left out, and the text of a decimal arrives whole with decimals=string.
func TestGeneratedTypeScriptClients(t *testing.T) {
	long(t)
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "openapi-typescript")); err != nil {
		needed(t, "the packages are not installed: `npm ci` in client/thirdparty")
	}
	g := generate(t)
	for name := range documents {
		g.run(g.dir, "node", filepath.Join(modules, "openapi-typescript", "bin", "cli.js"), name+".json",
			"-o", name+".ts")
	}
	g.copy("testdata/generated/sample.ts", "sample.ts")
	if err := os.Symlink(modules, filepath.Join(g.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	g.write("package.json", []byte(`{"type": "module"}`))
	g.run(g.dir, "node", "node_modules/typescript/bin/tsc", "--strict", "--target", "es2022", "--module", "nodenext",
		"--outDir", "out", "sample.ts")
	const want = "0.123456789012345678 GENR\n"
	if got := g.run(g.dir, "node", "out/sample.js"); got != want {
		t.Errorf("the program with generated types prints %q, want %q", got, want)
	}
}

// generated is a directory with the documents of a running exchange.
type generated struct {
	*testing.T
	dir      string
	exchange string
}

func generate(t *testing.T) *generated {
	t.Helper()
	long(t)
	g := &generated{T: t, dir: t.TempDir(), exchange: serve(t)}
	var at struct{ Public, Internal, UserID string }
	if err := json.Unmarshal([]byte(g.exchange), &at); err != nil {
		t.Fatal(err)
	}
	// An order of the samples needs a currency with as many digits as its amount.
	g.post(at.Internal+"/internal/v1/assets", `{"symbol":"FINE","digits":18}`)
	g.post(at.Internal+"/internal/v1/users/"+at.UserID+"/deposits", `{"currencyCode":"FINE","amount":1}`)
	for name, path := range documents {
		base := at.Public
		if name == "operator" {
			base = at.Internal
		}
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v", path, resp.StatusCode, err)
		}
		g.write(name+".json", body)
		if err := os.Mkdir(filepath.Join(g.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// post sends a request of the operator.
func (g *generated) post(url, body string) {
	g.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		g.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		g.Fatalf("POST %s: %d %s %v", url, resp.StatusCode, text, err)
	}
}

// write makes a file of the directory.
func (g *generated) write(name string, text []byte) {
	g.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), text, 0o644); err != nil {
		g.Fatal(err)
	}
}

// copy copies a file of the repository into the directory.
func (g *generated) copy(from, to string) {
	g.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		g.Fatal(err)
	}
	g.write(to, text)
}

// run runs a command in dir and returns what it prints.
func (g *generated) run(dir, name string, args ...string) string {
	g.Helper()
	ctx, cancel := context.WithTimeout(g.Context(), runTime)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	var out, problems bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &out, &problems
	c.Env = append(os.Environ(), "EXCHANGE="+g.exchange)
	if err := c.Run(); err != nil {
		g.Fatalf("%s %s: %v\n%.20000s%.20000s", name, strings.Join(args, " "), err, out.String(), problems.String())
	}
	return out.String()
}
