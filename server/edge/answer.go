package edge

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/conn"
	"github.com/tickhive/tickhive/server/doc"
	"github.com/tickhive/tickhive/server/json"
)

// SendDoc answers with a cached document: 304 when the client already has it, gzip when the client accepts it
// and it is ready.
func (c *Ctx) SendDoc(d *doc.Doc, at doc.Place) *refuse.Refusal {
	if c.Principal != nil || c.DecimalsText || c.csv {
		return c.SendBody(d.Bytes(), d.Seq)
	}
	h := &c.Response.Header
	var body, tag []byte
	if d.Size() >= doc.MinPacked && accepts(c.RequestCtx, valGzip) {
		if z := c.edge.gzip.Gzip(d, at); z != nil {
			body, tag = z, doc.AppendGzipTag(c.tag[:0], d.ETag)
			h.SetContentEncodingBytes(valGzip)
		}
	}
	if tag == nil {
		tag = append(c.tag[:0], d.ETag...)
	}
	c.PublicHeaders(tag, d.Seq)
	if NotModified(c.RequestCtx, d.ETag) {
		c.NotModified()
		return nil
	}
	h.SetContentTypeBytes(ValJSON)
	if body == nil {
		body = d.CachedBytes()
	}
	if body == nil {
		c.Response.SetBodyStream(textStream(c.Conn(), d.Text), d.Text.Size)
	} else {
		c.Response.SetBodyRaw(body)
	}
	return nil
}

// SendBody answers with a body that was rendered for this request only. It retains body.
func (c *Ctx) SendBody(body []byte, seq uint64) *refuse.Refusal {
	body = c.formed(body)
	hash := uint64(0)
	if c.Principal == nil {
		hash = doc.Hash(body)
	}
	if packed, ok := c.SendHead(hash, seq, len(body) >= doc.MinPacked); ok {
		if packed {
			body = c.edge.gzip.Pack(body)
		}
		c.Response.SetBodyRaw(body)
	}
	return nil
}

// SendHead sets the headers of an answer that was rendered for this request only. hash is the hash of the body
// without compression. ok is false when it has answered 304 because the client already has the body. packed reports
// that the caller must send the body in gzip: it may, the answer is public, and the client accepts it.
func (c *Ctx) SendHead(hash, seq uint64, mayPack bool) (packed, ok bool) {
	h := &c.Response.Header
	if c.Principal != nil {
		c.SetSeq(seq)
		h.SetCanonical(HdrCacheControl, ValNoStore)
		h.SetContentTypeBytes(c.mediaTypeOut())
		return false, true
	}
	packed = mayPack && accepts(c.RequestCtx, valGzip)
	tag := string(doc.AppendTag(c.tag[:0], hash))
	sent := append(c.tag[:0], tag...)
	if packed {
		sent = doc.AppendGzipTag(c.tag[:0], tag)
		h.SetContentEncodingBytes(valGzip)
	}
	c.PublicHeaders(sent, seq)
	if NotModified(c.RequestCtx, tag) {
		c.NotModified()
		return false, false
	}
	h.SetContentTypeBytes(c.mediaTypeOut())
	return packed, true
}

// SendPieces makes r the body of the answer; size is its length or -1. Within each write timeout the client
// must read at conn.MinPieceRate on average.
func (c *Ctx) SendPieces(r io.Reader, size int) *refuse.Refusal {
	leave, ok := c.edge.pieces.Enter(c.ClientAddr())
	if !ok {
		c.edge.limited[limitStreamed].Add(1)
		c.dropBodyHeaders()
		return refuse.New(refuse.RateLimit, "", "An address may read %d streamed answers at a time; "+
			"read one to its end first.", conn.MaxPieceAnswers).After(1)
	}
	conn.BoundSendBuffer(c.Conn())
	quota := int(c.edge.Write.Seconds() * conn.MinPieceRate)
	c.Response.SetBodyStream(conn.Paced(c.Conn(), r, quota, c.edge.Write, leave), size)
	return nil
}

// dropBodyHeaders removes the headers that describe the body which the client does not get.
func (c *Ctx) dropBodyHeaders() {
	h := &c.Response.Header
	h.DisableNormalizing() // the normal form of ETag is Etag
	for _, name := range bodyHeaders {
		h.DelBytes(name)
	}
	h.EnableNormalizing()
}

// SendPaced makes body the body of the answer, size bytes. The client must read quota bytes in each window. An answer
// of the internal listener has no other limit.
func (c *Ctx) SendPaced(body io.ReadCloser, size int64, quota int, window time.Duration) {
	leave := func() { _ = body.Close() } // after the answer no one is left to report to
	c.Response.SetBodyStream(conn.Paced(c.Conn(), body, quota, window, leave), int(size))
}

// PublicHeaders sets the headers of every public market-data answer, including 304.
func (c *Ctx) PublicHeaders(tag []byte, seq uint64) {
	h := &c.Response.Header
	h.SetCanonical(HdrETag, tag)
	h.SetCanonical(HdrCacheControl, c.route.maxAge)
	h.SetCanonical(hdrVary, valVary)
	c.SetSeq(seq)
}

// SetSeq sets X-Seq.
func (c *Ctx) SetSeq(seq uint64) {
	if seq != doc.NoSeq {
		c.Response.Header.SetCanonical(hdrSeq, strconv.AppendUint(c.number[:0], seq, 10))
	}
}

// NotModified reports whether If-None-Match of a request names any encoding of the body with this tag.
func NotModified(ctx *fasthttp.RequestCtx, tag string) bool {
	return doc.Names(ctx.Request.Header.PeekCanonical(reqIfNoneMatch), tag)
}

// NotModified makes the answer a 304 without a body.
func (c *Ctx) NotModified() {
	c.Response.Header.SetContentEncodingBytes(nil)
	c.Response.SetStatusCode(fasthttp.StatusNotModified)
	c.Response.ResetBody()
	c.Response.SkipBody = true
}

// gatherMinBytes is the size from which a text in parts is written to the kernel with one call (writev),
// without the write buffer. For a full book of 2.5 MB this costs 750 us of CPU; through the buffer, 64 KB at a
// time, it costs 1,360 us.
const gatherMinBytes = 64 << 10

// textStream returns the reader through which fasthttp writes a text in parts to a connection.
func textStream(to net.Conn, t *doc.Text) io.Reader {
	if t.Size >= gatherMinBytes {
		if counted, ok := to.(*conn.Conn); ok && counted.Gathers() {
			return &gatheredText{t, counted}
		}
	}
	return t
}

// gatheredText writes a text directly to its connection, after the buffered bytes.
type gatheredText struct {
	*doc.Text
	conn *conn.Conn
}

// WriteTo implements io.WriterTo. When w is not the connection's buffer, it writes the parts to w.
func (g *gatheredText) WriteTo(w io.Writer) (int64, error) {
	buffer, ok := w.(*bufio.Writer)
	if !ok {
		return g.Text.WriteTo(w)
	}
	if err := buffer.Flush(); err != nil {
		return 0, err
	}
	// clone the slice, because the connection changes it and the text is shared
	n, err := g.conn.WriteParts(slices.Clone(g.Parts))
	if err != nil {
		return n, fmt.Errorf("edge: text in parts: %w", err)
	}
	return n, nil
}

// Coding returns the first of the content codings, best first, that the request accepts, or "". It
// sets Vary.
func (c *Ctx) Coding(codings ...string) string {
	c.Response.Header.SetCanonical(hdrVary, valVary)
	for _, coding := range codings {
		if accepts(c.RequestCtx, []byte(coding)) {
			return coding
		}
	}
	return ""
}

// accepts reports whether Accept-Encoding names this content coding, and not with q=0. x-gzip is gzip (RFC 9110
// 8.4.1.3).
func accepts(ctx *fasthttp.RequestCtx, coding []byte) bool {
	list := ctx.Request.Header.PeekCanonical(ReqAcceptEncoding)
	for len(list) > 0 {
		var one []byte
		if i := bytes.IndexByte(list, ','); i >= 0 {
			one, list = list[:i], list[i+1:]
		} else {
			one, list = list, nil
		}
		name, q, _ := bytes.Cut(one, []byte(";"))
		if name = bytes.TrimSpace(name); bytes.EqualFold(name, valXGzip) {
			name = valGzip
		}
		if bytes.EqualFold(name, coding) {
			return !zeroQuality(q)
		}
	}
	return false
}

// zeroQuality reports whether q is q=0, q=0.0 and so on.
func zeroQuality(q []byte) bool {
	q = bytes.TrimSpace(q)
	if len(q) < 3 || q[0]|0x20 != 'q' || q[1] != '=' {
		return false
	}
	return len(bytes.Trim(q[2:], "0.")) == 0
}

// Names of answer headers as sent, of request headers as fasthttp normalizes them, and constant
// header values. They are bytes, so that an answer converts nothing.
var (
	hdrAllow         = []byte("Allow")
	HdrCacheControl  = []byte("Cache-Control")
	HdrETag          = []byte("ETag")
	hdrEncoding      = []byte("Content-Encoding")
	HdrNextStart     = []byte("X-Next-Start")
	hdrFault         = []byte("X-Fault")
	hdrLocation      = []byte("Location")
	hdrLagMs         = []byte("X-Lag-Ms")
	hdrRequestID     = []byte("X-Request-Id")
	hdrRetryAfter    = []byte("Retry-After")
	hdrSeq           = []byte("X-Seq")
	HdrTruncated     = []byte("X-Truncated")
	hdrVary          = []byte("Vary")
	hdrRateLimit     = []byte("X-RateLimit-Limit")
	hdrRateRemaining = []byte("X-RateLimit-Remaining")
	hdrRateReset     = []byte("X-RateLimit-Reset")
	hdrCORSOrigin    = []byte("Access-Control-Allow-Origin")
	hdrCORSExpose    = []byte("Access-Control-Expose-Headers")
	hdrCORSMethods   = []byte("Access-Control-Allow-Methods")
	hdrCORSHeaders   = []byte("Access-Control-Allow-Headers")
	hdrCORSMaxAge    = []byte("Access-Control-Max-Age")
	HdrCSP           = []byte("Content-Security-Policy")
	hdrNoSniff       = []byte("X-Content-Type-Options")
	hdrCOOP          = []byte("Cross-Origin-Opener-Policy")
	hdrCORP          = []byte("Cross-Origin-Resource-Policy")
	hdrHSTS          = []byte("Strict-Transport-Security")

	reqAccept         = []byte("Accept")
	ReqAcceptEncoding = []byte("Accept-Encoding")
	reqIfNoneMatch    = []byte("If-None-Match")
	reqPublicKey      = []byte("Api-Publickey") // API-PublicKey as the request parser normalizes it

	reqBinanceKey = []byte("X-Mbx-Apikey")

	ValJSON      = []byte("application/json; charset=utf-8")
	valCSV       = []byte("text/csv; charset=utf-8; header=present")
	ValNoStore   = []byte("no-store")
	valVary      = []byte("Accept-Encoding")
	valGzip      = []byte("gzip")
	valXGzip     = []byte("x-gzip")
	valStar      = []byte("*")
	valNoSniff   = []byte("nosniff")
	valSameSite  = []byte("same-origin")
	valCrossSite = []byte("cross-origin")
	valHSTS      = []byte("max-age=31536000") // a year
	ValTrue      = []byte("true")
	valDay       = []byte("86400")
	valCORSAllow = []byte("Content-Type, If-None-Match, X-Request-Id, X-Min-Seq, API-PublicKey, API-Timestamp, " +
		"API-Nonce, API-Signature, API-RecvWindow")
)

// exposed lists the headers of public answers that have a meaning in the contract. A page of another origin may read
// them: without the list, a browser hides all but a few general headers from the page's script.
const exposed = "ETag, Retry-After, X-Fault, X-Lag-Ms, X-Next-Cursor, X-Next-Start, X-RateLimit-Limit, " +
	"X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, X-Seq, X-Served-By, X-Truncated"

// credentialHeaders are the headers of a signed request, and credentialKeys the same as the request parser normalizes
// them.
var (
	credentialHeaders = [...]string{"API-PublicKey", "API-Timestamp", "API-Nonce", "API-Signature", "API-RecvWindow"}
	credentialKeys    = [...]string{"Api-Publickey", "Api-Timestamp", "Api-Nonce", "Api-Signature", "Api-Recvwindow"}
)

// Credentials holds the credential headers of a request as the client sent them, nil for those it did not send. They
// are valid as long as the request.
type Credentials struct{ PublicKey, Timestamp, Nonce, Signature, RecvWindow []byte }

// readCredentials reads all credential headers in one pass over the headers. None may occur twice: a proxy may have
// checked one copy, and the server would read the other. It returns the name of the first one that does, else "".
func readCredentials(h *fasthttp.RequestHeader) (c Credentials, repeated string) {
	fields := [...]*[]byte{&c.PublicKey, &c.Timestamp, &c.Nonce, &c.Signature, &c.RecvWindow}
	var seen [len(credentialKeys)]int
	for key, value := range h.All() {
		if len(key) < len("Api-Nonce") || key[0] != 'A' || key[3] != '-' {
			continue
		}
		for i, name := range credentialKeys {
			if string(key) == name {
				*fields[i] = value
				seen[i]++
			}
		}
	}
	for i, n := range seen {
		if n > 1 {
			return c, credentialHeaders[i]
		}
	}
	return c, ""
}

// protect sets the headers that keep a browser from misusing an answer. Only what every origin may
// read (public) may be embedded by every origin. It is called for every answer, so no error of a public path is without
// the headers by which a page of another origin can read it.
func (e *Listener) protect(h *fasthttp.ResponseHeader, public bool) {
	h.SetCanonical(hdrNoSniff, valNoSniff)
	h.SetCanonical(hdrCOOP, valSameSite)
	if public {
		h.SetCanonical(hdrCORSOrigin, valStar)
		h.SetCanonical(hdrCORSExpose, e.exposed)
		h.SetCanonical(hdrCORP, valCrossSite)
	} else {
		h.SetCanonical(hdrCORP, valSameSite)
	}
	if e.secure {
		h.SetCanonical(hdrHSTS, valHSTS)
	}
}

// framing refuses a request whose end another program may see elsewhere (RFC 9112 sections 5 and 6.3): a proxy in
// front that believes Content-Length would pass on the rest of a chunked body as the next client's request. fasthttp
// refuses every transfer coding but chunked and identity, which RFC 9112 does not have: a request with it has no end.
// The connection ends with the answer.
func framing(ctx *fasthttp.RequestCtx) *refuse.Refusal {
	length, encoding, chunked := false, false, true
	for raw := ctx.Request.Header.RawHeaders(); len(raw) > 0; {
		var line []byte
		line, raw, _ = bytes.Cut(raw, []byte{'\n'})
		if len(line) == 0 {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			return refuse.New(refuse.InvalidParam, "", "A header must not go on in a second line.")
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		if bytes.IndexByte(name, ' ') >= 0 {
			return refuse.New(refuse.InvalidParam, "", "The name of a header must not have a space.")
		}
		switch {
		case strings.EqualFold(BytesKey(name), "content-length"):
			length = true
		case strings.EqualFold(BytesKey(name), "transfer-encoding"):
			encoding = true
			chunked = chunked && bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked"))
		}
	}
	if !chunked {
		return refuse.New(refuse.InvalidParam, "Transfer-Encoding", "The only transfer coding is chunked.")
	}
	if length && encoding {
		return refuse.New(refuse.InvalidParam, "Transfer-Encoding",
			"A request must not have both Content-Length and Transfer-Encoding.")
	}
	return nil
}

var errInternal = &refuse.Refusal{
	Code:    refuse.Internal,
	Message: "The server failed on this request; the request id finds it in the log.",
}

// errorObject returns the error object. For the library of charts it has the members by which that recognizes an error:
// the library ignores the status and takes a body without s for a symbol.
func errorObject(e *refuse.Refusal, requestID []byte, forCharts bool) []byte {
	var w json.Writer
	w.Object()
	w.Name("code").Text(string(e.Code))
	w.Name("message").Text(e.Message)
	w.Name("field").TextOrNull(e.Field)
	w.Name("requestId").Word(string(requestID))
	if forCharts {
		text := e.Message
		if e.Field == "symbol" {
			text = "unknown_symbol" // the library's own word
		}
		w.Name("s").Word("error")
		w.Name("errmsg").Text(text)
	}
	w.EndObject()
	return w.Bytes()
}

// ConnAnswer returns the whole answer to a connection that is refused before it has sent a request.
func ConnAnswer(e *refuse.Refusal) []byte {
	status := e.Status()
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nX-Request-Id: connection\r\n",
		status, fasthttp.StatusMessage(status), ValJSON)
	if e.RetryAfter > 0 {
		b = fmt.Appendf(b, "Retry-After: %d\r\n", e.RetryAfter)
	}
	body := errorObject(e, []byte("connection"), false)
	return fmt.Appendf(b, "Connection: close\r\nX-Content-Type-Options: nosniff\r\n"+
		"Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n"+
		"Content-Length: %d\r\n\r\n%s", len(body), body)
}

// refuseFunc writes the body and the status of an error answer in the form of another service.
type refuseFunc func(ctx *fasthttp.RequestCtx, e *refuse.Refusal)

// refuseWith makes the response an error answer in the form of the listener. It keeps the headers that are
// already set (CORS, rate limit, Allow).
func (e *Listener) refuseWith(ctx *fasthttp.RequestCtx, r *refuse.Refusal, requestID []byte) {
	writeError(ctx, r, requestID)
	if e.refuse != nil {
		e.refuse(ctx, r)
	}
}

// writeError makes the response an error answer of this service.
func writeError(ctx *fasthttp.RequestCtx, e *refuse.Refusal, requestID []byte) {
	h := &ctx.Response.Header
	ctx.Response.SetStatusCode(e.Status())
	h.SetContentTypeBytes(ValJSON)
	h.SetCanonical(HdrCacheControl, ValNoStore)
	h.SetCanonical(hdrRequestID, requestID)
	if e.RetryAfter > 0 {
		h.SetCanonical(hdrRetryAfter, strconv.AppendInt(nil, e.RetryAfter, 10))
	}
	forCharts := bytes.HasPrefix(ctx.Request.Header.RequestURI(), udfPrefix)
	ctx.Response.SetBodyRaw(errorObject(e, requestID, forCharts))
}

// udfPrefix is the prefix of the target of every request of the datafeed protocol.
var udfPrefix = []byte("/udf/")

// AppendQuotedDecimals appends body with every decimal as a string of the same text, for
// ?decimals=string (docs/contract/market-data.md#decimals). Decimals always have a point and
// integers never do, so the text alone distinguishes them.
func AppendQuotedDecimals(dst, body []byte) []byte {
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == '"':
			end := stringEnd(body, i)
			dst = append(dst, body[i:end]...)
			i = end
		case c == '-' || c-'0' <= 9:
			end := i + 1
			for end < len(body) && (body[end]-'0' <= 9 || body[end] == '.') {
				end++
			}
			if number := body[i:end]; bytes.IndexByte(number, '.') >= 0 {
				dst = append(append(append(dst, '"'), number...), '"')
			} else {
				dst = append(dst, number...)
			}
			i = end
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// stringEnd returns the position after the JSON string that starts at i.
func stringEnd(body []byte, i int) int {
	for i++; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(body)
}

// BytesKey returns b as a string without a copy, for a map look-up that ends before b changes.
// The alternative, a conversion that escapes into Root.Lookup, allocates on every request.
func BytesKey(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// StringBytes returns s as bytes without a copy. The caller may write to them only while no one else has s.
func StringBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
