package tidy

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// oldRef matches a reference that References cannot check: a section number, or the name of a page without a
// folder. A comment must use the form docs/contract/errors.md#codes.
var oldRef = regexp.MustCompile(
	`\bDecisions(?: sections?)?(?: [0-9][0-9.]*|$)|(?:^|[^\w/.-])((?:api|decisions|matching|performance)\.md)\b`)

// goalsPage is the page with an anchor for each goal of the benchmarks.
const goalsPage = "docs/internals/performance.md"

// OldReferences reports references in the comments of a Go file that are not in the form of a link.
func OldReferences(f *File) (out []string) {
	for _, group := range f.AST.Comments {
		for _, c := range group.List {
			first := f.Fset.Position(c.Pos()).Line
			for i, line := range strings.Split(c.Text, "\n") {
				if m := oldRef.FindString(line); m != "" {
					out = append(out, f.Path+":"+strconv.Itoa(first+i)+": "+strconv.Quote(strings.TrimSpace(m))+
						": write a link such as docs/contract/errors.md#codes")
				}
			}
		}
	}
	return out
}

// Goals reports goals in calls of Aim in a Go file for which goalsPage has no anchor.
func (t *Tree) Goals(f *File) (out []string) {
	if !under(f.Dir, "bench") {
		return nil
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		fun, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || fun.Sel.Name != "Aim" {
			return true
		}
		goal, ok := call.Args[0].(*ast.BasicLit)
		if !ok || goal.Kind != token.STRING {
			return true
		}
		name, err := strconv.Unquote(goal.Value)
		if err != nil || t.resolve(goalsPage, strings.ToLower(name)) != "" {
			out = append(out, f.at(goal.Pos())+": goal "+goal.Value+" has no anchor in "+goalsPage)
		}
		return true
	})
	return out
}
