package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	slack    = 3 // times the tests' own CPU time
	floorCPU = 2 * time.Second
	memory   = 6 << 30 // of addresses; a Go program reserves more than it uses
	fileSize = 1 << 30
	// The quick tests run first, then longer ones: the CPU time of each round.
	round1, round2 = 300 * time.Millisecond, 2 * time.Second
)

// A judge runs the tests of one package.
type judge struct {
	pkg    *pkg
	binary string
	dir    string   // of temporary files
	flags  []string // of the package's own tests
	tests  []test   // quickest first
	failed []string
	cpu    time.Duration // of all tests

	mu    sync.Mutex
	kills map[string]int // by file and test
}

// A test is a test, example or fuzz target and what it does without a mutant.
type test struct {
	name  string
	cpu   time.Duration
	seen  []byte
	index int // in the order of the source, to keep the sort stable
}

// An outcome is how a run of tests ended.
type outcome struct {
	ok, late bool
	cpu      time.Duration
	out      []byte
}

// run runs the tests that match pattern. A cpu of zero is no limit.
func (j *judge) run(pattern, seen string, on int, cpu time.Duration) (o outcome, err error) {
	tmp, err := os.MkdirTemp(j.dir, "run")
	if err != nil {
		return o, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	ctx, cancel := context.WithTimeout(context.Background(), backstop)
	defer cancel()
	args := append([]string{
		"-test.run", pattern, "-test.failfast", "-test.paniconexit0", "-test.timeout=0",
	}, j.flags...)
	cmd := exec.CommandContext(ctx, j.binary, args...)
	cmd.Dir = j.pkg.Dir
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "MUTATE_ON="+strconv.Itoa(on), "MUTATE_SEEN="+seen)
	if cpu > 0 {
		cmd.Env = append(cmd.Env, "MUTATE_CPU_SECONDS="+strconv.Itoa(int((cpu+time.Second-1)/time.Second)),
			"MUTATE_MEMORY="+strconv.Itoa(memory), "MUTATE_FILE="+strconv.Itoa(fileSize))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return o, err
	}
	go watch(ctx, cmd.Process.Pid, cancel)
	err = cmd.Wait()
	o = outcome{ok: err == nil, out: out.Bytes()}
	o.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	o.late = status.Signaled() && status.Signal() == syscall.SIGKILL
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !o.late {
		return o, err
	}
	return o, nil
}

// learn runs each test alone with all mutants off: its time, and the mutants that it reaches.
func (j *judge) learn() error {
	list := exec.Command(j.binary, "-test.list", ".")
	list.Dir = j.pkg.Dir
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the tests of %s: %w", j.pkg.Path, err)
	}
	usage, _ := exec.Command(j.binary, "-h").CombinedOutput()
	if bytes.Contains(usage, []byte("\n  -seed uint\n")) {
		j.flags = []string{"-seed=1"} // random tests do the same in each run
	}
	seen := filepath.Join(j.dir, "seen")
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		name := s.Text()
		if !strings.ContainsAny(name[:1], "TFE") || strings.Contains(name, "Alloc") {
			continue // a benchmark; the allocations of changed code say nothing about the package
		}
		if err := os.WriteFile(seen, make([]byte, len(j.pkg.Mutants)+1), 0o600); err != nil {
			return err
		}
		o, err := j.run("^"+name+"$", seen, 0, 0)
		if err != nil {
			return err
		}
		if !o.ok {
			j.failed = append(j.failed, name)
			continue
		}
		t := test{name: name, cpu: o.cpu, index: len(j.tests)}
		if t.seen, err = os.ReadFile(seen); err != nil {
			return err
		}
		j.tests = append(j.tests, t)
		j.cpu += t.cpu
	}
	slices.SortFunc(j.tests, func(a, b test) int {
		return cmp.Or(cmp.Compare(a.cpu, b.cpu), cmp.Compare(a.index, b.index))
	})
	return nil
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// The rounds of tests. Each is judged for all mutants before the next one, because most mutants die in the first.
const (
	firstRound = iota // the test that has killed the most mutants of the file, and the quickest ones
	secondRound
	lastRound // the rest
)

// testsOf returns the tests of a round that reach m, in the groups that share a process, and whether later rounds
// have any.
func (j *judge) testsOf(m *mutant, round int) (groups [][]test, more bool) {
	var reach []test
	for _, t := range j.tests {
		if t.seen[m.ID] != 0 {
			reach = append(reach, t)
		}
	}
	for r, budget := range []time.Duration{round1, round2, 1 << 62} {
		n := 0
		for cpu := time.Duration(0); n < len(reach) && cpu+reach[n].cpu <= budget; n++ {
			cpu += reach[n].cpu
		}
		if r == round {
			groups, more = [][]test{reach[:n]}, n < len(reach)
			break
		}
		reach = reach[n:]
	}
	own := groups[0]
	if at := j.killer(m.File, own); at >= 0 {
		groups = [][]test{own[at : at+1], slices.Concat(own[:at], own[at+1:])}
	}
	return groups, more
}

// killer returns the place of the test below round1 that has killed the most mutants of file, -1 for none.
func (j *judge) killer(file string, tests []test) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	at, most := -1, 0
	for i, t := range tests {
		if n := j.kills[file+" "+t.name]; n > most && t.cpu <= round1 {
			at, most = i, n
		}
	}
	return at
}

func (j *judge) noteKill(file, by string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kills[file+" "+by]++
}

// judge returns the verdict of a round on m and the test that killed it. It is open when m lives and another round
// has tests.
func (j *judge) judge(m *mutant, round int) (verdict, by string, err error) {
	groups, more := j.testsOf(m, round)
	switch {
	case more:
		verdict = open
	case round == firstRound && len(groups[0]) == 0:
		verdict = notCovered
	default:
		verdict = survived
	}
	for _, group := range groups {
		if len(group) == 0 {
			continue
		}
		var names []string
		var cpu time.Duration
		for _, t := range group {
			names, cpu = append(names, t.name), cpu+t.cpu
		}
		o, err := j.run("^("+strings.Join(names, "|")+")$", "", m.ID, max(floorCPU, slack*cpu))
		switch {
		case err != nil:
			return "", "", err
		case o.late:
			return timedOut, "", nil
		case !o.ok:
			by := names[0] // a crash names no test
			if found := failedTest.FindSubmatch(o.out); found != nil {
				by = string(found[1])
			}
			j.noteKill(m.File, by)
			return killed, by, nil
		}
	}
	return verdict, "", nil
}
