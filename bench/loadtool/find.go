package loadtool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Bounds of a search.
const (
	maxTrials   = 40
	holds       = 3    // runs at a rate that have to meet the thresholds
	misses      = 2    // runs at a rate that have to miss before it is too high: one may be noise
	closeEnough = 1.05 // of the lowest rate that misses to the highest that does not
	lowestRate  = 1.
	// keptShare is the share of the wanted rate that a run has to reach: a target that answers late is too slow.
	keptShare = 95.
	// beyond is the number of requests that have to lie above a percentile: one may be any accident.
	beyond = 2
	// longestStep is the longest run that a search makes in place of a shorter --duration.
	longestStep = time.Minute
)

// Trial is a run of a search.
type Trial struct {
	Wanted  float64 `json:"wanted"`  // requests a second
	Seconds float64 `json:"seconds"` // length of the run
	Rate    float64 `json:"rate"`
	P99Us   int64   `json:"p99Us"`
	Errors  int64   `json:"errors"`
	OK      bool    `json:"ok"` // met the thresholds
}

// Searchable checks that a search can have these options.
func Searchable(o *Options, t Thresholds) error {
	switch need := t.requests(); {
	case o.Mix == MixStreams || o.Stages != nil || o.RPS < lowestRate:
		return fmt.Errorf("--find-max searches a rate of requests: give --rps from %g on to begin with, no --stages "+
			"and no --mix streams", lowestRate)
	case t.P99 == nil && t.P999 == nil && t.MaxErrors == nil && len(t.RouteP99)+len(t.RouteErrors) == 0:
		return errors.New("--find-max needs a threshold: give --max-p99, --max-p999 or --max-errors")
	case o.RPS < o.lowest(need):
		return fmt.Errorf("--find-max judges this percentile by %g requests or more, and --rps %g sends fewer in %s: "+
			"give --duration %s, or a higher --rps", need, o.RPS, max(o.For, longestStep), lengthOf(need, o.RPS))
	}
	return nil
}

// requests returns the number of requests that a run needs, so that a percentile is more than its slowest one.
func (t *Thresholds) requests() float64 {
	switch {
	case t.P999 != nil:
		return beyond * 1000
	case t.P99 != nil || len(t.RouteP99) > 0:
		return beyond * 100
	}
	return 0
}

// lengthOf returns the time in which so many requests are sent, in whole seconds.
func lengthOf(requests, rate float64) time.Duration {
	return time.Duration(math.Ceil(requests/rate)) * time.Second
}

// lowest returns the lowest rate of a search whose runs need so many requests.
func (o *Options) lowest(need float64) float64 {
	return max(lowestRate, need/max(o.For, longestStep).Seconds())
}

// FindMax searches the highest rate that meets the thresholds, beginning at RPS. It doubles the rate until a run misses
// one, or halves it until a run meets all, and then halves the distance of the two until they are 5 % apart. A rate is
// found when three runs met it, and is too high when two runs missed it. At last the rate above the one that was found
// has to miss again: if it does not, what it missed before was noise, and the search goes on from there. It returns the
// report of the last run at the rate that was found. found is false when there is none within maxTrials runs, and then
// the report is the last one. A run also misses when it reaches less than 95 % of its rate, unless the thresholds say
// otherwise.
func FindMax(ctx context.Context, o Options, t Thresholds, each func(Trial)) (r *Report, found bool, err error) {
	return findMax(ctx, o, t, each, Run)
}

// findMax is FindMax with the function that makes a run.
func findMax(ctx context.Context, o Options, t Thresholds, each func(Trial),
	run func(context.Context, Options) (*Report, error),
) (r *Report, found bool, err error) {
	if err := errors.Join(o.Validate(), t.Validate(&o), Searchable(&o, t)); err != nil {
		return nil, false, err
	}
	if t.MinRate == nil {
		t.MinRate = new(keptShare)
	}
	need, length := t.requests(), o.For
	s := search{next: o.RPS, lowest: o.lowest(need)}
	var trials []Trial
	var atLow *Report
	for !s.ended && len(trials) < maxTrials {
		o.RPS, o.For = s.next, max(length, lengthOf(need, s.next))
		r, err = run(ctx, o)
		if r == nil || err != nil {
			return r, false, err
		}
		if r.Stopped {
			break
		}
		ok := r.Apply(t)
		trials = append(trials, Trial{
			o.RPS, r.Seconds, r.Rate, r.At(99).Microseconds(), r.Errors, ok,
		})
		if each != nil {
			each(trials[len(trials)-1])
		}
		if s.take(ok); ok && o.RPS == s.low {
			atLow = r
		}
	}
	if s.found {
		r = atLow
		r.HighestRate = s.low
	}
	r.Search, r.Verdict = trials, s.verdict(trials, r.Stopped)
	return r, s.found, nil
}

// search chooses the rates of a search.
type search struct {
	next      float64 // the rate of the next run
	lowest    float64 // rate that a search goes down to
	low, high float64 // the highest rate that met the thresholds, the lowest that missed; 0: none
	held      int     // runs at low that met the thresholds
	slipped   int     // runs at low that missed
	missed    int     // runs at high that missed
	ended     bool
	found     bool
}

// take takes the outcome of the run at the rate next.
func (s *search) take(ok bool) {
	fall := 0.5
	switch {
	case ok && s.next == s.low:
		s.held++
	case ok:
		if s.next == s.high { // it missed by noise
			s.high, s.missed = 0, 0
		}
		s.low, s.held, s.slipped = s.next, 1, 0
	case s.next == s.high:
		s.missed++
	case s.next != s.low:
		s.high, s.missed = s.next, 1
	default:
		if s.slipped++; s.slipped == misses { // what was met is not met again: little below it
			s.high, s.missed, s.low, fall = s.low, misses, 0, 0.9
		}
	}
	s.choose(fall)
}

// choose chooses the rate of the next run. fall is the factor by which a rate falls that is too high.
func (s *search) choose(fall float64) {
	switch {
	case s.high > 0 && s.missed < misses && (s.low > 0 || s.high <= s.lowest):
		s.next = s.high // once more before it counts
	case s.low >= MaxRPS, s.low > 0 && s.high > 0 && s.high <= s.low*closeEnough:
		s.next = s.low
		if s.held >= holds {
			s.next = s.high // once more, some runs later
			s.found = s.high == 0 || s.missed > misses
			s.ended = s.found
		}
	case s.high == 0:
		s.next = min(s.low*2, MaxRPS)
	case s.low == 0 && s.high <= s.lowest:
		s.ended = true
	case s.low == 0:
		s.next = max(rounded(s.high*fall), s.lowest)
	default:
		s.next = rounded((s.low + s.high) / 2)
	}
}

// rounded returns a rate without a fraction when it is large: two rates that are not close enough to each other have
// one without a fraction between them.
func rounded(rate float64) float64 {
	if rate > 2/(closeEnough-1) {
		return math.Floor(rate)
	}
	return rate
}

// verdict says what the search found.
func (s *search) verdict(trials []Trial, stopped bool) (text string) {
	switch {
	case s.found:
		text = fmt.Sprintf("highest rate: %s, held %d times", perSecond(s.low), s.held)
		if s.high > 0 {
			text += fmt.Sprintf("; %s missed %d times", perSecond(s.high), s.missed)
		}
	case stopped:
		text = "no rate was confirmed: the search was stopped early"
	case s.ended:
		text = "no rate met the thresholds, down to " + perSecond(s.lowest)
	default:
		text = fmt.Sprintf("no rate was confirmed in %d runs", maxTrials)
	}
	if missed, held := disorder(trials); missed > 0 {
		text += fmt.Sprintf(". Noise, not the rate, decides on this machine: %s missed and %s held. Give a longer "+
			"--duration, and stop what else runs", perSecond(missed), perSecond(held))
	}
	return text
}

// perSecond returns a rate as text, to a tenth.
func perSecond(rate float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", rate), ".0") + "/s"
}

// disorder returns the lowest rate that missed and the highest that held if the former is below the latter, else 0.
func disorder(trials []Trial) (missed, held float64) {
	for _, t := range trials {
		switch {
		case t.OK:
			held = max(held, t.Wanted)
		case missed == 0 || t.Wanted < missed:
			missed = t.Wanted
		}
	}
	if missed >= held {
		return 0, 0
	}
	return missed, held
}
