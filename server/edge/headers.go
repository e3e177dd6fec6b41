package edge

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
)

// Names of answer headers as sent, of request headers as fasthttp normalizes them, and constant
// header values. They are bytes, so that an answer converts nothing.
var (
	hdrAllow         = []byte("Allow")
	HdrCacheControl  = []byte("Cache-Control")
	HdrETag          = []byte("ETag")
	hdrEncoding      = []byte("Content-Encoding")
	HdrNextStart     = []byte("X-Next-Start")
	hdrFault         = []byte("X-Fault")
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

// exposed are the headers of answers that a page of another origin may read: those of a public answer that the contract
// gives a meaning. Without the list, a browser hides all but a few general ones from the page's script.
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
