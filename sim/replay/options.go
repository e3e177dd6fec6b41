package replay

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/sim/replay/format"
	"tickhive/sim/replay/format/decimal"
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
	// factor relative to the recorded speed, with at most three decimals; "max" or "": as fast as possible
	Speed string
	From  string // time at which to start (input.ParseFrom); "": at the first record
	Loop  bool   // start again at the end, with times shifted, until the context ends
	// ExchangeTime takes the exchange's times, not the times of receipt (binance, tardis).
	ExchangeTime bool
	// Passive fills the orders that the file names, also where the engine would choose others (lobster).
	Passive bool
	Check   bool // compare with the recording, in the first pass only

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

// speedUnit is the resolution of Speed: thousandths.
const speedUnit = 1000

// maxSpeed bounds Speed, so that products with it fit into int64.
const maxSpeed = 1_000_000

// parse validates the options and reports the first invalid one. It does not open the files.
func (r *Replay) parse() (price, amount int, err error) {
	o := &r.opts
	if !slices.Contains(format.Names(), o.Format) {
		return 0, 0, fmt.Errorf("replay: format %q: want one of %s", o.Format, strings.Join(format.Names(), ", "))
	}
	if len(o.Files) == 0 || slices.Contains(o.Files, "") {
		return 0, 0, errors.New("replay: no file given")
	}
	if o.Pair != "" && !engine.ValidPairCode(o.Pair) {
		return 0, 0, fmt.Errorf("replay: pair %q is not of the form BASE_QUOTE, %s each", o.Pair, engine.CurrencyForm)
	}
	if o.Passive && o.Format != "lobster" {
		return 0, 0, fmt.Errorf("replay: passive is an option of lobster, whose executions name an order; "+
			"leave it out for %s", o.Format)
	}
	if price, amount, err = o.digits(); err == nil {
		r.speed, err = o.speed()
	}
	return price, amount, err
}

// speed returns Options.Speed in thousandths, 0 for "max".
func (o *Options) speed() (int64, error) {
	if o.Speed == "" || o.Speed == "max" {
		return 0, nil
	}
	n, err := decimal.Parse([]byte(o.Speed))
	v := int64(0)
	if err == nil {
		v, err = n.Units(3)
	}
	if err == nil && (v <= 0 || v > maxSpeed*speedUnit) {
		err = fmt.Errorf("outside 0.001 to %d", maxSpeed)
	}
	if err != nil {
		return 0, fmt.Errorf("replay: speed %q: %w", o.Speed, err)
	}
	return v, nil
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

// UseAccounts sets the accounts of the takers and of the makers that were not displayed, for a program that creates its
// accounts after New. It must be called before Run.
func (r *Replay) UseAccounts(taker, hidden engine.AccountID) {
	r.opts.Taker, r.opts.Hidden = taker, hidden
}

// Hidden returns the number of trades whose maker was not displayed.
func (r *Replay) Hidden() int { return r.survey.Hidden }
