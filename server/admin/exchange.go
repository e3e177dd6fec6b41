package admin

import "tickhive/internal/entry"

// Exchange is the interface to the engine: it submits commands and runs queries on the goroutine
// that owns books and history. *sequencer.Loop implements it.
type Exchange interface {
	entry.Exchange
	// AdvanceTo advances a virtual clock to ns and carries out all work that falls due.
	AdvanceTo(ns int64) error
}
