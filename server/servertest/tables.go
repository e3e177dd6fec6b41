package servertest

import (
	"log/slog"
	"testing"

	"tickhive/internal/clock"
	"tickhive/internal/exchange"
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
	market := public.New(public.Options{
		Board: marketdata.NewFeed(marketdata.Options{}).Board(), Clock: clock.NewManual(StartNs),
	})
	routes := market.Routes(nil)
	for _, r := range routes {
		r.AddMinSeq()
	}
	x := NewExchange(t, func(o *exchange.Options) { o.LogLevel = new(slog.LevelVar) })
	return map[web.Part][]*edge.Route{
		web.PartMarket:    routes,
		web.PartAccounts:  users.Routes(nil),
		web.PartLaunchpad: launchpad.Routes(nil),
		web.PartInternal:  x.Running.Internal().Routes(),
	}
}
