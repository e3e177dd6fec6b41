package tidy

import (
	"go/ast"
	"strings"
)

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
