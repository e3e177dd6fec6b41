package server

import (
	"tickhive/engine"

	"tickhive/internal/refuse"
)

// Accounts knows who trades and with whose money. The zero UUID is the built-in account,
// number 0, and never reaches it.
type Accounts interface {
	// Open is the account of an order; an id that may not trade is an Error.
	Open(id [16]byte) (engine.AccountID, *refuse.Refusal)
	// Find is the account with that id, false when there is none.
	Find(id [16]byte) (engine.AccountID, bool)
	// ID is the id of an account. It is called on the engine loop's goroutine.
	ID(a engine.AccountID) [16]byte
	// Check refuses a Place whose shape does not fit its account.
	Check(cmd *engine.Command) *refuse.Refusal
	// Lock keeps apart commands that must not be on their way twice at once and answers
	// the unlock; preparations and their outcome lie in between.
	Lock(cmds []engine.Command) (unlock func())
	// Prepare stamps the rates in force into a Place or Replace and keeps what it may
	// spend. A refusal for lack of funds goes into cmd.Refuse. What it answers is given
	// to Done.
	Prepare(cmd *engine.Command) Reservation
	// Done ends a preparation: taken says that the engine's events took it over, or that the
	// next start may find them do so. A refused command and a repeat of a client order id take
	// nothing.
	Done(r Reservation, taken bool)
}

// Reservation is what Accounts keeps for a command on its way; nil keeps nothing.
type Reservation any

// noAccounts knows the built-in account alone: an exchange without users.
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
