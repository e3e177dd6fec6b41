package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// exactFolders lists the folders whose numbers must be exact, so that floats are forbidden.
var exactFolders = []string{
	"engine", "marketdata", "aggregator", "accounts", "internal/fixed", "launchpad", "hive", "sim",
	"internal/entry", "server",
}

// Floats reports floating-point numbers where numbers must be exact. Exempt are statistics of a market
// (sim/stats) and Prometheus metrics, because nothing depends on them, and a format whose files hold floats.
func Floats(f *File) []string {
	exempt := under(f.Dir, "sim/stats", "server/servertest", "sim/replay/format/parquet")
	if f.Test || !under(f.Dir, exactFolders...) || exempt ||
		strings.HasPrefix(f.Path, "server/admin/metrics") {
		return nil
	}
	var out []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if n.Name == "float64" || n.Name == "float32" {
				out = append(out, f.at(n.Pos())+": "+n.Name+" where values are exact")
			}
		case *ast.BasicLit:
			if n.Kind == token.FLOAT && !wholeLiteral(n.Value) {
				out = append(out, f.at(n.Pos())+": a float literal where values are exact")
			}
		}
		return true
	})
	return out
}

// wholeLiteral reports whether a literal such as 1e9 is an integer.
func wholeLiteral(s string) bool {
	return strings.ContainsAny(s, "eE") && !strings.ContainsAny(s, ".-pPxX")
}

// calls reports calls of functions of an imported package.
func calls(f *File, pkg, what string, names ...string) []string {
	local := ""
	for name, p := range f.imports() {
		if p == pkg {
			local = name
		}
	}
	var out []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || local == "" {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == local {
			for _, name := range names {
				if s.Sel.Name == name {
					out = append(out, f.at(s.Pos())+": "+pkg+"."+name+" "+what)
				}
			}
		}
		return true
	})
	return out
}

// shell reports whether a file may start goroutines and wait: it is the shell around pure code.
func shell(f *File) bool {
	if under(f.Dir, "engine/sequencer", "server/stream", "server/servertest", "internal/exchange",
		"internal/stream/jet", "internal/node", "internal/listen", "internal/clusterdemo", "test/harness") {
		return true // every file of these packages is a shell
	}
	if under(f.Dir, "engine") {
		return false // a pure package
	}
	base := strings.TrimSuffix(path.Base(f.Path), ".go")
	for _, prefix := range []string{
		"loop", "store", "log", "server", "edge", "conn", "writer", "gzip", "backlog",
	} {
		if strings.HasPrefix(base, prefix) {
			return true
		}
	}
	return under(f.Dir, "cmd", "bench", "client", "internal/devtools", "tickhivetest")
}

// Goroutines reports go statements outside of shells.
func Goroutines(f *File) []string {
	if f.Test || shell(f) {
		return nil
	}
	var out []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			out = append(out, f.at(g.Pos())+": a go statement outside of a shell (loop, store, server, writer)")
		}
		return true
	})
	return out
}

// lockFree reports whether requests for public data pass through a file: views, public routes, and the part of
// the edge that runs for each request.
func lockFree(f *File) bool {
	switch f.Dir {
	case "marketdata", "aggregator", "server/public":
		return !f.Test
	case "server/objects":
		return path.Base(f.Path) == "objects.go"
	case "server/edge":
		switch path.Base(f.Path) {
		case "dispatch.go", "params.go", "answer.go", "etag.go":
			return true
		}
	}
	return false
}

// Locks reports locks and channels in lockFree files.
func Locks(f *File) []string {
	if !lockFree(f) {
		return nil
	}
	out := calls(f, "sync", "on the read path", "Mutex", "RWMutex", "Cond", "WaitGroup",
		"Once", "OnceFunc", "Map", "Pool")
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ChanType:
			out = append(out, f.at(n.Pos())+": a channel on the read path")
		case *ast.SelectStmt:
			out = append(out, f.at(n.Pos())+": a select on the read path")
		}
		return true
	})
	return out
}

// Globals reports package variables that are locks or counters, because state must have an owner.
func Globals(f *File) []string {
	if f.Test {
		return nil
	}
	var out []string
	for _, d := range f.AST.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v, ok := s.(*ast.ValueSpec)
			if !ok || v.Type == nil {
				continue
			}
			if sel, ok := v.Type.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "sync" || x.Name == "atomic") {
					out = append(out, f.at(v.Pos())+": global mutable state: "+x.Name+"."+sel.Sel.Name)
				}
			}
		}
	}
	return out
}

// domains lists the folders that must not know HTTP and JSON; the encoders of the server do.
var domains = []string{"engine", "marketdata", "accounts", "launchpad", "hive"}

// DomainHTTP reports an import of HTTP in a domain.
func DomainHTTP(f *File) []string {
	if f.Test || under(f.Dir, "engine/enginetest") || !under(f.Dir, domains...) {
		return nil
	}
	var out []string
	for _, p := range f.imports() {
		if p == "net/http" || strings.HasPrefix(p, "github.com/valyala/fasthttp") {
			out = append(out, f.Path+":1: "+p+" in a domain: the server knows HTTP")
		}
	}
	return out
}

// JSONTags reports struct tags for JSON in a domain.
func JSONTags(f *File) []string {
	if f.Test || !under(f.Dir, domains...) {
		return nil
	}
	var out []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Tag != nil && strings.Contains(field.Tag.Value, `json:"`) {
			out = append(out, f.at(field.Pos())+": a JSON tag in a domain: the server's encoders name members")
		}
		return true
	})
	return out
}

// verbatim reports whether a file is a copy that must not change: the reference that the engine
// is measured against.
func verbatim(f *File) bool { return under(f.Dir, "bench/limits/floor") }

// PackageDocs reports folders whose doc.go does not say what the package is.
func PackageDocs(files []*File) []string {
	documented, code := map[string]bool{}, map[string]string{}
	for _, f := range files {
		if f.Test || verbatim(f) {
			continue
		}
		if code[f.Dir] == "" {
			code[f.Dir] = f.Path
		}
		if strings.HasSuffix(f.Path, "/doc.go") && f.AST.Doc != nil && len(f.AST.Doc.Text()) > 80 {
			documented[f.Dir] = true
		}
	}
	var out []string
	for dir, file := range code {
		if !documented[dir] {
			out = append(out, file+":1: the folder "+dir+" has no doc.go that says what it is")
		}
	}
	return out
}

// strayText lists texts that no tracked file may contain: notes of unfinished work, paths of one machine, and
// remarks on how the text was written. The patterns do not match themselves.
var strayText = []struct {
	pattern *regexp.Regexp
	what    string
}{
	{regexp.MustCompile(`\b(TO[D]O|FIX[M]E|XX[X])\b`), "work left open"},
	{regexp.MustCompile(`(?i)not[ ]implemented`), "work left open"},
	{regexp.MustCompile(`/w[o]rk/|/f[a]rm/|/ho[m]e/[a-z]+/|/r[o]ot/`), "a path of one machine"},
	{
		regexp.MustCompile(`(?i)\b(chat[g]pt|open[a]i|an[t]hropic|cla[u]de|co[p]ilot|language[ ]model)\b`),
		"not about the project",
	},
}

// maxTextBytes limits the part of a file that is examined. Only embedded libraries are longer.
const maxTextBytes = 256 << 10

// Text reports texts that the tree must not contain.
func Text(name string, text []byte) []string {
	if len(text) > maxTextBytes || bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	var out []string
	for i, line := range bytes.Split(text, []byte("\n")) {
		for _, s := range strayText {
			if m := s.pattern.Find(line); m != nil {
				out = append(out, fmt.Sprintf("%s:%d: %q: %s", name, i+1, m, s.what))
			}
		}
	}
	return out
}
