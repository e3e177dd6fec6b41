package admin

import (
	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// orderRoutes returns the routes that place, read and cancel orders.
func orderRoutes(s *Server) []*edge.Route {
	const orders = edge.InternalPrefix + "/orders"
	id := []edge.Field{{Name: "id", Pattern: "^[0-9]{1,16}$"}}
	return []*edge.Route{
		{
			Method: fasthttp.MethodPost, Path: orders, Handle: s.placeOrder, Schema: "PlaceOrder",
			Members: body.OrderMembers,
		},
		{
			Method: fasthttp.MethodPost, Path: orders + "/batch", Handle: s.placeBatch, Schema: "Batch",
			Members: body.BatchMembers,
		},
		{
			Method: fasthttp.MethodDelete, Path: orders, Handle: s.cancelAll,
			Params: []edge.Field{{Name: "accountId", Kind: edge.KindUUID}, edge.ParamPair(edge.PairName, false)},
		},
		{Method: fasthttp.MethodGet, Path: orders + "/{id}", Handle: s.getOrder, Params: id},
		{
			Method: fasthttp.MethodPatch, Path: orders + "/{id}", Handle: s.replaceOrder, Params: id,
			Schema: "ReplaceOrder", Members: body.ReplaceForm.Members(),
		},
		{Method: fasthttp.MethodDelete, Path: orders + "/{id}", Handle: s.cancelOrder, Params: id},
	}
}

// orderBody is a request that carries orders, with memory that later requests reuse. It comes from a pool.
// Owner: one request at a time.
type orderBody struct {
	*entry.Request
	rendered []byte
}

// maxPooledBytes is the largest answer whose memory is kept for the next request.
const maxPooledBytes = 2 << 20

func (s *Server) takeBody() *orderBody {
	b := s.bodies.Get().(*orderBody)
	b.Request = s.opt.Entry.Acquire(0)
	return b
}

func (s *Server) releaseBody(b *orderBody) {
	s.opt.Entry.Release(b.Request)
	b.Request = nil
	if cap(b.rendered) > maxPooledBytes {
		b.rendered = nil
	}
	s.bodies.Put(b)
}

// placeOrder serves POST /orders.
func (s *Server) placeOrder(c *edge.Ctx) *refuse.Refusal {
	b := s.takeBody()
	defer s.releaseBody(b)
	cmd := b.One()
	cmd.Kind = entry.PlaceOrder
	if err := body.DecodeOrder(c.PostBody(), &cmd.Place); err != nil {
		return err
	}
	return s.submitOne(c, b)
}

// submitOne submits the request's only command and sends the order.
func (s *Server) submitOne(c *edge.Ctx, b *orderBody) *refuse.Refusal {
	if err := b.SubmitOne(); err != nil {
		return err
	}
	c.SetSeq(uint64(b.Answers[0].Seq))
	c.Private(appendOrder(make([]byte, 0, 1024), &b.Answers[0]))
	return nil
}

// placeBatch serves POST /orders/batch. It checks the shape of every command before the engine
// applies the first one.
func (s *Server) placeBatch(c *edge.Ctx) *refuse.Refusal {
	b := s.takeBody()
	defer s.releaseBody(b)
	var err *refuse.Refusal
	if b.Commands, err = body.DecodeBatch(c.PostBody(), b.Commands); err != nil {
		return err
	}
	if err := b.Submit(); err != nil {
		return err
	}
	out := append(b.rendered[:0], `{"results":[`...)
	for i := range b.Answers {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendResult(out, &b.Answers[i])
	}
	out, seq := body.AppendSeqs(append(out, ']'), b.Answers)
	c.SetSeq(seq)
	b.rendered = append(out, '}')
	sendOwned(c, b.rendered)
	return nil
}

// sendOwned sends a copy of body, because the caller reuses the memory of body.
func sendOwned(c *edge.Ctx, body []byte) {
	c.Response.Header.SetCanonical(edge.HdrCacheControl, edge.ValNoStore)
	c.Response.Header.SetContentTypeBytes(edge.ValJSON)
	c.Response.SetBody(body)
}

// getOrder serves GET /orders/{id}.
func (s *Server) getOrder(c *edge.Ctx) *refuse.Refusal {
	a, err := s.opt.Entry.Order(0, c.PathParam("id"))
	if err != nil {
		return err
	}
	c.Private(appendOrder(nil, &a))
	return nil
}

// cancelOrder serves DELETE /orders/{id}.
func (s *Server) cancelOrder(c *edge.Ctx) *refuse.Refusal {
	id, _, err := s.opt.Entry.ParseOrder(0, c.PathParam("id"))
	if err != nil {
		return err
	}
	b := s.takeBody()
	defer s.releaseBody(b)
	*b.One() = entry.Command{Kind: entry.CancelOrder, Order: id}
	return s.submitOne(c, b)
}

// replaceOrder serves PATCH /orders/{id}.
func (s *Server) replaceOrder(c *edge.Ctx) *refuse.Refusal {
	b := s.takeBody()
	defer s.releaseBody(b)
	cmd := b.One()
	cmd.Kind = entry.ReplaceOrder
	if err := body.ReplaceForm.Decode(c.PostBody(), &cmd.Replace); err != nil {
		return err
	}
	var err *refuse.Refusal
	if cmd.Order, _, err = s.opt.Entry.ParseOrder(0, c.PathParam("id")); err != nil {
		return err
	}
	return s.submitOne(c, b)
}

// cancelAll serves DELETE /orders?accountId=&currencyPairCode=.
func (s *Server) cancelAll(c *edge.Ctx) *refuse.Refusal {
	m := entry.MassCancel{Everyone: true, Pair: engine.ControlPair}
	accountText, err := c.Str("accountId")
	if err != nil {
		return err
	}
	code, err := c.Str("currencyPairCode")
	if err != nil {
		return err
	}
	uuid, ok := body.ParseUUID(accountText)
	switch {
	case accountText == "" && code == "":
		return refuse.Param("accountId", "At least one of accountId and currencyPairCode is required.")
	case accountText != "" && !ok:
		return refuse.Param("accountId", "The parameter accountId must be a UUID.")
	case code != "" && !engine.ValidPairCode(code):
		return refuse.Param("currencyPairCode",
			"The parameter currencyPairCode must be a pair code of the form BASE_QUOTE.")
	}
	if accountText != "" {
		m.Everyone = false
		if uuid != ([16]byte{}) {
			if m.Account, ok = s.opt.Entry.Find(uuid); !ok {
				return refuse.Missing("accountId", "There is no account %s.", accountText)
			}
		}
	}
	if code != "" {
		ins := s.opt.Entry.Instrument([]byte(code))
		if ins == nil {
			return refuse.Missing("currencyPairCode", "There is no pair %s.", code)
		}
		m.Pair = ins.ID
	}
	canceled, err := s.opt.Entry.CancelAll(m)
	if err != nil {
		return err
	}
	c.Private(encode.AppendCanceled(canceled))
	return nil
}
