package main

import (
	"go/token"
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
// exhaustive when it has a default, which states what the other kinds mean. Tests may
// look at some kinds only.
func vet() {
	kinds := exhaustive.Analyzer
	set(kinds, "d", "true")
	set(kinds, "constignore", countNames)
	wrapped := errorlint.NewAnalyzer()
	set(wrapped, "errorf", "true")
	ratchet(kinds, false)
	ratchet(wrapped, true)
	unitchecker.Main(kinds, wrapped)
}

// set gives a flag of an analyzer another default.
func set(a *analysis.Analyzer, name, value string) {
	if err := a.Flags.Set(name, value); err != nil {
		panic("BUG: " + a.Name + ": " + err.Error())
	}
}

// ratchet silences an analyzer in the packages that are open for it, unless -NAME.all is
// given, and reports an open package without findings. The analyzer runs there all the
// same: other packages need its facts.
func ratchet(a *analysis.Analyzer, tests bool) {
	all := a.Flags.Bool("all", false, "report findings of open packages, too")
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		report, found := pass.Report, 0
		closed := !isOpen(a.Name, pass.Pkg.Path())
		pass.Report = func(d analysis.Diagnostic) {
			if !tests && strings.HasSuffix(pass.Fset.Position(d.Pos).Filename, "_test.go") {
				return
			}
			found++
			if closed || *all {
				report(d)
			}
		}
		result, err := run(pass)
		if !closed && found == 0 && err == nil {
			report(analysis.Diagnostic{Pos: firstFile(pass), Message: a.Name + " finds nothing here: " + closeRow})
		}
		return result, err
	}
}

// closeRow tells the reader how to handle an open package without findings.
const closeRow = "remove the package from internal/devtools/lint/open.go"

func firstFile(pass *analysis.Pass) token.Pos {
	if len(pass.Files) == 0 {
		return token.NoPos
	}
	return pass.Files[0].Package
}
