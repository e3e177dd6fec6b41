package tidy

import (
	"go/ast"
	"go/token"
	"path"
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

// Clocks reports reads of the machine's time outside of the folders that may read it: clock, cmd, bench, the
// developers' tools, the shells of server and client, and tests.
func Clocks(f *File) []string {
	if f.Test || under(f.Dir, "internal/clock", "cmd", "bench", "client", "internal/tidy", "internal/devtools") ||
		under(f.Dir, "server") && shell(f) {
		return nil
	}
	return calls(f, "time", "reads the machine's clock", "Now", "Since", "Until")
}

// Sleeps reports tests that wait for machine time to pass.
func Sleeps(f *File) []string {
	if !f.Test {
		return nil
	}
	return calls(f, "time", "waits by the machine's clock", "Sleep")
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
	if under(f.Dir, "engine/sequencer", "internal/durable", "server/stream", "server/servertest", "internal/exchange",
		"internal/stream/jet", "internal/node", "internal/listen", "internal/clusterdemo") {
		return true // every file of these packages is a shell
	}
	if under(f.Dir, "engine") {
		return false // a pure package
	}
	base := strings.TrimSuffix(path.Base(f.Path), ".go")
	for _, prefix := range []string{
		"loop", "store", "log", "server", "edge", "conn", "writer", "gzip", "committer",
	} {
		if strings.HasPrefix(base, prefix) {
			return true
		}
	}
	return under(f.Dir, "cmd", "bench", "client", "internal/devtools")
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
	case "marketdata", "aggregator", "server/public", "server/encode":
		return !f.Test
	case "server/edge":
		switch path.Base(f.Path) {
		case "dispatch.go", "ctx.go", "query.go", "params.go", "dates.go", "pair.go", "respond.go", "etag.go",
			"quote.go":
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
