package server

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

func (d *AccountDesk) commissionRoutes(s *Server) []*Route {
	return []*Route{{
		Method: fasthttp.MethodGet, Path: "/api/currencies/user/commissions",
		Handle: func(c *Ctx) *refuse.Refusal { return d.userCommissions(s, c) }, Query: []string{"decimals"},
	}}
}

// userCommissions sends the default records, with the caller's discounts applied to the trade
// rates (docs/contract/market-data.md#currencies-pairs-and-commissions).
func (d *AccountDesk) userCommissions(s *Server, c *Ctx) *refuse.Refusal {
	terms := d.view.Terms(uint32(c.Caller.Account))
	b := append([]byte(nil), `{"commissions":[`...)
	for i, one := range s.Commissions(s.board.Load()) {
		if i > 0 {
			b = append(b, ',')
		}
		discount := uint32(0)
		switch one.Type {
		case commissionBuy:
			discount = terms.Discount(engine.Buy)
		case commissionSell:
			discount = terms.Discount(engine.Sell)
		}
		b = appendCommission(b, &one, discount)
	}
	b = strconv.AppendBool(append(b, `],"userNoTradeCommissions":`...), terms.NoFees)
	b = appendRate(append(b, `,"dealBidDiscountFraction":`...), int64(terms.BidDiscount), engine.RateScale)
	b = appendRate(append(b, `,"dealAskDiscountFraction":`...), int64(terms.AskDiscount), engine.RateScale)
	c.Private(append(b, '}'))
	return nil
}

// discounted returns rate x (1 - discount) in 10^-16; the result is exact.
func discounted(rate, discount uint32) fixed.I128 {
	return fixed.Mul64(uint64(rate), uint64(engine.RateOne-discount)).ToI128()
}
