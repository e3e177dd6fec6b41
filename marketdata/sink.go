package marketdata

import "tickhive/engine"

// Sink returns the feed as a sink of the sequencer's loop, which passes journal positions too.
func (f *Feed) Sink() Sink { return Sink{f} }

// Sink is a feed that ignores journal positions.
type Sink struct{ *Feed }

// Fold folds events and ignores the position.
func (s Sink) Fold(events []engine.Event, _ uint64) { s.Feed.Fold(events) }
