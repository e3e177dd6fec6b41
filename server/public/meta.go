package public

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
	"tickhive/server/encode"
	"tickhive/server/health"
)

// metaRoutes returns the routes about the service itself. Their answers have no ETag and are never cached.
func metaRoutes(m *Market) []*edge.Route {
	probes := health.Routes(m.unready)
	return append(probes, []*edge.Route{
		{
			Method: fasthttp.MethodGet, Path: "/api/healthcheck", Handle: m.healthcheck,
			Class: edge.ClassExempt, Auth: edge.AuthNever, Public: true, Early: true, Namespace: edge.NamespaceBoth,
		},
		{Method: fasthttp.MethodGet, Path: "/api/time", Handle: m.time, Public: true, Time: true},
		{Method: fasthttp.MethodGet, Path: "/api/status", Handle: m.status, Public: true, Early: true},
	}...)
}

// healthcheck answers a constant string with the version, which shows that the process is alive.
func (m *Market) healthcheck(c *edge.Ctx) *refuse.Refusal {
	c.Private(append(append([]byte(`"TickHive v`), m.opt.Version...), '"'))
	return nil
}

// time answers the time of the process clock, which also checks the timestamps of signed requests.
func (m *Market) time(c *edge.Ctx) *refuse.Refusal {
	ns := m.opt.Clock.NowNs() + c.SkewNs()
	b := strconv.AppendInt([]byte(`{"serverTime":`), encode.FloorDiv(ns, 1_000_000), 10)
	b = append(b, `,"iso":"`...)
	b = encode.AppendISO(b, ns, 3)
	c.Private(append(b, `"}`...))
	return nil
}
