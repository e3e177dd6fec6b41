package servertest

import (
	"testing"

	"tickhive/internal/clock"
	"tickhive/marketdata"
	"tickhive/server/account"
	"tickhive/server/agents"
	"tickhive/server/edge"
	"tickhive/server/public"
	"tickhive/server/web"
)

// Tables returns the route table of each part of the OpenAPI documents.
func Tables(t testing.TB) map[web.Part][]*edge.Route {
	t.Helper()
	users, launchpad := new(account.Service), new(agents.Service)
	board := marketdata.NewFeed(marketdata.Options{}).Board()
	return map[web.Part][]*edge.Route{
		web.PartMarket:    public.New(public.Options{Board: board, Clock: clock.NewManual(StartNs)}).Resource(nil),
		web.PartAccounts:  users.Resource(nil),
		web.PartLaunchpad: launchpad.Routes(nil),
	}
}
