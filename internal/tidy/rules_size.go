package tidy

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// Limits of sizes. A file should have one subject, a function should fit on a screen, and a reader should be
// able to know a whole type or package. Types and packages have limits too, because spreading a large type over
// many files hides the problem.
const (
	maxFileLines    = 400
	maxFuncLines    = 70
	maxPackageFiles = 40    // not counting tests
	maxPackageLines = 5_000 // not counting tests
	maxMethods      = 40    // methods of one type
	maxExported     = 60    // exported functions, types and variables of one package
)

// size names one measured thing: "files marketdata", "methods engine.book".
type size struct{ what, name string }

// ownLimits lists the things with a permanent higher limit: the vocabulary of the engine, its core, which
// one book in parts holds together, and the state of the accounts, which cannot be split.
var ownLimits = map[size]int{
	{"exported", "engine"}:        100,
	{"methods", "accounts.State"}: 60,
	{"methods", "engine.book"}:    60,
}

// overLimit lists the things above their limit, with the size that they must not exceed until they are split.
// Rows may only be removed and numbers lowered.
var overLimit = map[size]int{
	{"lines", "cmd/tickhive/crash_test.go"}: 600,
	{"lines", "marketdata/walk_test.go"}:    480,
}

// limits lists the general limits, with the word by which messages name the counted things.
var limits = map[string]struct {
	most int
	unit string
}{
	"lines":    {maxFileLines, "lines"},
	"files":    {maxPackageFiles, "files (tests apart)"},
	"code":     {maxPackageLines, "lines (tests apart)"},
	"methods":  {maxMethods, "methods"},
	"exported": {maxExported, "exported functions, types and variables"},
}

// Sizes reports functions that are too long.
func Sizes(f *File) []string {
	var out []string
	for _, d := range f.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || f.Test {
			continue
		}
		if n := f.Fset.Position(fn.End()).Line - f.Fset.Position(fn.Pos()).Line + 1; n > maxFuncLines {
			out = append(out, fmt.Sprintf("%s: %s has %d lines, at most %d", f.at(fn.Pos()), fn.Name.Name, n,
				maxFuncLines))
		}
	}
	return out
}

// Large reports files, types and packages above their limit, and rows of overLimit that are no longer needed.
func Large(files []*File) (out []string) {
	measured, where := measure(files)
	for s, n := range measured {
		most, listed := overLimit[s]
		limit, own := ownLimits[s]
		if !own {
			limit = limits[s.what].most
		}
		switch {
		case listed && n <= limit:
			out = append(out, fmt.Sprintf("%s:1: %s has %d %s, at most %d: "+
				"remove its row from overLimit in rules_size.go", where[s], s.name, n, limits[s.what].unit, limit))
		case n > max(limit, most):
			out = append(out, fmt.Sprintf("%s:1: %s has %d %s, at most %d: split it",
				where[s], s.name, n, limits[s.what].unit, max(limit, most)))
		}
	}
	for s := range overLimit {
		if _, ok := measured[s]; !ok {
			out = append(out, "internal/tidy/rules_size.go:1: there is no "+s.name+": remove its row from overLimit")
		}
	}
	slices.Sort(out)
	return out
}

// measure counts everything that has a limit. where contains one file of each counted thing.
func measure(files []*File) (n map[size]int, where map[size]string) {
	n, where = map[size]int{}, map[size]string{}
	add := func(f *File, what, name string, by int) {
		s := size{what, name}
		n[s] += by
		where[s] = cmp.Or(where[s], f.Path)
	}
	for _, f := range files {
		if verbatim(f) {
			continue
		}
		lines := bytes.Count(f.Text, []byte("\n"))
		add(f, "lines", f.Path, lines)
		if f.Test {
			continue
		}
		add(f, "files", f.Dir, 1)
		add(f, "code", f.Dir, lines)
		for _, d := range f.AST.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					add(f, "methods", f.Dir+"."+receiver(d), 1)
				} else if d.Name.IsExported() {
					add(f, "exported", f.Dir, 1)
				}
			case *ast.GenDecl:
				add(f, "exported", f.Dir, exportedOf(d))
			}
		}
	}
	return n, where
}

// exportedOf returns the number of exported types and variables of a declaration. Constants do not count,
// because they are the members of a type.
func exportedOf(d *ast.GenDecl) (n int) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				n++
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if d.Tok == token.VAR && name.IsExported() {
					n++
				}
			}
		}
	}
	return n
}

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
