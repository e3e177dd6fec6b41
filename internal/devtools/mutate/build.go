package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

//go:embed helpers.go.txt
var helpers string

// maxBuilds bounds the compilations of one package. Each one but the last leaves out the
// mutants of the lines that do not compile.
const maxBuilds = 12

// build compiles the tests of p with all mutants and returns the binary, in dir.
func (p *pkg) build(dir string) (binary string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "mutants.test")
	for range maxBuilds {
		overlay, err := p.writeFiles(dir)
		if err != nil {
			return "", err
		}
		cmd := exec.Command("go", "test", "-c", "-pgo=off", "-gcflags="+p.Path+"=-e", "-overlay", overlay,
			"-o", binary, p.Path)
		cmd.Dir = p.Root
		out, err := cmd.CombinedOutput()
		if err == nil {
			return binary, nil
		}
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
			return "", err
		}
		if p.leaveOut(dir, string(out)) == 0 {
			return "", fmt.Errorf("%s with its mutants does not compile:\n%s", p.Path, out)
		}
	}
	return "", fmt.Errorf("%s: mutants do not compile after %d attempts; see %s", p.Path, maxBuilds, dir)
}

// writeFiles writes the changed files and the helpers into dir, and the overlay that puts
// them into the package.
func (p *pkg) writeFiles(dir string) (overlay string, err error) {
	replace := map[string]string{}
	write := func(original, text string) error {
		name := filepath.Join(dir, filepath.Base(original))
		replace[original] = name
		return os.WriteFile(name, []byte(text), 0o644)
	}
	for _, s := range p.files {
		if err := write(s.path, s.render(p.Mutants)); err != nil {
			return "", err
		}
	}
	text := strings.NewReplacer("PACKAGE", p.Name, "MUTANTS", strconv.Itoa(len(p.Mutants)+1)).Replace(helpers)
	if err := write(filepath.Join(p.Dir, "zz_mutants.go"), text); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o644)
}

var (
	buildError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)
	mutantID   = regexp.MustCompile(`_mut[A-Za-z]+(?:\[\w+\])?\((\d+)`)
)

// leaveOut marks the mutants on the lines that the compiler names, or on the line before
// that has any. It returns their number.
func (p *pkg) leaveOut(dir, out string) (n int) {
	for _, found := range buildError.FindAllStringSubmatch(out, -1) {
		text, err := os.ReadFile(filepath.Join(dir, filepath.Base(found[1])))
		if err != nil {
			continue
		}
		lines := strings.Split(string(text), "\n")
		line, _ := strconv.Atoi(found[2])
		for i := min(line, len(lines)) - 1; i >= 0; i-- {
			ids := mutantID.FindAllStringSubmatch(lines[i], -1)
			for _, id := range ids {
				number, _ := strconv.Atoi(id[1])
				if m := p.Mutants[number-1]; !m.broken {
					m.broken = true
					n++
				}
			}
			if len(ids) > 0 {
				break
			}
		}
	}
	return n
}
