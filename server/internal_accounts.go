package server

import (
	"sync"

	"tickhive/engine"
	"tickhive/marketdata"
)

// Accounts knows who trades and with whose money. The zero UUID is the built-in account,
// number 0, and never reaches it.
type Accounts interface {
	// Open is the account of an order; an id that may not trade is an Error.
	Open(id [16]byte) (engine.AccountID, *Error)
	// Find is the account with that id, false when there is none.
	Find(id [16]byte) (engine.AccountID, bool)
	// ID is the id of an account. It is called on the engine loop's goroutine.
	ID(a engine.AccountID) [16]byte
	// Check refuses a Place whose shape does not fit its account.
	Check(cmd *engine.Command) *Error
	// Lock keeps apart commands that must not be on their way twice at once and answers
	// the unlock; preparations and their outcome lie in between.
	Lock(cmds []engine.Command) (unlock func())
	// Prepare stamps the rates in force into a Place or Replace and keeps what it may
	// spend. A refusal for lack of funds goes into cmd.Refuse. What it answers is given
	// to Done.
	Prepare(cmd *engine.Command) Reservation
	// Done ends a preparation: taken says that the engine's events took it over. A refused
	// command and a repeat of a client order id take nothing.
	Done(r Reservation, taken bool)
}

// Reservation is what Accounts keeps for a command on its way; nil keeps nothing.
type Reservation any

// EngineAccounts takes any UUID as an unlimited account that pays the pair's fees: the
// engine numbers it when it first trades. Any goroutine may use it.
type EngineAccounts struct {
	exchange Exchange
	core     *engine.Core
	board    *marketdata.Board
	known    sync.Map // [16]byte -> engine.AccountID
}

// NewEngineAccounts makes the registry over the engine's own.
func NewEngineAccounts(x Exchange, core *engine.Core, board *marketdata.Board) *EngineAccounts {
	return &EngineAccounts{exchange: x, core: core, board: board}
}

// Open gives the UUID an account number when it has none.
func (a *EngineAccounts) Open(id [16]byte) (engine.AccountID, *Error) {
	if known, ok := a.known.Load(id); ok {
		return known.(engine.AccountID), nil
	}
	uuid := id
	var opened engine.AccountID
	refused := engine.NotRejected
	b := engine.Batch{
		Commands: []engine.Command{{Kind: engine.OpenAccount, Pair: engine.ControlPair, UUID: &uuid}},
		Collect: func(_ int, _ *engine.Command, events []engine.Event) {
			opened, refused = events[0].Account, events[0].Reason
		},
	}
	if err := a.exchange.Submit(&b); err != nil {
		return 0, exchangeError(err)
	}
	if refused != engine.NotRejected {
		return 0, Unavailable(60, "There are as many accounts as the engine takes.")
	}
	a.known.Store(id, opened)
	return opened, nil
}

// Find is the account that the UUID was given.
func (a *EngineAccounts) Find(id [16]byte) (engine.AccountID, bool) {
	if known, ok := a.known.Load(id); ok {
		return known.(engine.AccountID), true
	}
	var account engine.AccountID
	ok := false
	if err := a.exchange.Query(func() { account, ok = a.core.Account(id) }); err != nil || !ok {
		return 0, false
	}
	a.known.Store(id, account)
	return account, true
}

// ID is the UUID that the engine knows; the loop's goroutine alone may ask.
func (a *EngineAccounts) ID(id engine.AccountID) [16]byte { return a.core.AccountUUID(id) }

// Check takes every shape.
func (a *EngineAccounts) Check(*engine.Command) *Error { return nil }

// Lock keeps nothing apart: nothing is held.
func (a *EngineAccounts) Lock([]engine.Command) func() { return func() {} }

// Prepare stamps the pair's rates; the built-in account pays none.
func (a *EngineAccounts) Prepare(cmd *engine.Command) Reservation {
	if cmd.Account == 0 || cmd.Kind != engine.Place {
		return nil
	}
	if v := a.board.Load().View(cmd.Pair); v != nil {
		cmd.MakerFee, cmd.TakerFee = v.Instrument.MakerFee, v.Instrument.TakerFee
	}
	return nil
}

// Done has nothing to give back.
func (a *EngineAccounts) Done(Reservation, bool) {}
