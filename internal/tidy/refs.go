package tidy

import (
	"regexp"
	"strconv"
	"strings"
)

// oldRef matches a reference that References cannot check: a section number, or the name of a page without a
// folder. A comment must use the form docs/contract/errors.md#codes.
var oldRef = regexp.MustCompile(
	`\bDecisions(?: sections?)?(?: [0-9][0-9.]*|$)|(?:^|[^\w/.-])((?:api|decisions|matching|performance)\.md)\b`)

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
