package server

import (
	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
)

// internalOrderRoutes returns the routes of order entry and look-up.
func internalOrderRoutes(s *Internal) []*Route {
	const orders = internalPrefix + "/orders"
	return []*Route{
		{Method: fasthttp.MethodPost, Path: orders, Handle: s.placeOrder},
		{Method: fasthttp.MethodPost, Path: orders + "/batch", Handle: s.placeBatch},
		{Method: fasthttp.MethodDelete, Path: orders, Handle: s.cancelAll, Query: []string{"accountId", "currencyPairCode"}},
		{Method: fasthttp.MethodGet, Path: orders + "/{id}", Handle: s.getOrder},
		{Method: fasthttp.MethodPatch, Path: orders + "/{id}", Handle: s.replaceOrder},
		{Method: fasthttp.MethodDelete, Path: orders + "/{id}", Handle: s.cancelOrder},
	}
}

// orderBody is the reused memory of a request that carries orders, and the request. It is
// pooled. Owner: one request at a time.
type orderBody struct {
	*entry.Request
	reader   bodyReader
	rendered []byte
}

// maxRendered is the largest answer whose memory is kept for the next request.
const maxRendered = 2 << 20

func (s *Internal) take(c *Ctx) *orderBody {
	b := s.bodies.Get().(*orderBody)
	b.Request = s.opt.Entry.Take(0)
	b.reader.reset(c.PostBody())
	return b
}

func (s *Internal) give(b *orderBody) {
	s.opt.Entry.Give(b.Request)
	b.Request = nil
	b.reader.reset(nil)
	if cap(b.rendered) > maxRendered {
		b.rendered = nil
	}
	s.bodies.Put(b)
}

// placeOrder serves POST /orders.
func (s *Internal) placeOrder(c *Ctx) *refuse.Refusal {
	b := s.take(c)
	defer s.give(b)
	cmd := b.One()
	cmd.Kind = entry.PlaceOrder
	if err := b.reader.decodeOrder(&cmd.Place); err != nil {
		return badBody(err)
	}
	return s.submitOne(c, b)
}

// submitOne submits the request's only command and sends the order.
func (s *Internal) submitOne(c *Ctx, b *orderBody) *refuse.Refusal {
	if err := b.SubmitOne(); err != nil {
		return err
	}
	c.Private(appendOrder(make([]byte, 0, 1024), &b.Answers[0]))
	return nil
}

// placeBatch serves POST /orders/batch. It checks the shape of every command before the engine
// applies the first one.
func (s *Internal) placeBatch(c *Ctx) *refuse.Refusal {
	b := s.take(c)
	defer s.give(b)
	var berr *bodyError
	if b.Commands, berr = b.reader.decodeBatch(b.Commands); berr != nil {
		return badBody(berr)
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
	b.rendered = append(out, "]}"...)
	c.sendOwned(b.rendered)
	return nil
}

// sendOwned sends a copy of body, because the caller reuses the memory of body.
func (c *Ctx) sendOwned(body []byte) {
	c.Response.Header.SetCanonical(hdrCacheControl, valNoStore)
	c.Response.Header.SetContentTypeBytes(valJSON)
	c.Response.SetBody(body)
}

// getOrder serves GET /orders/{id}.
func (s *Internal) getOrder(c *Ctx) *refuse.Refusal {
	a, err := s.opt.Entry.Order(0, c.PathParam("id"))
	if err != nil {
		return err
	}
	c.Private(appendOrder(nil, &a))
	return nil
}

// cancelOrder serves DELETE /orders/{id}.
func (s *Internal) cancelOrder(c *Ctx) *refuse.Refusal {
	id, _, err := s.opt.Entry.ParseOrder(0, c.PathParam("id"))
	if err != nil {
		return err
	}
	b := s.take(c)
	defer s.give(b)
	*b.One() = entry.Command{Kind: entry.CancelOrder, Order: id}
	return s.submitOne(c, b)
}

// replaceOrder serves PATCH /orders/{id}.
func (s *Internal) replaceOrder(c *Ctx) *refuse.Refusal {
	b := s.take(c)
	defer s.give(b)
	cmd := b.One()
	cmd.Kind = entry.ReplaceOrder
	if err := b.reader.decodeReplace(&cmd.Replace); err != nil {
		return badBody(err)
	}
	var err *refuse.Refusal
	if cmd.Order, _, err = s.opt.Entry.ParseOrder(0, c.PathParam("id")); err != nil {
		return err
	}
	return s.submitOne(c, b)
}

// cancelAll serves DELETE /orders?accountId=&currencyPairCode=.
func (s *Internal) cancelAll(c *Ctx) *refuse.Refusal {
	m := entry.MassCancel{Everyone: true, Pair: engine.ControlPair}
	accountText, err := c.Str("accountId")
	if err != nil {
		return err
	}
	code, err := c.Str("currencyPairCode")
	if err != nil {
		return err
	}
	uuid, ok := parseUUID(accountText)
	switch {
	case accountText == "" && code == "":
		return refuse.Param("accountId", "At least one of accountId and currencyPairCode is required.")
	case accountText != "" && !ok:
		return refuse.Param("accountId", "The parameter accountId must be a UUID.")
	case code != "" && !isPairCode(code):
		return refuse.Param("currencyPairCode", "The parameter currencyPairCode must be a pair code of the form BASE_QUOTE.")
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
		ins := s.instrument([]byte(code))
		if ins == nil {
			return refuse.Missing("currencyPairCode", "There is no pair %s.", code)
		}
		m.Pair = ins.ID
	}
	canceled, err := s.opt.Entry.CancelAll(m)
	if err != nil {
		return err
	}
	c.Private(appendCanceled(canceled))
	return nil
}
