// Package entry takes orders: it turns the commands of a request into commands of the engine, reserves the money that
// they may spend, submits them, and gives back what the engine did not use. Signed users and the internal API use it
// alike.
//
// Owner: any goroutine may call an Entry. A Request belongs to one goroutine from Acquire to Release; the goroutine of
// the sequencer writes its answers while Submit or SubmitOne waits.
//
// Invariants:
//
//  1. Fee rates are stamped and money is reserved before the engine sees a user's order.
//  2. Each reservation ends exactly once: the order's event takes it over, or releaseUnused releases it after the
//     engine refused the order or did not get it. After an unknown outcome neither happens: the next start may find the
//     event, and forgets reservations anyhow.
//  3. A reservation sees applied commands only. A command that depends on an earlier one of its request is therefore in
//     a later chunk, and two commands that need each other's outcome are never in flight together.
//  4. A decimal that is no number of ticks or lots, and an order that lacks money, are refused by the engine, in
//     sequence. The one exception is a single signed order without a client order id: it is refused here and not
//     sequenced.
//  5. A signed request finds and changes orders of its caller only. The order of another account does not exist for it.
//  6. An answer is read right after its command's fold, before any later command.
//  7. A halted account places nothing: Reserve refuses before the engine sees the order.
//
// The package does not read JSON, know HTTP statuses or verify signatures. It does not match (engine), hold balances
// (accounts) or change pairs and assets.
package entry
