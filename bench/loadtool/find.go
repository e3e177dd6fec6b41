package loadtool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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

// Searchable checks that a search up to a rate can have these options.
func Searchable(o *Options, t Thresholds, upTo float64) error {
	switch need := t.requests(); {
	case o.Mix == MixStreams || o.Stages != nil || o.RPS < lowestRate:
		return fmt.Errorf("--find-max searches a rate of requests: give --rps from %g on to begin with, no --stages "+
			"and no --mix streams", lowestRate)
	case t.P99 == nil && t.P999 == nil && t.MaxErrors == nil && len(t.RouteP99)+len(t.RouteErrors) == 0:
		return errors.New("--find-max needs a threshold: give --max-p99, --max-p999 or --max-errors")
	case o.RPS < o.lowest(need):
		return fmt.Errorf("--find-max judges this percentile by %g requests or more, and --rps %g sends fewer in %s: "+
			"give --duration %s, or a higher --rps", need, o.RPS, max(o.For, longestStep), lengthOf(need, o.RPS))
	case !(upTo >= o.RPS && upTo <= MaxRPS):
		return fmt.Errorf("--max-rps must be from %g, at which the search begins (--rps), to %d: %g", o.RPS, MaxRPS,
			upTo)
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

// FindMax searches the highest rate up to upTo that meets the thresholds, beginning at RPS. It doubles the rate until
// a run misses one, or halves it until a run meets all, and then halves the distance of the two until they are 5 %
// apart. A rate is found when three runs met it, and is too high when two runs missed it; what held below it stays
// known. At last the rate above the one that was found has to miss again: if it does not, what it missed before was
// noise, and so may be the misses of higher rates, of which each has to miss once more. FindMax returns the report of
// the last run at the rate that was found. found is false when there is none within maxTrials runs, and then the
// report is the last one. A run also misses when it reaches less than 95 % of its rate, and when it has errors, unless
// the thresholds say otherwise.
func FindMax(ctx context.Context, o Options, t Thresholds, upTo float64, each func(Trial)) (
	r *Report, found bool, err error,
) {
	return findMax(ctx, o, t, upTo, each, Run)
}

// findMax is FindMax with the function that makes a run.
func findMax(ctx context.Context, o Options, t Thresholds, upTo float64, each func(Trial),
	run func(context.Context, Options) (*Report, error),
) (r *Report, found bool, err error) {
	if err := errors.Join(o.Validate(), t.Validate(&o), Searchable(&o, t, upTo)); err != nil {
		return nil, false, err
	}
	if t.MinRate == nil {
		t.MinRate = new(keptShare)
	}
	t.NoErrors = t.MaxErrors == nil
	need, length := t.requests(), o.For
	s := search{next: o.RPS, lowest: o.lowest(need), upTo: upTo}
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
		if s.take(ok); ok && o.RPS == s.low().rate {
			atLow = r
		}
	}
	if s.found {
		r = atLow
		r.HighestRate = s.low().rate
	}
	r.Search, r.Verdict = trials, s.verdict(trials, r.Stopped, &t)
	return r, s.found, nil
}

// search chooses the rates of a search.
type search struct {
	next   float64  // the rate of the next run
	lowest float64  // rate that a search goes down to
	upTo   float64  // rate that a search goes up to
	tried  []*tried // in order
	ended  bool
	found  bool
}

// tried counts the runs at a rate.
type tried struct {
	rate         float64
	held, missed int // missed leaves out what turned out to be noise
}

// low returns the highest rate that met the thresholds, rate 0 for none. One that missed twice is too high.
func (s *search) low() tried {
	for _, t := range slices.Backward(s.tried) {
		if t.held > 0 && t.missed < misses {
			return *t
		}
	}
	return tried{}
}

// bound returns the highest rate that was confirmed, low if none was.
func (s *search) bound() tried {
	for _, t := range slices.Backward(s.tried) {
		if t.held >= holds && t.missed < misses {
			return *t
		}
	}
	return s.low()
}

// high returns the lowest rate above low that missed, rate 0 for none.
func (s *search) high() tried {
	low := s.low().rate
	for _, t := range s.tried {
		if t.rate > low && t.missed > 0 {
			return *t
		}
	}
	return tried{}
}

// at returns the counts of a rate, which it adds if there are none.
func (s *search) at(rate float64) *tried {
	i, found := slices.BinarySearchFunc(s.tried, rate, func(t *tried, r float64) int { return cmp.Compare(t.rate, r) })
	if !found {
		s.tried = slices.Insert(s.tried, i, &tried{rate: rate})
	}
	return s.tried[i]
}

// take takes the outcome of the run at the rate next.
func (s *search) take(ok bool) {
	t := s.at(s.next)
	switch {
	case !ok:
		t.missed++
	case t.missed > 0 && t.rate > s.low().rate: // it missed by noise, and so may have what is above it
		t.missed = 0
		for _, above := range s.tried {
			if above.rate > t.rate {
				above.missed = min(above.missed, misses-1)
			}
		}
		t.held++
	default:
		t.held++
	}
	s.choose(s.low(), s.high())
}

// choose chooses the rate of the next run.
func (s *search) choose(low, high tried) {
	switch {
	case high.rate > 0 && high.missed < misses && (low.rate > 0 || high.rate <= s.lowest):
		s.next = high.rate // once more before it counts
	case low.rate >= s.upTo, low.rate > 0 && high.rate > 0 && high.rate <= low.rate*closeEnough:
		s.next = low.rate
		if low.held >= holds {
			s.next = high.rate // once more, some runs later
			s.found = high.rate == 0 || high.missed > misses
			s.ended = s.found
		}
	case low.rate > 0 && low.held < holds && high.held > 0: // what held above was noise: first confirm what is left
		s.next = low.rate
	case high.rate == 0:
		s.next = min(low.rate*2, s.upTo)
	case low.rate == 0 && high.rate <= s.lowest:
		s.ended = true
	case low.rate == 0 && high.held > 0: // what was met is not met again: little below it
		s.next = max(rounded(high.rate*0.9), s.lowest)
	case low.rate == 0:
		s.next = max(rounded(high.rate/2), s.lowest)
	default:
		s.next = rounded((low.rate + high.rate) / 2)
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

// verdict says what the search found, and when it found no rate which one held.
func (s *search) verdict(trials []Trial, stopped bool, t *Thresholds) (text string) {
	low, high := s.low(), s.high()
	switch {
	case s.found:
		text = fmt.Sprintf("highest rate: %s, held %d times", perSecond(low.rate), low.held)
		if high.rate > 0 {
			text += fmt.Sprintf("; %s missed %d times", perSecond(high.rate), high.missed)
		} else {
			text += ", and no higher one was tried (--max-rps)"
		}
	case stopped:
		text = "no rate was confirmed: the search was stopped early"
	case s.ended:
		text = "no rate met the thresholds, down to " + perSecond(s.lowest)
	default:
		text = fmt.Sprintf("no rate was confirmed in %d runs", maxTrials)
	}
	if bound := s.bound(); !s.found && bound.rate > 0 {
		text += fmt.Sprintf("; %s held %d times", perSecond(bound.rate), bound.held)
	}
	if t.NoErrors {
		text += "; errors were limited to 0 %, because --max-errors was not given"
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
