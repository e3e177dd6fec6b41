package edge

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
)

// refuseOnReplica returns the refusal of a request that a replica does not serve. Early routes answer in any case.
func (e *Listener) refuseOnReplica(c *Ctx) *refuse.Refusal {
	signed := c.route.Auth == AuthRequired || c.route.Auth == AuthOptional &&
		c.Request.Header.PeekCanonical(ReqPublicKey) != nil
	if signed || c.route.Method != fasthttp.MethodGet {
		return refuse.New(refuse.NotWriter, "", "This is a replica: it serves public reads only and executed nothing. "+
			"Send signed requests and changes to the writer.")
	}
	if c.route.Early {
		return nil
	}
	lag := max(e.lagNs(), 0)
	ms := lag / int64(time.Millisecond)
	c.Response.Header.SetCanonical(hdrLagMs, strconv.AppendInt(c.number[:0], ms, 10))
	if lag > e.maxLagNs {
		return refuse.New(refuse.Stale, "", "This replica is %d ms behind the writer, and at most %d are allowed. "+
			"Ask the writer or another replica.", ms, e.maxLagNs/int64(time.Millisecond)).After(1)
	}
	return nil
}
