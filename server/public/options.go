package public

import (
	"cmp"

	"tickhive/internal/clock"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// Options configures a Market. Board and Clock are required.
type Options struct {
	Board *marketdata.Board
	Clock clock.Clock // the process clock, whose time the answers carry

	Version string // of the program; default "1.0.0.0"

	// Status returns the state that only the program knows, for /api/status. Nil: running, no
	// incidents, started when the market was made.
	Status func() StatusInfo

	// Commissions are the deposit and withdrawal records
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
	// ready reports whether the server answers every route. Set by Resource, before the server
	// accepts requests.
	ready func() bool
}

// New returns the public routes over the views of a board.
func New(o Options) *Market {
	o.Version = cmp.Or(o.Version, "1.0.0.0")
	return &Market{opt: o, board: o.Board, started: o.Clock.NowNs()}
}

// Routes returns the routes that every server has.
func (m *Market) Routes(s *edge.Server) []*edge.Route {
	m.ready = s.Ready
	var all []*edge.Route
	for _, routes := range []func(m *Market) []*edge.Route{
		metaRoutes, marketRoutes, listRoutes, aggregatorRoutes, listingRoutes,
	} {
		all = append(all, routes(m)...)
	}
	return all
}
