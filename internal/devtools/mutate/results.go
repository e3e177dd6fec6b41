package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Verdicts.
const (
	killed     = "killed"
	timedOut   = "timeout"
	notCovered = "not covered"
	survived   = "survived"
	open       = "open" // another round of tests comes, a stopped run begins again with the first one
)

// A result is the verdict on one mutant, a line of the results file.
type result struct {
	Mutant  string `json:"mutant"`
	Verdict string `json:"verdict"`
	By      string `json:"by,omitempty"`
	Hash    uint64 `json:"hash"` // of the function
	Tree    uint64 `json:"tree"` // of the package
}

// results are the verdicts on a package, from this run and runs before.
type results struct {
	mu   sync.Mutex
	by   map[string]result
	file *os.File
}

// openResults reads the results file of p, in dir, and appends to it.
func openResults(dir string, p *pkg, fresh bool) (*results, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, strings.ReplaceAll(p.Path, "/", "_")+".jsonl")
	if fresh {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	r := &results{by: map[string]result{}, file: file}
	for lines, whole := bufio.NewReader(file), int64(0); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // a line without an end was cut off
			return r, file.Truncate(whole)
		}
		whole += int64(len(line))
		var one result
		if err == nil {
			err = json.Unmarshal(line, &one)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w; remove it to start again", name, err)
		}
		r.by[one.Mutant] = one
	}
}

// known returns an earlier verdict on m, and whether it still holds. tests are the names that exist.
func (r *results) known(p *pkg, m *mutant, tests map[string]bool) (result, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.by[m.Name()]
	switch {
	case !ok || one.Hash != m.Hash:
		return result{}, false
	case one.Verdict == open:
		return one, false
	case one.Verdict == killed && tests[one.By], one.Verdict == timedOut, one.Tree == p.Tree:
		return one, true
	}
	return one, false
}

func (r *results) add(one result) error {
	line, err := json.Marshal(one)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by[one.Mutant] = one
	_, err = r.file.Write(append(line, '\n'))
	return err
}
