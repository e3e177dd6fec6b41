package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The files texts_*.txt and config_*.txt of goldenDir freeze what a person reads, so that a change
// of a text appears in a diff. Its wording is not part of the contract: a change needs an update of
// the files alone.

// errorObject matches the innermost JSON object that has a message. The submatch is the message.
var errorObject = regexp.MustCompile(`\{[^{}]*"(?:message|errmsg)":"((?:[^"\\]|\\.)*)"[^{}]*\}`)

// keepMessages remembers each distinct message of a response, with its code, its field and the first
// request that received it.
func (g *golden) keepMessages(request, text string) {
	target, _, _ := strings.Cut(request, "?")
	for _, m := range errorObject.FindAllStringSubmatch(text, -1) {
		line := m[1]
		for _, name := range []string{"field", "code", "kind"} {
			member := regexp.MustCompile(`"` + name + `":"?([^",}]*)`).FindStringSubmatch(m[0])
			if member != nil {
				line = member[1] + " | " + line
			}
		}
		if _, known := g.messages[line]; !known {
			g.messages[line] = target
		}
	}
}

// messageTexts writes the messages of the run to texts_messages.txt.
func (g *golden) messageTexts() {
	g.area = "texts_messages"
	for _, line := range slices.Sorted(maps.Keys(g.messages)) {
		fmt.Fprintf(g.text(), "%s\n    %s\n", line, g.messages[line])
	}
}

// metricTexts writes the HELP lines of the program's metrics to texts_metrics.txt.
func (g *golden) metricTexts() {
	g.area = "texts_metrics"
	_, _, text := g.send(g.internal, "GET", "/metrics", "")
	help := map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "# HELP tickhive_") {
			help[line] = true
		}
	}
	fmt.Fprintf(g.text(), "%s\n", strings.Join(slices.Sorted(maps.Keys(help)), "\n"))
}
