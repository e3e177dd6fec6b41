package servertest

import (
	"log/slog"
	"testing"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/account"
	"github.com/tickhive/tickhive/server/agents"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/public"
	"github.com/tickhive/tickhive/server/web"
)

// Table returns the routes of the parts of the public OpenAPI document.
func Table(parts ...web.Part) (all []*edge.Route) {
	users, launchpad := new(account.Service), new(agents.Service)
	market := public.New(public.Options{
		Board: marketdata.NewFeed(marketdata.Options{}).Board(), Clock: clock.NewManual(StartNs),
	})
	routes := market.Routes(nil)
	for _, r := range routes {
		r.AddMinSeq()
	}
	for _, part := range parts {
		all = append(all, map[web.Part][]*edge.Route{
			web.PartMarket: routes, web.PartAccounts: users.Routes(nil), web.PartLaunchpad: launchpad.Routes(nil),
		}[part]...)
	}
	return all
}

// InternalTable returns the routes of the internal OpenAPI document.
func InternalTable(t testing.TB) []*edge.Route {
	t.Helper()
	x := NewExchange(t, func(o *exchange.Options) { o.LogLevel = new(slog.LevelVar) })
	return x.Running.Internal().Routes()
}

// PublicDocument returns the public OpenAPI document.
func PublicDocument() ([]byte, error) {
	return web.OpenAPI(Table(web.PublicParts...), web.PublicParts...)
}
