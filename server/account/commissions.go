package account

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

func (s *Service) commissionRoutes() []*edge.Route {
	return []*edge.Route{{
		Method: fasthttp.MethodGet, Path: "/api/currencies/user/commissions",
		Handle: s.userCommissions, Params: []edge.Field{edge.ParamDecimals},
	}}
}

// userCommissions sends the default records, with the caller's discounts applied to the trade
// rates (docs/contract/market-data.md#currencies-pairs-and-commissions).
func (s *Service) userCommissions(c *edge.Ctx) *refuse.Refusal {
	terms := s.view.Terms(uint32(c.Principal.Account))
	b := append([]byte(nil), `{"commissions":[`...)
	for i, one := range s.opt.Commissions(s.opt.Board.Load()) {
		if i > 0 {
			b = append(b, ',')
		}
		discount := uint32(0)
		switch one.Type {
		case encode.CommissionBuy:
			discount = terms.Discount(engine.Buy)
		case encode.CommissionSell:
			discount = terms.Discount(engine.Sell)
		}
		b = encode.AppendCommission(b, &one, discount)
	}
	b = strconv.AppendBool(append(b, `],"userNoTradeCommissions":`...), terms.NoFees)
	b = encode.AppendRate(append(b, `,"dealBidDiscountFraction":`...), int64(terms.BidDiscount), engine.RateScale)
	b = encode.AppendRate(append(b, `,"dealAskDiscountFraction":`...), int64(terms.AskDiscount), engine.RateScale)
	c.Private(append(b, '}'))
	return nil
}
