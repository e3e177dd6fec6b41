package admin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/conn"
	"github.com/tickhive/tickhive/server/edge"
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
	// TLS encrypts the connections; nil: plain text, which only a loopback address and a socket may have.
	TLS *tls.Config
	// Nodes has the keys of the nodes whose requests for the snapshot need no token; nil: no proof counts.
	Nodes *clusterkey.Ring
	// Connections limits the open connections. Default 10,000.
	Connections int
	// Ready becomes true when recovery and backfill are complete. Before that, the listener serves only routes
	// marked as early.
	Ready *atomic.Bool
	// Stale returns the reason why a replica refuses reads, nil while it serves them. Nil: it never does.
	Stale func() *refuse.Refusal
	// Incidents returns the incidents of the status page, newest first. Nil disables the route.
	Incidents func() []edge.Incident
	// StateHash returns the hash of the current state. Nil disables the route.
	StateHash func() (machine.StateHash, error)
	// Snapshot opens the newest snapshot file; fresh takes one first. The listener closes the body. Nil disables the
	// route.
	Snapshot func(fresh bool) (*Snapshot, *refuse.Refusal)
	// Pace lets a virtual clock move by itself. Nil: it stands still between two requests.
	Pace Pace
	// Metrics serves GET /metrics. Nil disables the route.
	Metrics http.Handler
	// Figures serves GET /figures. Nil disables the route.
	Figures *Figures
	// LogLevel is the level of the log. The route /log reads and sets it. Nil disables the route.
	LogLevel *slog.LevelVar
	// Replay is the recording that drives the clock; nil: none does.
	Replay *Replay
	// Resources add the routes of users, launchpad and hive.
	Resources []Resource

	Log       *slog.Logger // default slog.Default()
	MachineNs func() int64 // default clock.MachineNs
}

// Pace is the speed of a virtual clock: so many of its seconds pass in a second of the machine, 0 while it stands
// still.
type Pace interface {
	Speed() int64
	SetSpeed(speed int64) *refuse.Refusal
}

// Resource returns the internal routes of one resource. New calls it once.
type Resource func() []*edge.Route

// Server is the internal listener (docs/contract/internal.md). Any goroutine may call its
// methods.
type Server struct {
	opt   Options
	edge  *edge.Listener
	nodes *clusterkey.Gate
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
	s := &Server{
		opt: o, token: sha256.Sum256([]byte(o.Token)),
		nodes: clusterkey.NewGate(o.Nodes, o.MachineNs()/int64(time.Millisecond)),
	}
	s.bodies.New = func() any { return new(orderBody) }
	var table []*edge.Route
	for _, routes := range []func(s *Server) []*edge.Route{orderRoutes, marketRoutes, systemRoutes, replayRoutes} {
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
		if r.Path != edge.LivePath && r.Path != edge.ReadyPath { // a supervisor has no token
			r.Handle = s.requireToken(r)
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
		Log: o.Log, Clock: o.Clock, MachineNs: o.MachineNs,
		Conns: conn.NewTable(conn.Limits{Total: o.Connections, TLS: o.TLS, Answer: edge.ConnAnswer}),
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

// snapshotPath is the only route on which a proof of a node counts.
const snapshotPath = edge.InternalPrefix + "/snapshot"

// requireToken checks the token, or on the route of the snapshot the proof of a node, before the handler reads the
// body.
func (s *Server) requireToken(r *edge.Route) edge.Handler {
	next, open := r.Handle, s.opt.Token == "" || s.opt.Socket
	forNodes := r.Path == snapshotPath && r.Method == fasthttp.MethodGet
	if open && !forNodes {
		return next
	}
	return func(c *edge.Ctx) *refuse.Refusal {
		authorization := string(c.Request.Header.Peek(fasthttp.HeaderAuthorization))
		if forNodes && clusterkey.IsProof(authorization) {
			if err := s.admitNode(c, authorization); err != nil {
				return refuse.New(refuse.Unauthorized, fasthttp.HeaderAuthorization, "A node of another cluster, or a "+
					"request that was changed or repeated: %s.", err)
			}
			return next(c)
		}
		if !open {
			if err := s.checkToken(authorization); err != nil {
				return err
			}
		}
		return next(c)
	}
}

// checkToken refuses a request whose header Authorization has not the token.
func (s *Server) checkToken(authorization string) *refuse.Refusal {
	sent, ok := strings.CutPrefix(authorization, "Bearer ")
	hash := sha256.Sum256([]byte(sent))
	if subtle.ConstantTimeCompare(hash[:], s.token[:]) != 1 || !ok {
		return refuse.New(refuse.Unauthorized, "Authorization",
			"The internal API needs its token as Authorization: Bearer.")
	}
	return nil
}

// admitNode returns nil for a request that a node of the cluster has signed and sent once.
func (s *Server) admitNode(c *edge.Ctx, proof string) error {
	h := &c.Request.Header
	// In plain text any program of the machine may have received the proof first, so it counts at the address alone to
	// which it was sent. By TLS only a holder of the key has received it.
	at, ok := c.LocalAddr().(*net.TCPAddr)
	if ok && at.Port != 0 && s.opt.TLS == nil && string(h.Host()) != at.String() {
		return fmt.Errorf("without TLS a proof counts at the address that Host names, %.100q, and this is %s", h.Host(),
			at)
	}
	return s.nodes.Admits(proof, string(h.Method()), string(h.RequestURI()), string(h.Host()),
		s.opt.MachineNs()/int64(time.Millisecond))
}

// Loopback reports whether no other machine reaches an address: it is a loopback one or a unix socket.
func Loopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return addr.Network() == "unix" || ok && tcp.IP.IsLoopback()
}

// checkAddress returns an error for an address that other machines can reach without a token or without TLS
// (docs/contract/internal.md).
func (s *Server) checkAddress(addr net.Addr) error {
	switch {
	case Loopback(addr):
		return nil
	case s.opt.Token == "":
		return fmt.Errorf("admin: the internal listener on %s is not on a loopback address, so it needs a token", addr)
	case s.opt.TLS == nil:
		return fmt.Errorf("admin: the internal listener on %s is not on a loopback address, so it needs TLS", addr)
	}
	return nil
}

// Serve serves the connections of ln until Shutdown. Without a token or without TLS it refuses an address that
// other machines can reach.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.checkAddress(ln.Addr()); err != nil {
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
func (s *Server) Accepts() conn.AcceptStat { return s.edge.Accepts.Stat("internal") }

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

// Exchange is the interface to the engine: it submits commands and runs queries on the goroutine
// that owns books and history. *sequencer.Loop implements it.
type Exchange interface {
	entry.Exchange
	// AdvanceTo advances a virtual clock to ns and carries out all work that falls due.
	AdvanceTo(ns int64) error
}

// pageFilter refuses requests of web pages on an internal listener without a token. A browser on the machine
// reaches the loopback interface and sends any request that a page makes. The headers Origin and Sec-Fetch-Site
// reveal forms, beacons and fetches to another origin. The header Host reveals DNS rebinding: a page whose own
// host name resolves to 127.0.0.1 counts as same-origin and can send any request. Other programs send a
// permitted host in Host, and neither Origin nor Sec-Fetch-Site. Immutable.
//
// A check costs 125 ns. A token for every listener would end `curl -d` to a new exchange, which is half of the use
// of this API; a media type that forms cannot send does nothing against a rebound name; CORS headers guard answers,
// not the effect of a request.
type pageFilter struct {
	names []string     // names in internal.hosts, without a trailing dot
	addrs []netip.Addr // addresses in internal.hosts

	hostHint, pageHint string // the end of the refusals of a Host, and of a page's request
}

// maxHostName is the longest host name (RFC 1035 section 2.3.4).
const maxHostName = 253

// readyPath needs no check, because it reports only whether the start is complete. Neither do edge.LivePath and
// edge.ReadyPath.
const readyPath = edge.InternalPrefix + "/ready"

// newPageFilter returns a pageFilter that accepts these hosts besides the loopback hosts.
func newPageFilter(hosts []string) (*pageFilter, error) {
	g := &pageFilter{hostHint: internalHostHint, pageHint: internalPageHint}
	for _, text := range hosts {
		if err := CheckHost(text); err != nil {
			return nil, err
		}
		if a, err := netip.ParseAddr(text); err == nil {
			g.addrs = append(g.addrs, a.Unmap())
		} else {
			g.names = append(g.names, strings.TrimSuffix(text, "."))
		}
	}
	return g, nil
}

// CheckHost returns an error unless text is one host: a name or an address without
// scheme, port and wildcard.
func CheckHost(text string) error {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return nil
	}
	if !isHostName([]byte(strings.TrimSuffix(text, "."))) || isDotted([]byte(text)) {
		return fmt.Errorf("%.80q is neither a host name of letters, digits, '-', '_' and '.' nor an IP address; "+
			"list the name alone (ops.example), it counts with every port", text)
	}
	return nil
}

// check refuses a request that a browser may have sent for a web page.
func (g *pageFilter) check(ctx *fasthttp.RequestCtx) *refuse.Refusal {
	h := &ctx.Request.Header
	switch string(ctx.URI().PathOriginal()) {
	case readyPath, edge.LivePath, edge.ReadyPath:
		return nil
	}
	host := h.Host() // at most one value: the parser refuses a second Host header
	if !g.accepts(host) {
		return pageError(fasthttp.HeaderHost, host, g.hostHint)
	}
	if target := h.RequestURI(); (len(target) == 0 || target[0] != '/') && !bytes.EqualFold(ctx.URI().Host(), host) {
		return pageError(fasthttp.HeaderHost, host,
			"is not the host in the request's target; send the same one in both")
	}
	for _, origin := range h.PeekAll(fasthttp.HeaderOrigin) {
		if !sameOrigin(origin, host) {
			return pageError(fasthttp.HeaderOrigin, origin, "is not the listener's own origin; "+g.pageHint)
		}
	}
	for _, site := range h.PeekAll(headerFetchSite) {
		if s := string(site); s != "none" && s != "same-origin" {
			return pageError(headerFetchSite, site, "says that a page of another origin sent the request; "+g.pageHint)
		}
	}
	if h.IsGet() || h.IsHead() {
		return nil
	}
	for _, mode := range h.PeekAll(headerFetchMode) {
		if string(mode) == "navigate" {
			return pageError(headerFetchMode, mode, "says that the form of a page sent the request; "+g.pageHint)
		}
	}
	return nil
}

// The ends of the refusals of the internal listener.
const (
	internalHostHint = "is neither a loopback name nor in internal.hosts; " +
		"call 127.0.0.1 or localhost, add the name to internal.hosts, or configure internal.token_file"
	internalPageHint = "the internal API serves no web pages: use a program such as curl, or configure " +
		"internal.token_file and send it"
)

// Fetch metadata headers (W3C). The browser sets them; a page cannot change them.
const (
	headerFetchSite = "Sec-Fetch-Site"
	headerFetchMode = "Sec-Fetch-Mode"
)

// pageError returns the refusal of a header's value. why completes the sentence.
func pageError(header string, value []byte, why string) *refuse.Refusal {
	err := refuse.New(refuse.Forbidden, "", "The header %s: %.100q %s.", header, value, why)
	err.Field = header
	return err
}

// accepts reports whether a Host header names this listener: a loopback name or address, or a configured one,
// with any port.
func (g *pageFilter) accepts(host []byte) bool {
	name, bracketed, ok := splitHost(host)
	if !ok {
		return false
	}
	if bracketed || isDotted(name) {
		a, err := netip.ParseAddr(edge.BytesKey(name))
		return err == nil && a.Zone() == "" && bracketed == a.Is6() &&
			(a.IsLoopback() || slices.Contains(g.addrs, a.Unmap()))
	}
	name = bytes.TrimSuffix(name, []byte("."))
	if !isHostName(name) {
		return false
	}
	for _, known := range g.names {
		if strings.EqualFold(edge.BytesKey(name), known) {
			return true
		}
	}
	const local = ".localhost" // RFC 6761: names below .localhost resolve to loopback
	return bytes.EqualFold(name, []byte(local[1:])) ||
		len(name) > len(local) && bytes.EqualFold(name[len(name)-len(local):], []byte(local))
}

// splitHost removes the port and the brackets of an IPv6 address from a Host header.
func splitHost(host []byte) (name []byte, bracketed, ok bool) {
	name, port := host, []byte(nil)
	if bracketed = len(host) > 0 && host[0] == '['; bracketed {
		end := bytes.IndexByte(host, ']')
		if end < 0 {
			return nil, true, false
		}
		name, port = host[1:end], host[end+1:]
	} else if i := bytes.IndexByte(host, ':'); i >= 0 {
		name, port = host[:i], host[i:]
	}
	if len(port) > 0 && (port[0] != ':' || len(port) > 6 || len(bytes.Trim(port[1:], "0123456789")) > 0) {
		return nil, bracketed, false
	}
	return name, bracketed, true
}

// isDotted reports whether name has only digits and dots. Such a name is an IPv4 address or invalid.
func isDotted(name []byte) bool { return len(bytes.Trim(name, "0123456789.")) == 0 }

// isHostName reports whether name consists of non-empty labels of letters, digits, '-' and '_'.
func isHostName(name []byte) bool {
	last := byte('.')
	for _, b := range name {
		if b-'0' > 9 && b|0x20-'a' > 25 && b != '-' && b != '_' && (b != '.' || last == '.') {
			return false
		}
		last = b
	}
	return last != '.' && len(name) <= maxHostName
}

// sameOrigin reports whether an Origin header is the origin of a page at host. The scheme may be
// https, because a proxy in front of the listener may terminate TLS.
func sameOrigin(origin, host []byte) bool {
	port := []byte(":80")
	rest, ok := bytes.CutPrefix(origin, []byte("http://"))
	if !ok {
		port = []byte(":443")
		rest, ok = bytes.CutPrefix(origin, []byte("https://"))
	}
	return ok && bytes.EqualFold(bytes.TrimSuffix(rest, port), bytes.TrimSuffix(host, port))
}
