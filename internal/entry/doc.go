// Package entry takes orders: it turns the commands of a request into commands of the engine, submits them as one
// batch, and reads their answers. Signed users and the internal API use it alike.
//
// Owner: any goroutine may call an Entry. A Request belongs to one goroutine from Acquire to Release; the goroutine of
// the sequencer writes its answers while Submit or SubmitOne waits.
//
// Invariants:
//
//  1. A request is one batch, and nothing of it is kept beside the state. Its commands are judged where they are
//     applied, in order: each sees what the earlier ones have brought, freed or taken.
//  2. A decimal that is no number of ticks or lots is refused by the engine, in sequence.
//  3. A signed request finds and changes orders of its caller only. The order of another account does not exist for it.
//  4. An answer is read right after its command's fold, before any later command.
//  5. The engine refuses every order behind the halt of an account, so a Canceler that has canceled the open orders has
//     canceled all.
//
// The package does not read JSON, know HTTP statuses or verify signatures. It does not match (engine), hold balances
// (accounts) or change pairs and assets.
package entry
