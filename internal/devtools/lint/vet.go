package main

import (
	"strings"

	"github.com/nishanths/exhaustive/passes/exhaustive"
	"github.com/polyfloyd/go-errorlint/errorlint"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

// countNames are constants behind the last of a kind that count them, and masks: no case
// of a switch.
const countNames = `\.(recordKinds|actionTypes|ActionTypes|sorts|placeMask)$`

// vet runs the analyzers on one package, as the go command asks. A switch over a kind is
// exhaustive when it has a default, which states what the other kinds mean.
func vet() {
	kinds := exhaustive.Analyzer
	set(kinds, "d", "true")
	set(kinds, "constignore", countNames)
	leaveOutTests(kinds)
	wrapped := errorlint.NewAnalyzer()
	set(wrapped, "errorf", "true")
	unitchecker.Main(kinds, wrapped)
}

// set gives a flag of an analyzer another default.
func set(a *analysis.Analyzer, name, value string) {
	if err := a.Flags.Set(name, value); err != nil {
		panic("BUG: " + a.Name + ": " + err.Error())
	}
}

// leaveOutTests drops an analyzer's findings in test files: a test may look at some kinds only.
func leaveOutTests(a *analysis.Analyzer) {
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		report := pass.Report
		pass.Report = func(d analysis.Diagnostic) {
			if !strings.HasSuffix(pass.Fset.Position(d.Pos).Filename, "_test.go") {
				report(d)
			}
		}
		return run(pass)
	}
}
