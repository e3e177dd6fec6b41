package main

import (
	"path"
	"slices"
	"strings"
)

const module = "tickhive/"

// open lists by linter the packages that still have findings. A row goes when its package
// has none; no row is added.
var open = map[string][]string{
	"exhaustive": {"cmd/tickhive", "engine", "marketdata"},
}

// isOpen reports whether findings of a linter in a package are not reported yet. The import
// path of a test variant has the package in brackets behind it.
func isOpen(linter, importPath string) bool {
	importPath, _, _ = strings.Cut(importPath, " ")
	return slices.Contains(open[linter], strings.TrimPrefix(importPath, module))
}

// shrink leaves the findings (file:line:column: text) of packages that are not open, and
// adds the open packages without findings.
func shrink(linter string, findings []string) (out []string) {
	seen := map[string]bool{}
	for _, f := range findings {
		file, _, _ := strings.Cut(f, ":")
		dir := path.Dir(file)
		seen[dir] = true
		if !isOpen(linter, dir) {
			out = append(out, f)
		}
	}
	for _, dir := range open[linter] {
		if !seen[dir] {
			out = append(out, dir+": "+linter+" finds nothing here: "+closeRow)
		}
	}
	return out
}
