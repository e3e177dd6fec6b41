package health

import (
	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

// The probes. They need no credentials, count against no limit and answer while the server recovers.
const (
	LivePath  = "/healthz" // 200: the process answers
	ReadyPath = "/readyz"  // 200: the server serves clients, else 503 with the reason
)

// Routes returns the routes of the probes. Ready explains unready. A server that lives is never restarted for being
// unready: a replica that is behind its writer would only be further behind.
func Routes(unready func() *refuse.Refusal) []*edge.Route {
	live := func(c *edge.Ctx) *refuse.Refusal {
		c.Private([]byte(`{"live":true}`))
		return nil
	}
	return []*edge.Route{probe(LivePath, live), Ready(ReadyPath, unready)}
}

// Ready returns the route of a readiness probe. unready returns the reason why clients are not served, nil while they
// are.
func Ready(path string, unready func() *refuse.Refusal) *edge.Route {
	return probe(path, func(c *edge.Ctx) *refuse.Refusal {
		if err := unready(); err != nil {
			return err
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
