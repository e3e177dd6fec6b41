package marketdata

import "tickhive/engine"

// Sink returns the feed as a fold of the loop, which also passes journal positions.
func (f *Feed) Sink() Sink { return Sink{f} }

// Sink is a feed that ignores journal positions.
type Sink struct{ *Feed }

// Fold folds events.
func (s Sink) Fold(events []engine.Event, _ uint64) { s.Feed.Fold(events) }
