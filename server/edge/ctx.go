package edge

import (
	"net/netip"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
)

// Principal is the authenticated principal of a request: the result of Options.Authenticate.
type Principal struct {
	Account   engine.AccountID
	UserID    string // UUID
	PublicKey string
	CanTrade  bool // the key permits this request on a route with Trade
}

// Ctx is one request and its answer. The handler owns it until it returns. Slices that Ctx
// returns alias the request buffer; copy them to retain them.
type Ctx struct {
	*fasthttp.RequestCtx
	// Principal is nil for a call without credentials.
	Principal *Principal
	// Credentials are those that Options.Authenticate verifies.
	Credentials Credentials

	edge   *Listener
	client netip.Addr // that a node of the cluster has named; zero: the client has sent the request itself
	route  *Route
	id     []byte // request id, in idBuf
	idBuf  [maxRequestID]byte

	public bool // every origin may read the answer
	stale  bool // the pair is not at the seq that the client asks for

	params       []param
	DecimalsText bool // ?decimals=string

	faultStatus int   // status of an error that a fault rule causes; 0: none
	skewNs      int64 // the error of SkewNs

	scratch []byte // the handler's buffer for rendering and header values
	number  [24]byte
	tag     [32]byte
}

// RequestID returns the id that is echoed in X-Request-Id and in errors.
func (c *Ctx) RequestID() string { return string(c.id) }

// MachineNs returns the time of the machine's clock in Unix ns.
func (c *Ctx) MachineNs() int64 { return c.edge.MachineNs() }

// SkewNs returns what a route with Time adds to the time that it answers: 0 unless a fault rule skews it.
func (c *Ctx) SkewNs() int64 { return c.skewNs }

// Viewer returns the account of the principal, nil for a request without credentials.
func (c *Ctx) Viewer() *engine.AccountID {
	if c.Principal == nil {
		return nil
	}
	return &c.Principal.Account
}

// Cancels reports whether the route only cancels orders.
func (c *Ctx) Cancels() bool { return c.route.Cancels }

// PlainDecimals makes the answer ignore decimals=string.
func (c *Ctx) PlainDecimals() { c.DecimalsText = false }

// Unlimited reports whether the allow-list contains the client's address or verified key.
func (c *Ctx) Unlimited() bool { return c.edge.limiter.exempts(c) }

// PathParam returns a parameter of the route's path, for example {publicKey}.
func (c *Ctx) PathParam(name string) string {
	s, _ := c.UserValue(name).(string)
	return s
}

func (e *Listener) acquire(ctx *fasthttp.RequestCtx) *Ctx {
	c := e.ctxPool.Get().(*Ctx)
	c.RequestCtx = ctx
	return c
}

// maxPooledScratch is the largest rendering buffer that a pooled Ctx retains.
const maxPooledScratch = 256 << 10

func (e *Listener) release(c *Ctx) {
	c.RequestCtx, c.Principal, c.route, c.id = nil, nil, nil, nil
	c.params, c.DecimalsText, c.public, c.stale = c.params[:0], false, false, false
	c.faultStatus, c.skewNs, c.client, c.Credentials = 0, 0, netip.Addr{}, Credentials{}
	if cap(c.scratch) > maxPooledScratch {
		c.scratch = nil
	}
	e.ctxPool.Put(c)
}

// Private answers 200 with a body for this client only: no-store and no ETag. The body must not change until
// the answer is sent.
func (c *Ctx) Private(body []byte) {
	c.Response.Header.SetCanonical(HdrCacheControl, ValNoStore)
	c.writeJSON(body)
}

// writeJSON sets body as the answer, with decimals as strings if the request asked for them.
func (c *Ctx) writeJSON(body []byte) {
	c.Response.Header.SetContentTypeBytes(ValJSON)
	if c.DecimalsText {
		body = AppendQuotedDecimals(make([]byte, 0, len(body)+len(body)/4), body)
	}
	c.Response.SetBodyRaw(body)
}
