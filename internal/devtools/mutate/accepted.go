package main

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed accepted.txt
var acceptedText string

// accepted holds the mutants that no test can kill, with the reason.
type accepted struct {
	reason map[string]string // by name
	line   map[string]int
	order  []string
}

// readAccepted parses blocks: lines of a reason that start with #, then the names of the
// mutants that it is true of. An empty line ends a block.
func readAccepted(text string) (*accepted, error) {
	a := &accepted{reason: map[string]string{}, line: map[string]int{}}
	reason, named := "", false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t")
		switch {
		case line == "":
			if reason != "" && !named {
				return nil, fmt.Errorf("accepted.txt:%d: the reason before has no mutant", i+1)
			}
			reason, named = "", false
		case strings.HasPrefix(line, "#"):
			if named {
				return nil, fmt.Errorf("accepted.txt:%d: put an empty line before the next reason", i+1)
			}
			reason = strings.TrimSpace(reason + " " + strings.TrimSpace(line[1:]))
		case reason == "":
			return nil, fmt.Errorf("accepted.txt:%d: %q has no reason; write it above, after #", i+1, line)
		case a.reason[line] != "":
			return nil, fmt.Errorf("accepted.txt:%d: %q is in line %d already", i+1, line, a.line[line])
		default:
			a.reason[line], a.line[line], named = reason, i+1, true
			a.order = append(a.order, line)
		}
	}
	return a, nil
}

// stale returns the rows about p that name no mutant, or one with a verdict that needs no
// reason. A nil verdicts is not looked at.
func (a *accepted) stale(p *pkg, verdicts map[string]string) (out []string) {
	exists := map[string]bool{}
	files := map[string]bool{}
	for _, m := range p.Mutants {
		exists[m.Name()] = true
	}
	for _, s := range p.files {
		files[s.rel] = true
	}
	for _, name := range a.order {
		file, _, _ := strings.Cut(name, " ")
		if !files[file] {
			continue
		}
		if !exists[name] {
			out = append(out, fmt.Sprintf("accepted.txt:%d: there is no mutant %q; remove the row", a.line[name], name))
		} else if v := verdicts[name]; v == killed || v == timedOut {
			out = append(out, fmt.Sprintf("accepted.txt:%d: a test kills %q; remove the row", a.line[name], name))
		}
	}
	return out
}
