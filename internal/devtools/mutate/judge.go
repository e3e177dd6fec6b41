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
	dir    string          // of temporary files
	flags  []string        // of the package's own tests
	tests  []test          // quickest first
	chosen *regexp.Regexp  // names of the tests that judge
	names  map[string]bool // of all tests
	failed []string
	cpu    time.Duration // of all tests

	mu    sync.Mutex
	kills map[string]int // by file and test, and by file, function and test
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
		j.names[name] = true
		if !strings.ContainsAny(name[:1], "TFE") || strings.Contains(name, "Alloc") || !j.chosen.MatchString(name) {
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
			delete(j.names, name)
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

// The rounds of tests. Each is judged for all mutants before the next one, because most mutants die in the first. A
// mutant that has outlived the first one in an earlier run begins with the second.
const (
	firstRound = iota // the quickest tests
	secondRound
	lastRound // the rest
	rounds
)

// testsOf returns the tests of a round that reach m, in the groups that share a process. The quickest tests share one,
// which costs less than to start each alone; a process runs its tests in the order of the source, so each longer test
// has its own, and those that kill the most neighbors in their time come first.
func (j *judge) testsOf(m *mutant, round int) (groups [][]test) {
	reach := j.reach(m)
	for r, budget := range []time.Duration{round1, round2, 1 << 62} {
		n := 0
		for cpu := time.Duration(0); n < len(reach) && cpu+reach[n].cpu <= budget; n++ {
			cpu += reach[n].cpu
		}
		if r == round {
			reach = reach[:n]
			break
		}
		reach = reach[n:]
	}
	j.mu.Lock()
	rate := func(t test) float64 {
		n := j.kills[m.File+" "+t.name] + functionWeight*j.kills[m.File+" "+m.Func+" "+t.name]
		return float64(n) / max(t.cpu, 10*time.Millisecond).Seconds()
	}
	slices.SortStableFunc(reach, func(a, b test) int { return cmp.Compare(rate(b), rate(a)) })
	j.mu.Unlock()
	alone := len(reach)
	if round == firstRound {
		alone = min(1, len(reach))
	}
	for _, t := range reach[:alone] {
		groups = append(groups, []test{t})
	}
	if alone < len(reach) {
		groups = append(groups, reach[alone:])
	}
	return groups
}

// functionWeight weighs a kill in the same function against one in another function of the file.
const functionWeight = 8

// reach returns the tests that reach m, quickest first.
func (j *judge) reach(m *mutant) (reach []test) {
	for _, t := range j.tests {
		if t.seen[m.ID] != 0 {
			reach = append(reach, t)
		}
	}
	return reach
}

func (j *judge) noteKill(m *mutant, by string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kills[m.File+" "+by]++
	j.kills[m.File+" "+m.Func+" "+by]++
}

// judge returns the verdict of a round on m and the test that killed it. It is open when m lives and a later round
// has tests.
func (j *judge) judge(m *mutant, round int, later []int) (verdict, by string, err error) {
	if len(j.reach(m)) == 0 {
		return notCovered, "", nil
	}
	verdict = survived
	for _, r := range later {
		if len(j.testsOf(m, r)) > 0 {
			verdict = open
		}
	}
	for _, group := range j.testsOf(m, round) {
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
			j.noteKill(m, by)
			return killed, by, nil
		}
	}
	return verdict, "", nil
}
