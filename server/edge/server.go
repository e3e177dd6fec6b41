package edge

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
)

// networkShare is the part of all connections, one in networkShare, that one network may hold.
const networkShare = 4

// Server is the public edge: one listener, or two when the aggregator namespace has its
// own. New makes it, Serve runs it; any goroutine may call every method.
type Server struct {
	opt   Options
	ready atomic.Bool

	public     *Listener
	aggregator *Listener // nil unless split
	clients    *clientIPs
	conns      *ConnTable
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
		Name: "public", faults: o.Faults,
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
	base.Table = table
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
	return all
}

func namespace(table []*Route, n Namespace) []*Route {
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

// SetReady makes every route answer. Before it, routes that are not Early answer 503.
func (s *Server) SetReady() { s.ready.Store(true) }

// Ready reports whether SetReady was called.
func (s *Server) Ready() bool { return s.ready.Load() }

// Shutdown stops accepting, finishes what was accepted and closes the rest.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.public.Shutdown(ctx)
	if s.aggregator != nil {
		if aerr := s.aggregator.Shutdown(ctx); err == nil {
			err = aerr
		}
	}
	return err
}

// Routes returns the route table of the public listener, for the check of the OpenAPI
// document. The caller must not change it.
func (s *Server) Routes() []*Route { return s.public.Table }

// RouteStats returns copies of the counters of every route.
func (s *Server) RouteStats() []RouteStat {
	all := s.public.Stats()
	if s.aggregator != nil {
		all = append(all, s.aggregator.Stats()...)
	}
	return all
}

// Panics returns the number of handler panics since the start.
func (s *Server) Panics() uint64 {
	n := s.public.panics.Load()
	if s.aggregator != nil {
		n += s.aggregator.panics.Load()
	}
	return n
}

// Accepts returns the accept failures of each listener.
func (s *Server) Accepts() []AcceptStat {
	all := []AcceptStat{s.public.Accepts.Stat("public")}
	if s.aggregator != nil {
		all = append(all, s.aggregator.Accepts.Stat("aggregator"))
	}
	return all
}

// Connections returns the number of open connections.
func (s *Server) Connections() int { return s.conns.Open() }

// Evicted returns the number of connections that were closed to make room for others.
func (s *Server) Evicted() uint64 { return s.conns.Evicted() }
