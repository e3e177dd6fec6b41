// Package engine is the matching core: the vocabulary of the market (ids, commands, events, reasons) and Core, a pure
// state machine that turns commands into events.
//
//	core := engine.NewCore(engine.Options{})
//	for cmd := range commands { // stamped with TimeNs, and journaled
//		events = core.Apply(&cmd, events[:0]) // Funds has folded them
//		publish(events)
//	}
//
// Owner: a Core belongs to one goroutine, the sequencer's. Readers see what marketdata publishes from the events.
//
// Invariants (Core.Check walks them):
//
//  1. A book is never crossed after a command.
//  2. Each pair's events carry seq 1, 2, 3 ... without a gap; a command emits at least one; a refusal is an event.
//  3. A fill's price is the maker's; makers are taken best price first, then by arrival.
//  4. A level's amount is the sum of the shown parts of its orders; a level event carries a changed amount.
//  5. Order ids and trade ids are dense per pair and never reused.
//  6. After the last part of a command no waiting stop is at or through the last trade.
//  7. No sum overflows: the core refuses an order beyond the bounds of a side, and of MaxSettled.
//  8. A part of a command is bounded work.
//  9. A pair's events depend only on that pair's commands and on the answers of Funds.
//
// The package keeps no balance: an account is a number, Funds says what it may spend, and the events say what its
// orders hold. It starts no goroutine, reads no clock and does no I/O: package sequencer does these.
package engine
