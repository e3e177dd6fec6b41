package admin

import (
	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

// placeList serves POST /orders/lists. Unlike an order, a list that is refused is an error: it has no object to show.
func (s *Server) placeList(c *edge.Ctx) *refuse.Refusal {
	b := s.takeBody()
	defer s.releaseBody(b)
	cmd := b.One()
	cmd.Kind = entry.PlaceOrderList
	if err := objects.DecodeList(c.PostBody(), &cmd.List); err != nil {
		return err
	}
	return s.submitList(c, b)
}

// submitList submits the request's only command, which is one of a list, and sends the list.
func (s *Server) submitList(c *edge.Ctx, b *orderBody) *refuse.Refusal {
	if err := b.SubmitOne(); err != nil {
		return err
	}
	c.SetSeq(uint64(b.Answers[0].Seq))
	sendList(c, b.Answers[0].List)
	return nil
}

func sendList(c *edge.Ctx, l *entry.OrderList) {
	var w json.Writer
	writeList(&w, l)
	c.Private(w.Bytes())
}

// cancelList serves DELETE /orders/lists/{listId}.
func (s *Server) cancelList(c *edge.Ctx) *refuse.Refusal {
	id, err := s.pathList(c)
	if err != nil {
		return err
	}
	return s.endList(c, id)
}

func (s *Server) endList(c *edge.Ctx, id engine.OrderID) *refuse.Refusal {
	b := s.takeBody()
	defer s.releaseBody(b)
	*b.One() = entry.Command{Kind: entry.CancelOrder, Order: id, ByList: true}
	return s.submitList(c, b)
}

// pathList returns the id of the list that the path names.
func (s *Server) pathList(c *edge.Ctx) (engine.OrderID, *refuse.Refusal) {
	text, err := listID.Of(c)
	if err != nil {
		return 0, err
	}
	return s.opt.Entry.ParseList(0, text)
}

// getList serves GET /orders/lists/{listId}.
func (s *Server) getList(c *edge.Ctx) *refuse.Refusal {
	id, err := s.pathList(c)
	if err != nil {
		return err
	}
	l, err := s.opt.Entry.List(0, id)
	if err != nil {
		return err
	}
	sendList(c, &l)
	return nil
}

// getClientList serves GET /orders/lists/by-client-id/{currencyPairCode}/{clientOrderId}.
func (s *Server) getClientList(c *edge.Ctx) *refuse.Refusal {
	l, err := s.listByClient(c)
	if err != nil {
		return err
	}
	sendList(c, &l)
	return nil
}

// cancelClientList serves DELETE /orders/lists/by-client-id/{currencyPairCode}/{clientOrderId}.
func (s *Server) cancelClientList(c *edge.Ctx) *refuse.Refusal {
	l, err := s.listByClient(c)
	if err != nil {
		return err
	}
	return s.endList(c, l.ID)
}

// listByClient returns the list that the path names by its client id, and the query by its account.
func (s *Server) listByClient(c *edge.Ctx) (l entry.OrderList, err *refuse.Refusal) {
	code, err := listPair.Of(c)
	if err != nil {
		return l, err
	}
	client, err := clientID.Of(c)
	if err != nil {
		return l, err
	}
	uuid, named, err := owner.Find(c)
	if err != nil {
		return l, err
	}
	account := engine.AccountID(0)
	if named && uuid != [16]byte{} {
		if account, named = s.opt.Entry.Find(uuid); !named {
			return l, refuse.Missing("accountId", "There is no account %s.", json.AppendUUID(nil, uuid))
		}
	}
	v := s.opt.Board.Load().LookupAll(string(code))
	if v == nil {
		return l, refuse.Missing(objects.PairName, "There is no pair %s.", code)
	}
	return s.opt.Entry.ClientList(account, v.Instrument.ID, client)
}

// getAmendments serves GET /orders/{id}/amendments.
func (s *Server) getAmendments(c *edge.Ctx) *refuse.Refusal {
	text, err := orderID.Of(c)
	if err != nil {
		return err
	}
	a, err := s.opt.Entry.Order(0, text)
	if err != nil {
		return err
	}
	rows, err := s.opt.Entry.Amendments(a.Record.ID, 0, objects.MaxAmendments)
	if err != nil {
		return err
	}
	var w json.Writer
	objects.WriteAmendments(&w, a.Instrument, rows)
	c.Private(w.Bytes())
	return nil
}

// writeList writes the OrderList object (docs/contract/internal.md#order-lists).
func writeList(w *json.Writer, l *entry.OrderList) {
	w.Object()
	w.Name("listId").Uint(uint64(l.ID))
	w.Name("kind").Word(l.Kind.String())
	w.Name("clientOrderId").TextOrNull(l.Client)
	w.Name("accountId").UUID(accounts.UserID(uint32(l.Account)))
	w.Name("currencyPairCode").Word(l.Instrument.Code)
	w.Name("status").Word(objects.ListStatus(&l.ListRecord))
	w.Name("createdAtNs").Int(l.CreatedNs)
	w.Name("changedAtNs").Int(l.ChangedNs)
	w.Name("seq").Uint(uint64(l.Seq))
	w.Name("orders").List()
	for i := range l.Orders {
		writeRecord(w, &l.Orders[i], l.Instrument)
	}
	w.EndList()
	w.EndObject()
}
