package health

import (
	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

// The probes. They need no credentials, count against no limit and answer while the server recovers.
const (
	LivePath  = "/healthz" // 200: the process answers
	ReadyPath = "/readyz"  // 200: the server serves clients, else 503
)

// Routes returns the routes of the probes.
func Routes(ready func() bool) []*edge.Route {
	live := func(c *edge.Ctx) *refuse.Refusal {
		c.Private([]byte(`{"live":true}`))
		return nil
	}
	return []*edge.Route{probe(LivePath, live), Ready(ReadyPath, ready)}
}

// Ready returns the route of a readiness probe.
func Ready(path string, ready func() bool) *edge.Route {
	return probe(path, func(c *edge.Ctx) *refuse.Refusal {
		if !ready() {
			return refuse.Later(1, edge.Recovering)
		}
		c.Private([]byte(`{"ready":true}`))
		return nil
	})
}

func probe(path string, handle edge.Handler) *edge.Route {
	return &edge.Route{
		Method: fasthttp.MethodGet, Path: path, Handle: handle, Class: edge.ClassExempt, Auth: edge.AuthNever,
		Public: true, Early: true, Namespace: edge.NamespaceBoth,
	}
}
