package tidy

import (
	"bytes"
	"fmt"
	"regexp"
)

// strayText lists texts that no tracked file may contain: notes of unfinished work, paths of one machine, and
// remarks on how the text was written. The patterns do not match themselves.
var strayText = []struct {
	pattern *regexp.Regexp
	what    string
}{
	{regexp.MustCompile(`\b(TO[D]O|FIX[M]E|XX[X])\b`), "work left open"},
	{regexp.MustCompile(`(?i)not[ ]implemented`), "work left open"},
	{regexp.MustCompile(`/w[o]rk/|/f[a]rm/|/ho[m]e/[a-z]+/|/r[o]ot/`), "a path of one machine"},
	{
		regexp.MustCompile(`(?i)\b(chat[g]pt|open[a]i|an[t]hropic|cla[u]de|co[p]ilot|language[ ]model)\b`),
		"not about the project",
	},
}

// maxTextBytes limits the part of a file that is examined. Only embedded libraries are longer.
const maxTextBytes = 256 << 10

// Text reports texts that the tree must not contain.
func Text(name string, text []byte) []string {
	if len(text) > maxTextBytes || bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	var out []string
	for i, line := range bytes.Split(text, []byte("\n")) {
		for _, s := range strayText {
			if m := s.pattern.Find(line); m != nil {
				out = append(out, fmt.Sprintf("%s:%d: %q: %s", name, i+1, m, s.what))
			}
		}
	}
	return out
}
