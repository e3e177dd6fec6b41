package edge

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
)

// networkShare is the part of all connections, one in networkShare, that one network may hold.
const networkShare = 4

// Server is the public edge: one listener, and one more each for the aggregator namespace and the facade if
// they have their own. New makes it, Serve runs it; any goroutine may call every method.
type Server struct {
	opt   Options
	ready atomic.Bool

	public     *Listener
	aggregator *Listener // nil unless split
	facade     *Listener // nil unless Options.Facade is set
	clients    *clientIPs
	conns      *ConnTable
	missing    func(c *Ctx) *refuse.Refusal // nil: no page for browsers
}

// New returns a server that answers 503 to most routes until SetReady. It opens no socket.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{opt: o}
	proxies, wrong := prefixes(o.TrustedProxies)
	if len(wrong) > 0 {
		return nil, refuse.Param("server.trusted_proxies", "%q is neither an IP nor a CIDR.", wrong[0])
	}
	s.clients = &clientIPs{proxies: proxies}
	exempt, _ := prefixes(o.Rate.Allow)
	s.conns = NewConnTable(ConnLimits{
		Total: o.Connections, PerAddress: max(o.ConnectionsPerIP, 0), PerNetwork: max(o.Connections/networkShare, 1),
		Exempt: append(exempt, proxies...), TLS: o.Certificate.config(),
	})
	limit, err := newLimiter(o.Rate, s.clients)
	if err != nil {
		return nil, err
	}
	base := ListenerOptions{
		Name: "public", faults: o.Faults, replica: o.Replica, board: o.Board, peers: o.Peers, Settle: o.Settle,
		MaxBody: MaxBodyBytes, Read: o.ReadTimeout, Write: o.WriteTimeout, Idle: o.IdleTimeout,
		WriteBuf: o.WriteBufferSize, Conns: s.conns, limiter: limit, clients: s.clients,
		pieces: newPieceTable(exempt), secure: o.Certificate != nil,
		auth: o.Authenticate, Ready: &s.ready, Log: o.Log, Clock: o.Clock, MachineNs: o.MachineNs,
		gzip:           &gzipMaker{machineNs: o.MachineNs},
		aggregatorHost: o.AggregatorHost,
	}
	table := s.table()
	if o.SplitAggregator {
		split := base
		split.Name = "aggregator"
		split.Table = namespace(table, NamespaceAggregator)
		if s.aggregator, err = NewListener(split); err != nil {
			return nil, err
		}
		table = namespace(s.table(), NamespaceBase)
	}
	if f := o.Facade; f != nil {
		other := base
		other.Name = "binance"
		other.Table, other.refuse, other.aggregatorHost = f.Routes, f.Refuse, ""
		other.expose = f.Expose
		if s.facade, err = NewListener(other); err != nil {
			return nil, err
		}
	}
	base.Table, base.missing = table, s.missing
	if s.public, err = NewListener(base); err != nil {
		return nil, err
	}
	return s, nil
}

// table returns every route of the public listener.
func (s *Server) table() []*Route {
	var all []*Route
	for _, resource := range s.opt.Resources {
		all = append(all, resource(s)...)
	}
	for _, r := range all {
		r.AddMinSeq()
	}
	return all
}

// ShowMissing sets the page for browsers that ask the public listener for a path without a route. Resources call
// it while New asks them for their routes.
func (s *Server) ShowMissing(page func(c *Ctx) *refuse.Refusal) { s.missing = page }

func namespace(table []*Route, n space) []*Route {
	var part []*Route
	for _, r := range table {
		if r.Namespace == n || r.Namespace == NamespaceBoth {
			part = append(part, r)
		}
	}
	return part
}

// Serve answers requests on the public listener until Shutdown.
func (s *Server) Serve(ln net.Listener) error { return s.public.Serve(ln) }

// Handler answers a request without a connection.
func (s *Server) Handler() fasthttp.RequestHandler { return s.public.HTTP.Handler }

// ServeAggregator serves the aggregator's listener. It panics without SplitAggregator.
func (s *Server) ServeAggregator(ln net.Listener) error {
	if s.aggregator == nil {
		panic("BUG: server: ServeAggregator without SplitAggregator")
	}
	return s.aggregator.Serve(ln)
}

// ServeFacade serves the listener of Options.Facade. It panics without one.
func (s *Server) ServeFacade(ln net.Listener) error {
	if s.facade == nil {
		panic("BUG: server: ServeFacade without a facade")
	}
	return s.facade.Serve(ln)
}

// FacadeHandler answers a request of Options.Facade without a connection.
func (s *Server) FacadeHandler() fasthttp.RequestHandler { return s.facade.HTTP.Handler }

// listeners returns the listeners by their names.
func (s *Server) listeners() (names []string, all []*Listener) {
	names, all = []string{"public"}, []*Listener{s.public}
	if s.aggregator != nil {
		names, all = append(names, "aggregator"), append(all, s.aggregator)
	}
	if s.facade != nil {
		names, all = append(names, "binance"), append(all, s.facade)
	}
	return names, all
}

// SetReady makes every route answer. Before it, routes that are not Early answer 503.
func (s *Server) SetReady() { s.ready.Store(true) }

// Ready reports whether SetReady was called.
func (s *Server) Ready() bool { return s.ready.Load() }

// Unready returns the reason why clients are not served: before SetReady, and while a replica is too far behind its
// writer. It is nil while they are.
func (s *Server) Unready() *refuse.Refusal {
	if !s.Ready() {
		return refuse.Later(1, Recovering)
	}
	return s.opt.Replica.Stale()
}

// Shutdown stops accepting, finishes what was accepted and closes the rest.
func (s *Server) Shutdown(ctx context.Context) error {
	_, all := s.listeners()
	errs := make([]error, 0, len(all))
	for _, l := range all {
		errs = append(errs, l.Shutdown(ctx))
	}
	return errors.Join(errs...)
}

// Routes returns the route table of the public listener, for the check of the OpenAPI
// document. The caller must not change it.
func (s *Server) Routes() []*Route { return s.public.Table }

// RouteStats returns copies of the counters of every route but the facade's.
func (s *Server) RouteStats() []RouteStat {
	all := s.public.Stats()
	if s.aggregator != nil {
		all = append(all, s.aggregator.Stats()...)
	}
	return all
}

// FacadeStats returns copies of the counters of the facade's routes, nil without a facade.
func (s *Server) FacadeStats() []RouteStat {
	if s.facade == nil {
		return nil
	}
	return s.facade.Stats()
}

// Panics returns the number of handler panics since the start.
func (s *Server) Panics() uint64 {
	_, all := s.listeners()
	n := uint64(0)
	for _, l := range all {
		n += l.panics.Load()
	}
	return n
}

// Accepts returns the accept failures of each listener.
func (s *Server) Accepts() []AcceptStat {
	names, all := s.listeners()
	stats := make([]AcceptStat, len(all))
	for i, l := range all {
		stats[i] = l.Accepts.Stat(names[i])
	}
	return stats
}

// Connections returns the number of open connections.
func (s *Server) Connections() int { return s.conns.Open() }

// Evicted returns the number of connections that were closed to make room for others.
func (s *Server) Evicted() uint64 { return s.conns.Evicted() }
