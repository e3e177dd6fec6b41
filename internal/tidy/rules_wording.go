package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// quotesWords lists the files that may contain banned words, because they quote them.
var quotesWords = []string{
	"internal/tidy/rules_words.go", "internal/tidy/tidy_test.go", "internal/tidy/words_test.go",
	"sim/residents/words.go", // texts of the demo, fixed by its seed
}

// noun matches a doc comment that begins with a question word ("X is what") instead of a verb.
var noun = regexp.MustCompile(`^\w+(\.\w+)? (is|are) (what|how|who|whether|where|when|why)\b`)

// ownTexts lists the extensions of our texts besides Go and Markdown: pages and scripts.
var ownTexts = []string{".js", ".mjs", ".html", ".css", ".sh"}

// foreignTexts lists the folders with libraries by others.
var foreignTexts = []string{"server/web/app/vendor", "server/web/swagger"}

// codeSpan matches text between backticks, also across lines.
var codeSpan = regexp.MustCompile("(?s)`[^`]*`")

// prose returns the text of a comment as one line, without indented code.
func prose(text string) string {
	lines := strings.Split(text, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "\t") })
	return strings.Join(lines, " ")
}

// Wording reports banned words in the comments and string literals of a Go file.
func Wording(f *File) (out []string) {
	if slices.Contains(quotesWords, f.Path) || verbatim(f) {
		return nil
	}
	for _, group := range f.AST.Comments {
		if m := noun.FindString(group.Text()); m != "" {
			at := f.at(group.Pos())
			out = append(out, fmt.Sprintf("%s: %q: write a verb: returns, reports, holds, counts", at, m))
		}
		out = append(out, banned(f.at(group.Pos()), codeSpan.ReplaceAllString(prose(group.Text()), ""))...)
	}
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			tags[n.Tag] = true
		case *ast.BasicLit:
			if n.Kind != token.STRING || tags[n] {
				return true
			}
			if text, err := strconv.Unquote(n.Value); err == nil && strings.Contains(text, " ") {
				out = append(out, banned(f.at(n.Pos()), codeSpan.ReplaceAllString(text, ""))...)
			}
		}
		return true
	})
	return out
}

// PlainText reports banned words in a page or a script that is neither Go nor Markdown.
func PlainText(name string, text []byte) (out []string) {
	dir := path.Dir(name)
	own := slices.Contains(ownTexts, path.Ext(name)) || path.Base(name) == "Makefile" || dir == ".ci"
	if !own || slices.Contains(foreignTexts, dir) {
		return nil
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		out = append(out, banned(fmt.Sprintf("%s:%d", name, n), line)...)
	}
	return out
}
