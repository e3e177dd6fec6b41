package marketdata

import (
	"tickhive/engine"
	"tickhive/internal/fixed"
)

// Fill is one side of a trade, as one of its two orders sees it. The fee is in the quote
// currency.
type Fill struct {
	Pair      engine.PairID
	Order     engine.OrderID
	Account   engine.AccountID
	Trade     engine.TradeID
	TimeNs    int64       // Unix ns
	Price     int64       // ticks
	Amount    int64       // lots
	Fee       fixed.I128  // 10^-18 of the quote currency
	Side      engine.Side // the order's side: Buy when this order bought
	TakerSide engine.Side // the taker's side; isBuy of the public deal
	IsMaker   bool
}

// fillRec is the retained record of a trade, shared by its two orders. Each Prev member links to the previous
// record of the same order or account: it holds the distance between their numbers, 0 when there is none.
type fillRec struct {
	trade                              engine.TradeID
	taker, maker                       engine.OrderID
	timeNs                             int64
	price, amount                      int64
	takerFee, takerDiscount            uint32
	makerFee, makerDiscount            uint32
	takerPrev, makerPrev               uint32
	takerAccountPrev, makerAccountPrev uint32
	takerAccount, makerAccount         engine.AccountID
	side                               engine.Side // the taker's
}

// fill returns the trade as its maker or its taker sees it.
func (f *fillRec) fill(maker bool, digitsTotal int) Fill {
	out := Fill{
		Pair: f.taker.Pair(), Trade: f.trade, TimeNs: f.timeNs, Price: f.price, Amount: f.amount,
		TakerSide: f.side, IsMaker: maker,
	}
	if maker {
		out.Order, out.Account, out.Side = f.maker, f.makerAccount, f.side.Opposite()
	} else {
		out.Order, out.Account, out.Side = f.taker, f.takerAccount, f.side
	}
	out.Fee = f.fee(maker, digitsTotal)
	return out
}

// order returns the order of the maker or of the taker.
func (f *fillRec) order(maker bool) engine.OrderID {
	if maker {
		return f.maker
	}
	return f.taker
}

// fee returns the fee that the maker or the taker of the trade pays.
func (f *fillRec) fee(maker bool, digitsTotal int) fixed.I128 {
	if maker {
		return fixed.Fee(f.price, f.amount, digitsTotal, f.makerFee, f.makerDiscount)
	}
	return fixed.Fee(f.price, f.amount, digitsTotal, f.takerFee, f.takerDiscount)
}
