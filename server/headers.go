package server

import "github.com/valyala/fasthttp"

// Names of answer headers as sent, of request headers as fasthttp normalizes them, and constant
// header values. They are bytes, so that an answer converts nothing.
var (
	hdrAllow         = []byte("Allow")
	hdrCacheControl  = []byte("Cache-Control")
	hdrETag          = []byte("ETag")
	hdrNextStart     = []byte("X-Next-Start")
	hdrRequestID     = []byte("X-Request-Id")
	hdrRetryAfter    = []byte("Retry-After")
	hdrSeq           = []byte("X-Seq")
	hdrTruncated     = []byte("X-Truncated")
	hdrVary          = []byte("Vary")
	hdrRateLimit     = []byte("X-RateLimit-Limit")
	hdrRateRemaining = []byte("X-RateLimit-Remaining")
	hdrRateReset     = []byte("X-RateLimit-Reset")
	hdrCORSOrigin    = []byte("Access-Control-Allow-Origin")
	hdrCORSMethods   = []byte("Access-Control-Allow-Methods")
	hdrCORSHeaders   = []byte("Access-Control-Allow-Headers")
	hdrCORSMaxAge    = []byte("Access-Control-Max-Age")
	hdrCSP           = []byte("Content-Security-Policy")
	hdrNoSniff       = []byte("X-Content-Type-Options")

	reqAcceptEncoding = []byte("Accept-Encoding")
	reqIfNoneMatch    = []byte("If-None-Match")
	reqPublicKey      = []byte("Api-Publickey") // API-PublicKey as the request parser normalizes it

	valJSON      = []byte("application/json; charset=utf-8")
	valNoStore   = []byte("no-store")
	valMaxAge1   = []byte("public, max-age=1")
	valMaxAge5   = []byte("public, max-age=5")
	valVary      = []byte("Accept-Encoding")
	valGzip      = []byte("gzip")
	valStar      = []byte("*")
	valNoSniff   = []byte("nosniff")
	valTrue      = []byte("true")
	valDay       = []byte("86400")
	valCORSAllow = []byte("Content-Type, If-None-Match, X-Request-Id, API-PublicKey, API-Timestamp, API-Nonce, API-Signature, API-RecvWindow")
)

// credentialHeaders are the headers of a signed request. None may occur twice: a proxy may have
// checked one copy, and the server would read the other.
var credentialHeaders = [...]string{"API-PublicKey", "API-Timestamp", "API-Nonce", "API-Signature", "API-RecvWindow"}

// repeatedCredential returns the first credential header that occurs more than once, else "".
func repeatedCredential(h *fasthttp.RequestHeader) string {
	for _, name := range credentialHeaders {
		if len(h.PeekAll(name)) > 1 {
			return name
		}
	}
	return ""
}
