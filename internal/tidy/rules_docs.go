package tidy

import (
	"go/ast"
	"go/token"
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
