package engine

import (
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/mix"
)

// Funds is the money of the accounts where a command is applied. The core asks it when it accepts an order, so the
// answer belongs to the sequence: nothing is reserved before.
//
// What an order holds follows from its events (EventKind) and from the book; docs/contract/matching.md and
// docs/contract/trading.md#balances-and-holds have the formulas.
type Funds interface {
	// Fold books events, each once and in order. The core calls it before it asks anything and at the end of each
	// Apply: when Apply returns, every event that it returns has been folded. It must not retain the events.
	Fold(events []Event)
	// Cover reports whether an account may place or replace an order of a side of a pair that needs that many more
	// units of the asset that the side spends (Buy: the quote, Sell: the base). 0 asks for halts and debt alone.
	// The answers are NotRejected, AccountHalted, InsufficientFunds and TotalOutOfRange.
	Cover(a AccountID, p PairID, s Side, need fixed.U128) Reason
	// Free returns the units of the asset that the side spends that the account may still spend.
	Free(a AccountID, p PairID, s Side) fixed.U128
	// Discount returns the account's discount of the fees of a side, in 10^-8.
	Discount(a AccountID, s Side) uint32
	// Digits returns the digits of a currency that has balances; used is false for a currency without any.
	Digits(currency string) (digits int, used bool)
}

// SetFunds sets the money that the following commands ask; nil: without limits, discounts and halts.
func (c *Core) SetFunds(f Funds) { c.ledger.funds = f }

// ledger is the core's side of Funds. All books share it.
type ledger struct {
	funds  Funds
	sums   bool   // the digest is kept
	folded int    // events of the slice of the Apply under way that are folded
	sum    uint64 // over all events that were folded (digest.go)
}

// begin starts an Apply into a slice of n events.
func (l *ledger) begin(n int) { l.folded = n }

// fold folds the events that are not folded yet and returns them all.
func (l *ledger) fold(events []Event) []Event {
	if l.folded != len(events) && (l.sums || l.funds != nil) {
		l.foldFrom(events)
	}
	return events
}

// foldFrom is a function of its own so that callers of fold contain it.
//
//go:noinline
func (l *ledger) foldFrom(events []Event) {
	next := events[l.folded:]
	l.folded = len(events)
	if l.sums {
		for i := range next {
			if next[i].Kind != EventLevel {
				l.sum = mix.Of(l.sum, next[i].digest())
			}
		}
	}
	if l.funds != nil {
		l.funds.Fold(next)
	}
}
