// Package private hands what happens to the account of a user to the programs that watch the account: each event of an
// order with the order right after it, each transfer, each changed balance, once and in order.
//
// An event of a watched account is recorded, and waits until it may be shown:
//
//	Observe, Transferred,      Publish,                   Publish, the command
//	BalanceChanged             pair not withheld          of the pair is complete
//	     |                          |                          ^
//	     v                          v                          |
//	 recorded --------------------> queued <----------------- held
//	     |                          ^  |                       ^
//	     +--- Publish, the pair is -|--|-----------------------+
//	          withheld              |  +-- Take --> taken
//	                                |
//	 a subscription: watching ------+-- more than 10,000 queued, or 100,000 held
//	                    ^                     |
//	                    +------- Take ------ lost: nothing is queued until Take has said so
//
// Owner: the sequencer's goroutine calls Observe, Withhold, Publish and the methods that the accounts call with what
// they have shown; any goroutine may call the others.
//
// Invariants:
//
//  1. An event is queued by the publication that shows it, so no subscriber has it earlier than the views.
//  2. Order, fills and balances of a publication are queued in this order, those of a command of several parts when it
//     is complete.
//  3. An event is queued once with every subscription of its account. None is dropped silently: Take reports the loss.
//  4. An event is immutable once it is queued.
//
// It renders nothing and knows no credentials.
package private
