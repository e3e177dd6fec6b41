package server

import (
	"github.com/valyala/fasthttp"

	"tickhive/engine"
)

// Caller is who signed a request: the result of Options.Authenticate.
type Caller struct {
	Account   engine.AccountID
	UserID    string // UUID
	PublicKey string
	CanTrade  bool
}

// Ctx is one request and its answer. The handler owns it until it returns; every slice that
// it hands out aliases the request and must be copied to be kept.
type Ctx struct {
	*fasthttp.RequestCtx
	// Caller is nil for a call without credentials.
	Caller *Caller

	edge  *edge
	route *Route
	id    []byte // request id, in idBuf
	idBuf [maxRequestID]byte

	params       []param
	decimalsText bool // ?decimals=string

	scratch []byte // of the handler: rendering, header values
	number  [24]byte
	tag     [32]byte
}

// RequestID is the id that is echoed in X-Request-Id and in errors.
func (c *Ctx) RequestID() string { return string(c.id) }

// MachineNs is the machine's clock, Unix ns.
func (c *Ctx) MachineNs() int64 { return c.edge.machineNs() }

// PathParam is a parameter of the route's path, such as {publicKey}.
func (c *Ctx) PathParam(name string) string {
	s, _ := c.UserValue(name).(string)
	return s
}

func (e *edge) acquire(ctx *fasthttp.RequestCtx) *Ctx {
	c := e.ctxPool.Get().(*Ctx)
	c.RequestCtx = ctx
	return c
}

// keepScratch bounds the rendering buffer that a pooled Ctx keeps.
const keepScratch = 256 << 10

func (e *edge) release(c *Ctx) {
	c.RequestCtx, c.Caller, c.route, c.id = nil, nil, nil, nil
	c.params, c.decimalsText = c.params[:0], false
	if cap(c.scratch) > keepScratch {
		c.scratch = nil
	}
	e.ctxPool.Put(c)
}

// Private answers 200 with a body that is nobody else's: no-store, no ETag. The body must
// not change until the answer is written.
func (c *Ctx) Private(body []byte) {
	c.Response.Header.SetCanonical(hdrCacheControl, valNoStore)
	c.writeJSON(body)
}

// writeJSON sets body as the answer, its decimals as text when the caller asked for them.
func (c *Ctx) writeJSON(body []byte) {
	c.Response.Header.SetContentTypeBytes(valJSON)
	if c.decimalsText {
		body = appendQuotedDecimals(make([]byte, 0, len(body)+len(body)/4), body)
	}
	c.Response.SetBodyRaw(body)
}
