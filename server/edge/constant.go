package edge

import "github.com/valyala/fasthttp"

// NewConstant returns the reference server of docs/internals/performance.md#http: it has every
// limit and timeout of a server from New, but answers each request with the same bytes.
func NewConstant(o Options, body []byte) (*Server, error) {
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	s.public.HTTP.Handler = func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.SetContentTypeBytes(ValJSON)
		ctx.Response.SetBodyRaw(body)
	}
	return s, nil
}
