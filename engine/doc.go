// Package engine is the matching core of the exchange.
//
// What it is: Core, a pure single-threaded state machine (same commands with the same
// stamped times, same events), and Loop, the goroutine around it that sequences,
// stamps, journals, applies and hands the events on.
//
// Owner: everything below Core belongs to the goroutine that runs Loop. Nothing here is
// read by anyone else; readers see what marketdata publishes from the events.
//
// Invariants:
//
//  1. A book is never crossed after a command.
//  2. Each pair's events carry seq 1, 2, 3 ... without a gap; every command makes at
//     least one event; a refusal is one.
//  3. A fill's price is the maker's; makers are taken best price first, then by arrival.
//  4. A level's amount is the sum of the shown parts of its orders.
//  5. Order ids and trade ids are dense per pair and never reused.
//
// Reading order: ids, instrument, command, event, reject, order, level, ladder, book,
// match, core, loop, check.
//
// It does not know funds: an account is a number, fee rates are stamped into the
// command and come out in the trade event. It does not read a clock and does no I/O.
package engine
