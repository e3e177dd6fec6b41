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

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/datadir"
	"tickhive/internal/exchange"
	"tickhive/internal/machine"
	"tickhive/internal/machine/keeper"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"

	"tickhive/test/harness"
)

// goldenLogs lists the logs of a data directory and the declarations of their record
// kinds: constants of that type, numbered in order.
var goldenLogs = []struct {
	dir, source, kind string
	rules             bool // the rules' version is stored above the kind
}{
	{"engine", "engine", "CommandKind", true},
	{"accounts", "accounts", "Kind", true},
}

// goldenParts lists the parts whose records the journal has (engine.Other).
var goldenParts = map[machine.Part]string{machine.Launchpad: "launchpad", machine.Hive: "hive"}

// logs writes every record of the logs and fails when a kind of record is missing.
func (g *golden) logs() {
	for _, log := range goldenLogs {
		g.area = "log_" + log.dir
		kinds := declared(g.t, log.source, log.kind)
		if len(kinds) < 5 {
			g.t.Fatalf("%s: only %d constants of type %s were found", log.source, len(kinds), log.kind)
		}
		parts := map[machine.Part]map[byte]string{}
		wanted := slices.Collect(maps.Values(kinds))
		if log.dir == "engine" {
			for part, source := range goldenParts {
				parts[part] = declared(g.t, source, "RecordKind")
				wanted = slices.AppendSeq(wanted, maps.Values(parts[part]))
			}
		}
		g.header(filepath.Join(g.dir, log.dir, "000001.wal"))
		rd, err := wal.OpenReader(vfs.OS{}, filepath.Join(g.dir, log.dir), logOptions(log.dir), 0)
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
			kind, rules := rec.Payload[0], byte(0)
			if log.rules { // the rules' version is above the kind, and above it the mark of a write's first record
				kind, rules = kind&0x0f, kind>>4&7
			}
			name, ok := kinds[kind]
			if !ok {
				g.t.Errorf("%s: record %d is of kind %d, which %s does not declare", log.dir, rec.Seq, kind, log.kind)
			}
			var cmd engine.Command
			if log.dir == "engine" && engine.DecodeCommand(rec.Payload, &cmd) == nil && cmd.Kind == engine.Other {
				part := machine.Part(cmd.Other.Part)
				name = fmt.Sprint(name, " ", part, " ", parts[part][cmd.Other.Record[0]])
			}
			fmt.Fprintf(g.text(), "%d %s rules %d, %d bytes\n%s", rec.Seq, name, rules, len(rec.Payload),
				hexLines(rec.Payload, 256))
		}
		if err := rd.Close(); err != nil {
			g.t.Error(err)
		}
		if log.dir == "engine" { // only journal skip and a command in parts write these kinds
			raw := engine.AppendCommand(nil, &engine.Command{Kind: engine.Skip, Pair: engine.ControlPair, Order: 300})
			fmt.Fprintf(g.text(), "- Skip %d bytes\n%s", len(raw), hexLines(raw, 256))
			raw = engine.AppendCommand(nil, &engine.Command{Kind: engine.Continue, Pair: 7})
			fmt.Fprintf(g.text(), "- Continue %d bytes\n%s", len(raw), hexLines(raw, 256))
		}
		for _, name := range slices.Sorted(slices.Values(wanted)) {
			if !strings.Contains(g.text().String(), " "+name+" ") {
				g.t.Errorf("the golden run never writes a record %s of the log %s: add a step", name, log.dir)
			}
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

// snapshots writes the head and the hash of the newest snapshot of each store, and of the
// market's snapshot as derived from its journal.
func (g *golden) snapshots() {
	g.area = "snapshots"
	for _, dir := range []string{"accounts"} {
		g.snapshot(dir)
	}
	meta, err := datadir.ReadMeta(g.dir)
	if err != nil {
		g.t.Fatal(err)
	}
	r := machine.New(machine.Options{Market: meta.Market})
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

// logOptions returns the options that read the log of a store.
func logOptions(dir string) wal.Options {
	versions := map[string]uint32{
		"engine": engine.CommandVersion, "accounts": accounts.RecordVersion,
	}
	return wal.Options{NoLock: true, RecordVersion: versions[dir]}
}

// snapshot writes the newest snapshot file of one directory.
func (g *golden) snapshot(dir string) {
	g.t.Helper()
	path := filepath.Join(g.dir, dir)
	var body []byte
	found, err := wal.LoadNewest(vfs.OS{}, path, logOptions(dir),
		func(_ wal.SnapshotMeta, r io.Reader) (err error) {
			body, err = io.ReadAll(r)
			return err
		})
	if err != nil || !found.OK {
		g.t.Fatalf("%s: no snapshot: %v", dir, err)
	}
	g.header(filepath.Join(path, fmt.Sprintf("%020d.snap", found.Meta.Seq)))
	fmt.Fprintf(g.text(), "%s, record %d, reflects %d, %d bytes\n%s", dir, found.Meta.Seq, found.Meta.Reflects,
		len(body), hexLines(body, 1024))
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
		{"journal", "verify", filepath.Join(g.dir, "accounts")},
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
	g := newGolden(t, serveFlags{Sim: "on", Pairs: pairsBuiltin, Backfill: "2h", Seed: "7"})
	g.ready()
	g.area = "demo"
	g.in("GET", "/state-hash", "")
	g.get("/api/agents/overview")
	g.get("/api/launchpad/tokens?pageSize=2&sort=volume")
	g.stop()
	for _, dir := range []string{"engine", "accounts"} {
		g.snapshot(dir)
	}
	g.compare()
}
