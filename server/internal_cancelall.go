package server

import (
	"strconv"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/refuse"
)

// massCancel holds the account of one DELETE /orders, and the pairs with the newest order id of
// each when the request was sequenced. It does not cancel newer orders.
type massCancel struct {
	all     bool
	account engine.AccountID
	bounds  []engine.OrderID
}

// cancelAll serves DELETE /orders?accountId=&currencyPairCode=.
func (s *Internal) cancelAll(c *Ctx) *refuse.Refusal {
	m := massCancel{all: true}
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
		m.all = false
		if uuid != ([16]byte{}) {
			if m.account, ok = s.opt.Accounts.Find(uuid); !ok {
				return refuse.Missing("accountId", "There is no account %s.", accountText)
			}
		}
	}
	only := engine.ControlPair
	if code != "" {
		ins := s.instrument([]byte(code))
		if ins == nil {
			return refuse.Missing("currencyPairCode", "There is no pair %s.", code)
		}
		only = ins.ID
	}
	canceled, err := s.runMassCancel(&m, only)
	if err != nil {
		return err
	}
	c.Private(append(strconv.AppendInt([]byte(`{"canceled":`), int64(canceled), 10), '}'))
	return nil
}

// runMassCancel reads the newest order ids at one instant, then cancels in parts, so that the
// sequencer serves other requests in between.
func (s *Internal) runMassCancel(m *massCancel, only engine.PairID) (canceled int, err *refuse.Refusal) {
	err = s.query(func() {
		core := s.opt.Core
		for _, p := range core.PairsByCode() {
			if (only == engine.ControlPair || only == p) && core.OpenOrders(p) > 0 {
				m.bounds = append(m.bounds, core.LastOrderID(p))
			}
		}
	})
	for i := 0; err == nil && i < len(m.bounds); i++ {
		var n int
		n, err = s.cancelPair(m, m.bounds[i], only != engine.ControlPair)
		canceled += n
	}
	return canceled, err
}

// cancelPair cancels the orders of one pair up to the bound, part by part. A halted pair is an
// error if the request named it; otherwise cancelPair skips it.
func (s *Internal) cancelPair(m *massCancel, bound engine.OrderID, named bool) (canceled int, err *refuse.Refusal) {
	for {
		part, refused := 0, engine.NotRejected
		cmd := engine.Command{Kind: engine.CancelAll, Pair: bound.Pair(), Account: m.account, Order: bound}
		if m.all {
			cmd.Flags = engine.FlagAllAccount
		}
		b := sequencer.Batch{
			Commands: []engine.Command{cmd},
			Collect: func(_ int, _ *engine.Command, events []engine.Event) {
				for i := range events {
					switch events[i].Kind {
					case engine.EventCanceled:
						part++
					case engine.EventRejected:
						refused = events[i].Reason
					}
				}
			},
		}
		if serr := s.opt.Exchange.Submit(&b); serr != nil {
			return canceled, submitError(serr, "The cancels", "look at the open orders, or repeat the request.")
		}
		if refused != engine.NotRejected {
			if named {
				return canceled, refuse.New(refuse.Conflict, "", "The pair is halted: nothing can be canceled.")
			}
			return canceled, nil
		}
		if canceled += part; part < engine.CancelAllPart {
			return canceled, nil
		}
	}
}
