package server_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Public GET handlers and the functions they call use no lock and no channel: no request waits
// for another (docs/internals/performance.md#publication-9).
func TestPublicHandlersDoNotWait(t *testing.T) {
	var files []string
	for _, pattern := range []string{"market*.go", "encode_*.go", "respond.go", "shared_doc.go", "etag.go", "quote.go", "query.go", "params.go", "dates.go", "pair.go", "meta.go", "status.go", "commissions.go", "dispatch.go", "../aggregator/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt, *ast.GoStmt:
				t.Errorf("%s: a channel or a goroutine in a public handler", fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "sync" {
					t.Errorf("%s: sync.%s in a public handler", fset.Position(n.Pos()), n.Sel.Name)
				}
			case *ast.Ident:
				if n.Name == "float64" || n.Name == "float32" {
					t.Errorf("%s: a float in a public handler", fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
}
