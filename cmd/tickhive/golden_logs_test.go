package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"

	"github.com/tickhive/tickhive/test/harness"
)

// logs writes every record of the log and fails when a kind of record is missing.
func (g *golden) logs() {
	g.area = "log_engine"
	kinds := declared(g.t, "engine", "CommandKind")
	wanted := append(slices.Collect(maps.Values(kinds)), "launchpad due", "hive due")
	for _, kind := range declared(g.t, "accounts", "Kind") {
		wanted = append(wanted, "accounts "+snake(kind))
	}
	for _, part := range []string{"launchpad", "hive"} {
		for _, kind := range commandTypes(g.t, part) {
			wanted = append(wanted, part+" "+snake(kind))
		}
	}
	g.header(filepath.Join(g.dir, "engine", "000001.wal"))
	rd, err := wal.OpenReader(vfs.OS{}, filepath.Join(g.dir, "engine"), exchange.EngineLogOptions(), 0)
	if err != nil {
		g.t.Fatal(err)
	}
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			g.t.Fatal(err)
		}
		var cmd engine.Command
		if err := engine.DecodeCommand(rec.Payload, &cmd); err != nil {
			g.t.Fatal(err)
		}
		name := kinds[byte(cmd.Kind)]
		if cmd.Kind == engine.Other {
			name += fmt.Sprint(" ", machine.Part(cmd.Control.Part), " ", dumpOther(cmd.Control)["kind"])
		}
		fmt.Fprintf(g.text(), "%d %s rules %d, %d bytes\n%s", rec.Seq, name, rec.Payload[1], len(rec.Payload),
			hexLines(rec.Payload, 256))
	}
	if err := rd.Close(); err != nil {
		g.t.Error(err)
	}
	// Only journal skip and a command in parts write these kinds.
	raw := engine.AppendCommand(nil, &engine.Command{Kind: engine.Skip, Pair: engine.ControlPair, Order: 300})
	fmt.Fprintf(g.text(), "- Skip %d bytes\n%s", len(raw), hexLines(raw, 256))
	raw = engine.AppendCommand(nil, &engine.Command{Kind: engine.Continue, Pair: 7})
	fmt.Fprintf(g.text(), "- Continue %d bytes\n%s", len(raw), hexLines(raw, 256))
	// The golden run has no former key of secrets, and what is sealed is random.
	again := machine.OfAccounts(&accounts.Command{Kind: accounts.Reseal, Reseal: []accounts.Resealed{
		{User: 1, Field: accounts.FieldName, Was: accounts.TextSum{1, 2}, Text: "\x00sealed"},
	}}, nil)
	fmt.Fprintf(g.text(), "- Other accounts reseal %d bytes\n%s", len(again.Record), hexLines(again.Record, 256))
	for _, name := range slices.Sorted(slices.Values(wanted)) {
		if !strings.Contains(g.text().String(), " "+name+" ") {
			g.t.Errorf("the golden run never writes a record %s: add a step", name)
		}
	}
	g.area = "data"
	for _, name := range []string{"CLOCK", "meta.json"} {
		text, err := os.ReadFile(filepath.Join(g.dir, name))
		if err != nil {
			g.t.Fatal(err)
		}
		// The checksum covers the boot ID.
		text = regexp.MustCompile(`"(boot|crc32c)": "[^"]*"`).ReplaceAll(text, []byte(`"$1": "*"`))
		fmt.Fprintf(g.text(), "%s\n%s\n", name, bytes.TrimRight(text, "\x00"))
	}
	names, err := filepath.Glob(filepath.Join(g.dir, "*"))
	if err != nil {
		g.t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			g.t.Fatal(err)
		}
		fmt.Fprintf(g.text(), "%s %s\n", info.Mode(), filepath.Base(name))
	}
}

// snake returns a name in the form of journal dump: create_user for CreateUser.
func snake(name string) string {
	return strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "${1}_$2"))
}

// commandTypes returns the names of the types of a package that have the method command.
func commandTypes(t testing.TB, dir string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.SourceTree, dir, "command.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^func \((\w+)\) command\(\)`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	if len(names) < 3 {
		t.Fatalf("%s/command.go: only the commands %v were found", dir, names)
	}
	return names
}

// header writes the first bytes of a segment or snapshot without the creation time and the
// checksum that covers it.
func (g *golden) header(name string) {
	g.t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		g.t.Fatal(err)
	}
	head := bytes.Clone(raw[:64])
	created := 32
	clear(head[created : created+8])
	clear(head[60:64])
	fmt.Fprintf(g.text(), "header of %s, creation time and checksum blank\n%s", filepath.Base(name), hexLines(head, 64))
}

// hexLines returns the first bytes of b in lines of 32, and a hash of all bytes when there are
// more.
func hexLines(b []byte, limit int) string {
	var out strings.Builder
	for i := 0; i < min(len(b), limit); i += 32 {
		fmt.Fprintf(&out, "  %x\n", b[i:min(i+32, len(b), limit)])
	}
	if len(b) > limit {
		fmt.Fprintf(&out, "  ... sha256 %x\n", sha256.Sum256(b))
	}
	return out.String()
}

// declared returns the names of a type's constants by value. It reads the block of constants
// whose first one has the type and iota or iota + 1, up to the first unexported constant.
func declared(t testing.TB, dir, kind string) map[byte]string {
	t.Helper()
	out := map[byte]string{}
	err := filepath.WalkDir(filepath.Join(harness.SourceTree, dir), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			block, ok := decl.(*ast.GenDecl)
			if !ok || block.Tok != token.CONST {
				continue
			}
			first := block.Specs[0].(*ast.ValueSpec)
			if id, ok := first.Type.(*ast.Ident); !ok || id.Name != kind {
				continue
			}
			start := byte(0)
			if sum, ok := first.Values[0].(*ast.BinaryExpr); ok {
				n, err := strconv.Atoi(sum.Y.(*ast.BasicLit).Value)
				if err != nil {
					return err
				}
				start = byte(n)
			}
			for i, spec := range block.Specs {
				if name := spec.(*ast.ValueSpec).Names[0]; name.IsExported() {
					out[start+byte(i)] = name.Name
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// snapshots writes the hash of the snapshot as derived from the log.
func (g *golden) snapshots() {
	g.area = "snapshots"
	r := machine.New(machine.Options{Secrets: new(seal.Key)})
	log := exchange.EngineLog(filepath.Join(g.dir, "engine"))
	rd, err := wal.OpenReader(log.FS, log.Dir, log.Options, 1)
	if err != nil {
		g.t.Fatal(err)
	}
	err = errors.Join(keeper.Replay(r, rd, 0, nil), rd.Close())
	var body bytes.Buffer
	if err = errors.Join(err, r.Write(&body, nil)); err != nil {
		g.t.Fatal(err)
	}
	fmt.Fprintf(g.text(), "market, record %d, %d bytes, state hash %s\n%s",
		r.Pos, body.Len(), machine.HashMarket(r.Core, r.Feed).Hash, hexLines(body.Bytes(), 1024))
}

// snapshot writes the newest snapshot file.
func (g *golden) snapshot() {
	g.t.Helper()
	path := filepath.Join(g.dir, "engine")
	var body []byte
	found, err := wal.LoadNewest(vfs.OS{}, path, exchange.EngineLogOptions(),
		func(_ wal.SnapshotMeta, r io.Reader) (err error) {
			body, err = io.ReadAll(r)
			return err
		})
	if err != nil || !found.OK {
		g.t.Fatalf("no snapshot: %v", err)
	}
	g.header(filepath.Join(path, fmt.Sprintf("%020d.snap", found.Meta.Seq)))
	fmt.Fprintf(g.text(), "record %d, %d bytes\n%s", found.Meta.Seq, len(body), hexLines(body, 1024))
}

// commands writes the command output that scripts read: keys with their defaults, and the
// journal tools on the data directory of the run.
func (g *golden) commands() {
	g.area = "commands"
	for _, args := range [][]string{
		{"version"},
		{"config", "check"},
		{"config", "print"},
		{"config", "check", "--set", "rate.alow=1"},
		{"journal", "verify", "--quiet", g.dir},
		{"journal", "verify", "--quiet", "--json", g.dir},
		{"journal", "verify", "--quiet", "--at", "1", g.dir},
		{"journal", "verify", filepath.Join(g.dir, "engine"), "--quiet"},
		{"journal", "dump", g.dir, "--to", "3"},
		{"journal", "dump", g.dir, "--from", "11", "--to", "20"},
	} {
		var out, failed bytes.Buffer
		code := run(args, &program{out: &out, err: &failed})
		text := strings.ReplaceAll(out.String(), g.dir, "DIR")
		if args[0] == "version" {
			text, _, _ = strings.Cut(text, " (commit ")
			text += "\n"
		}
		text = regexp.MustCompile(`(?m) # .*$`).ReplaceAllString(text, "") // help texts of config print
		fmt.Fprintf(g.text(), "\n> tickhive %s\n%sexit %d\n", strings.ReplaceAll(strings.Join(args, " "), g.dir, "DIR"),
			text, code)
		if (code == 0) != (failed.Len() == 0) {
			g.t.Errorf("%v: exit code %d with %q on standard error", args, code, failed.String())
		}
	}
}

// A demo market of two simulated hours has the same state in every run. Its snapshots include
// the simulated traders and the simulated life on the launchpad.
func TestGoldenDemoMarket(t *testing.T) {
	g := newGolden(t, serveFlags{Sim: "on", Pairs: config.PairsBuiltin, Backfill: "2h", Seed: "7"})
	g.ready()
	g.area = "demo"
	g.in("GET", "/state-hash", "")
	g.get("/api/agents/overview")
	g.get("/api/launchpad/tokens?pageSize=2&sort=volume")
	g.stop()
	g.snapshot()
	g.compare()
}
