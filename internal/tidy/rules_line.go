package tidy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxColumns is the length of a line, a tab counted as four.
const maxColumns = 120

// openLines are the folders that still have longer lines. A row goes with the last of them;
// no row is added.
var openLines = []string{}

// LongLines reports lines beyond maxColumns.
func LongLines(f *File) []string {
	if slices.Contains(openLines, f.Dir) || verbatim(f) {
		return nil
	}
	return longLines(f)
}

// structTag matches a struct tag at the end of a line. It is not counted, because Go has no way to
// break it.
var structTag = regexp.MustCompile("`[a-z]+:\"[^`]*`( //.*)?$")

func longLines(f *File) (out []string) {
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

// ShortLines reports folders in openLines that have no long line.
func ShortLines(files []*File) (out []string) {
	long := map[string]bool{}
	for _, f := range files {
		long[f.Dir] = long[f.Dir] || len(longLines(f)) > 0
	}
	for _, dir := range openLines {
		if !long[dir] {
			out = append(out, dir+": no line is too long: remove the folder from openLines in rules_line.go")
		}
	}
	return out
}
