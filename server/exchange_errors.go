package server

import (
	"errors"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/refuse"
	"tickhive/internal/wal"
)

// Exchange is the interface to the engine: it submits orders and runs queries on the goroutine
// that owns books and history. *sequencer.Loop implements it.
type Exchange interface {
	// Submit submits a batch and waits for its outcome.
	Submit(b *sequencer.Batch) error
	// Query runs fn between two commands on the goroutine that owns core and history.
	Query(fn func()) error
	// AdvanceTo advances a virtual clock to ns and carries out all work that falls due.
	AdvanceTo(ns int64) error
}

// exchangeError returns the refusal for an error of Exchange after which nothing was applied.
func exchangeError(err error) *refuse.Refusal {
	switch {
	case errors.Is(err, sequencer.ErrBusy):
		return refuse.Later(1, "The order queue is full; nothing was applied.")
	case errors.Is(err, sequencer.ErrStopping):
		return refuse.Later(5, "The server is shutting down; nothing was applied.")
	case errors.Is(err, sequencer.ErrTimeBack):
		return refuse.Param("at", "The member at must not go back in time.")
	}
	return refuse.Later(5, "The journal takes no changes; nothing was applied.")
}

// submitError returns the refusal for a change that the engine did not confirm; for what and
// then see outcomeUnknown.
func submitError(err error, what, then string) *refuse.Refusal {
	if errors.Is(err, sequencer.ErrOutcomeUnknown) || errors.Is(err, wal.ErrOutcomeUnknown) {
		return outcomeUnknown(what, then)
	}
	return exchangeError(err)
}

// refusalFields maps a reason to the request member that caused it, if one did.
var refusalFields = map[engine.Reason]string{
	engine.PriceNotPositive: "price", engine.PriceOffTick: "price", engine.PriceOutOfRange: "price",
	engine.AmountNotPositive: "amount", engine.AmountOffLot: "amount", engine.AmountOutOfRange: "amount",
	engine.BelowMinQuoteAmount: "amount", engine.DuplicateClientOrderID: "clientOrderId",
}
