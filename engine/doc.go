// Package engine is the matching core of the exchange.
//
// What it is: the vocabulary of the market (ids, commands, events, reasons) and Core, a
// pure single-threaded state machine: the same commands with the same stamped times give
// the same events.
//
// Usage, as package sequencer does it:
//
//	core := engine.NewCore(engine.Options{})
//	for cmd := range commands { // stamped with TimeNs and Rules, and journaled
//		events = core.Apply(&cmd, events[:0])
//		fold(events)
//	}
//
// Owner: a Core belongs to one goroutine, the sequencer's. Readers see what marketdata
// publishes from the events.
//
// Invariants (Core.Check walks them):
//
//  1. A book is never crossed after a command.
//  2. Each pair's events carry seq 1, 2, 3 ... without a gap; every command makes at
//     least one event; a refusal is one.
//  3. A fill's price is the maker's; makers are taken best price first, then by arrival.
//  4. A level's amount is the sum of the shown parts of its orders; a level event tells a
//     new amount, never the old one again.
//  5. Order ids and trade ids are dense per pair and never reused.
//  6. No waiting stop is at or through the last trade after a command.
//  7. The lots that rest or wait on one side of a pair stay within int64, each product
//     within MaxTotal: what would go beyond is refused, nothing wraps.
//  8. What a pair does depends on its own commands alone, never on other pairs of the core.
//
// Choices where the rules leave one:
//
//   - Fill-or-kill under self-trade prevention is refused when an own order stands before
//     the last lot needed, unless the mode cancels the maker: it is never filled in part.
//   - A stop that the book turns away when it is triggered (no liquidity, would cross,
//     cannot be filled) has an id by then, so it is canceled with CauseUnfillable, also
//     when it was through at once.
//   - decrement, and a lower total, take from an iceberg's reserve first; it keeps its
//     place. A waiting stop cannot be replaced: order_closed.
//   - A sell, or a buy by quote, with an earn limit takes what it may bring and not a lot
//     more; what is left is canceled with CauseLimit, also where a gtc order would rest at a
//     price at which it may bring more. fill-or-kill is refused then.
//   - A market buy by quote amount that spent all but less than a lot costs is Completed.
//   - Client order ids are remembered per pair, all accounts together, so that what one
//     pair forgets never depends on another; a repeat is answered in any pair state.
//   - A mass cancel finds an account's orders by the account's own list; those of the
//     built-in account and of everybody by walking the index, which passes each order
//     once (cancel.go).
//
// Memory of one resting order: 64 bytes hot, 24 cold, 4 in the index, about 5 of its
// level; a client id adds 56 and its table entry. One order that survives alone in its
// index page of 512 numbers keeps 2 KiB. The directory of pages spans the open orders.
//
// Reading order: ids, instrument, command, event, reject, options; order, slab, keys,
// ladder, index, owner, clients, book; core, place, taker, match, selftrade, fillable,
// stops, cancel, replace; pairs, control; registers, bookview; state, state_reader,
// restore, state_control; check.
//
// It does not know funds: an account is a number, fee rates are stamped into the
// command and come out in the trade event. It has no goroutine, reads no clock and does
// no I/O: package sequencer is the shell around it.
package engine
