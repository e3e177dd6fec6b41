package marketdata

import "tickhive/engine"

// Sink returns the feed as a sink of the sequencer's loop, which passes journal positions too.
func (f *Feed) Sink() Sink { return Sink{f} }

// Sink is a feed that ignores journal positions.
type Sink struct{ *Feed }

// Fold folds events and ignores the position.
func (s Sink) Fold(events []engine.Event, _ uint64) { s.Feed.Fold(events) }

// NextNs returns the time at which time alone changes what the feed shows: a window, or the end of
// the open candles, which all end with a minute.
func (s Sink) NextNs() int64 {
	next := s.Feed.NextNs()
	if len(s.pairs) > 0 {
		next = min(next, (s.board.sealed.Load()/minuteNs+1)*minuteNs)
	}
	return next
}

const minuteNs = 60 * nanosecond
