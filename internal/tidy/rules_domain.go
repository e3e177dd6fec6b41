package tidy

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// domains lists the folders that must not know HTTP and JSON; the encoders of the server do.
var domains = []string{"engine", "marketdata", "accounts", "launchpad", "hive"}

// httpStatuses lists the error statuses of the contract (docs/contract/errors.md).
var httpStatuses = []string{
	"400", "401", "403", "404", "405", "406", "408", "409", "411", "413", "414", "415", "417", "422", "429", "431",
	"500", "501", "502", "503", "504", "505",
}

// Statuses reports HTTP in a domain: an import of net/http, or a literal integer that is a status. A named
// constant is a limit of the domain and no status.
func Statuses(f *File) []string {
	if f.Test || under(f.Dir, "engine/enginetest") || !under(f.Dir, domains...) {
		return nil
	}
	var out []string
	for _, p := range f.imports() {
		if p == "net/http" || strings.HasPrefix(p, "github.com/valyala/fasthttp") {
			out = append(out, f.Path+":1: "+p+" in a domain: the server knows HTTP")
		}
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.BasicLit:
			if n.Kind == token.INT && slices.Contains(httpStatuses, n.Value) {
				out = append(out, f.at(n.Pos())+": "+n.Value+
					" looks like an HTTP status in a domain: return a reason, the server maps it")
			}
		}
		return true
	})
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
