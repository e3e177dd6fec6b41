package nets

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Table is the table of docs/contract/errors.md: the status of each code.
type Table map[string]int

var (
	codeRow   = regexp.MustCompile(`(?m)^\| ([A-Z_]+(?:, [A-Z_]+)*) \| ([0-9]{3}) \|`)
	reasonRow = regexp.MustCompile("(?m)^\\| (`[a-z_]+`(?:, `[a-z_]+`)*) \\| ([0-9]{3})(?:, code ([A-Z_]+))? \\|")
)

// ReadTable reads the two tables of docs/contract/errors.md. reasons has the reasons of the engine alone, each with the
// code that the trading API answers with.
func ReadTable() (table Table, reasons map[string]string, err error) {
	text, err := Document("docs/contract/errors.md")
	if err != nil {
		return nil, nil, err
	}
	table, reasons = Table{}, map[string]string{}
	var errs []error
	add := func(code, status string) {
		n, err := strconv.Atoi(status)
		if have, ok := table[code]; err != nil || ok && have != n {
			errs = append(errs,
				fmt.Errorf("docs/contract/errors.md: %s has the statuses %d and %s", code, have, status))
		}
		table[code] = n
	}
	for _, row := range codeRow.FindAllStringSubmatch(text, -1) {
		for _, code := range strings.Split(row[1], ", ") {
			add(code, row[2])
		}
	}
	for _, row := range reasonRow.FindAllStringSubmatch(text, -1) {
		for _, reason := range strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ") {
			reasons[reason] = strings.ToUpper(reason)
			if row[3] != "" {
				reasons[reason] = row[3]
			}
			add(reasons[reason], row[2])
		}
	}
	if len(table) < 47 || len(reasons) < 22 {
		errs = append(errs,
			fmt.Errorf("docs/contract/errors.md: %d codes and %d reasons found", len(table), len(reasons)))
	}
	return table, reasons, errors.Join(errs...)
}

// Document returns the text of a file of the module, named from its root.
func Document(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("nets: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("nets: no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return "", fmt.Errorf("nets: %w", err)
	}
	return string(raw), nil
}

// Seen collects the codes of answers. An answer whose code or status is not in the table fails the test.
type Seen struct {
	T     testing.TB
	Table Table
	codes map[string]bool
}

// Refused checks an answer that must be a refusal with a code and the status of the table.
func (s *Seen) Refused(what string, a Answer, code string) {
	s.T.Helper()
	var e struct{ Code, Message string }
	if json.Unmarshal([]byte(a.Body), &e) != nil || e.Code == "" {
		s.T.Errorf("%s: %d %.300s is no error object", what, a.Status, a.Body)
		return
	}
	switch status, known := s.Table[e.Code]; {
	case !known:
		s.T.Errorf("%s: %s is not in docs/contract/errors.md", what, e.Code)
	case a.Status != status:
		s.T.Errorf("%s: %s with status %d, docs/contract/errors.md says %d", what, e.Code, a.Status, status)
	}
	if e.Code != code {
		s.T.Errorf("%s: %d %s, want %s", what, a.Status, a.Body, code)
	}
	if s.codes == nil {
		s.codes = map[string]bool{}
	}
	s.codes[e.Code] = true
}

// Translated notes a code that no error object shows: the one interface that reaches it has another form of errors.
func (s *Seen) Translated(code string) {
	s.T.Helper()
	if _, known := s.Table[code]; !known {
		s.T.Errorf("%s is not in docs/contract/errors.md", code)
	}
	if s.codes == nil {
		s.codes = map[string]bool{}
	}
	s.codes[code] = true
}

// Missing returns the rows of the table that no answer had.
func (s *Seen) Missing() (out []string) {
	for _, code := range slices.Sorted(maps.Keys(s.Table)) {
		if !s.codes[code] {
			out = append(out, code)
		}
	}
	return out
}
