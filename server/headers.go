package server

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
	valTrue      = []byte("true")
	valDay       = []byte("86400")
	valCORSAllow = []byte("Content-Type, If-None-Match, X-Request-Id, API-PublicKey, API-Timestamp, API-Nonce, API-Signature, API-RecvWindow")
)
