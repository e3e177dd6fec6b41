package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"tickhive/internal/clock"
	"tickhive/internal/refuse"
)

// edgeOptions holds the settings that differ between the listeners.
type edgeOptions struct {
	table     []*Route
	maxBody   int
	read      time.Duration
	write     time.Duration
	idle      time.Duration
	writeBuf  int
	conns     *connTable
	limiter   *limiter // nil: no limit on requests
	clients   *clientIPs
	auth      func(c *Ctx) (*Caller, *refuse.Refusal)
	gate      func(ctx *fasthttp.RequestCtx) *refuse.Refusal // refuses web pages; nil: they may call
	ready     *atomic.Bool
	log       *slog.Logger
	clock     clock.Clock
	machineNs func() int64
	gzip      *gzipMaker // nil: no route sends cached documents
	// host, when set, is the only Host that reaches routes of the aggregator namespace.
	aggregatorHost string
}

// edge serves HTTP on one listener: fasthttp, the route table and the checks that every
// request passes. Only its counters change after newEdge.
type edge struct {
	edgeOptions
	http    *fasthttp.Server
	router  *router.Router
	hot     [hotPaths]*pathEntry
	idBoot  [10]byte // "xxxxxxxx-": the random prefix of the request ids that this edge generates
	idNext  atomic.Uint64
	ctxPool sync.Pool
	other   routeStats // requests that reached no route
	panics  atomic.Uint64
	accepts acceptStats
}

// newEdge builds the router and the HTTP server of one listener from its route table.
func newEdge(o edgeOptions) (*edge, error) {
	e := &edge{edgeOptions: o, router: router.New(), accepts: acceptStats{clock: o.clock, log: o.log}}
	e.ctxPool.New = func() any { return &Ctx{edge: e} }
	var boot [4]byte
	if _, err := rand.Read(boot[:]); err != nil {
		return nil, fmt.Errorf("server: random request id: %w", err)
	}
	hex.Encode(e.idBoot[:8], boot[:])
	e.idBoot[8] = '-'

	entries, err := pathEntries(o.table)
	if err != nil {
		return nil, err
	}
	for _, r := range o.table {
		r.stats = &routeStats{}
	}
	e.router.RedirectTrailingSlash = false
	e.router.RedirectFixedPath = false
	e.router.HandleMethodNotAllowed = false
	e.router.HandleOPTIONS = false
	e.router.NotFound = func(ctx *fasthttp.RequestCtx) { ctx.SetUserValueBytes(userEntry, (*pathEntry)(nil)) }
	for _, p := range entries {
		e.router.ANY(p.path, func(ctx *fasthttp.RequestCtx) { ctx.SetUserValueBytes(userEntry, p) })
		if i := hotIndex([]byte(p.path)); i >= 0 {
			e.hot[i] = p
		}
	}
	e.http = &fasthttp.Server{
		Handler:            e.handle,
		ErrorHandler:       e.parseError,
		Logger:             quietLogger{o.log},
		Concurrency:        1 << 20, // connTable limits connections, with a JSON answer
		ReadBufferSize:     MaxHeadBytes,
		WriteBufferSize:    o.writeBuf,
		ReadTimeout:        o.read,
		WriteTimeout:       o.write,
		IdleTimeout:        o.idle,
		MaxRequestBodySize: o.maxBody,
		// A body is JSON or refused, so multipart is never parsed.
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true,
		CloseOnShutdown:              true,
	}
	return e, nil
}

// serve answers requests on the connections of ln until shutdown.
func (e *edge) serve(ln net.Listener) error {
	if err := e.http.Serve(newLimitedListener(ln, e.conns, &e.accepts)); err != nil {
		return fmt.Errorf("server: listener %s: %w", ln.Addr(), err)
	}
	return nil
}

// shutdown stops accepting, finishes the requests in progress and closes idle connections.
func (e *edge) shutdown(ctx context.Context) error {
	e.conns.part()
	late := time.AfterFunc(partingTime/2, e.conns.part) // accepted while the listener was closing
	defer late.Stop()
	if err := e.http.ShutdownWithContext(ctx); err != nil {
		return fmt.Errorf("server: shutdown: %w", err)
	}
	return nil
}

// parseError answers unreadable requests (docs/contract/errors.md#error-object).
func (e *edge) parseError(ctx *fasthttp.RequestCtx, err error) {
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
			Message: fmt.Sprintf("The body must not be larger than %d bytes.", e.maxBody),
		}
	case errors.Is(err, fasthttp.ErrTimeout), errors.As(err, &late) && late.Timeout():
		answer = &refuse.Refusal{
			Code:    refuse.RequestTimeout,
			Message: fmt.Sprintf("The request was not complete within %s.", e.read),
		}
	}
	var id [maxRequestID]byte
	ctx.Response.Reset()
	writeError(ctx, answer, e.appendRequestID(id[:0], ctx))
	e.other.count(statusOf(answer.Code))
}

// quietLogger moves fasthttp's own log lines to the debug level.
type quietLogger struct{ log *slog.Logger }

// Printf logs at debug level: most lines are about clients that hung up.
func (l quietLogger) Printf(format string, args ...any) {
	l.log.Debug("http", "detail", fmt.Sprintf(format, args...))
}
