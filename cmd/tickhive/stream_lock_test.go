package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/config"
)

// SECURITY.md says of every listener that the configuration has whom it trusts, and names tests for each.
func TestEveryListenerIsInTheTableOfSecurity(t *testing.T) {
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## What each listener trusts\n\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[2:]
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		if len(cells) != 4 || !strings.Contains(cells[3], "`Test") {
			t.Errorf("no test in %s", row)
		}
	}
	listeners := 0
	for _, k := range config.Default().Keys() {
		if !strings.HasSuffix(k.Name, ".listen") {
			continue
		}
		listeners++
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, "`"+k.Name+"`") }) {
			t.Errorf("%s is not in the table", k.Name)
		}
	}
	if listeners < 5 {
		t.Errorf("only %d listeners", listeners)
	}
}
