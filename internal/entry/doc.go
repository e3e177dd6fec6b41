// Package entry takes orders: it turns the commands of a request into commands of the engine,
// reserves the money that they may spend, submits them, and gives back what the engine did not
// use. Signed users and the internal API use it alike.
//
// Owner: any goroutine may call an Entry. A Request belongs to one goroutine from Acquire to Release;
// the goroutine of the sequencer writes its answers while Submit or SubmitOne waits.
//
// Invariants:
//
//  1. Fee rates are stamped and money is reserved before the engine sees a user's order.
//  2. Each reservation ends exactly once: the order's event takes it over, or releaseUnused releases it
//     after the engine refused the order or did not get it. After an unknown outcome neither
//     happens: the next start may find the event, and forgets reservations anyhow.
//  3. A reservation sees applied commands only. A command that depends on an earlier one of its
//     request is therefore in a later chunk (chunks.go).
//  4. Two commands that need each other's outcome are never in flight together (stripes.go).
//  5. A decimal that is no number of ticks or lots is refused by the engine, in sequence, and so
//     is an order that lacks money. The one exception is a single signed order without a client
//     order id: it is refused here and not sequenced.
//  6. A signed request finds and changes orders of its caller only. The order of another account
//     does not exist for it.
//  7. An answer is read right after its command's fold, before any later command.
//  8. A halted account places nothing: Reserve refuses before the engine sees the order. The orders that were
//     on their way are canceled when they are in the book (guard.go).
//
// How an Entry is used. At the start:
//
//	e, err := entry.New(entry.Options{Exchange: loop, Core: core, History: feed.History(),
//		Board: feed.Board(), Clock: clk})
//	e.Attach(state) // the recovered accounts, before the first request
//
// For each request:
//
//	r := e.Acquire(caller)      // 0: an operator
//	defer e.Release(r)
//	c := r.One()                // or fill r.Commands and call r.Submit
//	c.Kind = entry.PlaceOrder
//	decode(body, &c.Place)      // decimals stay text of checked form
//	if refusal := r.SubmitOne(); refusal != nil {
//		return refusal          // the caller maps its code to a status
//	}
//	encode(&r.Answers[0])       // before Release
//
//	n, refusal := e.CancelAll(entry.MassCancel{Caller: caller, Pair: pair})
//	a, refusal := e.Order(caller, text) // one retained order
//
// Reading order: entry, order (text to ticks and lots), request, dry_run, chunks, stripes, hold, answer,
// cancel, guard, refusal.
//
// The package does not read JSON, know HTTP statuses or verify signatures. It does not match
// (engine), hold balances (accounts) or change pairs and assets.
package entry
