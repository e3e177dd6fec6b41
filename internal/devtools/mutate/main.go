package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
)

// options are the flags.
type options struct {
	root, out string
	jobs      int
	fresh     bool
	list      bool
	only      string
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "folder of the module")
	flag.StringVar(&o.out, "out", "bin/mutants", "folder of binaries and verdicts, below root")
	flag.IntVar(&o.jobs, "jobs", 2, "mutants that are judged at the same time")
	flag.BoolVar(&o.fresh, "fresh", false, "forget the verdicts of earlier runs")
	flag.BoolVar(&o.list, "list", false, "print the names of the mutants and run nothing")
	flag.StringVar(&o.only, "only", "", "judge the mutants whose name matches this expression alone")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: mutate [flags] PACKAGE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || o.jobs < 1 {
		flag.Usage()
		os.Exit(2)
	}
	clean, err := run(o, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if err != nil || !clean {
		os.Exit(1)
	}
}

// run judges the packages and prints the report. clean is false for a survivor without a
// reason and for a stale reason.
func run(o options, patterns []string) (clean bool, err error) {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return false, err
	}
	o.root = root
	if !filepath.IsAbs(o.out) {
		o.out = filepath.Join(root, o.out)
	}
	reasons, err := readAccepted(acceptedText)
	if err != nil {
		return false, err
	}
	packages, err := findMutants(root, patterns...)
	if err != nil {
		return false, err
	}
	if o.list {
		for _, p := range packages {
			for _, m := range p.Mutants {
				fmt.Printf("%s:%d: %s\n", m.File, m.Line, m.Name())
			}
		}
		return true, nil
	}
	var all []report
	for _, p := range packages {
		r, err := judgePackage(o, p)
		if err != nil {
			return false, err
		}
		r.stale = reasons.stale(p, r.verdicts)
		all = append(all, r)
	}
	return printReports(os.Stdout, all, reasons), nil
}

// judgePackage returns the verdicts on all mutants of p.
func judgePackage(o options, p *pkg) (report, error) {
	r := report{pkg: p, verdicts: map[string]string{}}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return r, err
	}
	dir := filepath.Join(o.out, strings.ReplaceAll(p.Path, "/", "_"))
	j := &judge{pkg: p, dir: dir}
	if j.binary, err = p.build(dir); err != nil {
		return r, err
	}
	if err := j.learn(); err != nil {
		return r, err
	}
	r.left = j.failed
	known, err := openResults(o.out, p, o.fresh)
	if err != nil {
		return r, err
	}
	defer func() { _ = known.file.Close() }()
	tests := map[string]bool{}
	for _, t := range j.tests {
		tests[t.name] = true
	}
	var open []*mutant
	for _, m := range p.Mutants {
		if one, ok := known.known(p, m, tests); ok {
			r.verdicts[m.Name()] = one.Verdict
		} else if !m.broken && only.MatchString(m.Name()) {
			open = append(open, m)
		}
	}
	fmt.Fprintf(os.Stderr, "%s: %d mutants, %d to judge, %d tests of %.1f s CPU time\n",
		p.Path, len(p.Mutants), len(open), len(j.tests), j.cpu.Seconds())
	found, err := j.all(open, known, o.jobs)
	for name, verdict := range found {
		r.verdicts[name] = verdict
	}
	return r, err
}

// all judges mutants, some at a time.
func (j *judge) all(mutants []*mutant, known *results, jobs int) (map[string]string, error) {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		next  atomic.Int64
		first error
		out   = map[string]string{}
	)
	for range jobs {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(mutants) {
					return
				}
				m := mutants[i]
				verdict, by, err := j.judge(m)
				if err == nil {
					err = known.add(result{Mutant: m.Name(), Verdict: verdict, By: by, Hash: m.Hash, Tree: j.pkg.Tree})
				}
				mu.Lock()
				out[m.Name()] = verdict
				if err != nil && first == nil {
					first = fmt.Errorf("%s: %w", m.Name(), err)
					next.Store(int64(len(mutants)))
				}
				if n := len(out); n%100 == 0 {
					fmt.Fprintf(os.Stderr, "%s: %d of %d\n", j.pkg.Path, n, len(mutants))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return out, first
}
