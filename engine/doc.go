// Package engine is the matching core of the exchange.
//
// It defines the vocabulary of the market (ids, commands, events, reasons) and Core, a pure
// single-threaded state machine: the same commands with the same stamped times produce the
// same events.
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
//  2. Each pair's events carry seq 1, 2, 3 ... without a gap; every command emits at
//     least one event in all its parts; a refusal is an event.
//  3. A fill's price is the maker's; makers are taken best price first, then by arrival.
//  4. A level's amount is the sum of the shown parts of its orders; a level event carries
//     a changed amount, never the previous one.
//  5. Order ids and trade ids are dense per pair and never reused.
//  6. No waiting stop is at or through the last trade after a command, its last part.
//  7. The lots that rest or wait on one side of a pair stay within int64, each product
//     within MaxTotal: the core refuses an order beyond these bounds; nothing overflows.
//  8. A part of a command is bounded work (parts.go).
//  9. A pair's events depend only on that pair's commands, never on other pairs of the core.
//
// Choices where the rules leave the behavior open:
//
//   - Fill-or-kill under self-trade prevention is refused when an order of the same account
//     precedes the last lot needed, unless the mode cancels the maker. It is never filled in
//     part.
//   - A stop that the book refuses when it is triggered (no liquidity, would cross, cannot
//     be filled) already has an id, so it is canceled with CauseUnfillable, even when it is
//     triggered on arrival.
//   - The mode decrement and a replace to a lower total reduce an iceberg's reserve first;
//     the iceberg keeps its place. A waiting stop cannot be replaced: order_closed.
//   - A sell, or a buy by quote, with an earn limit trades up to the limit and not a lot
//     more. The remainder is canceled with CauseLimit, even where a gtc order would rest at
//     a price at which it may bring more. Fill-or-kill is refused in that case, also when the
//     limit allows no lot at an order of the same account on the way.
//   - Self-trade prevention acts where the taker would trade a lot. Money, earn limit and price
//     limit end a taker before.
//   - A market buy by quote amount is Completed when it has less left than one lot costs.
//   - Each pair remembers the client order ids of all accounts together, so that one pair's
//     evictions never depend on another pair; a repeat is answered in any pair state.
//   - A mass cancel finds an account's orders in the account's list. For the built-in
//     account and for all accounts it walks the index, which passes each order once
//     (cancel.go).
//
// Memory of one resting order: 64 bytes hot, 24 cold, 4 in the index, about 5 for its share
// of the level; a client id adds 56 bytes and its table entry of 11 to 22. An order that is the last one
// in its index page of 512 numbers retains 2 KiB. The page directory spans the open orders.
//
// Reading order: ids, instrument, command, event, reject, options; order, ladder,
// package owners, open, tape, book; core, place, express, taker, match, selftrade, fillable, warm,
// stops, cancel, replace, parts; control; registers, bookview; command_codec, command_decode,
// state, state_pair, state_parts, state_control; check.
//
// The package does not know funds: an account is a number; the trade event repeats the fee
// rates that were stamped into the command. It starts no goroutine, reads no clock and does
// no I/O: package sequencer does these.
package engine
