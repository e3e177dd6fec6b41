package public

import (
	"cmp"

	"tickhive/internal/clock"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// Options configures a Market. Board and Clock are required.
type Options struct {
	Board *marketdata.Board
	Clock clock.Clock // the process clock; answers carry its time

	Version string // version of the program; default "1.0.0.0"

	// Status returns the state of the program for /api/status. Nil: running, no incidents, started when the
	// Market was made.
	Status func() StatusInfo

	// Commissions holds the configured deposit and withdrawal commissions
	// (docs/contract/market-data.md#currencies-pairs-and-commissions).
	Commissions []AssetCommission
}

// Market serves the public routes: market data, the listing sites' documents, the datafeed of the
// charting library, and the routes about the service itself. Any goroutine may call its methods.
type Market struct {
	opt     Options
	board   *marketdata.Board
	started int64 // process clock, Unix ns
	docs    sharedDocs
	// ready reports whether recovery is complete, so that the server answers every route. Routes sets it before
	// the server accepts requests.
	ready func() bool
	// unready returns the reason why the server refuses reads; Routes sets it too.
	unready func() *refuse.Refusal
}

// New returns a Market that serves the views of o.Board.
func New(o Options) *Market {
	o.Version = cmp.Or(o.Version, "1.0.0.0")
	return &Market{opt: o, board: o.Board, started: o.Clock.NowNs()}
}

// Routes returns the public routes, except /udf (UDFRoutes).
func (m *Market) Routes(s *edge.Server) []*edge.Route {
	m.ready, m.unready = s.Ready, s.Unready
	var all []*edge.Route
	for _, routes := range []func(m *Market) []*edge.Route{
		metaRoutes, marketRoutes, listRoutes, aggregatorRoutes, listingRoutes,
	} {
		all = append(all, routes(m)...)
	}
	return all
}
