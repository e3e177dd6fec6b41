package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	tests     string
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "folder of the module")
	flag.StringVar(&o.out, "out", "bin/mutants", "folder of binaries and verdicts, below root")
	flag.IntVar(&o.jobs, "jobs", 2, "mutants that are judged at the same time")
	flag.BoolVar(&o.fresh, "fresh", false, "forget the verdicts of earlier runs")
	flag.BoolVar(&o.list, "list", false, "print the names of the mutants and run nothing")
	flag.StringVar(&o.only, "only", "", "judge the mutants whose name matches this expression alone")
	flag.StringVar(&o.tests, "tests", "",
		"judge with the tests whose name matches this expression alone, and remember kills alone")
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
	chosen, err := regexp.Compile(o.tests)
	if err != nil {
		return r, err
	}
	j := &judge{pkg: p, dir: dir, chosen: chosen, names: map[string]bool{}, kills: map[string]int{}}
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
	var left [2][]*mutant // new ones, and those that have outlived the first round before
	for _, m := range p.Mutants {
		one, ok := known.known(p, m, j.names)
		switch {
		case ok:
			r.verdicts[m.Name()] = one.Verdict
			j.noteKill(m, one.By)
		case m.broken || !only.MatchString(m.Name()):
		case one.Verdict == open:
			left[1] = append(left[1], m)
		default:
			left[0] = append(left[0], m)
		}
	}
	fmt.Fprintf(os.Stderr, "%s: %d mutants, %d to judge, %d tests of %.1f s CPU time\n",
		p.Path, len(p.Mutants), len(left[0])+len(left[1]), len(j.tests), j.cpu.Seconds())
	order := [2][]int{{firstRound, secondRound, lastRound}, {secondRound, lastRound, firstRound}}
	for n := range rounds {
		for k := range left {
			if err := j.all(left[k], order[k][n:], known, o.jobs, r.verdicts); err != nil {
				return r, err
			}
			left[k] = slices.DeleteFunc(left[k], func(m *mutant) bool { return r.verdicts[m.Name()] != open })
		}
	}
	return r, nil
}

// all judges mutants with the tests of the first one of some rounds, some at a time. It puts the verdicts into out.
func (j *judge) all(mutants []*mutant, rounds []int, known *results, jobs int, out map[string]string) error {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		next  atomic.Int64
		done  int
		first error
	)
	for range jobs {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(mutants) {
					return
				}
				m := mutants[i]
				verdict, by, err := j.judge(m, rounds[0], rounds[1:])
				if err == nil && (verdict == killed || verdict == timedOut || j.chosen.String() == "") {
					err = known.add(result{m.Name(), verdict, by, m.Hash, j.pkg.Tree})
				}
				mu.Lock()
				out[m.Name()] = verdict
				if err != nil && first == nil {
					first = fmt.Errorf("%s: %w", m.Name(), err)
					next.Store(int64(len(mutants)))
				}
				if done++; done%100 == 0 {
					fmt.Fprintf(os.Stderr, "%s: round %d: %d of %d\n", j.pkg.Path, rounds[0]+1, done, len(mutants))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return first
}
