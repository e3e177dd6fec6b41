package binance

import (
	"fmt"
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// The error codes of the other exchange that this package uses.
const (
	codeUnknown        = -1000
	codeDisconnected   = -1001
	codeUnauthorized   = -1002
	codeFilter         = -1013
	codeBadTime        = -1021
	codeBadSignature   = -1022
	codeTooManyWeight  = -1003
	codeTimeout        = -1007
	codeUnsupported    = -1020
	codeIllegalChars   = -1100
	codeTooManyParams  = -1101
	codeMandatory      = -1102
	codeUnreadParams   = -1104
	codeNotRequired    = -1106
	codeTooPrecise     = -1111
	codeBadTIF         = -1115
	codeBadType        = -1116
	codeBadSide        = -1117
	codeBadInterval    = -1120
	codeBadSymbol      = -1121
	codeNoListenKey    = -1125
	codeOptionalParams = -1128
	codeInvalidParam   = -1130
	codeBadWindow      = -1131
	codeOrderRejected  = -2010
	codeCancelRejected = -2011
	codeNoOrder        = -2013
	codeHMACLogon      = -4056
	codeBadKeyFormat   = -2014
	codeRejectedKey    = -2015
	codePartlyReplaced = -2021
	codeNotReplaced    = -2022
	codeAmendRejected  = -2038
)

// failure is an error answer in the form of the other exchange.
type failure struct {
	status     int // 0: 400
	code       int
	msg        string
	retryAfter int64  // seconds; 0: none
	data       []byte // member data, for a change in two steps; nil: none
}

func fail(code int, format string, args ...any) *failure {
	return &failure{code: code, msg: fmt.Sprintf(format, args...)}
}

// with sets the status and returns e.
func (e *failure) with(status int) *failure {
	e.status = status
	return e
}

func missing(name string) *failure {
	return fail(codeMandatory, "Mandatory parameter '%s' was not sent, was empty/null, or malformed.", name)
}

func invalid(name string) *failure {
	return fail(codeInvalidParam, "Data sent for parameter '%s' is not valid.", name)
}

func twice(name string) *failure {
	return fail(codeTooManyParams, "Duplicate values for parameter '%s' detected.", name)
}

func illegal(name, pattern string) *failure {
	return fail(codeIllegalChars, "Illegal characters found in parameter '%s'; legal range is '%s'.", name, pattern)
}

// unsupported is the answer to a function of the other exchange that has no counterpart here.
var unsupported = &failure{code: codeUnsupported, msg: "This operation is not supported."}

// body returns the JSON of the answer.
func (e *failure) body() []byte {
	b := strconv.AppendInt([]byte(`{"code":`), int64(e.code), 10)
	b = encode.AppendString(append(b, `,"msg":`...), e.msg)
	if e.data != nil {
		b = append(append(b, `,"data":`...), e.data...)
	}
	return append(b, '}')
}

// send makes the response an error answer.
func (e *failure) send(ctx *fasthttp.RequestCtx) {
	status := e.status
	if status == 0 {
		status = fasthttp.StatusBadRequest
	}
	ctx.Response.SetStatusCode(status)
	h := &ctx.Response.Header
	h.SetContentTypeBytes(edge.ValJSON)
	h.SetCanonical(edge.HdrCacheControl, edge.ValNoStore)
	if e.retryAfter > 0 {
		h.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(e.retryAfter, 10))
	}
	ctx.Response.SetBodyRaw(e.body())
}

// sendRefusal is the form in which the listener refuses what reaches no handler.
func sendRefusal(ctx *fasthttp.RequestCtx, r *refuse.Refusal) { fromRefusal(r).send(ctx) }

// fromRefusal translates a refusal of this service. The status stays.
func fromRefusal(r *refuse.Refusal) *failure {
	e := &failure{status: edge.StatusOf(r), code: codeUnknown, msg: r.Message, retryAfter: r.RetryAfter}
	switch r.Code {
	case refuse.NotFound, refuse.MethodNotAllowed:
		e.code, e.msg = unsupported.code, unsupported.msg
	case refuse.RateLimit:
		e.code = codeTooManyWeight
	case refuse.Unavailable, refuse.Internal, refuse.RequestTimeout:
		e.code = codeDisconnected
	case refuse.OutcomeUnknown:
		e.code = codeTimeout
		e.msg = "Timeout waiting for response from backend server. Send status unknown; execution status unknown."
	case refuse.Unauthorized, refuse.Forbidden:
		e.code = codeUnauthorized
	default: // Binance has no code for what is wrong with the request itself
	}
	return e
}
