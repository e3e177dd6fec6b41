package tidy

import (
	"fmt"
	"go/ast"
)

// maxFuncLines is the largest length of a function: it should fit on a screen.
const maxFuncLines = 70

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
