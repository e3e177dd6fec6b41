package load

import "time"

// Schedule returns the time at which each request of a run should be sent. The time depends only on the
// request's number, so that no event of the run can change it.
type Schedule interface {
	// Count returns the number of requests of the run.
	Count() int
	// Due returns the time after the start at which request i should be sent.
	Due(i int) time.Duration
	// Length returns the duration of the run.
	Length() time.Duration
}

// Even sends at a constant rate.
type Even struct {
	PerSecond float64
	For       time.Duration
}

// Count returns the rate multiplied by the length.
func (e Even) Count() int { return int(e.PerSecond * e.For.Seconds()) }

// Due returns times at equal distances.
func (e Even) Due(i int) time.Duration {
	return time.Duration(float64(i) / e.PerSecond * float64(time.Second))
}

// Length returns the duration of the run.
func (e Even) Length() time.Duration { return e.For }

// TopOfMinute sends like pollers: a third of a minute's requests come in the first twelfth of the minute (5 s),
// the others evenly in the rest. Minutes may be shorter than 60 s; PerSecond is the mean rate.
type TopOfMinute struct {
	PerSecond float64
	Minute    time.Duration
	Minutes   int
}

func (s TopOfMinute) perMinute() int { return int(s.PerSecond * s.Minute.Seconds()) }

// Count returns the rate multiplied by the length.
func (s TopOfMinute) Count() int { return s.Minutes * s.perMinute() }

// Due returns times at equal distances within each of the two parts of a minute.
func (s TopOfMinute) Due(i int) time.Duration {
	n := s.perMinute()
	share := float64(i%n) / float64(n)
	const burst, part = 1. / 3, 1. / 12
	at := share / burst * part
	if share > burst {
		at = part + (share-burst)/(1-burst)*(1-part)
	}
	return time.Duration(i/n)*s.Minute + time.Duration(at*float64(s.Minute))
}

// Length returns the duration of the run.
func (s TopOfMinute) Length() time.Duration { return time.Duration(s.Minutes) * s.Minute }
