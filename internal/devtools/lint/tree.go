package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/golangci/misspell"
	"mvdan.cc/unparam/check"
)

// promised are methods whose signature an interface fixes that is only used by reflection:
// encoding.TextMarshaler, a subcommand's Run.
var promised = []string{").MarshalText - ", "Cmd).Run - "}

// unparam lists unused parameters and results. Exported functions are left out, because
// their signatures are a promise, and tests, whose helpers take what reads well.
func unparam(packages []string) ([]string, error) {
	const tests, exported, debug = false, false, false
	lines, err := check.UnusedParams(tests, exported, debug, packages...)
	if err != nil {
		return nil, fmt.Errorf("unparam: %w", err)
	}
	return slices.DeleteFunc(lines, func(line string) bool {
		return slices.ContainsFunc(promised, func(p string) bool { return strings.Contains(line, p) })
	}), nil
}

// maxTextBytes bounds a file that is read for spelling: longer ones are recordings and
// libraries of others.
const maxTextBytes = 64 << 10

// misspelled lists misspelled English words in the files that list names, one a line.
func misspelled(list io.Reader) (found []string, err error) {
	words := misspell.New()
	names := bufio.NewScanner(list)
	for names.Scan() {
		name := names.Text()
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // removed and not committed yet
		}
		if err != nil {
			return nil, fmt.Errorf("misspell: %w", err)
		}
		if len(text) > maxTextBytes || bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		fix := words.Replace
		if path.Ext(name) == ".go" {
			fix = words.ReplaceGo // comments alone
		}
		_, diffs := fix(string(text))
		for _, d := range diffs {
			found = append(found, fmt.Sprintf("%s:%d:%d: %q is a misspelling of %q", name, d.Line, d.Column, d.Original,
				d.Corrected))
		}
	}
	return found, names.Err()
}
