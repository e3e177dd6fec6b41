package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// A report holds what a run says about one package.
type report struct {
	pkg      *pkg
	verdicts map[string]string // by name
	left     []string          // tests that judge none
	stale    []string
}

// printReports prints the table and the lists, and reports whether nothing is left to do.
func printReports(w io.Writer, all []report, reasons *accepted) (clean bool) {
	clean = true
	for _, r := range all {
		for _, name := range r.left {
			fmt.Fprintf(w, "%s: %s fails without a mutant and judges none\n", r.pkg.Path, name)
		}
		for _, m := range r.pkg.Mutants {
			v := r.verdicts[m.Name()]
			if (v == survived || v == notCovered) && reasons.reason[m.Name()] == "" {
				clean = false
				fmt.Fprintf(w, "%s:%d: %s: %s: %s\n", m.File, m.Line, v, m.Func, m.Change)
			}
		}
		for _, line := range r.stale {
			clean = false
			fmt.Fprintln(w, line)
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "package\tmutants\tkilled\ttimeouts\tnot covered\tsurvivors\taccepted\tnot compiled\tnot judged\t")
	for _, r := range all {
		n := map[string]int{}
		for _, m := range r.pkg.Mutants {
			v := r.verdicts[m.Name()]
			n[v]++
			if (v == survived || v == notCovered) && reasons.reason[m.Name()] != "" {
				n["accepted"]++
			}
			if v == "" && m.broken {
				n["broken"]++
			}
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", r.pkg.Path, len(r.pkg.Mutants), n[killed], n[timedOut],
			n[notCovered], n[survived], n["accepted"], n["broken"], n[""]-n["broken"])
	}
	_ = t.Flush()
	return clean
}
