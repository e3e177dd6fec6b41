package exchange

import (
	"net"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/machine"
	log "github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/server/account"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/server/agents"
	"github.com/tickhive/tickhive/server/binance"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/public"
	"github.com/tickhive/tickhive/server/stream"
)

// Hooks changes the options that Open passes to the servers; a nil member changes nothing. Tests use it
// (exchangetest) to replace listeners and clocks, and to inject faults between handlers and engine.
type Hooks struct {
	Listen  func(address string) (net.Listener, error) // nil: TCP
	Public  func(*edge.Options)
	Market  func(*public.Options)
	Agents  func(*agents.Options)
	Account func(*account.Options)
	Admin   func(*admin.Options)
	Binance func(*binance.Options)
	Streams func(*stream.Options)
	Loop    func(*sequencer.LoopOptions)
	Sinks   func([]sequencer.Sink) []sequencer.Sink // of a loop and of a replica
	Store   func(*account.Store)                    // changes the store through which the handlers reach the accounts
	// Follow is called before a replica executes a message; nil: nothing is.
	Follow func(*machine.State, *log.Message)
}

// hook calls fn unless it is nil, and returns the options.
func hook[T any](fn func(*T), o T) T {
	if fn != nil {
		fn(&o)
	}
	return o
}
