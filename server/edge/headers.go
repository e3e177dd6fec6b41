package edge

import "github.com/valyala/fasthttp"

// Names of answer headers as sent, of request headers as fasthttp normalizes them, and constant
// header values. They are bytes, so that an answer converts nothing.
var (
	hdrAllow         = []byte("Allow")
	HdrCacheControl  = []byte("Cache-Control")
	HdrETag          = []byte("ETag")
	HdrNextStart     = []byte("X-Next-Start")
	hdrRequestID     = []byte("X-Request-Id")
	hdrRetryAfter    = []byte("Retry-After")
	hdrSeq           = []byte("X-Seq")
	HdrTruncated     = []byte("X-Truncated")
	hdrVary          = []byte("Vary")
	hdrRateLimit     = []byte("X-RateLimit-Limit")
	hdrRateRemaining = []byte("X-RateLimit-Remaining")
	hdrRateReset     = []byte("X-RateLimit-Reset")
	hdrCORSOrigin    = []byte("Access-Control-Allow-Origin")
	hdrCORSMethods   = []byte("Access-Control-Allow-Methods")
	hdrCORSHeaders   = []byte("Access-Control-Allow-Headers")
	hdrCORSMaxAge    = []byte("Access-Control-Max-Age")
	HdrCSP           = []byte("Content-Security-Policy")
	HdrNoSniff       = []byte("X-Content-Type-Options")

	ReqAcceptEncoding = []byte("Accept-Encoding")
	reqIfNoneMatch    = []byte("If-None-Match")
	ReqPublicKey      = []byte("Api-Publickey") // API-PublicKey as the request parser normalizes it

	ValJSON      = []byte("application/json; charset=utf-8")
	ValNoStore   = []byte("no-store")
	valVary      = []byte("Accept-Encoding")
	valGzip      = []byte("gzip")
	valStar      = []byte("*")
	ValNoSniff   = []byte("nosniff")
	ValTrue      = []byte("true")
	valDay       = []byte("86400")
	valCORSAllow = []byte("Content-Type, If-None-Match, X-Request-Id, API-PublicKey, API-Timestamp, API-Nonce, " +
		"API-Signature, API-RecvWindow")
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
