package edge

import (
	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/refuse"
)

// The paths of the probes, which every listener serves to supervisors. They need no credentials, count against no limit
// and answer while the server recovers.
const (
	LivePath  = "/healthz" // 200: the process answers
	ReadyPath = "/readyz"  // 200: the server serves clients, else 503 with the reason
)

// Probes returns the routes of the probes. ReadyProbe explains unready. A server that lives is never restarted for
// being unready: a replica that is behind its writer would only be further behind.
func Probes(unready func() *refuse.Refusal) []*Route {
	live := func(c *Ctx) *refuse.Refusal {
		c.Private([]byte(`{"live":true}`))
		return nil
	}
	return []*Route{
		probe(LivePath, live).Does("getLive", "Liveness for a supervisor"),
		ReadyProbe(ReadyPath, unready).
			Does("getReadyProbe", "Readiness for a supervisor; 503 until clients are served"),
	}
}

// ReadyProbe returns the route of a readiness probe. unready returns the reason why clients are not served, nil while
// they are.
func ReadyProbe(path string, unready func() *refuse.Refusal) *Route {
	return probe(path, func(c *Ctx) *refuse.Refusal {
		if err := unready(); err != nil {
			return err
		}
		c.Private([]byte(`{"ready":true}`))
		return nil
	})
}

func probe(path string, handle Handler) *Route {
	return &Route{
		Method: fasthttp.MethodGet, Path: path, Handle: handle, Class: ClassExempt, Auth: AuthNever,
		Public: true, Early: true, Namespace: NamespaceBoth,
	}
}
