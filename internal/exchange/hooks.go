package exchange

import (
	"net"

	"tickhive/server/account"
	"tickhive/server/admin"
	"tickhive/server/agents"
	"tickhive/server/edge"
	"tickhive/server/public"
)

// Hooks change the options that Open passes to the servers; nil changes nothing. A test uses them
// (exchangetest) to replace listeners and clocks and to inject faults between handlers and engine.
type Hooks struct {
	Listen  func(address string) (net.Listener, error) // nil: TCP
	Public  func(*edge.Options)
	Prices  func(*public.Options)
	Agents  func(*agents.Options)
	Account func(*account.Options)
	Admin   func(*admin.Options)
	Store   func(*account.Store) // the accounts that the handlers reach
}

// hook calls fn unless it is nil, and returns the options.
func hook[T any](fn func(*T), o T) T {
	if fn != nil {
		fn(&o)
	}
	return o
}

func listenTCP(address string) (net.Listener, error) { return net.Listen("tcp", address) }
