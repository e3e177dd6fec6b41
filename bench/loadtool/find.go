package loadtool

import (
	"context"
	"errors"
	"fmt"
)

// Bounds of a search.
const (
	maxTrials     = 40
	confirmations = 2    // runs at the rate that is found, behind the one that found it
	closeEnough   = 1.05 // of the lowest rate that misses to the highest that does not
	lowestRate    = 1.
	// keptShare is the share of the wanted rate that a run has to reach: a target that answers late is too slow.
	keptShare = 95.
)

// Trial is a run of a search.
type Trial struct {
	Wanted float64 `json:"wanted"` // requests a second
	Rate   float64 `json:"rate"`
	P99Us  int64   `json:"p99Us"`
	Errors int64   `json:"errors"`
	OK     bool    `json:"ok"` // met the thresholds
}

// Searchable checks that a search can have these options.
func Searchable(o *Options, t Thresholds) error {
	switch {
	case o.Mix == MixStreams || o.Stages != nil || o.RPS < lowestRate:
		return fmt.Errorf("--find-max searches a rate of requests: give --rps from %g on to begin with, no --stages "+
			"and no --mix streams", lowestRate)
	case t.P99 == nil && t.P999 == nil && t.MaxErrors == nil && len(t.RouteP99)+len(t.RouteErrors) == 0:
		return errors.New("--find-max needs a threshold: give --max-p99, --max-p999 or --max-errors")
	}
	return nil
}

// FindMax searches the highest rate that meets the thresholds, beginning at RPS. It doubles the rate until a run misses
// one, or halves it until a run meets all, and then halves the distance of the two until they are 5 % apart. Two more
// runs have to confirm the rate; if one misses, the search goes on below. It returns the report of the last
// confirmation; found is false when no rate was confirmed within maxTrials runs, and then the report is the last one.
// A run also misses when it reaches less than 95 % of its rate, unless the thresholds say otherwise.
func FindMax(ctx context.Context, o Options, t Thresholds, each func(Trial)) (r *Report, found bool, err error) {
	if err := errors.Join(o.Validate(), t.Validate(&o), Searchable(&o, t)); err != nil {
		return nil, false, err
	}
	if t.MinRate == nil {
		t.MinRate = new(keptShare)
	}
	s := search{next: o.RPS}
	var trials []Trial
	for !s.ended && len(trials) < maxTrials {
		o.RPS = s.next
		run, err := Run(ctx, o)
		if run == nil || err != nil {
			return run, false, err
		}
		if run.Stopped {
			run.Search = trials
			return run, false, nil
		}
		ok := run.Apply(t)
		trials = append(trials, Trial{o.RPS, run.Rate, run.At(99).Microseconds(), run.Errors, ok})
		if each != nil {
			each(trials[len(trials)-1])
		}
		s.take(ok)
		r = run
	}
	r.Search = trials
	return r, s.confirmed == confirmations, nil
}

// search chooses the rates of a search.
type search struct {
	next      float64 // the rate of the next run
	low, high float64 // the highest rate that met the thresholds, the lowest that missed; 0: none
	confirmed int     // runs that confirmed low
	ended     bool
}

// take takes the outcome of the run at the rate next.
func (s *search) take(ok bool) {
	confirming := s.next == s.low
	switch {
	case confirming && ok:
		s.confirmed++
		s.ended = s.confirmed == confirmations
		return
	case ok:
		s.low, s.confirmed = s.next, 0
	case confirming: // what was met once is not met again
		s.high, s.low, s.confirmed = s.next, 0, 0
	default:
		s.high = s.next
	}
	switch {
	case s.low >= MaxRPS, s.low > 0 && s.high > 0 && s.high <= s.low*closeEnough:
		s.next = s.low // to be confirmed
	case s.high == 0:
		s.next = min(s.low*2, MaxRPS)
	case s.low == 0 && s.high <= lowestRate:
		s.ended = true
	case s.low == 0:
		s.next = max(rounded(s.high*fallBack(confirming)), lowestRate)
	default:
		s.next = rounded((s.low + s.high) / 2)
	}
}

// fallBack returns the factor by which the rate falls: little below a rate that one of its runs met.
func fallBack(confirming bool) float64 {
	if confirming {
		return 0.9
	}
	return 0.5
}

// rounded returns a rate without a fraction when it is large.
func rounded(rate float64) float64 {
	if rate > 20 {
		return float64(int64(rate))
	}
	return rate
}
