package servertest

import (
	"log/slog"
	"net/http"
	"testing"

	"tickhive/internal/clock"
	"tickhive/marketdata"
	"tickhive/marketdata/replica"
	"tickhive/server/account"
	"tickhive/server/admin"
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
	inner := NewHouseInside(t, func(o *admin.Options) {
		o.StateHash = func() (h replica.StateHash, err error) { return h, nil }
		o.LogLevel = new(slog.LevelVar)
		o.Metrics = http.NotFoundHandler()
		o.Resources = append(o.Resources, launchpad.Internal, func() []*edge.Route {
			return []*edge.Route{{Method: http.MethodGet, Path: web.InternalPath}}
		})
	})
	return map[web.Part][]*edge.Route{
		web.PartMarket:    public.New(public.Options{Board: board, Clock: clock.NewManual(StartNs)}).Resource(nil),
		web.PartAccounts:  users.Resource(nil),
		web.PartLaunchpad: launchpad.Routes(nil),
		web.PartInternal:  inner.Inner.Routes(),
	}
}
