package admin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/marketdata/replica"
	"tickhive/server/edge"
	"tickhive/server/health"
)

// Options configures the internal listener. Exchange, Core, History, Board and Clock
// are required.
type Options struct {
	Exchange Exchange
	Core     *engine.Core        // read only by functions that Exchange.Query runs
	History  *marketdata.History // read only by functions that Exchange.Query runs
	Board    *marketdata.Board
	Clock    clock.Clock
	Entry    *entry.Entry // nil: only the built-in account can trade

	// Token, if not empty, must be in the header Authorization: Bearer of every request. If it
	// is empty, the listener refuses requests that a web page may have sent.
	Token string
	// Socket reports that the listener is a unix socket: its mode replaces token and page filter.
	Socket bool
	// Hosts lists the host names and addresses that a request without a token may have in its Host header,
	// besides the loopback ones.
	Hosts []string
	// Connections limits the open connections. Default 10,000.
	Connections int
	// Ready becomes true when recovery and backfill are complete. Before that, the listener serves only routes
	// marked as early.
	Ready *atomic.Bool
	// Stale returns the reason why a replica refuses reads, nil while it serves them. Nil: it never does.
	Stale func() *refuse.Refusal
	// MakeDurable returns when every command that the core has applied is durable. The server calls it before it
	// sends an answer that it read from the core itself. Nil: these answers do not wait.
	MakeDurable func() error
	// Settle is the one of edge.Options.
	Settle func() *refuse.Refusal
	// Incidents returns the incidents of the status page, newest first. Nil disables the route.
	Incidents func() []edge.Incident
	// StateHash returns the hash of the market's current state. Nil disables the route.
	StateHash func() (replica.StateHash, error)
	// Backup begins a backup and returns its bytes and their number. The listener closes the body. Nil disables the
	// route.
	Backup func() (body io.ReadCloser, size int64, refused *refuse.Refusal)
	// Snapshot takes a snapshot with which another node begins. With an entity tag or AnySnapshot it returns one that
	// is kept, nil if there is none. The listener closes the body. Nil disables the route.
	Snapshot func(tag string) (*Snapshot, *refuse.Refusal)
	// Metrics serves GET /metrics. Nil disables the route.
	Metrics http.Handler
	// LogLevel is the level of the log. The route /log reads and sets it. Nil disables the route.
	LogLevel *slog.LevelVar
	// Resources add the routes of users, launchpad and hive.
	Resources []Resource

	Log       *slog.Logger // default slog.Default()
	MachineNs func() int64 // default clock.MachineNs
}

// Resource returns the internal routes of one resource. New calls it once.
type Resource func() []*edge.Route

// Server is the internal listener (docs/contract/internal.md). Any goroutine may call its
// methods.
type Server struct {
	opt   Options
	edge  *edge.Listener
	token [sha256.Size]byte // SHA-256 of the token: hashes have equal length, so the comparison takes constant time

	bodies   sync.Pool  // *orderBody
	configMu sync.Mutex // held while a pair or an asset is read, changed and submitted
}

// Timeouts of the internal listener. They are longer than the public ones, because batches and profiles take
// longer.
const (
	readTimeout  = 30 * time.Second
	writeTimeout = 5 * time.Minute
	idleTimeout  = 5 * time.Minute
)

// DefaultConns is the default limit of open connections to the internal listener; load generators open
// hundreds.
const DefaultConns = 10_000

// New returns the internal listener without opening a socket.
func New(o Options) (*Server, error) {
	if o.Exchange == nil || o.Core == nil || o.History == nil || o.Board == nil || o.Clock == nil || o.Ready == nil {
		return nil, errors.New("admin: Options of the internal listener need an exchange, core, history, board, " +
			"clock and ready")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.MachineNs == nil {
		o.MachineNs = clock.MachineNs
	}
	o.Connections = cmp.Or(o.Connections, DefaultConns)
	if o.Entry == nil {
		var err error
		o.Entry, err = entry.New(entry.Options{
			Exchange: o.Exchange, Core: o.Core, History: o.History, Board: o.Board, Clock: o.Clock,
		})
		if err != nil {
			return nil, err
		}
	}
	s := &Server{opt: o, token: sha256.Sum256([]byte(o.Token))}
	s.bodies.New = func() any { return new(orderBody) }
	var table []*edge.Route
	for _, routes := range []func(s *Server) []*edge.Route{orderRoutes, marketRoutes, systemRoutes} {
		table = append(table, routes(s)...)
	}
	for _, resource := range o.Resources {
		table = append(table, resource()...)
	}
	for _, r := range table {
		r.Class = edge.ClassExempt
		r.Auth = edge.AuthNever
		r.Public = false // no page of another origin may read an answer
		if r.Method != fasthttp.MethodGet && r.Method != fasthttp.MethodDelete {
			r.Body = edge.BodyAny
		}
		if r.Path != health.LivePath && r.Path != health.ReadyPath { // a supervisor has no token
			r.Handle = s.requireToken(r.Handle)
		}
	}
	pages, err := newPageFilter(o.Hosts)
	if err != nil {
		return nil, fmt.Errorf("admin: internal.hosts: %w", err)
	}
	refusePages := pages.check
	if o.Token != "" || o.Socket {
		refusePages = nil // a page does not know the token and opens no socket, so the filter is not needed
	}
	s.edge, err = edge.NewListener(edge.ListenerOptions{
		Table: table, MaxBody: edge.MaxInternalBody, Read: readTimeout, Write: writeTimeout, Idle: idleTimeout,
		WriteBuf: 64 << 10, RefusePages: refusePages, Ready: o.Ready,
		Log: o.Log, Clock: o.Clock, MachineNs: o.MachineNs, Settle: o.Settle,
		Conns: edge.NewConnTable(edge.ConnLimits{Total: o.Connections}),
	})
	if err != nil {
		return nil, err
	}
	inner := s.edge.HTTP.Handler
	s.edge.HTTP.Handler = func(ctx *fasthttp.RequestCtx) {
		trimProfilePath(ctx)
		inner(ctx)
	}
	return s, nil
}

// requireToken checks the token before the handler reads the body.
func (s *Server) requireToken(next edge.Handler) edge.Handler {
	if s.opt.Token == "" || s.opt.Socket {
		return next
	}
	return func(c *edge.Ctx) *refuse.Refusal {
		sent, ok := strings.CutPrefix(string(c.Request.Header.Peek(fasthttp.HeaderAuthorization)), "Bearer ")
		hash := sha256.Sum256([]byte(sent))
		if subtle.ConstantTimeCompare(hash[:], s.token[:]) != 1 || !ok {
			return refuse.New(refuse.Unauthorized, "Authorization",
				"The internal API needs its token as Authorization: Bearer.")
		}
		return next(c)
	}
}

// CheckAddress returns an error for an address that other machines can reach when token
// is empty (docs/contract/internal.md).
func CheckAddress(addr net.Addr, token string) error {
	tcp, ok := addr.(*net.TCPAddr)
	if token == "" && addr.Network() != "unix" && (!ok || !tcp.IP.IsLoopback()) {
		return fmt.Errorf("admin: the internal listener on %s is not on a loopback address, so it needs a token", addr)
	}
	return nil
}

// Serve serves the connections of ln until Shutdown. Without a token it refuses an address that
// other machines can reach.
func (s *Server) Serve(ln net.Listener) error {
	if err := CheckAddress(ln.Addr(), s.opt.Token); err != nil {
		return err
	}
	return s.edge.Serve(ln)
}

// Handler returns the function that answers a request. Tests and the simulator call it without a listener.
func (s *Server) Handler() fasthttp.RequestHandler { return s.edge.HTTP.Handler }

// Shutdown stops accepting connections, finishes accepted requests and closes the rest.
func (s *Server) Shutdown(ctx context.Context) error { return s.edge.Shutdown(ctx) }

// Routes returns the route table. Callers must not change it.
func (s *Server) Routes() []*edge.Route { return s.edge.Table }

// Accepts returns the accept counters of the listener.
func (s *Server) Accepts() edge.AcceptStat { return s.edge.Accepts.Stat("internal") }

// RouteStats returns copies of the counters of every route.
func (s *Server) RouteStats() []edge.RouteStat { return s.edge.Stats() }

// queryParts runs read on the goroutine that may read core and history, when the pair has no unfinished command. It
// serves other pairs at each pause.
func (s *Server) queryParts(p engine.PairID, read func(pause func())) *refuse.Refusal {
	if err := s.opt.Exchange.QueryParts(p, read); err != nil {
		return entry.NotApplied(err)
	}
	return nil
}

// submitControl submits one command that is no order. refused is the reason in its last event.
func (s *Server) submitControl(cmd *engine.Command) (refused engine.Reason, err *refuse.Refusal) {
	b := sequencer.Batch{
		Commands: []engine.Command{*cmd},
		Collect: func(_ int, _ *engine.Command, events []engine.Event) {
			if e := &events[len(events)-1]; e.Kind == engine.EventRejected {
				refused = e.Reason
			}
		},
	}
	if serr := s.opt.Exchange.Submit(&b); serr != nil {
		return 0, entry.Unconfirmed(serr, "The change", "look at the pair or asset before you repeat the request.")
	}
	return refused, nil
}
