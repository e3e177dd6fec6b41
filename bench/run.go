package bench

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"tickhive/bench/history"
	"tickhive/bench/load"
	"tickhive/bench/proc"
	"tickhive/bench/report"
	"tickhive/bench/worst"
	"tickhive/engine/sequencer"
)

// Numbers of rounds; each runs the product and the reference.
const (
	defaultRounds = 5
	quickRounds   = 3
)

// Options holds the settings of a run of the harness.
type Options struct {
	// Program is the path of this binary, which also runs the reference servers as child processes.
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

// scenario is a named measurement.
type scenario struct {
	name string
	run  func(*Run) error
}

// scenarios returns all scenarios in the order in which they run. scale runs only by name.
func scenarios() []scenario {
	return []scenario{
		{"engine", runEngine},
		{"recovery", runRecovery},
		{"restart", runRestart},
		{"replay", func(r *Run) error {
			h := history.Run{S: r.S, Product: r.Product, Rounds: r.Rounds, Temp: r.temp, Say: r.say}
			return h.Measure()
		}},
		{"http", runHTTP},
		{"fresh", runFresh},
		{"orders", runOrders},
		{"signed", runSigned},
		{"worst", func(r *Run) error { return worst.Measure(r.S, r.Program, r.Dir, r.Rounds) }},
		{"poll", runPoll},
		{"mixed", runMixed},
		{"streams", runStreams},
		{"replication", runReplication},
		{"scale", runScale},
	}
}

// Names returns the names of the scenarios, and "all" for every scenario but scale.
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
		if len(names) > 1 && (s.name == "replication" || s.name == "poll") {
			// Alone, replication takes five minutes. No goal judges poll, the profile of mixed without orders.
			r.Quick, r.Rounds = true, min(r.Rounds, quickRounds)
		}
		rep.Scenarios = append(rep.Scenarios, r.S)
		start, before := time.Now(), readMachineUse()
		err := s.run(r)
		took := time.Since(start)
		r.S.Seconds = took.Seconds()
		r.S.Others = before.others(took)
		r.explain()
		if err != nil {
			r.S.Note("ended early: %v", err)
			return rep, fmt.Errorf("bench %s: %w", s.name, err)
		}
		for _, m := range r.S.Measures {
			r.say("measured: %s", m)
		}
		runtime.GC()
	}
	return rep, nil
}

// crowded is a load of the machine by other processes, in percent. Above it, a time or a rate without a
// reference in the same run depends on them as much as on the product.
const crowded = 10

// explain adds a reason to each missed goal that has none: the spread of its rounds, and the load by other
// processes.
func (r *Run) explain() {
	for _, m := range r.S.Measures {
		switch {
		case !m.HasTarget || m.Met() || m.Reason != "":
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
	dir, err := os.MkdirTemp(r.Dir, strings.ReplaceAll(name, "/", "-")+"-")
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

// latencyOf returns the distribution of a run's latencies for a report.
func latencyOf(r *load.Result, name string) report.Latency {
	l := report.Latency{
		Name: name, Count: r.Hist.TotalCount(), Late: r.Late, Missed: r.Missed, Errors: r.Errors,
		PerSecond: r.Seconds,
	}
	for _, q := range report.Quantiles() {
		l.P = append(l.P, float64(r.Hist.ValueAtQuantile(q)))
	}
	return l
}
