package edge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"tickhive/internal/clock"
	"tickhive/internal/fault"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/forward"
)

// ListenerOptions holds the settings that differ between the listeners.
type ListenerOptions struct {
	Name        string // in fault rules: public, aggregator
	Table       []*Route
	MaxBody     int
	Read        time.Duration
	Write       time.Duration
	Idle        time.Duration
	WriteBuf    int
	Conns       *ConnTable
	limiter     *limiter // nil: no limit on requests
	clients     *clientIPs
	pieces      *pieceTable
	secure      bool // clients come by TLS
	auth        func(c *Ctx) (*Principal, *refuse.Refusal)
	RefusePages func(ctx *fasthttp.RequestCtx) *refuse.Refusal // refuses web pages; nil: they may call
	Ready       *atomic.Bool
	Log         *slog.Logger
	Clock       clock.Clock
	MachineNs   func() int64
	gzip        *gzipMaker                   // nil: no route sends cached documents
	replica     *forward.Replica             // nil: not a replica
	board       *marketdata.Board            // see Options
	peers       *forward.Key                 // see Options
	Settle      func() *refuse.Refusal       // see Options
	faults      *fault.Switch                // nil: no fault rules concern this listener
	refuse      refuseFunc                   // nil: the error object of this service
	expose      []string                     // headers of public answers beside exposed
	missing     func(c *Ctx) *refuse.Refusal // the page for browsers at a path without a route; nil: none
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
	Accepts acceptStats
	held    atomic.Int64  // requests that fault rules hold back
	closing chan struct{} // closed by Shutdown
	close   sync.Once
}

// NewListener builds the router and the HTTP server of one listener from its route table.
func NewListener(o ListenerOptions) (*Listener, error) {
	e := &Listener{
		ListenerOptions: o, router: router.New(), Accepts: acceptStats{clock: o.Clock, log: o.Log},
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
		Concurrency:        1 << 20, // ConnTable limits connections, with a JSON answer
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
		// A connection that waits for a request holds no buffers and no context; see conn_wait.go.
		ReduceMemoryUsage: true,
	}
	return e, nil
}

// Serve answers requests on the connections of ln until shutdown.
func (e *Listener) Serve(ln net.Listener) error {
	if err := e.HTTP.Serve(newLimitedListener(ln, e.Conns, &e.Accepts)); err != nil {
		return fmt.Errorf("edge: listener %s: %w", ln.Addr(), err)
	}
	return nil
}

// Shutdown stops accepting, finishes the requests in progress and closes idle connections.
func (e *Listener) Shutdown(ctx context.Context) error {
	e.close.Do(func() { close(e.closing) })
	e.Conns.setShutdownDeadlines()
	// also ends connections that were accepted while the listener was closing
	late := time.AfterFunc(shutdownReadTime/2, e.Conns.setShutdownDeadlines)
	defer late.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go e.awaitIdle(ctx, cancel)
	if err := e.HTTP.ShutdownWithContext(ctx); err != nil && !errors.Is(context.Cause(ctx), errIdle) {
		return fmt.Errorf("edge: shutdown: %w", err)
	}
	return nil
}

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
	lingerOnClose(ctx.Conn())
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
	e.other.count(statusOf(answer.Code))
}

// quietLogger moves fasthttp's own log lines to the debug level.
type quietLogger struct{ log *slog.Logger }

// Printf logs at the debug level, because most of these lines report clients that closed their connection.
func (l quietLogger) Printf(format string, args ...any) {
	l.log.Debug("http", "detail", fmt.Sprintf(format, args...))
}
