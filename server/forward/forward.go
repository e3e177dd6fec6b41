package forward

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/step"
)

// ClientHeader names the client of a forwarded request, in the form to which the request parser normalizes it:
// the address, the time in Unix ms and the HMAC of both and of the request, separated by spaces.
const ClientHeader = "X-Tickhive-Client"

// maxAge is the largest difference between the clocks of two nodes, plus the time on the way.
const maxAge = 30 * time.Second

// publicKeyHeader has the key of a signed request, as the request parser normalizes it.
const publicKeyHeader = "Api-Publickey"

// clientParts returns what the proof of a client's address covers: the address, the time, and one request. A header
// that somebody has read on the way is of no use for another request.
func clientParts(addr, ms string, r *fasthttp.Request) []string {
	h := &r.Header
	return []string{
		"client", addr, ms, string(h.Method()), string(h.RequestURI()), string(h.Peek(publicKeyHeader)),
		string(r.Body()),
	}
}

// Name sets the header that names the client of a request.
func Name(key *clusterkey.Ring, r *fasthttp.Request, client netip.Addr, nowNs int64) {
	addr, ms := client.String(), strconv.FormatInt(nowNs/int64(time.Millisecond), 10)
	r.Header.Set(ClientHeader, addr+" "+ms+" "+key.Prove(clientParts(addr, ms, r)...))
}

// Client returns the client that the header names, if a node with a key of the ring has set it for this request.
func Client(key *clusterkey.Ring, r *fasthttp.Request, nowNs int64) (client netip.Addr, ok bool) {
	lines := r.Header.PeekAll(ClientHeader)
	if len(lines) != 1 {
		return client, false
	}
	addr, rest, _ := strings.Cut(string(lines[0]), " ")
	ms, proof, _ := strings.Cut(rest, " ")
	sent, err := strconv.ParseInt(ms, 10, 64)
	if err != nil || max(sent, -sent) < 0 {
		return client, false
	}
	age := nowNs/int64(time.Millisecond) - sent
	if max(age, -age) > maxAge.Milliseconds() || !key.Proves(proof, clientParts(addr, ms, r)...) {
		return client, false
	}
	client, err = netip.ParseAddr(addr)
	return client, err == nil
}

// Bounds of the requests under way.
const (
	maxConns    = 256              // connections to the writer
	waitForConn = time.Second      // how long a request waits for one of them
	dialTime    = 2 * time.Second  // to connect
	idleTime    = 20 * time.Second // less than the writer's idle timeout
	answerTime  = 15 * time.Second // longer than the writer waits for the stream
	maxAnswer   = 8 << 20          // bytes
	headBytes   = 32 << 10         // of a request or an answer
)

// ServedBy is the header of an answer that the writer has given.
const ServedBy = "X-Served-By"

// Writer is the node that executes changes, as its term record describes it.
type Writer struct {
	Term    uint64
	Address string // HOST:PORT of its public listener; empty: it has not told one
	TLS     bool
	KeyID   string // of the first key of its ring; empty: it has none
}

// url returns the address with its scheme.
func (w *Writer) url() string {
	if w.TLS {
		return "https://" + w.Address
	}
	return "http://" + w.Address
}

// Options configures a Forwarder.
type Options struct {
	Key   *clusterkey.Ring // nil: nothing is forwarded
	Roots *x509.CertPool   // by which a writer's certificate is verified; nil: those of the machine
	NowNs func() int64     // the machine's clock
	// Within bounds the time until the writer's answer; 0: 15 s.
	Within time.Duration
}

// Forwarder sends requests to the present writer. Any goroutine may use it.
type Forwarder struct {
	opt Options
	to  atomic.Pointer[target]

	answered, unreached, unknown atomic.Uint64
}

// target is a writer and the connections to it.
type target struct {
	Writer
	key    *clusterkey.Ring     // with the writer's key in front; nil: nothing is forwarded
	client *fasthttp.HostClient // nil: nothing is forwarded
}

// New returns a Forwarder that knows no writer yet.
func New(o Options) *Forwarder {
	if o.Within == 0 {
		o.Within = answerTime
	}
	f := &Forwarder{opt: o}
	f.to.Store(&target{})
	return f
}

// Lead makes w the writer. Connections to the one before are used no more.
func (f *Forwarder) Lead(w Writer) {
	t := &target{Writer: w, key: f.opt.Key.First(w.KeyID)}
	if w.Address != "" && t.key != nil {
		t.client = f.connect(&t.Writer)
	}
	if old := f.to.Swap(t); old.client != nil {
		old.client.CloseIdleConnections()
	}
}

// Close closes the connections that no request uses.
func (f *Forwarder) Close() { f.Lead(Writer{}) }

// Writer returns the present writer.
func (f *Forwarder) Writer() Writer { return f.to.Load().Writer }

// Counts returns the number of requests that the writer answered, that were not sent, and whose answer is missing.
func (f *Forwarder) Counts() (answered, unreached, unknown uint64) {
	return f.answered.Load(), f.unreached.Load(), f.unknown.Load()
}

// errNotSent reports a request of which no byte has left.
var errNotSent = errors.New("forward: no connection")

func (f *Forwarder) connect(w *Writer) *fasthttp.HostClient {
	host, _, _ := net.SplitHostPort(w.Address) // without a port, every connection fails and says why
	plain := &net.Dialer{Timeout: dialTime}
	secure := &tls.Dialer{NetDialer: plain, Config: &tls.Config{
		ServerName: host, RootCAs: f.opt.Roots, MinVersion: tls.VersionTLS12,
	}}
	dial := plain.DialContext
	if w.TLS {
		dial = secure.DialContext
	}
	return &fasthttp.HostClient{
		Addr: w.Address, IsTLS: w.TLS,
		MaxConns: maxConns, MaxConnWaitTimeout: waitForConn, MaxIdleConnDuration: idleTime,
		MaxIdemponentCallAttempts: 1,
		MaxResponseBodySize:       maxAnswer, ReadBufferSize: headBytes, WriteBufferSize: headBytes,
		DisableHeaderNamesNormalizing: true, DisablePathNormalizing: true, NoDefaultUserAgentHeader: true,
		SecureErrorLogMessage: true,
		RetryIfErr:            func(*fasthttp.Request, int, error) (bool, bool) { return false, false },
		DialTimeout: func(addr string, within time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(context.Background(), min(within, dialTime))
			defer cancel()
			conn, err := dial(ctx, "tcp", addr)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errNotSent, err)
			}
			return conn, nil
		},
	}
}

// hopHeaders belong to one connection, or say of a request where it came from.
var hopHeaders = [...]string{
	fasthttp.HeaderConnection, "Keep-Alive", "Proxy-Connection", fasthttp.HeaderTE, fasthttp.HeaderTrailer,
	fasthttp.HeaderTransferEncoding, fasthttp.HeaderUpgrade, fasthttp.HeaderExpect, fasthttp.HeaderXForwardedFor,
}

// Do sends the request of ctx to the writer, for the client at an address, and makes the writer's answer its own.
// With a refusal, the answer of ctx is empty.
func (f *Forwarder) Do(ctx *fasthttp.RequestCtx, client netip.Addr, requestID []byte) *refuse.Refusal {
	to := f.to.Load()
	if to.client == nil || ctx.Request.Header.Peek(ClientHeader) != nil {
		return to.notWriter() // a node that takes this one for the writer must not get its own request back
	}
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	ctx.Request.Header.CopyTo(&req.Header)
	for _, name := range hopHeaders {
		req.Header.Del(name)
	}
	req.Header.Set("X-Request-Id", string(requestID))
	req.SetBodyRaw(ctx.Request.Body())
	req.UseHostHeader = true
	req.Header.SetNoDefaultContentType(true)
	req.URI().DisablePathNormalizing = true
	if to.TLS {
		req.URI().SetScheme("https")
	}
	if string(req.URI().RequestURI()) != string(ctx.Request.Header.RequestURI()) {
		return to.notWriter() // a signature covers the target as the client has spelled it
	}
	Name(to.key, req, client, f.opt.NowNs())
	req.SetTimeout(f.opt.Within)
	if err := to.client.Do(req, &ctx.Response); err != nil {
		ctx.Response.Reset()
		return f.failed(to, !ctx.IsGet() && !ctx.IsHead(), err)
	}
	f.answered.Add(1)
	ctx.Response.Header.ResetConnectionClose()
	ctx.Response.Header.Set(ServedBy, to.Address)
	return nil
}

// failed returns the refusal of a request that has no answer.
func (f *Forwarder) failed(to *target, changes bool, err error) *refuse.Refusal {
	switch {
	case errors.Is(err, errNotSent), errors.Is(err, fasthttp.ErrNoFreeConns):
		f.unreached.Add(1)
		return refuse.New(refuse.Unavailable, "", "The writer at %s cannot be reached; nothing was sent to it. "+
			"Try again later.", to.url()).After(1)
	case errors.Is(err, fasthttp.ErrBodyTooLarge) && !changes:
		return refuse.New(refuse.NotWriter, "", "The answer has more than %d bytes, which a replica does not pass on. "+
			"Ask the writer at %s.", maxAnswer, to.url())
	case !changes:
		f.unknown.Add(1)
		return refuse.New(refuse.Unavailable, "", "The writer at %s did not answer. Nothing was changed. "+
			"Try again later.", to.url()).After(1)
	}
	f.unknown.Add(1)
	return refuse.New(refuse.OutcomeUnknown, "", "The request was sent to the writer at %s, which did not answer. "+
		"It was executed or not. Repeat an order with the same clientOrderId.", to.url())
}

// NotWriter returns the refusal of a request that only the writer can answer.
func (f *Forwarder) NotWriter() *refuse.Refusal { return f.to.Load().notWriter() }

func (t *target) notWriter() *refuse.Refusal {
	where := "; it has told no address (cluster.advertise)."
	if t.Address != "" {
		where = " at " + t.url() + "."
	}
	return refuse.New(refuse.NotWriter, "", "This is a replica: it serves public reads only and executed nothing. "+
		"Send signed requests and changes to the writer%s", where)
}

// Roots returns the machine's root certificates and those in a PEM file.
func Roots(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no PEM certificate", path)
	}
	return pool, nil
}

// Replica describes a server of an exchange that executes the records of another one.
type Replica struct {
	// LagNs returns how far the views are behind the writer; with more than MaxLagNs public reads are refused.
	LagNs    func() int64
	MaxLagNs int64
	// Published returns a channel that is closed when the views show something new.
	Published func() <-chan struct{}
	Driver    step.Driver // lets the views go on while a request waits for them; nil: goroutines do
	// Forward sends to the writer what changes something and what is signed.
	Forward *Forwarder
}

// Stale returns the refusal of public reads while the views are too far behind the writer, nil while they are not. A
// writer, which is no replica (nil), is never behind. The probes, the streams and the reads ask this one function, so
// that none of them says that a replica is well while another one refuses.
func (r *Replica) Stale() *refuse.Refusal {
	if r == nil {
		return nil
	}
	return r.refusal(r.LagNs())
}

func (r *Replica) refusal(lagNs int64) *refuse.Refusal {
	if lagNs <= r.MaxLagNs {
		return nil
	}
	return refuse.New(refuse.Stale, "", "This replica is %.1f s behind its writer, and at most %.1f s are allowed. "+
		"Ask the writer or another replica.", time.Duration(lagNs).Seconds(),
		time.Duration(r.MaxLagNs).Seconds()).After(1)
}

// Read returns how far the views are behind the writer in ms, and the refusal of a read while that is too far.
func (r *Replica) Read() (lagMs int64, refused *refuse.Refusal) {
	lagNs := max(r.LagNs(), 0)
	return lagNs / int64(time.Millisecond), r.refusal(lagNs)
}
