package marketdata

import "tickhive/engine"

// Sink is the feed as a fold of the engine's loop, which also tells journal positions.
func (f *Feed) Sink() engine.Sink { return sink{f} }

type sink struct{ *Feed }

// Fold takes events and does not mind where the journal stands.
func (s sink) Fold(events []engine.Event, _ uint64) { s.Feed.Fold(events) }
