package bench

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/bench/report"
	"github.com/tickhive/tickhive/engine/sequencer"
)

// Numbers of rounds; each runs the product and the reference.
const (
	defaultRounds = 5
	quickRounds   = 3
)

// Options holds the settings of a run of the harness.
type Options struct {
	// Program is the path of this binary, which also runs the other ends of measurements (Child).
	Program string
	// Product is the exchange to measure: `tickhive`, started as `tickhive serve`.
	Product string
	// Dir holds logs and data directories during a run. It must be on a disk like the product's.
	Dir string
	// Quick runs fewer and shorter rounds.
	Quick bool
	// Rounds is the number of rounds, each with the product and the reference; 0: five, or three when quick.
	Rounds int
	// Targets holds base URLs of running servers; http and poll load them instead of a new product.
	Targets []string
	// Say receives lines of progress without a newline; nil: no progress.
	Say func(line string)

	Version, Commit, Command string // shown in the report
}

// Run is the run of one scenario.
type Run struct {
	Options
	S *report.Scenario
}

// Names returns the names of the scenarios.
func Names() (names []string) {
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	return names
}

// Measure runs the named scenarios and returns their report. A scenario that fails ends the run; the report
// then has the measurements made before.
func Measure(o Options, names ...string) (*report.Report, error) {
	if o.Rounds == 0 {
		o.Rounds = defaultRounds
		if o.Quick {
			o.Rounds = quickRounds
		}
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	rep := &report.Report{
		Format: report.Format, Started: time.Now(), Command: o.Command, Version: o.Version,
		Commit: o.Commit, Rounds: o.Rounds, Machine: proc.ThisMachine(), Settings: settings(),
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return rep, fmt.Errorf("bench: %w", err)
	}
	defer func() { rep.Seconds = time.Since(rep.Started).Seconds() }()
	began := 0
	for _, s := range scenarios() {
		if !slices.Contains(names, s.name) {
			continue
		}
		began++
		o.Say(fmt.Sprintf("%s (%d of %d, after %.0f s)", s.name, began, len(names), time.Since(rep.Started).Seconds()))
		r := &Run{Options: o, S: &report.Scenario{Name: s.name}}
		if len(names) > 1 && s.name == "replication" { // alone it takes five minutes
			r.Quick, r.Rounds = true, min(r.Rounds, quickRounds)
		}
		rep.Scenarios = append(rep.Scenarios, r.S)
		if err := r.measure(s); err != nil {
			return rep, fmt.Errorf("bench %s: %w", s.name, err)
		}
		runtime.GC()
	}
	return rep, nil
}

// measure runs a scenario. A row of its table that got no figure is an error.
func (r *Run) measure(s scenario) error {
	if len(r.Targets) == 0 || s.name != "http" && s.name != "poll" {
		for _, x := range s.rows {
			r.S.Measures = append(r.S.Measures, x.measure())
		}
	}
	start, before := time.Now(), readMachineUse()
	err := s.run(r)
	took := time.Since(start)
	r.S.Seconds, r.S.Others = took.Seconds(), before.others(took)
	r.S.Measures = slices.DeleteFunc(r.S.Measures, func(m *report.Measure) bool {
		if len(m.Product) == 0 && err == nil {
			err = fmt.Errorf("%q was not measured", m.Name)
		}
		return len(m.Product) == 0
	})
	r.explain()
	if err != nil {
		r.S.Note("ended early: %v", err)
		return err
	}
	for _, m := range r.S.Measures {
		r.say("measured: %s", m)
	}
	return nil
}

// figures are what one round has measured, by the names of the table.
type figures map[string]float64

// turn measures one side of a round, the product or a reference, and adds its figures.
type turn func(f figures) error

// rounds lets the turns measure one after the other, n times (A B A B), so that all meet the same moments of the
// machine.
func (r *Run) rounds(what string, n int, turns ...turn) error {
	for i := range n {
		r.say("%s: round %d of %d", what, i+1, n)
		f := figures{}
		for _, t := range turns {
			if err := t(f); err != nil {
				return err
			}
		}
		if err := r.round(f); err != nil {
			return err
		}
	}
	return nil
}

// round gives the figures of a round to the rows that they belong to. A figure of no row is an error, and so is a row
// whose reference was not measured in the same round.
func (r *Run) round(f figures) error {
	used := figures{}
	for _, m := range r.S.Measures {
		own, ok := f[m.Name]
		if !ok {
			continue
		}
		used[m.Name] = own
		if m.RefName == "" {
			m.Round(own)
			continue
		}
		if used[m.RefName], ok = f[m.RefName]; !ok {
			return fmt.Errorf("%q was not measured beside %q", m.RefName, m.Name)
		}
		m.Round(own, f[m.RefName])
	}
	for name := range f {
		if _, ok := used[name]; !ok {
			return fmt.Errorf("%q is in no row of the table", name)
		}
	}
	return nil
}

// row returns the measure of a row.
func (r *Run) row(name string) *report.Measure {
	for _, m := range r.S.Measures {
		if m.Name == name {
			return m
		}
	}
	panic("BUG: no row " + name)
}

// also adds a row that the table does not have, unless it was added before.
func (r *Run) also(x row) {
	for _, m := range r.S.Measures {
		if m.Name == x.name {
			return
		}
	}
	r.S.Measures = append(r.S.Measures, x.measure())
}

// crowded is a load of the machine by other processes, in percent. Above it, a time or a rate without a
// reference in the same run depends on them as much as on the product.
const crowded = 10

// explain adds a reason to each missed goal: the spread of its rounds, and the load by other processes.
func (r *Run) explain() {
	for _, m := range r.S.Measures {
		switch {
		case m.Goal == "" || m.Met():
		case len(m.Reference) > 0 && !m.Median:
			m.Reason = fmt.Sprintf("best rounds %.3g %s and %.3g of the reference; the median of the rounds' own "+
				"ratios is %.2fx, medians of the rounds %.3g and %.3g",
				m.Of(m.Product), m.Unit, m.Of(m.Reference), m.Spread().Median, report.SpreadOf(m.Product).Median,
				report.SpreadOf(m.Reference).Median)
		case len(m.Reference) == 0 && r.S.Others > crowded &&
			slices.Contains([]string{"ms", "s", "commands/s", "orders/s"}, m.Unit):
			m.Reason = fmt.Sprintf("a time without a reference while other processes took %.0f %% of the machine",
				r.S.Others)
		}
	}
}

// machineUse holds CPU times of the machine up to one moment.
type machineUse struct{ used, stolen, own time.Duration }

func readMachineUse() machineUse {
	used, stolen := proc.Busy()
	return machineUse{used, stolen, proc.OwnCPU()}
}

// others returns the share of the machine, in percent, that the hypervisor and other processes have used in the
// time d since s was read.
func (s machineUse) others(d time.Duration) float64 {
	now := readMachineUse()
	cores := float64(runtime.NumCPU())
	free := float64((now.used-s.used)+(now.stolen-s.stolen)-(now.own-s.own)) / (float64(d) * cores)
	return max(100*free, 0)
}

// settings returns the settings of serve that the report shows.
func settings() []report.Setting {
	return []report.Setting{
		{Name: "commands between two publications", Value: fmt.Sprintf("at most %d; at once when the queue is empty",
			sequencer.SliceCommands)},
		{Name: "queue", Value: fmt.Sprintf("%d batches", sequencer.QueueBatches)},
		{
			Name: "journal",
			Value: fmt.Sprintf("one write a group; sync=interval: fdatasync within %s; always: before the answer",
				sequencer.SyncEvery),
		},
		{
			Name:  "server",
			Value: "write buffer 64 KiB, read/write/idle timeouts 10/30/75 s, GOMAXPROCS and GOGC default",
		},
	}
}

// say reports progress within a scenario.
func (r *Run) say(format string, a ...any) { r.Say("  " + fmt.Sprintf(format, a...)) }

// length returns d, shortened in quick runs.
func (r *Run) length(d time.Duration) time.Duration {
	if r.Quick {
		return d / 2
	}
	return d
}

// cpuRounds returns the number of rounds for CPU ratios that are close to their targets. From one run to the
// next, the best of ten rounds varies half as much as the best of five.
func (r *Run) cpuRounds() int { return 2 * r.Rounds }

// temp creates a directory below Options.Dir. The caller removes it.
func (r *Run) temp(name string) (string, error) {
	dir, err := os.MkdirTemp(r.Dir, name+"-")
	if err != nil {
		return "", fmt.Errorf("bench: %w", err)
	}
	return dir, nil
}

// heap returns the bytes on the heap after a garbage collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// latency adds the distribution of a run's latencies to the report, and returns it.
func (r *Run) latency(res *load.Result, name string) *report.Latency {
	l := report.Latency{
		Name: name, Count: res.Hist.TotalCount(), Late: res.Late, Missed: res.Missed, Errors: res.Errors,
		PerSecond: res.Seconds,
	}
	for _, q := range report.Quantiles() {
		l.P = append(l.P, float64(res.Hist.ValueAtQuantile(q)))
	}
	r.S.Latencies = append(r.S.Latencies, l)
	return &l
}

// allGood returns an error unless every request was answered with 200.
func allGood(res *load.Result) error {
	if res.Errors > 0 || res.Answers == 0 {
		return fmt.Errorf("%d answers, %d errors: %s: %w", res.Answers, res.Errors, res.Statuses(), res.Err)
	}
	return nil
}
