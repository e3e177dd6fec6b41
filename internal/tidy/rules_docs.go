package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// Docs reports exported identifiers without a comment. Methods of unexported types need none, and neither do
// methods that implement a well-known interface.
func Docs(f *File) []string {
	if f.Test || verbatim(f) || f.AST.Name.Name == "main" && !strings.HasSuffix(f.Path, "doc.go") {
		return nil
	}
	var out []string
	missing := func(p token.Pos, name string) {
		out = append(out, f.at(p)+": exported "+name+" has no comment")
	}
	for _, d := range f.AST.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && receiverExported(d) && !wellKnown[d.Name.Name] {
				missing(d.Pos(), d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
						missing(s.Pos(), s.Name.Name)
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
							missing(n.Pos(), n.Name)
						}
					}
				}
			}
		}
	}
	return out
}

// verbatim reports whether a file is a copy that must not change: the reference that the engine
// is measured against.
func verbatim(f *File) bool { return under(f.Dir, "bench/limits/floor") }

// wellKnown holds the methods whose meaning an interface of the standard library defines.
var wellKnown = map[string]bool{
	"String": true, "Error": true, "Unwrap": true, "Is": true, "Len": true, "Less": true,
	"Swap": true,
}

func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	return ast.IsExported(receiver(d))
}

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

// ReadingOrders reports files that the reading order of their package does not name. A package with at least three
// files besides doc.go has a reading order; cmd_* names all files that begin with cmd_.
func ReadingOrders(files []*File) []string {
	orders, byDir := map[string]string{}, map[string][]*File{}
	for _, f := range files {
		if f.Test || verbatim(f) {
			continue
		}
		if path.Base(f.Path) != "doc.go" {
			byDir[f.Dir] = append(byDir[f.Dir], f)
		} else if f.AST.Doc != nil {
			_, order, _ := strings.Cut(f.AST.Doc.Text(), "Reading order:")
			orders[f.Dir], _, _ = strings.Cut(order, "\n\n")
		}
	}
	var out []string
	for dir, list := range byDir {
		order := orders[dir]
		if order == "" && len(list) < 3 {
			continue
		}
		named := strings.FieldsFunc(order, func(r rune) bool { return strings.ContainsRune(" \n,;:()", r) })
		for _, f := range list {
			if !slices.ContainsFunc(named, func(name string) bool { return names(name, path.Base(f.Path)) }) {
				out = append(out, f.Path+":1: the reading order of "+dir+"/doc.go does not name it")
			}
		}
	}
	return out
}

// names reports whether a word of a reading order names a file: core.go, core or cmd_*; for file_linux.go also file.
func names(word, file string) bool {
	if prefix, all := strings.CutSuffix(strings.TrimSuffix(word, "."), "*"); all {
		return strings.HasPrefix(file, prefix)
	}
	name := strings.TrimSuffix(file, ".go")
	word = strings.TrimSuffix(strings.TrimSuffix(word, "."), ".go")
	for _, system := range []string{"", "_linux", "_unix", "_other", "_windows", "_darwin"} {
		if base, ok := strings.CutSuffix(name, system); ok && word == base {
			return true
		}
	}
	return false
}
