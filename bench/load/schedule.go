package load

import "time"

// Schedule says when each request of a run is meant to be sent: a pure function of its
// number, so that nothing that happens can move it.
type Schedule interface {
	// Count is how many requests the run has.
	Count() int
	// Due is when request i is meant to be sent, from the start.
	Due(i int) time.Duration
	// Length is how long the run lasts.
	Length() time.Duration
}

// Even sends at one rate.
type Even struct {
	PerSecond float64
	For       time.Duration
}

// Count is rate x length.
func (e Even) Count() int { return int(e.PerSecond * e.For.Seconds()) }

// Due is evenly spaced.
func (e Even) Due(i int) time.Duration {
	return time.Duration(float64(i) / e.PerSecond * float64(time.Second))
}

// Length is that of the run.
func (e Even) Length() time.Duration { return e.For }

// TopOfMinute is how pollers behave: a third of all requests falls into the first twelfth
// of the time (of a minute: 5 s), the rest is even. PerSecond is the mean.
type TopOfMinute struct {
	PerSecond float64
	For       time.Duration
}

// Count is rate x length.
func (s TopOfMinute) Count() int { return int(s.PerSecond * s.For.Seconds()) }

// Due is linear in two parts.
func (s TopOfMinute) Due(i int) time.Duration {
	share := float64(i) / float64(s.Count())
	const burst, part = 1. / 3, 1. / 12
	at := share / burst * part
	if share > burst {
		at = part + (share-burst)/(1-burst)*(1-part)
	}
	return time.Duration(at * float64(s.For))
}

// Length is that of the run.
func (s TopOfMinute) Length() time.Duration { return s.For }
