package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A mutant is one change of one place.
type mutant struct {
	ID     int
	File   string // from the root, with slashes
	Line   int
	Func   string // "book.add"
	Change string // "a < b -> a <= b"
	Hash   uint64 // of the function's text
	broken bool   // it does not compile
}

// Name returns the identity of m. A number tells equal changes of one function apart.
func (m *mutant) Name() string { return m.File + " " + m.Func + ": " + m.Change }

// A pkg is a package with its mutants.
type pkg struct {
	Path, Name, Dir string
	Root            string
	Mutants         []*mutant // by ID - 1
	Tree            uint64    // hash of every Go file in Dir
	files           []*source
}

// A source is a file of the package and the edits that put its mutants in.
type source struct {
	path  string
	rel   string // from the root, with slashes
	text  []byte
	edits []edit
}

// findMutants loads the packages that match the patterns, below root, and finds their mutants.
func findMutants(root string, patterns ...string) ([]*pkg, error) {
	cfg := &packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
		Dir: root,
	}
	loaded, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, err
	}
	var out []*pkg
	for _, l := range loaded {
		if len(l.Errors) > 0 {
			return nil, fmt.Errorf("%s: %w", l.PkgPath, l.Errors[0])
		}
		p := &pkg{Path: l.PkgPath, Name: l.Name, Root: root}
		for _, tree := range l.Syntax {
			if err := p.findIn(l, tree); err != nil {
				return nil, err
			}
		}
		p.number()
		if p.Tree, err = hashTree(p.Dir); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func (p *pkg) findIn(l *packages.Package, tree *ast.File) error {
	path := l.Fset.Position(tree.Pos()).Filename
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(p.Root, path)
	if err != nil {
		return err
	}
	p.Dir = filepath.Dir(path)
	src := &source{path: path, rel: filepath.ToSlash(rel), text: text}
	for _, d := range tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		f := &finder{
			pkg: p, src: src, info: l.TypesInfo, fset: l.Fset,
			name: funcName(fn), results: fn.Type.Results, parents: map[ast.Node]ast.Node{},
		}
		f.hash = hashOf(f.text(fn))
		f.walk(fn)
	}
	p.files = append(p.files, src)
	return nil
}

// funcName returns "function" or "Type.method".
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// number tells mutants of the same name apart.
func (p *pkg) number() {
	seen := map[string]int{}
	for _, m := range p.Mutants {
		name := m.Name()
		seen[name]++
		if n := seen[name]; n > 1 {
			m.Change += fmt.Sprintf(" #%d", n)
		}
	}
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

// hashTree returns a hash of the Go files of a folder, tests included.
func hashTree(dir string) (uint64, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return 0, err
	}
	slices.Sort(names)
	h := fnv.New64a()
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		_, _ = h.Write([]byte(name))
		_, _ = h.Write(text)
	}
	return h.Sum64(), nil
}

// A finder finds the mutants of one function.
type finder struct {
	pkg     *pkg
	src     *source
	info    *types.Info
	fset    *token.FileSet
	name    string
	hash    uint64
	results *ast.FieldList // of the innermost function
	parents map[ast.Node]ast.Node
}

// text returns the source of a node.
func (f *finder) text(n ast.Node) string { return string(f.src.text[f.at(n.Pos()):f.at(n.End())]) }

func (f *finder) at(p token.Pos) int { return f.fset.Position(p).Offset }

// add makes a mutant at n.
func (f *finder) add(n ast.Node, change string) int {
	m := &mutant{
		ID: len(f.pkg.Mutants) + 1, File: f.src.rel, Line: f.fset.Position(n.Pos()).Line,
		Func: f.name, Change: change, Hash: f.hash,
	}
	f.pkg.Mutants = append(f.pkg.Mutants, m)
	return m.ID
}

// edit replaces n. The function write receives n's text, or that of each part, with inner
// edits applied.
func (f *finder) edit(n ast.Node, ids []int, write func(inner []string) string, parts ...ast.Node) {
	e := edit{span: f.span(n), ids: ids, write: write}
	for _, part := range parts {
		e.parts = append(e.parts, f.span(part))
	}
	f.src.edits = append(f.src.edits, e)
}

func (f *finder) span(n ast.Node) span { return span{f.at(n.Pos()), f.at(n.End())} }

// brief returns text on one line, of at most 70 characters.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 70 {
		text = string(r[:67]) + "..."
	}
	return text
}
