package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/fixed"
)

// fallbackPair is the pair of files that do not tell theirs.
const fallbackPair = "BASE_QUOTE"

// loopGapNs is the market time between the passes of a looped replay.
const loopGapNs = secondNs

// progressNs is the machine time between two calls of Progress.
const progressNs = int64(100 * time.Millisecond)

// stepNs is the step of the virtual clock while a paced replay waits for its next record,
// in machine time: windows and clocks that readers see move this often.
const stepNs = int64(50 * time.Millisecond)

// Replay is a recorded market, read once and ready to be fed. It belongs to one
// goroutine.
type Replay struct {
	opts       Options
	feed       feed
	survey     survey
	instrument engine.Instrument
	fromNs     int64
	speed      int64

	desk    *desk
	report  Report
	startNs int64 // machine time at which the pass began
	baseNs  int64 // market time at which the pass began
	toldNs  int64 // machine time of the last Progress
}

// Report is what a replay did.
type Report struct {
	Records uint64 // fed, over all passes
	Passes  int
	Placed  uint64 // orders that order entry took
	Trades  uint64 // fills that our commands made
	Refused uint64 // commands that were refused
	Reasons map[engine.Reason]uint64
	Checks  []Check  // of the first pass; nil without Options.Check
	Left    []string // what of the files was tolerated or left out, and how often
	EndNs   int64    // market time of the last record, Unix ns
}

// Lines are the lines that --check prints on stdout, one per kind of comparison:
// "check book rows 57510 of 57514".
func (r *Report) Lines() []string {
	var out []string
	for _, c := range r.Checks {
		out = append(out, fmt.Sprintf("check %s %d of %d", c.Kind, c.Good, c.All))
	}
	return out
}

// Notes holds remarks for the log, in addition to Lines: "trades: 302 made".
func (r *Report) Notes() []string {
	var out []string
	for _, c := range r.Checks {
		if c.Note != "" {
			out = append(out, c.Kind+": "+c.Note)
		}
	}
	out = append(out, r.Left...)
	for _, reason := range sortedKeys(r.Reasons) {
		out = append(out, fmt.Sprintf("%d commands refused: %s", r.Reasons[reason], reason))
	}
	return out
}

// New reads the files once. What of them cannot be replayed, or would be read wrongly, is a
// *LineError with file, line, column, finding and remedy; nothing was started or written.
func New(o Options) (*Replay, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	f, err := formats[o.Format](o.Files)
	if err != nil {
		return nil, err
	}
	r := &Replay{opts: o, feed: f}
	if r.speed, err = o.speed(); err != nil {
		return nil, err
	}
	if r.survey, err = f.survey(); err != nil {
		return nil, err
	}
	if r.survey.records == 0 {
		return nil, fmt.Errorf("replay: %s: no records", o.Files[0])
	}
	if o.From != "" {
		if r.fromNs, err = ParseFrom(o.From, r.survey.firstNs); err != nil {
			return nil, err
		}
		if r.fromNs > r.survey.startNs {
			return nil, fmt.Errorf("replay: from %s is after the last record that a replay can start from, %s", nsText(r.fromNs), nsText(r.survey.startNs))
		}
	}
	return r, r.describe()
}

func nsText(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z") }

// describe makes the pair from options and files.
func (r *Replay) describe() error {
	code := r.survey.pair
	if r.opts.Pair != "" {
		code = r.opts.Pair
	}
	if code == "" {
		code = fallbackPair
	}
	price, amount, given, err := r.opts.digits()
	if err != nil {
		return err
	}
	if price, amount, err = r.survey.choose(price, amount, given); err != nil {
		return err
	}
	base, quote := cut(code)
	r.instrument = engine.Instrument{Code: code, Base: base, Quote: quote, DigitsPrice: price, DigitsAmount: amount}
	if err := r.instrument.Validate(); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if price+amount > fixed.Scale {
		panic("BUG: replay: digits beyond what Validate takes")
	}
	return nil
}

func cut(code string) (base, quote string) {
	for i := range code {
		if code[i] == '_' {
			return code[:i], code[i+1:]
		}
	}
	return code, ""
}

// PairSpec is the pair that Run trades: code, currencies and digits, without id, fees and
// time of creation.
func (r *Replay) PairSpec() engine.Instrument { return r.instrument }

// StartNs returns the market time to which the virtual clock should be set before Run: the
// time of the first record that is fed, cut to its second. Unix ns.
func (r *Replay) StartNs() int64 {
	ns := max(r.survey.firstNs, r.fromNs)
	return ns - ns%secondNs
}

// Records returns the number of records of one pass.
func (r *Replay) Records() int { return r.survey.records }

// Run feeds the records into entry, whose clock must be virtual, until they or ctx end; the
// pair must have been added as id. pub answers the checks; it may be nil without
// Options.Check. The report is valid also beside an error.
func (r *Replay) Run(ctx context.Context, entry Entry, id engine.PairID, pub Public) (Report, error) {
	r.report = Report{Reasons: map[engine.Reason]uint64{}}
	r.desk = newDesk(ctx, entry, id)
	r.desk.reasons = r.report.Reasons
	defer r.feed.close()
	err := r.openAccounts()
	shift := int64(0)
	for err == nil {
		r.report.Passes++
		check := r.opts.Check && r.report.Passes == 1
		if err = r.pass(shift, check, pub); err != nil || !r.opts.Loop {
			break
		}
		if err = r.desk.clear(); err != nil {
			break
		}
		shift += r.survey.lastNs - max(r.survey.firstNs, r.fromNs) + loopGapNs
		shift += secondNs - 1
		shift -= shift % secondNs
	}
	r.report.Placed, r.report.Trades, r.report.Refused = r.desk.placed, r.desk.trades, r.desk.refused
	r.report.EndNs, r.report.Left = r.desk.now, r.feed.notes()
	return r.report, err
}

// openAccounts opens a separate account for the taker. Its UUID is fixed, so that a
// replay on the same data directory finds it again.
func (r *Replay) openAccounts() error {
	r.desk.maker, r.desk.taker = r.opts.Maker, r.opts.Taker
	if r.opts.Maker != r.opts.Taker {
		return nil
	}
	r.desk.now = r.StartNs()
	id, err := r.desk.openAccount(&takerUUID)
	if err != nil {
		return err
	}
	r.desk.taker = id
	return nil
}

// pass feeds the files once, with their times moved on by shift.
func (r *Replay) pass(shift int64, check bool, pub Public) error {
	if err := r.feed.open(r.fromNs, r.instrument.DigitsPrice, r.instrument.DigitsAmount); err != nil {
		return err
	}
	r.startNs, r.baseNs, r.toldNs = clock.MachineNs(), 0, 0
	d := r.desk
	for done := 0; ; {
		ns, err := r.feed.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := d.ctx.Err(); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		if ns += shift; r.baseNs == 0 {
			r.baseNs = ns
		}
		if err := r.pace(ns); err != nil {
			return err
		}
		d.now = max(d.now, ns)
		if err := r.feed.apply(d); err != nil {
			return err
		}
		if check {
			if err := r.feed.check(d, pub); err != nil {
				return err
			}
		}
		done++
		r.report.Records++
		r.tell(done, false)
	}
	r.tell(r.survey.records, true)
	return r.close(check, pub)
}

// close ends a pass: the clock comes to its last record and the rest is compared.
func (r *Replay) close(check bool, pub Public) error {
	if err := r.desk.entry.AdvanceTo(r.desk.now); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if !check {
		return nil
	}
	err := r.feed.finish(r.desk, pub)
	r.report.Checks = r.feed.results()
	return err
}

// pace waits until the machine's clock has come as far as the record, at the chosen
// speed; meanwhile the market's clock moves on in small steps.
func (r *Replay) pace(ns int64) error {
	if r.speed == 0 {
		return nil
	}
	for {
		passed := clock.MachineNs() - r.startNs
		due := scale(ns-r.baseNs, speedUnit, r.speed)
		if passed >= due {
			return nil
		}
		if at := r.baseNs + scale(passed, r.speed, speedUnit); at > r.desk.now && at < ns {
			if err := r.desk.entry.AdvanceTo(at); err != nil {
				return fmt.Errorf("replay: %w", err)
			}
			r.desk.now = at
		}
		if err := wait(r.desk.ctx, time.Duration(min(due-passed, stepNs))); err != nil {
			return err
		}
	}
}

// scale is v x num / den in 128 bits, for v >= 0.
func scale(v, num, den int64) int64 {
	q, _ := fixed.Mul64(uint64(max(v, 0)), uint64(num)).DivMod64(uint64(den))
	if q.Hi != 0 || q.Lo > 1<<62 {
		return 1 << 62
	}
	return int64(q.Lo)
}

// tell calls Progress now and then, and at the end.
func (r *Replay) tell(done int, last bool) {
	if r.opts.Progress == nil || !last && done&63 != 0 && r.speed == 0 {
		return
	}
	now := clock.MachineNs()
	if !last && now-r.toldNs < progressNs {
		return
	}
	r.toldNs = now
	p := Progress{Done: done, Total: r.survey.records, TimeNs: r.desk.now, Pass: r.report.Passes, LeftNs: -1}
	if passed := now - r.startNs; passed > 0 && done > 0 {
		p.Rate = scale(int64(done), secondNs, passed)
		p.LeftNs = scale(passed, int64(p.Total-done), int64(done))
	}
	r.opts.Progress(p)
}
