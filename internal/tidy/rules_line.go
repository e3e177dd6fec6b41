package tidy

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxColumns is the largest length of a line. A tab counts as four characters.
const maxColumns = 120

// structTag matches a struct tag at the end of a line. It does not count, because Go cannot break it.
var structTag = regexp.MustCompile("`[a-z]+:\"[^`]*`( //.*)?$")

// LongLines reports lines beyond maxColumns.
func LongLines(f *File) (out []string) {
	if verbatim(f) {
		return nil
	}
	n := 0
	for line := range strings.Lines(string(f.Text)) {
		n++
		line = structTag.ReplaceAllString(strings.TrimRight(line, "\n"), "")
		if columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t"); columns > maxColumns {
			out = append(out, fmt.Sprintf("%s:%d: %d columns, at most %d", f.Path, n, columns, maxColumns))
		}
	}
	return out
}
