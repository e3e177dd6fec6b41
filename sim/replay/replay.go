package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/player"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// Progress holds the progress of a running replay. Options.Progress receives it.
type Progress struct {
	Done, Total int // records fed and all records of this pass; Total is exact
	Pass        int // number of the pass, from 1; above 1 only with Loop
}

// Options holds the files of a replay and how to replay them.
type Options struct {
	Format string   // a name in format.Names()
	Files  []string // paths, plain or gzip; lobster: the message file, then the orderbook file
	Pair   string   // pair code; "": derived from the files
	Digits string   // "P,A": numbers of digits of price and amount; "": derived from the files
	From   string   // time at which to start (format.ParseFrom); "": at the first record
	Loop   bool     // start again at the end, with times shifted, until the context ends
	// ExchangeTime takes the exchange's times, not the times of receipt (binance, tardis).
	ExchangeTime bool
	// Layout says how tables are read (trades), as far as their files leave it open.
	Layout format.Layout
	// Passive fills the orders that the file names, also where the engine would choose others (lobster, databento).
	Passive bool
	// Quotes is the amount, in the base currency, of a bid and an ask that stand around the last trade of a recording
	// without a book; "": none.
	Quotes string
	Check  bool // compare with the recording, in the first pass only

	// Due is called before each record with its market time, Unix ns, and returns when the record is to be fed: the
	// caller paces the replay. Its error ends the replay. It excludes a player. nil: no calls.
	Due func(ns int64) error

	// Progress is called about every 100 ms of machine time, from the goroutine of Run. nil: no calls.
	Progress func(Progress)
	// Maker and Taker are the accounts of the replay's orders. They must differ, so that no trade has the same
	// account on both sides.
	Maker, Taker engine.AccountID
	// Hidden is the account of makers that were not displayed (lobster).
	Hidden engine.AccountID
}

// OptionError reports options that do not fit each other or the format of the files.
type OptionError struct{ Err error }

// Error returns the text of the wrapped error.
func (e *OptionError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *OptionError) Unwrap() error { return e.Err }

// parse validates the options and reports the first invalid one. It does not open the files.
func (r *Replay) parse() (price, amount int, err error) {
	o := &r.opts
	if !slices.Contains(format.Names(), o.Format) {
		return 0, 0, fmt.Errorf("replay: format %q: want one of %s", o.Format, strings.Join(format.Names(), ", "))
	}
	if len(o.Files) == 0 || slices.Contains(o.Files, "") {
		return 0, 0, errors.New("replay: no file given")
	}
	if !engine.ValidPairCode(o.Pair) && o.Pair == strings.ToUpper(o.Pair) { // a symbol names the pair too
		o.Pair = cmp.Or(format.PairOfSymbol(o.Format, o.Pair), o.Pair)
	}
	if o.Pair != "" && !engine.ValidPairCode(o.Pair) {
		return 0, 0, fmt.Errorf("replay: pair %q is not of the form BASE_QUOTE, %s each", o.Pair, engine.CurrencyForm)
	}
	if o.Passive && o.Format != "lobster" && o.Format != "databento" {
		return 0, 0, fmt.Errorf("replay: passive is an option of lobster and databento, whose executions name an "+
			"order; leave it out for %s", o.Format)
	}
	return o.digits()
}

// digits returns the two numbers of Options.Digits, 0 and 0 when it is empty.
func (o *Options) digits() (price, amount int, err error) {
	if o.Digits == "" {
		return 0, 0, nil
	}
	p, a, found := strings.Cut(o.Digits, ",")
	price, err1 := strconv.Atoi(strings.TrimSpace(p))
	amount, err2 := strconv.Atoi(strings.TrimSpace(a))
	if !found || err1 != nil || err2 != nil || price < 0 || amount < 0 || price+amount > fixed.Scale {
		return 0, 0, fmt.Errorf("replay: digits %q: want P,A with P + A at most %d", o.Digits, fixed.Scale)
	}
	return price, amount, nil
}

// Hidden returns the number of trades whose maker was not displayed.
func (r *Replay) Hidden() int { return r.survey.Hidden }

// fallbackPair is the pair code for files that do not name a pair.
const fallbackPair = "BASE_QUOTE"

const secondNs = int64(time.Second)

// loopGapNs is the market time between two passes of a looped replay.
const loopGapNs = secondNs

// progressNs is the machine time between two calls of Options.Progress.
const progressNs = int64(100 * time.Millisecond)

// Replay feeds a recorded market to an exchange. New has read its files once, to survey them. Owner: one goroutine.
type Replay struct {
	opts       Options
	reader     format.Reader
	survey     *format.Survey
	instrument engine.Instrument
	fromNs     int64
	player     *player.Player // nil: at full speed
	goneIDs    int            // bound of the deleted ids of a log that are stored
	batch      int            // trades that are fed at once
	quotes     int64          // Options.Quotes in lots

	entry  *orderEntry
	report Report
	toldNs int64 // machine time of the last call of Options.Progress, ns
}

// Report holds the results of a replay.
type Report struct {
	Records uint64 // records fed, over all passes
	Passes  int
	Placed  uint64 // orders that order entry accepted
	Trades  uint64 // fills of our commands
	Refused uint64 // refused commands
	Reasons map[engine.Reason]uint64
	Checks  []Check  // results of the first pass; nil without Options.Check
	Misses  []Miss   // the first comparisons of each kind that do not agree
	Left    []string // what was tolerated or left out of the files, and how often
}

// Lines returns the lines that --check prints on stdout, one for each Check: "check book rows 57510 of 57514", and one
// for each Miss.
func (r *Report) Lines() []string {
	var out []string
	for _, c := range r.Checks {
		out = append(out, fmt.Sprintf("check %s %d of %d", c.Kind, c.Good, c.All))
	}
	for i := range r.Misses {
		m := &r.Misses[i]
		out = append(out, fmt.Sprintf("miss %s %s:%d: ours %s; theirs %s", m.Kind, m.File, m.Line, m.Ours, m.Theirs))
	}
	return out
}

// Notes returns remarks for the log, in addition to Lines: "trades: 302 made".
func (r *Report) Notes() []string {
	var out []string
	for _, c := range r.Checks {
		if c.Note != "" {
			out = append(out, c.Kind+": "+c.Note)
		}
	}
	out = append(out, r.Left...)
	for _, reason := range sortedKeys(r.Reasons) {
		note := fmt.Sprintf("%d commands refused: %s", r.Reasons[reason], reason)
		if reason == engine.OrderClosed || reason == engine.UnknownOrder {
			note += ": the recording changes or cancels orders that had ended before, because users traded with them " +
				"or because the recording does so"
		}
		out = append(out, note)
	}
	return out
}

// New reads the files once. The error for data that cannot be replayed, or that would be misread, is a
// *format.LineError with file, line, column, finding and remedy; an *OptionError means that the options do not fit each
// other or the format of the files. New starts nothing and writes nothing.
func New(o Options) (*Replay, error) {
	r := &Replay{opts: o, goneIDs: maxGone, batch: printBatch}
	price, amount, err := r.parse()
	if err != nil {
		return nil, &OptionError{err}
	}
	if o.Due != nil {
		r.batch = 1 // each record is due at its time
	}
	if r.reader, err = format.New(o.Format, o.Files); err != nil {
		return nil, &OptionError{err}
	}
	format.Select(r.reader, o.Pair)
	if err := format.Use(r.reader, o.Layout); err != nil {
		return nil, &OptionError{err}
	}
	if o.ExchangeTime {
		if err := format.UseExchangeTime(r.reader); err != nil {
			return nil, &OptionError{err}
		}
	}
	if r.survey, err = format.Learn(r.reader); err != nil {
		return nil, format.Problems(o.Format, o.Files, o.Pair, o.Layout, err) //nolint:wrapcheck // it names its places
	}
	if r.survey.Records == 0 {
		return nil, fmt.Errorf("replay: %s: no records", o.Files[0])
	}
	if o.From != "" {
		if r.fromNs, err = format.ParseFrom(o.From, r.survey.FirstNs); err != nil {
			return nil, &OptionError{fmt.Errorf("replay: from %q: %w", o.From, err)}
		}
		if r.fromNs > r.survey.StartNs {
			return nil, &OptionError{fmt.Errorf("replay: from %s is after the last record that a replay can start "+
				"from, %s", format.NsText(r.fromNs), format.NsText(r.survey.StartNs))}
		}
	}
	return r, r.describe(price, amount)
}

// describe derives the pair from the options and the files.
func (r *Replay) describe(price, amount int) error {
	price, amount, err := r.survey.Choose(price, amount, r.opts.Digits != "")
	switch {
	case errors.As(err, new(*format.LineError)):
		return err
	case err != nil:
		return &OptionError{err}
	}
	code := cmp.Or(r.opts.Pair, r.survey.Pair, fallbackPair)
	base, quote, _ := strings.Cut(code, "_")
	r.instrument = engine.Instrument{Code: code, Base: base, Quote: quote, DigitsPrice: price, DigitsAmount: amount}
	engine.AssetDigits{}.Give(&r.instrument)
	if err := r.instrument.Validate(); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if err := r.survey.Within(r.instrument.LargestPrice(), r.instrument.LargestAmount()); err != nil {
		return err
	}
	return r.quote()
}

// quote reads Options.Quotes.
func (r *Replay) quote() error {
	text := r.opts.Quotes
	if text == "" {
		return nil
	}
	if r.survey.HasBook() {
		return &OptionError{errors.New("replay: quotes are for recordings of trades or candles alone, and this one " +
			"has a book; leave the option out")}
	}
	lots, exact, fits, err := fixed.ParseUnits(text, r.instrument.DigitsAmount)
	if err != nil || !exact || !fits || lots <= 0 || lots > r.instrument.LargestAmount() {
		return &OptionError{fmt.Errorf("replay: quotes %q: want an amount in %s above 0 with at most %d fractional "+
			"digits", text, r.instrument.Base, r.instrument.DigitsAmount)}
	}
	r.quotes = lots
	return nil
}

// Takings returns what the readers of tables take from where, for each file; nil for the other formats.
func (r *Replay) Takings() []format.Taken { return format.Takings(r.reader) }

// Renamed returns the pair that the files name when the options name another one, which comes before it; else "".
func (r *Replay) Renamed() string {
	if r.opts.Pair == "" || r.opts.Pair == r.survey.Pair {
		return ""
	}
	return r.survey.Pair
}

// Unnamed reports whether neither the options nor the files name the pair.
func (r *Replay) Unnamed() bool { return r.opts.Pair == "" && r.survey.Pair == "" }

// PairSpec returns the pair that Run trades: code, currencies and digits. Id, fees and time of creation are not
// set.
func (r *Replay) PairSpec() engine.Instrument { return r.instrument }

// StartNs returns the market time, Unix ns, to which the caller should set the virtual clock before Run: the
// time of the first record to feed, rounded down to its second.
func (r *Replay) StartNs() int64 {
	ns := max(r.survey.FirstNs, r.fromNs)
	return ns - ns%secondNs
}

// Recording describes the records to feed, for a player.
func (r *Replay) Recording() player.Recording {
	d := player.Recording{
		Format: r.opts.Format, Pair: r.instrument.Code, BeginNs: r.StartNs(), EndNs: r.survey.LastNs,
		Total: r.survey.Records, Loop: r.opts.Loop, Book: r.survey.HasBook() || r.quotes > 0,
	}
	for _, path := range r.opts.Files {
		d.Files = append(d.Files, filepath.Base(path))
	}
	return d
}

// Play lets a player decide when records are due, from the next Run on. A Run whose error is player.ErrBack has fed a
// part of the records; the next Run feeds them from the beginning, into an empty market.
func (r *Replay) Play(p *player.Player) { r.player = p }

// Market is an exchange that a replay fills; *exchange.Running implements it.
type Market interface {
	Entry
	// AddPair adds a pair and its currencies, or returns the pair that is there.
	AddPair(p *engine.Instrument) (engine.PairID, error)
	// UnlimitedAccount returns the account of a user who needs no money and pays no fees.
	UnlimitedAccount(nickname string) (engine.AccountID, error)
}

// Join adds the pair and the accounts of the recording to a market, which Run then fills.
func (r *Replay) Join(m Market) (engine.PairID, error) {
	spec := r.PairSpec()
	id, err := m.AddPair(&spec)
	if err != nil {
		return 0, fmt.Errorf("replay: %w", err)
	}
	taker, err := m.UnlimitedAccount("replay")
	if err != nil {
		return 0, err
	}
	hidden := taker
	if r.Hidden() > 0 {
		if hidden, err = m.UnlimitedAccount("hidden"); err != nil {
			return 0, err
		}
	}
	r.opts.Taker, r.opts.Hidden = taker, hidden
	return id, nil
}

// Run feeds the records into entry until the records or ctx end. The clock of entry must be virtual, and the
// pair must have been added as id. pub provides the market data for the checks; it may be nil without
// Options.Check. The report is also valid with an error.
func (r *Replay) Run(ctx context.Context, entry Entry, id engine.PairID, pub Public) (Report, error) {
	r.report = Report{Reasons: map[engine.Reason]uint64{}}
	r.entry = newOrderEntry(ctx, entry, id, &r.report)
	r.entry.maker, r.entry.taker, r.entry.hidden = r.opts.Maker, r.opts.Taker, r.opts.Hidden
	defer r.reader.Close()
	if r.player != nil {
		r.player.Begin()
	}
	shift := int64(0)
	var err error
	for err == nil {
		r.report.Passes++
		check := r.opts.Check && r.report.Passes == 1
		if err = r.pass(shift, check, pub); err != nil || !r.opts.Loop {
			break
		}
		if err = r.entry.clear(); err != nil {
			break
		}
		shift += r.passNs()
	}
	if r.player != nil && err == nil {
		r.player.End(r.report.counts())
	}
	return r.report, err
}

// passNs returns by how much each pass is later than the one before, in whole seconds. Of bars it is a multiple of their
// length: their trades then lie in the same candles in each pass.
func (r *Replay) passNs() int64 {
	unit, first := secondNs, max(r.survey.FirstNs, r.fromNs)
	lasts := r.survey.LastNs - first + loopGapNs
	for _, set := range r.survey.Sets {
		if set.Fed {
			unit = max(unit, min(set.LengthNs, int64(24*time.Hour)))
			lasts = r.survey.LastNs - (first - first%unit) + 1
		}
	}
	return (lasts + unit - 1) / unit * unit
}

// pass feeds the files once. shift is added to their times.
func (r *Replay) pass(shift int64, check bool, pub Public) error {
	var start logStart
	if r.survey.Shape == format.Log {
		var err error
		if start, err = readStart(r.reader, r.survey, r.fromNs, r.goneIDs); err != nil {
			return err
		}
	}
	if err := r.reader.Open(r.survey); err != nil {
		return err
	}
	if !check {
		pub = nil
	}
	c := newChecker(r.survey, pub, r.fromNs)
	f := r.newFeeder(c, start)
	err := errors.Join(r.feed(f, c, shift), f.shape.flush()) // also when the context ends
	if check && err == nil {
		r.report.Checks = c.results()
		r.report.Misses = c.sortMisses(r.report.Checks)
	}
	r.report.Left = append(append(r.reader.Notes(), f.notes()...), c.notes()...)
	return err
}

// feed feeds one record after the other. The records of kind Candle and later are compared instead.
func (r *Replay) feed(f *feeder, c *checker, shift int64) error {
	r.toldNs = 0
	var rec format.Record
	var prints []format.Print
	for done := 0; ; {
		err := r.reader.Next(&rec)
		switch {
		case errors.Is(err, io.EOF) || err == nil && rec.Kind >= format.Candle:
			r.reportProgress(r.survey.Records, true)
			if err := f.shape.flush(); err != nil {
				return err
			}
			return r.compare(c, &rec, err)
		case err != nil:
			return err
		case f.shape.skip(&rec):
			continue
		}
		prints = rec.Prints(prints[:0])
		for i, p := range prints {
			rec.Price, rec.Amount = p.Price, p.Amount
			if err := r.step(f, c, &rec, p.NS+shift, i < len(prints)-1); err != nil {
				return err
			}
		}
		done++
		r.report.Records++
		r.reportProgress(done, false)
	}
}

// step feeds one record, or one trade of a bar, at its market time. more says that a further trade of the bar follows.
func (r *Replay) step(f *feeder, c *checker, rec *format.Record, ns int64, more bool) error {
	e := r.entry
	if err := e.ctx.Err(); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if r.player != nil {
		hurried, err := r.player.Due(e.ctx, ns, more, func(restNs int64) (player.Counts, error) {
			return r.rest(f, restNs)
		})
		if err != nil {
			return err
		}
		e.alone = !hurried
	}
	if r.opts.Due != nil {
		if err := r.opts.Due(ns); err != nil {
			return err
		}
	}
	e.now = max(e.now, ns)
	c.at = rec.At
	if err := f.apply(rec); err != nil || more {
		return err
	}
	if c.due() {
		if err := f.shape.flush(); err != nil {
			return err
		}
	}
	return c.after(rec, e)
}

// compare advances the clock to the last record fed and makes the pending comparisons. Then it compares rec and
// the records after it. err is the error that Next returned with rec.
func (r *Replay) compare(c *checker, rec *format.Record, err error) error {
	if err := r.entry.entry.AdvanceTo(r.entry.now); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if c.pub == nil {
		return nil
	}
	if err := failed(c.compareTrades(1)); err != nil {
		return err
	}
	for ; err == nil; err = r.reader.Next(rec) {
		if err := c.expect(rec, r.entry.now); err != nil {
			return failed(err)
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	return failed(c.flushCandles())
}

// rest completes the records that were fed and moves the market's clock to ns, so that readers see what is true then.
func (r *Replay) rest(f *feeder, ns int64) (player.Counts, error) {
	if err := f.shape.flush(); err != nil {
		return player.Counts{}, err
	}
	e := r.entry
	e.now = max(e.now, ns)
	if err := e.entry.AdvanceTo(e.now); err != nil {
		return player.Counts{}, fmt.Errorf("replay: %w", err)
	}
	return r.report.counts(), nil
}

// counts returns the counts of the commands that have ended.
func (r *Report) counts() player.Counts {
	return player.Counts{Records: r.Records, Orders: r.Placed, Trades: r.Trades, Refused: r.Refused}
}

// reportProgress calls Options.Progress if enough time has passed since the last call, or if last is true.
func (r *Replay) reportProgress(done int, last bool) {
	if r.opts.Progress == nil || !last && done&63 != 0 && !r.entry.alone {
		return
	}
	now := clock.MachineNs()
	if !last && now-r.toldNs < progressNs {
		return
	}
	r.toldNs = now
	r.opts.Progress(Progress{Done: done, Total: r.survey.Records, Pass: r.report.Passes})
}
