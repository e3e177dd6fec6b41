package server

import (
	"fmt"
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
)

func (d *AccountDesk) tradingRoutes() []*Route {
	const get, del = fasthttp.MethodGet, fasthttp.MethodDelete
	const orders = "/api/orders"
	page := []string{"pageNumber", "pageSize", "sinceDate", "endDate", "decimals"}
	l := lists{d}
	return []*Route{
		{Method: fasthttp.MethodPost, Path: orders, Handle: d.placeOrder},
		{Method: del, Path: orders, Cancels: true, Handle: d.cancelOwn, Query: []string{"currencyPairCode"}},
		{Method: del, Path: orders + "/{orderId}", Cancels: true, Handle: d.cancelOrder, Query: []string{"decimals"}},
		{Method: get, Path: orders + "/{orderId}/deals", Handle: l.orderDeals, Query: []string{"decimals"}},
		{Method: get, Path: "/api/user/orders", Handle: l.userOrders, Query: append([]string{"currencyPairCode", "status"}, page...)},
		{Method: get, Path: "/api/user/deals", Handle: l.userDeals, Query: append([]string{"currencyPairCode"}, page...)},
		{Method: get, Path: "/api/wallets/balances", Handle: l.balances, Query: []string{"decimals"}},
	}
}

// tradingCommand is one command of the trading API and its outcome.
type tradingCommand struct {
	heldBatch
	order  engine.OrderID
	reason engine.Reason
	rec    marketdata.OrderRecord // of a cancel
}

// submitOne reserves money for the command and submits it to the engine. An order that lacks
// money does not reach the engine, unless it has a client order id, which may be a repeat.
func (d *AccountDesk) submitOne(t *tradingCommand, cmd *engine.Command) *refuse.Refusal {
	t.resize(1)
	t.batch.Commands[0] = *cmd
	t.keepBack = true
	t.collector(func(_ int, cmd *engine.Command, events []engine.Event) {
		first := &events[0]
		t.order, t.reason = first.Order, engine.NotRejected
		if first.Kind == engine.EventRejected {
			t.reason = first.Reason
		}
		if cmd.Kind == engine.Cancel {
			t.canceled(d.opt.History, cmd)
		}
	})
	if err := t.submit(d.opt.Exchange, d); err != nil {
		return err
	}
	if t.keptBack != engine.NotRejected {
		t.reason = t.keptBack
	}
	if t.reason != engine.NotRejected {
		return tradingRefusal(t.reason, cmd)
	}
	return nil
}

// canceled looks up the order right after its cancel, before any later command.
func (t *tradingCommand) canceled(h *marketdata.History, cmd *engine.Command) {
	rec, ok := h.Order(cmd.Order)
	switch {
	case !ok || rec.Account != cmd.Account:
		t.reason = engine.UnknownOrder // report unknown_order to non-owners, whatever its state
	default:
		t.rec = rec
	}
}

// placeOrder serves POST /api/orders and sends the order's id.
func (d *AccountDesk) placeOrder(c *Ctx) *refuse.Refusal {
	var r bodyReader
	var o orderRequest
	r.reset(c.PostBody())
	if err := r.decodeTradingOrder(&o); err != nil {
		return badBody(err)
	}
	v := d.opt.Board.Load().Lookup(string(o.pair))
	if v == nil {
		return refuse.Missing("currencyPairCode", "There is no pair %s.", o.pair)
	}
	var t tradingCommand
	var cmd engine.Command
	buildPlace(&cmd, &o, v.Instrument, c.account())
	if err := d.submitOne(&t, &cmd); err != nil {
		return err
	}
	c.Private(append(strconv.AppendUint([]byte{'"'}, uint64(t.order), 10), '"'))
	return nil
}

// cancelOrder serves DELETE /api/orders/{orderId} and sends the view of the order.
func (d *AccountDesk) cancelOrder(c *Ctx) *refuse.Refusal {
	id, v, err := d.orderParam(c)
	if err != nil {
		return err
	}
	var t tradingCommand
	cmd := engine.Command{Kind: engine.Cancel, Pair: id.Pair(), Order: id, Account: c.account()}
	if err := d.submitOne(&t, &cmd); err != nil {
		return err
	}
	c.Private(append(appendUserOrder([]byte{'{'}, &t.rec, v.Instrument, c.Caller.UserID), '}'))
	return nil
}

// orderParam returns the order id of the path and the view of its pair.
func (d *AccountDesk) orderParam(c *Ctx) (engine.OrderID, *marketdata.View, *refuse.Refusal) {
	text := c.PathParam("orderId")
	n, ok := parseInteger([]byte(text))
	if !ok {
		return 0, nil, refuse.Param("orderId", "The order id must be an integer.")
	}
	id := engine.OrderID(n)
	if n >= 0 && n <= maxOrderID && id.Pair() < engine.MaxPairs {
		if v := d.opt.Board.Load().View(id.Pair()); v != nil {
			return id, v, nil
		}
	}
	return 0, nil, noTradingOrder(text)
}

func noTradingOrder(id string) *refuse.Refusal {
	return refuse.Missing("orderId", "You have no order %s.", id)
}

// cancelOwn serves DELETE /api/orders?currencyPairCode=. It cancels the caller's orders that
// were open when it was sequenced.
func (d *AccountDesk) cancelOwn(c *Ctx) *refuse.Refusal {
	code, err := c.pairParam(pairName)
	if err != nil {
		return err
	}
	v := d.opt.Board.Load().Lookup(string(code))
	if v == nil {
		return refuse.Missing(pairName, "There is no pair %s.", code)
	}
	var bound engine.OrderID
	if qerr := d.opt.Exchange.Query(func() { bound = d.opt.Core.LastOrderID(v.Instrument.ID) }); qerr != nil {
		return exchangeError(qerr)
	}
	canceled := 0
	for bound.N() > 0 {
		n, err := d.cancelPart(c.account(), bound)
		if err != nil {
			return err
		}
		if canceled += n; n < engine.CancelAllPart {
			break
		}
	}
	c.Private(append(strconv.AppendInt([]byte(`{"canceled":`), int64(canceled), 10), '}'))
	return nil
}

func (d *AccountDesk) cancelPart(account engine.AccountID, bound engine.OrderID) (canceled int, err *refuse.Refusal) {
	refused := engine.NotRejected
	cmd := engine.Command{Kind: engine.CancelAll, Pair: bound.Pair(), Account: account, Order: bound}
	b := sequencer.Batch{
		Commands: []engine.Command{cmd},
		Collect: func(_ int, _ *engine.Command, events []engine.Event) {
			for i := range events {
				switch events[i].Kind {
				case engine.EventCanceled:
					canceled++
				case engine.EventRejected:
					refused = events[i].Reason
				}
			}
		},
	}
	if serr := d.opt.Exchange.Submit(&b); serr != nil {
		return 0, submitError(serr, "The cancels", "look at your open orders, or repeat the request.")
	}
	if refused != engine.NotRejected {
		return 0, tradingRefusal(refused, &cmd)
	}
	return canceled, nil
}

// tradingRefusal returns the refusal for a reason of docs/contract/errors.md#order-refusals: the
// same word in capitals, with its public status.
func tradingRefusal(r engine.Reason, cmd *engine.Command) *refuse.Refusal {
	e := &refuse.Refusal{Code: reasonCode(r), Field: refusalFields[r]}
	switch {
	case r == engine.UnknownOrder:
		return noTradingOrder(fmt.Sprint(uint64(cmd.Order)))
	case r == engine.UnknownPair:
		return refuse.Missing("currencyPairCode", "There is no such pair.")
	}
	if e.Field == "amount" && cmd.Flags&engine.FlagQuote != 0 {
		e.Field = "quoteAmount"
	}
	e.Message = refusalTexts[r]
	return e
}

// refusalTexts maps each reason to its message.
var refusalTexts = map[engine.Reason]string{
	engine.PriceNotPositive:       "The price must be above zero.",
	engine.PriceOffTick:           "The price has more digits than the pair's digitsPrice.",
	engine.PriceOutOfRange:        "The price is beyond the largest that the pair takes.",
	engine.AmountNotPositive:      "The amount must be above zero.",
	engine.AmountOffLot:           "The amount has more digits than the pair's digitsAmount.",
	engine.AmountOutOfRange:       "The amount is beyond the largest that the pair takes.",
	engine.TotalOutOfRange:        "Price times amount is beyond the largest that the exchange takes.",
	engine.BelowMinQuoteAmount:    "Price times amount is below the pair's minQuoteAmount.",
	engine.InsufficientFunds:      "The free balance does not cover the order and its fee.",
	engine.WouldCross:             "A post-only order must not cross the book.",
	engine.NoLiquidity:            "The other side of the book is empty.",
	engine.FOKUnfilled:            "The book cannot fill the whole order at once.",
	engine.PairPostOnly:           "The pair takes post-only orders alone at the moment.",
	engine.PairCancelOnly:         "The pair takes cancels alone at the moment.",
	engine.PairHalted:             "The pair is halted: it takes nothing at the moment.",
	engine.OrderClosed:            "The order is closed.",
	engine.DuplicateClientOrderID: "The clientOrderId was used for another order.",
	engine.TooManyOrders:          "There are as many open orders as the exchange takes.",
}
