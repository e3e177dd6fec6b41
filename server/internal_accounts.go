package server

import (
	"tickhive/engine"

	"tickhive/internal/refuse"
)

// Accounts finds the accounts of orders and reserves their money. The zero UUID is the built-in
// account, number 0, and is never passed to Accounts.
type Accounts interface {
	// Open returns the account of an order, or a refusal if the id may not trade.
	Open(id [16]byte) (engine.AccountID, *refuse.Refusal)
	// Find returns the account with that id, false if there is none.
	Find(id [16]byte) (engine.AccountID, bool)
	// ID returns the id of an account. The sequencer's goroutine calls it.
	ID(a engine.AccountID) [16]byte
	// Check refuses a Place whose shape does not fit its account.
	Check(cmd *engine.Command) *refuse.Refusal
	// Lock serializes commands that must not be in flight at the same time and returns the
	// unlock function. The caller prepares the commands and learns their outcome in between.
	Lock(cmds []engine.Command) (unlock func())
	// Prepare stamps the current rates into a Place or Replace and reserves the money that the
	// command may spend. It sets cmd.Refuse if money is lacking. The caller passes the result
	// to Done.
	Prepare(cmd *engine.Command) Reservation
	// Done ends a preparation. taken reports that the engine's events took over the
	// reservation, or that the next start may find events that do. A refused command and a
	// repeat of a client order id take over nothing.
	Done(r Reservation, taken bool)
}

// Reservation is the money that Accounts reserves for a command in flight; nil: none.
type Reservation any

// noAccounts implements Accounts for an exchange without users: only the built-in account exists.
type noAccounts struct{}

func (noAccounts) Open(id [16]byte) (engine.AccountID, *refuse.Refusal) {
	return 0, refuse.Missing("accountId", "There is no account %s.", appendUUID(nil, id))
}

func (noAccounts) Find([16]byte) (engine.AccountID, bool) { return 0, false }
func (noAccounts) ID(engine.AccountID) [16]byte           { return [16]byte{} }
func (noAccounts) Check(*engine.Command) *refuse.Refusal  { return nil }
func (noAccounts) Lock([]engine.Command) func()           { return func() {} }
func (noAccounts) Prepare(*engine.Command) Reservation    { return nil }
func (noAccounts) Done(Reservation, bool)                 {}
