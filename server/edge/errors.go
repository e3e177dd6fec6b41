package edge

import (
	"bytes"
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/server/encode"
)

// statuses maps the code of every refusal to its HTTP status. It is the only table that does.
var statuses = map[refuse.Code]int{
	refuse.InvalidParam:      fasthttp.StatusBadRequest,
	refuse.InsufficientFunds: fasthttp.StatusBadRequest,
	refuse.TotalOutOfRange:   fasthttp.StatusBadRequest,
	refuse.InvalidSymbol:     fasthttp.StatusBadRequest,
	refuse.SymbolTaken:       fasthttp.StatusBadRequest,
	refuse.CooldownActive:    fasthttp.StatusBadRequest,
	refuse.Unauthorized:      fasthttp.StatusUnauthorized,
	refuse.InsufficientFee:   fasthttp.StatusPaymentRequired,
	refuse.Forbidden:         fasthttp.StatusForbidden,
	refuse.LevelTooLow:       fasthttp.StatusForbidden,
	refuse.NoHoldings:        fasthttp.StatusForbidden,
	refuse.NotFound:          fasthttp.StatusNotFound,
	refuse.ProposalNotFound:  fasthttp.StatusNotFound,
	refuse.MethodNotAllowed:  fasthttp.StatusMethodNotAllowed,
	refuse.RequestTimeout:    fasthttp.StatusRequestTimeout,
	refuse.Conflict:          fasthttp.StatusConflict,
	refuse.TooManyOrders:     fasthttp.StatusConflict,
	refuse.ProposalClosed:    fasthttp.StatusConflict,
	refuse.AlreadyVoted:      fasthttp.StatusConflict,
	refuse.PayloadTooLarge:   fasthttp.StatusRequestEntityTooLarge,
	refuse.URITooLong:        fasthttp.StatusRequestURITooLong,
	refuse.UnsupportedMedia:  fasthttp.StatusUnsupportedMediaType,
	refuse.RateLimit:         fasthttp.StatusTooManyRequests,
	refuse.HeadersTooLarge:   fasthttp.StatusRequestHeaderFieldsTooLarge,
	refuse.Internal:          fasthttp.StatusInternalServerError,
	refuse.SpawnerFailed:     fasthttp.StatusInternalServerError,
	refuse.Unavailable:       fasthttp.StatusServiceUnavailable,
	refuse.OutcomeUnknown:    fasthttp.StatusGatewayTimeout,
	refuse.NotWriter:         fasthttp.StatusMisdirectedRequest,
	refuse.Stale:             fasthttp.StatusServiceUnavailable,
}

// init adds the engine's reasons, which are codes too. A reason is 400 when the order breaks
// the pair's rules, 403 when the account is halted, and 409 when only the current state of the market forbids
// the order.
func init() {
	for r := engine.PriceNotPositive; r <= engine.AccountHalted; r++ {
		var status int
		switch r {
		case engine.PriceNotPositive, engine.PriceOffTick, engine.PriceOutOfRange,
			engine.AmountNotPositive, engine.AmountOffLot, engine.AmountOutOfRange,
			engine.TotalOutOfRange, engine.BelowMinQuoteAmount, engine.AboveMaxQuoteAmount,
			engine.PriceOutOfBand, engine.InsufficientFunds:
			status = fasthttp.StatusBadRequest
		case engine.AccountHalted:
			status = fasthttp.StatusForbidden
		default:
			status = fasthttp.StatusConflict
		}
		statuses[entry.Code(r)] = status
	}
}

// statusOf returns the HTTP status of a code. A code without a row is a bug of the program:
// 500.
func statusOf(code refuse.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return fasthttp.StatusInternalServerError
}

var errInternal = &refuse.Refusal{
	Code:    refuse.Internal,
	Message: "The server failed on this request; the request id finds it in the log.",
}

// appendError appends the error object.
func appendError(dst []byte, e *refuse.Refusal, requestID []byte) []byte {
	dst = encode.AppendString(append(dst, `{"code":`...), string(e.Code))
	dst = encode.AppendString(append(dst, `,"message":`...), e.Message)
	dst = append(dst, `,"field":`...)
	if e.Field == "" {
		dst = append(dst, "null"...)
	} else {
		dst = encode.AppendString(dst, e.Field)
	}
	dst = append(append(append(dst, `,"requestId":"`...), requestID...), `"}`...)
	return dst
}

// refuseFunc writes the body and the status of an error answer in the form of another service.
type refuseFunc func(ctx *fasthttp.RequestCtx, e *refuse.Refusal)

// StatusOf returns the HTTP status of a refusal.
func StatusOf(e *refuse.Refusal) int { return statusOf(e.Code) }

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
	ctx.Response.SetStatusCode(statusOf(e.Code))
	h.SetContentTypeBytes(ValJSON)
	h.SetCanonical(HdrCacheControl, ValNoStore)
	h.SetCanonical(hdrRequestID, requestID)
	if e.RetryAfter > 0 {
		h.SetCanonical(hdrRetryAfter, strconv.AppendInt(nil, e.RetryAfter, 10))
	}
	body := appendError(nil, e, requestID)
	if bytes.HasPrefix(ctx.Request.Header.RequestURI(), udfPrefix) {
		body = appendUDFError(body, e)
	}
	ctx.Response.SetBodyRaw(body)
}

// udfPrefix is the prefix of the target of every request of the datafeed protocol.
var udfPrefix = []byte("/udf/")

// appendUDFError adds to body, an error object, the members by which the charting library
// recognizes an error. The library ignores the status and takes a body without s for a symbol.
func appendUDFError(body []byte, e *refuse.Refusal) []byte {
	text := e.Message
	if e.Field == "symbol" {
		text = "unknown_symbol" // the library's own word
	}
	body = append(body[:len(body)-1], `,"s":"error","errmsg":`...)
	return append(encode.AppendString(body, text), '}')
}
