package edge

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/server/forward"
)

// answerOnReplica forwards a request that only the writer can answer, and refuses a read of views that are too old.
// done reports that the request has its answer. Early routes answer in any case.
func (e *Listener) answerOnReplica(c *Ctx) (done bool, err *refuse.Refusal) {
	signed := c.route.Auth == AuthRequired || c.route.Auth == AuthOptional &&
		c.Request.Header.PeekCanonical(reqPublicKey) != nil
	if signed || c.route.Method != fasthttp.MethodGet {
		return true, e.forward(c)
	}
	if c.route.Early {
		return false, nil
	}
	ms, err := e.replica.Read()
	c.Response.Header.SetCanonical(hdrLagMs, strconv.AppendInt(c.number[:0], ms, 10))
	return err != nil, err
}

// forward makes the writer's answer the answer of c.
func (e *Listener) forward(c *Ctx) *refuse.Refusal {
	return e.replica.Forward.Do(c.RequestCtx, c.ClientAddr(), c.id)
}

// takeClient takes the client's address from the header of a replica.
func (e *Listener) takeClient(c *Ctx) *refuse.Refusal {
	if e.peers == nil || len(c.Request.Header.PeekAll(forward.ClientHeader)) == 0 {
		return nil
	}
	addr, ok := e.peers.Client(&c.Request, e.MachineNs())
	if !ok {
		return refuse.New(refuse.Forbidden, forward.ClientHeader, "Only a node of this cluster may name the client "+
			"of a request: its key (cluster.key_file) or its clock differs.")
	}
	c.client = addr.Unmap()
	return nil
}
