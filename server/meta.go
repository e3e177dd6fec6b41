package server

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
)

// metaRoutes returns the routes about the service itself: no ETag, no-store.
func metaRoutes(s *Server) []*Route {
	return []*Route{
		{
			Method: fasthttp.MethodGet, Path: "/api/healthcheck", Handle: s.healthcheck,
			Class: ClassExempt, Auth: AuthNever, Public: true, Early: true, Namespace: NamespaceBoth,
		},
		{Method: fasthttp.MethodGet, Path: "/api/time", Handle: s.time, Public: true, Query: []string{"decimals"}},
		{Method: fasthttp.MethodGet, Path: "/api/status", Handle: s.status, Public: true, Early: true, Query: []string{"decimals"}},
	}
}

// healthcheck answers the liveness string, as long as the process can answer at all.
func (s *Server) healthcheck(c *Ctx) *refuse.Refusal {
	c.Private(append(append([]byte(`"TickHive v`), s.opt.Version...), '"'))
	return nil
}

// time answers the process clock, against which signatures are checked.
func (s *Server) time(c *Ctx) *refuse.Refusal {
	ns := s.opt.Clock.NowNs()
	b := strconv.AppendInt([]byte(`{"serverTime":`), floorDiv(ns, 1_000_000), 10)
	b = append(b, `,"iso":"`...)
	b = appendISO(b, ns, 3)
	c.Private(append(b, `"}`...))
	return nil
}
