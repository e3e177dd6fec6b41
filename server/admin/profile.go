package admin

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

const profilePath = "/debug/pprof"

// profileRoutes returns the routes of the Go runtime's profiles.
func profileRoutes() []*edge.Route {
	wrap := func(h http.HandlerFunc) edge.Handler {
		f := fasthttpadaptor.NewFastHTTPHandler(h)
		return func(c *edge.Ctx) *refuse.Refusal {
			f(c.RequestCtx)
			if status := c.Response.StatusCode(); status != fasthttp.StatusOK {
				return profileError(c, status)
			}
			return nil
		}
	}
	seconds := []edge.Field{{Name: "seconds", Kind: edge.KindInteger, Range: []int64{1}}}
	return []*edge.Route{
		{Method: fasthttp.MethodGet, Path: profilePath, Handle: wrap(pprof.Index)},
		{Method: fasthttp.MethodGet, Path: profilePath + "/cmdline", Handle: wrap(pprof.Cmdline)},
		{Method: fasthttp.MethodGet, Path: profilePath + "/profile", Handle: wrap(pprof.Profile), Params: seconds},
		{Method: fasthttp.MethodGet, Path: profilePath + "/symbol", Handle: wrap(pprof.Symbol)},
		{Method: fasthttp.MethodGet, Path: profilePath + "/trace", Handle: wrap(pprof.Trace), Params: seconds},
		{Method: fasthttp.MethodGet, Path: profilePath + "/{name}", Handle: wrap(pprof.Index)},
	}
}

// profileError converts the plain-text error of net/http/pprof to the error object of the API.
func profileError(c *edge.Ctx, status int) *refuse.Refusal {
	text := strings.TrimSpace(string(c.Response.Body()))
	c.Response.Reset()
	switch status {
	case fasthttp.StatusNotFound:
		return refuse.Missing("name", "There is no profile of this name.")
	case fasthttp.StatusBadRequest:
		return refuse.Param("seconds", "The profile cannot be taken: %s.", text)
	}
	return refuse.Later(1, "The profile cannot be taken now: %s.", text)
}

// trimProfilePath removes the trailing slash of /debug/pprof/, the only path of the contract with one.
func trimProfilePath(ctx *fasthttp.RequestCtx) {
	target := string(ctx.Request.Header.RequestURI())
	if rest, ok := strings.CutPrefix(target, profilePath+"/"); ok && (rest == "" || rest[0] == '?') {
		ctx.Request.SetRequestURI(profilePath + rest)
	}
}
