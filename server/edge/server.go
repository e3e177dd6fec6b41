package edge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/server/conn"
	"github.com/tickhive/tickhive/server/doc"
	"github.com/tickhive/tickhive/server/forward"
)

// Limits of the listeners (docs/contract/limits.md#http). MaxHeadBytes is the size of the read
// buffer: fasthttp refuses a request head that does not fit into it.
const (
	MaxHeadBytes    = 16 << 10
	MaxTargetBytes  = 8 << 10
	MaxBodyBytes    = 64 << 10
	MaxInternalBody = 4 << 20
)

// Options configures a Server. Clock is required; the zero value of any other field means its
// default.
type Options struct {
	Clock clock.Clock // the process clock
	// MachineNs is the machine's clock in Unix ns, for rate limits
	// (docs/contract/market-data.md#times). Default clock.MachineNs.
	MachineNs func() int64

	// SplitAggregator serves the aggregator namespace only on ServeAggregator's listener.
	SplitAggregator bool
	// AggregatorHost, when set, limits the aggregator namespace to requests with this Host.
	AggregatorHost string

	ConnConfig
	Rate RateConfig

	Certificate *conn.Certificate // nil: clients come in plain text

	// WriteBufferSize in bytes for each connection; default 64 KiB (docs/internals/performance.md).
	WriteBufferSize int

	// Resources are the routes of the table: market data, accounts, launchpad, hive, streams, page.
	Resources []Resource

	// Facade has the routes of another exchange's interface, which ServeFacade serves; nil: none.
	Facade *Facade
	// Console has the routes of the internal API that the public listener serves too; nil: none.
	Console *Console

	// Authenticate verifies a signed request. Nil: no credentials are valid.
	Authenticate func(c *Ctx) (*Principal, *refuse.Refusal)

	Replica *forward.Replica // nil: the exchange executes what clients ask for
	// SeqOf returns the seq at which this node shows a pair, for requests with X-Min-Seq. A text that no pair can have
	// as its code is at the largest seq: no wait makes it known. nil: these requests are answered at any seq.
	SeqOf func(code string) (seq uint64, known bool)
	// Peers has the keys of the nodes that may name the client of a request; nil: none may.
	Peers *clusterkey.Ring

	// Faults holds the rules of faults on demand; nil: there are none.
	Faults *fault.Switch

	Log *slog.Logger // default slog.Default()
}

// Facade is the interface of another exchange on its own listener. Its listener shares the connections, the
// certificate and the client addresses of the public one. Limits of requests are its own.
type Facade struct {
	Routes []*Route
	Refuse refuseFunc
	Expose []string // headers that a page of another origin may read beside those of the other listeners
}

// Console is the internal API on the public listener (docs/contract/internal.md#console). Its requests pass the checks
// of the internal listener: no limits of requests, no faults on demand, which would keep an operator from ending them,
// and no forwarding to a writer. The listener's bounds of connections, bodies and times hold.
type Console struct {
	Table  []*Route // the routes of the internal listener, below InternalPrefix
	Refuse func(ctx *fasthttp.RequestCtx) *refuse.Refusal
}

// Resource returns the routes of one resource. New calls it once.
type Resource func(s *Server) []*Route

// ConnConfig is the part of the section server that bounds connections. Zero means the built-in value. A connection has
// a write buffer of 64 KiB, so the default of 16,384 is 1 GiB at most.
type ConnConfig struct {
	TrustedProxies   []string         `toml:"trusted_proxies" help:"IPs and CIDRs whose X-Forwarded-For is trusted"`
	ConnectionsPerIP int              `toml:"connections_per_ip" default:"1000" range:"-1 1048576" help:"maximum open connections per address; -1: unlimited"`
	Connections      int              `toml:"connections" default:"16384" range:"0 1048576" help:"maximum open connections; lowered if the open-files limit is too small"`
	ReadTimeout      setting.Duration `toml:"read_timeout" default:"10s" help:"request read timeout"`
	WriteTimeout     setting.Duration `toml:"write_timeout" default:"30s" help:"response write timeout"`
	IdleTimeout      setting.Duration `toml:"idle_timeout" default:"75s" help:"idle timeout between two requests of a connection"`
}

// Check refuses a proxy that is no address.
func (c *ConnConfig) Check() error {
	var errs []error
	_, rest := prefixes(c.TrustedProxies)
	for _, entry := range rest {
		errs = append(errs, fmt.Errorf("server.trusted_proxies: %q must be an IP or a CIDR", entry))
	}
	return errors.Join(errs...)
}

// RateConfig is the section rate: the limits of docs/contract/limits.md#rate-limits. Refused requests do not count.
// Zero means the built-in value. A remembered client takes at most 1 KiB. VotesPerMinute is for server/agents.
type RateConfig struct {
	PerMinute      int      `toml:"per_minute" default:"60" range:"1 10000" help:"requests of one client in any 60 s, launchpad and hive routes"`
	PerSecond      int      `toml:"per_second" default:"10" range:"1 10000" help:"requests of one client in any 1 s, launchpad and hive routes"`
	VotesPerMinute int      `toml:"votes_per_minute" default:"10" range:"1 10000" help:"votes of one user in any 60 s"`
	Clients        int      `toml:"clients" default:"100000" range:"1 10000000" help:"maximum tracked clients; the least recently seen are dropped"`
	Allow          []string `toml:"allow" help:"IPs, CIDRs and public keys exempt from rate limits"`
	Market         bool     `toml:"market" help:"also limit market-data routes"`
	Account        bool     `toml:"account" help:"also limit account routes"`
}

// withDefaults sets the defaults of unset fields and checks the values.
func (o Options) withDefaults() (Options, error) {
	if o.Clock == nil {
		return o, fmt.Errorf("edge: Options need a clock")
	}
	if o.MachineNs == nil {
		o.MachineNs = clock.MachineNs
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	setting.Fill(&o.ConnConfig)
	setting.Fill(&o.Rate)
	o.WriteBufferSize = cmp.Or(o.WriteBufferSize, 64<<10)
	return o, errors.Join(setting.Check("server.", &o.ConnConfig), o.ConnConfig.Check(),
		setting.Check("rate.", &o.Rate))
}

// prefixes parses IPs and CIDRs; it returns the entries that are neither in rest.
func prefixes(list []string) (nets []netip.Prefix, rest []string) {
	for _, text := range list {
		if a, err := netip.ParseAddr(text); err == nil {
			a = a.Unmap()
			nets = append(nets, netip.PrefixFrom(a, a.BitLen()))
		} else if p, err := netip.ParsePrefix(text); err == nil {
			nets = append(nets, p.Masked())
		} else {
			rest = append(rest, text)
		}
	}
	return nets, rest
}

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
	console    *Listener // nil unless Options.Console is set; the public listener passes its requests on
	clients    *clientIPs
	conns      *conn.Table
	missing    func(*Ctx, *refuse.Refusal) *refuse.Refusal // nil: no pages
}

// New returns a server that answers 503 to most routes until SetReady. It opens no socket.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{opt: o}
	proxies, _ := prefixes(o.TrustedProxies)
	s.clients = &clientIPs{proxies: proxies}
	exempt, _ := prefixes(o.Rate.Allow)
	s.conns = conn.NewTable(conn.Limits{
		Total: o.Connections, PerAddress: max(o.ConnectionsPerIP, 0), PerNetwork: max(o.Connections/networkShare, 1),
		Exempt: append(exempt, proxies...), TLS: o.Certificate.Config(nil),
		Answer: ConnAnswer,
	})
	limit, err := newLimiter(o.Rate, s.clients)
	if err != nil {
		return nil, err
	}
	base := ListenerOptions{
		Name: "public", faults: o.Faults, replica: o.Replica, seqOf: o.SeqOf, peers: o.Peers,
		MaxBody: MaxBodyBytes, Read: time.Duration(o.ReadTimeout),
		Write: time.Duration(o.WriteTimeout), Idle: time.Duration(o.IdleTimeout),
		WriteBuf: o.WriteBufferSize, Conns: s.conns, limiter: limit, clients: s.clients,
		pieces: conn.NewPieces(exempt), secure: o.Certificate != nil,
		auth: o.Authenticate, Ready: &s.ready, Log: o.Log, Clock: o.Clock, MachineNs: o.MachineNs,
		gzip:           doc.NewPacker(o.MachineNs),
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
		other.expose, other.writerOnly = f.Expose, true
		if s.facade, err = NewListener(other); err != nil {
			return nil, err
		}
	}
	base.Table, base.missing = table, s.missing
	if s.public, err = NewListener(base); err != nil {
		return nil, err
	}
	return s, s.addConsole(base)
}

// addConsole makes the public listener serve the routes of the console.
func (s *Server) addConsole(o ListenerOptions) (err error) {
	c := s.opt.Console
	if c == nil {
		return nil
	}
	o.Name, o.Table, o.RefusePages = "console", c.Table, c.Refuse
	o.limiter, o.faults, o.replica, o.auth, o.peers, o.missing = nil, nil, nil, nil, nil, nil
	if s.console, err = NewListener(o); err != nil {
		return err
	}
	public := s.public.HTTP.Handler
	s.public.HTTP.Handler = func(ctx *fasthttp.RequestCtx) {
		if bytes.HasPrefix(ctx.URI().PathOriginal(), consolePrefix) {
			s.console.handle(ctx)
			return
		}
		public(ctx)
	}
	return nil
}

// consolePrefix begins the paths of the console.
var consolePrefix = []byte(InternalPrefix + "/")

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

// ShowMissing sets what answers a GET of a path without a route on the public listener, or returns its refusal.
// Resources call it while New asks them for their routes.
func (s *Server) ShowMissing(page func(*Ctx, *refuse.Refusal) *refuse.Refusal) { s.missing = page }

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
	if s.console != nil {
		n += s.console.panics.Load()
	}
	return n
}

// Accepts returns the accept failures of each listener.
func (s *Server) Accepts() []conn.AcceptStat {
	names, all := s.listeners()
	stats := make([]conn.AcceptStat, len(all))
	for i, l := range all {
		stats[i] = l.Accepts.Stat(names[i])
	}
	return stats
}

// Connections returns the number of open connections.
func (s *Server) Connections() int { return s.conns.Open() }

// Evicted returns the number of connections that were closed to make room for others.
func (s *Server) Evicted() uint64 { return s.conns.Evicted() }

// ListenerOptions holds the settings that differ between the listeners.
type ListenerOptions struct {
	Name        string // in fault rules: public, aggregator
	Table       []*Route
	MaxBody     int
	Read        time.Duration
	Write       time.Duration
	Idle        time.Duration
	WriteBuf    int
	Conns       *conn.Table
	limiter     *limiter // nil: no limit on requests
	clients     *clientIPs
	pieces      *conn.Pieces
	secure      bool // clients come by TLS
	auth        func(c *Ctx) (*Principal, *refuse.Refusal)
	RefusePages func(ctx *fasthttp.RequestCtx) *refuse.Refusal // refuses web pages; nil: they may call
	Ready       *atomic.Bool
	Log         *slog.Logger
	Clock       clock.Clock
	MachineNs   func() int64
	gzip        *doc.Packer                                 // nil: no route sends cached documents
	writerOnly  bool                                        // a replica refuses every request
	replica     *forward.Replica                            // nil: not a replica
	seqOf       func(code string) (seq uint64, known bool)  // see Options
	peers       *clusterkey.Ring                            // see Options
	faults      *fault.Switch                               // nil: no fault rules concern this listener
	refuse      refuseFunc                                  // nil: the error object of this service
	expose      []string                                    // headers of public answers beside exposed
	missing     func(*Ctx, *refuse.Refusal) *refuse.Refusal // answers a GET without a route; nil: nothing does
	// host, when set, is the only Host that reaches routes of the aggregator namespace.
	aggregatorHost string
}

// Listener serves HTTP on one listener: fasthttp, the route table and the checks that every
// request passes. Only its counters change after NewListener.
type Listener struct {
	ListenerOptions
	HTTP     *fasthttp.Server
	router   *router.Router
	exposed  []byte       // value of Access-Control-Expose-Headers
	hot      []*pathEntry // checked before the router; few entries, so a scan is faster than a map
	idPrefix [10]byte     // "xxxxxxxx-": the random prefix of the request ids that this edge generates
	idNext   atomic.Uint64
	ctxPool  sync.Pool
	other    routeStats // requests that reached no route
	panics   atomic.Uint64
	authFailures
	limited limitCounts
	Accepts *conn.Accepts
	held    atomic.Int64  // requests that fault rules hold back
	closing chan struct{} // closed by Shutdown
	closed  atomic.Bool   // closing is closed
}

// NewListener builds the router and the HTTP server of one listener from its route table.
func NewListener(o ListenerOptions) (*Listener, error) {
	e := &Listener{
		ListenerOptions: o, router: router.New(), Accepts: conn.NewAccepts(o.Clock, o.Log),
		closing: make(chan struct{}), exposed: []byte(strings.Join(append([]string{exposed}, o.expose...), ", ")),
	}
	e.ctxPool.New = func() any { return &Ctx{edge: e} }
	var boot [4]byte
	if _, err := rand.Read(boot[:]); err != nil {
		return nil, fmt.Errorf("edge: random request id: %w", err)
	}
	hex.Encode(e.idPrefix[:8], boot[:])
	e.idPrefix[8] = '-'

	entries, err := pathEntries(o.Table)
	if err != nil {
		return nil, err
	}
	for _, r := range o.Table {
		r.stats = &routeStats{}
		r.maxAge = fmt.Appendf(nil, "public, max-age=%d", max(r.MaxAgeSec, 1))
	}
	e.router.RedirectTrailingSlash = false
	e.router.RedirectFixedPath = false
	e.router.HandleMethodNotAllowed = false
	e.router.HandleOPTIONS = false
	e.router.NotFound = func(ctx *fasthttp.RequestCtx) { ctx.SetUserValueBytes(userEntry, (*pathEntry)(nil)) }
	for _, p := range entries {
		e.router.ANY(p.path, func(ctx *fasthttp.RequestCtx) { ctx.SetUserValueBytes(userEntry, p) })
		if p.hot {
			e.hot = append(e.hot, p)
		}
	}
	e.HTTP = &fasthttp.Server{
		Handler:            e.handle,
		ErrorHandler:       e.parseError,
		Logger:             quietLogger{o.Log},
		Concurrency:        1 << 20, // conn.Table limits connections, with a JSON answer
		ReadBufferSize:     MaxHeadBytes,
		WriteBufferSize:    o.WriteBuf,
		ReadTimeout:        o.Read,
		WriteTimeout:       o.Write,
		IdleTimeout:        o.Idle,
		MaxRequestBodySize: o.MaxBody,
		// Bodies are JSON or refused, so fasthttp need not parse multipart forms.
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true,
		CloseOnShutdown:              true,
		// A connection that waits for a request holds no buffers and no context; see conn.Conn.
		ReduceMemoryUsage: true,
	}
	return e, nil
}

// Serve answers requests on the connections of ln until shutdown.
func (e *Listener) Serve(ln net.Listener) error {
	if err := e.HTTP.Serve(e.Conns.Listener(ln, e.Accepts)); err != nil {
		return fmt.Errorf("edge: listener %s: %w", ln.Addr(), err)
	}
	return nil
}

// Shutdown stops accepting, finishes the requests in progress and closes idle connections.
func (e *Listener) Shutdown(ctx context.Context) error {
	if e.closed.CompareAndSwap(false, true) {
		close(e.closing)
	}
	defer e.Conns.Finish()()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go e.awaitIdle(ctx, cancel)
	if err := e.HTTP.ShutdownWithContext(ctx); err != nil && !errors.Is(context.Cause(ctx), errIdle) {
		return fmt.Errorf("edge: shutdown: %w", err)
	}
	return nil
}

// shutdownLook is the time between two looks of a shutdown at the open connections.
const shutdownLook = 5 * time.Millisecond

// errIdle ends the wait of a shutdown: no connection is open.
var errIdle = errors.New("edge: no connection is open")

// awaitIdle ends ctx soon after the last connection has ended. fasthttp's own shutdown looks every 100 ms, which a
// takeover would wait for. Two looks in turn see no connection, because one may be accepted while the listener closes.
func (e *Listener) awaitIdle(ctx context.Context, end context.CancelCauseFunc) {
	look := time.NewTicker(shutdownLook)
	defer look.Stop()
	for idle := 0; idle < 2; {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if idle++; e.HTTP.GetOpenConnectionsCount() > 0 {
			idle = 0
		}
	}
	end(errIdle)
}

// parseError answers unreadable requests (docs/contract/errors.md#error-object).
func (e *Listener) parseError(ctx *fasthttp.RequestCtx, err error) {
	conn.Linger(ctx.Conn())
	var small *fasthttp.ErrSmallBuffer
	var late interface{ Timeout() bool }
	answer := &refuse.Refusal{
		Code:    refuse.InvalidParam,
		Message: "The request is not well-formed HTTP/1.1.",
	}
	switch {
	case errors.As(err, &small):
		answer = &refuse.Refusal{
			Code:    refuse.HeadersTooLarge,
			Message: fmt.Sprintf("The request line and headers must not be larger than %d bytes.", MaxHeadBytes),
		}
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		answer = &refuse.Refusal{
			Code:    refuse.PayloadTooLarge,
			Message: fmt.Sprintf("The body must not be larger than %d bytes.", e.MaxBody),
		}
	case errors.Is(err, fasthttp.ErrTimeout), errors.As(err, &late) && late.Timeout():
		answer = &refuse.Refusal{
			Code:    refuse.RequestTimeout,
			Message: fmt.Sprintf("The request was not complete within %s.", e.Read),
		}
	}
	var id [maxRequestID]byte
	ctx.Response.Reset()
	e.protect(&ctx.Response.Header, false)
	e.refuseWith(ctx, answer, e.appendRequestID(id[:0], ctx))
	e.other.count(answer.Status())
}

// quietLogger moves fasthttp's own log lines to the debug level.
type quietLogger struct{ log *slog.Logger }

// Printf logs at the debug level, because most of these lines report clients that closed their connection.
func (l quietLogger) Printf(format string, args ...any) {
	l.log.Debug("http", "detail", fmt.Sprintf(format, args...))
}
