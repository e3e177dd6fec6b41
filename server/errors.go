package server

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/valyala/fasthttp"
)

// The error codes of Decisions section 2.1 and the status that each comes with. Codes of
// single routes (api.md, "Errors") are written where they are decided.
const (
	CodeInvalidParam     = "INVALID_PARAM"
	CodeUnauthorized     = "UNAUTHORIZED"
	CodeForbidden        = "FORBIDDEN"
	CodeNotFound         = "NOT_FOUND"
	CodeMethodNotAllowed = "METHOD_NOT_ALLOWED"
	CodeRequestTimeout   = "REQUEST_TIMEOUT"
	CodeConflict         = "CONFLICT"
	CodePayloadTooLarge  = "PAYLOAD_TOO_LARGE"
	CodeURITooLong       = "URI_TOO_LONG"
	CodeUnsupportedMedia = "UNSUPPORTED_MEDIA_TYPE"
	CodeRateLimit        = "RATE_LIMIT"
	CodeHeadersTooLarge  = "HEADERS_TOO_LARGE"
	CodeInternal         = "INTERNAL"
	CodeUnavailable      = "UNAVAILABLE"
	CodeOutcomeUnknown   = "OUTCOME_UNKNOWN"
)

// Error is the answer of a request that was refused: the object of Decisions section 2.1
// without its request id. Message is a sentence that names the rule and the limit; Field
// is empty when the error is of no single member.
type Error struct {
	Status  int
	Code    string
	Message string
	Field   string
	// RetryAfter in whole seconds is sent as the header of that name when above 0.
	RetryAfter int64
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// BadParam is 400 INVALID_PARAM for one parameter, header or member.
func BadParam(field, format string, args ...any) *Error {
	return &Error{Status: fasthttp.StatusBadRequest, Code: CodeInvalidParam, Field: field, Message: fmt.Sprintf(format, args...)}
}

// NotFound is 404 NOT_FOUND for a thing that a parameter names.
func NotFound(field, format string, args ...any) *Error {
	return &Error{Status: fasthttp.StatusNotFound, Code: CodeNotFound, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Unauthorized is 401 UNAUTHORIZED.
func Unauthorized(field, format string, args ...any) *Error {
	return &Error{Status: fasthttp.StatusUnauthorized, Code: CodeUnauthorized, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Forbidden is 403 FORBIDDEN.
func Forbidden(format string, args ...any) *Error {
	return &Error{Status: fasthttp.StatusForbidden, Code: CodeForbidden, Message: fmt.Sprintf(format, args...)}
}

// Conflict is 409 CONFLICT.
func Conflict(format string, args ...any) *Error {
	return &Error{Status: fasthttp.StatusConflict, Code: CodeConflict, Message: fmt.Sprintf(format, args...)}
}

// Unavailable is 503 UNAVAILABLE with Retry-After in seconds.
func Unavailable(retryAfter int64, format string, args ...any) *Error {
	return &Error{
		Status: fasthttp.StatusServiceUnavailable, Code: CodeUnavailable,
		Message: fmt.Sprintf(format, args...), RetryAfter: retryAfter,
	}
}

// outcomeUnknown is 504 OUTCOME_UNKNOWN: a change was written and the disk did not confirm
// it, so the next start may find it or not. what is the change, a subject; then is what the
// caller does to learn which.
func outcomeUnknown(what, then string) *Error {
	return &Error{
		Status: fasthttp.StatusGatewayTimeout, Code: CodeOutcomeUnknown,
		Message: what + " may have been recorded: the disk did not confirm the write. When the exchange takes changes again, " + then,
	}
}

// badBody is 400 for a body that the strict reader refused.
func badBody(e *bodyError) *Error {
	return &Error{Status: fasthttp.StatusBadRequest, Code: CodeInvalidParam, Message: e.Message, Field: e.Field}
}

var errInternal = &Error{
	Status: fasthttp.StatusInternalServerError, Code: CodeInternal,
	Message: "The server failed on this request; the request id finds it in the log.",
}

// appendError appends the error object.
func appendError(dst []byte, e *Error, requestID []byte) []byte {
	dst = appendJSONString(append(dst, `{"code":`...), e.Code)
	dst = appendJSONString(append(dst, `,"message":`...), e.Message)
	dst = append(dst, `,"field":`...)
	if e.Field == "" {
		dst = append(dst, "null"...)
	} else {
		dst = appendJSONString(dst, e.Field)
	}
	dst = append(append(append(dst, `,"requestId":"`...), requestID...), `"}`...)
	return dst
}

// writeError makes the response an error answer. Headers that the request already earned
// (CORS, rate limit, Allow) stay.
func writeError(ctx *fasthttp.RequestCtx, e *Error, requestID []byte) {
	h := &ctx.Response.Header
	ctx.Response.SetStatusCode(e.Status)
	h.SetContentTypeBytes(valJSON)
	h.SetCanonical(hdrCacheControl, valNoStore)
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
