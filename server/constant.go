package server

import "github.com/valyala/fasthttp"

// NewConstant is the reference of docs/internals/performance.md#http: a server made as New makes
// it, with every limit and timeout, that answers each request with the same bytes.
func NewConstant(o Options, body []byte) (*Server, error) {
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	s.public.http.Handler = func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.SetContentTypeBytes(valJSON)
		ctx.Response.SetBodyRaw(body)
	}
	return s, nil
}
