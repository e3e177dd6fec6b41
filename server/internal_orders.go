package server

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
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

// instrument returns the instrument of a pair code, nil if there is none.
func (s *Internal) instrument(code []byte) *engine.Instrument {
	if v := s.opt.Board.Load().Lookup(string(code)); v != nil {
		return v.Instrument
	}
	return nil
}

// account returns the number of a request's account.
func (s *Internal) account(id [16]byte) (engine.AccountID, *refuse.Refusal) {
	if id == [16]byte{} {
		return 0, nil
	}
	return s.opt.Accounts.Open(id)
}

// placeOrder serves POST /orders.
func (s *Internal) placeOrder(c *Ctx) *refuse.Refusal {
	b := s.take()
	defer s.give(b)
	b.decoded = append(b.decoded[:0], batchCommand{kind: batchPlace})
	o := &b.decoded[0].place
	b.reader.reset(c.PostBody())
	if err := b.reader.decodeOrder(o); err != nil {
		return badBody(err)
	}
	ins := s.instrument(o.pair)
	if ins == nil {
		return refuse.Missing("currencyPairCode", "There is no pair %s.", o.pair)
	}
	account, err := s.account(o.account)
	if err != nil {
		return err
	}
	b.resize(1)
	buildPlace(&b.batch.Commands[0], o, ins, account)
	b.answers[0].request, b.answers[0].ins = o, ins
	if err := b.submit(); err != nil {
		return err
	}
	return s.sendOrder(c, b)
}

func (s *Internal) sendOrder(c *Ctx, b *orderBatch) *refuse.Refusal {
	c.Private(b.answers[0].appendOrder(make([]byte, 0, 1024)))
	return nil
}

// orderOf returns the order id of the path and the instrument of its pair.
func (s *Internal) orderOf(c *Ctx) (engine.OrderID, *engine.Instrument, *refuse.Refusal) {
	text := c.PathParam("id")
	n, ok := parseInteger([]byte(text))
	if !ok {
		return 0, nil, refuse.Param("id", "The order id must be an integer.")
	}
	id := engine.OrderID(n)
	if n >= 0 && n <= maxOrderID && id.Pair() < engine.MaxPairs {
		if v := s.opt.Board.Load().View(id.Pair()); v != nil {
			return id, v.Instrument, nil
		}
	}
	return 0, nil, noOrder(text)
}

func noOrder(id string) *refuse.Refusal { return refuse.Missing("id", "There is no order %s.", id) }

// getOrder serves GET /orders/{id}.
func (s *Internal) getOrder(c *Ctx) *refuse.Refusal {
	id, ins, err := s.orderOf(c)
	if err != nil {
		return err
	}
	a := orderAnswer{ins: ins}
	err = s.query(func() {
		if a.rec, a.found = s.opt.History.Order(id); a.found {
			a.uuid = s.opt.Accounts.ID(a.rec.Account)
		}
	})
	if err != nil {
		return err
	}
	if !a.found {
		return noOrder(c.PathParam("id"))
	}
	c.Private(a.appendOrder(nil))
	return nil
}

// cancelOrder serves DELETE /orders/{id}.
func (s *Internal) cancelOrder(c *Ctx) *refuse.Refusal {
	id, ins, err := s.orderOf(c)
	if err != nil {
		return err
	}
	b := s.take()
	defer s.give(b)
	b.resize(1)
	b.batch.Commands[0] = engine.Command{Kind: engine.Cancel, Pair: ins.ID, Order: id, Flags: engine.FlagAllAccount}
	return s.change(c, b, ins)
}

// replaceOrder serves PATCH /orders/{id}.
func (s *Internal) replaceOrder(c *Ctx) *refuse.Refusal {
	b := s.take()
	defer s.give(b)
	var p replaceRequest
	b.reader.reset(c.PostBody())
	if err := b.reader.decodeReplace(&p); err != nil {
		return badBody(err)
	}
	id, ins, err := s.orderOf(c)
	if err != nil {
		return err
	}
	b.resize(1)
	buildReplace(&b.batch.Commands[0], id, &p, ins)
	return s.change(c, b, ins)
}

// change submits a cancel or replace of one order and sends the order.
func (s *Internal) change(c *Ctx, b *orderBatch, ins *engine.Instrument) *refuse.Refusal {
	b.answers[0].ins = ins
	if err := b.submit(); err != nil {
		return err
	}
	if r := b.answers[0].reason; r != engine.NotRejected {
		return replaceRefusal(r, b.batch.Commands[0].Order)
	}
	return s.sendOrder(c, b)
}

// replaceRefusal returns the refusal of a replace of the order id.
func replaceRefusal(r engine.Reason, id engine.OrderID) *refuse.Refusal {
	field := refusalFields[r]
	switch r {
	case engine.UnknownOrder, engine.UnknownPair:
		return noOrder(fmt.Sprint(uint64(id)))
	case engine.OrderClosed:
		return refuse.New(reasonCode(r), "", "The order %d is closed, or a stop that waits.", id)
	case engine.TotalOutOfRange, engine.InsufficientFunds:
		field = "amount"
	case engine.DuplicateClientOrderID: // a replace has no client order id
		field = ""
	}
	return refuse.New(reasonCode(r), field, "The order %d stays as it is: %s.", id, strings.ReplaceAll(r.String(), "_", " "))
}
