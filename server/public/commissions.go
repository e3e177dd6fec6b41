package public

import (
	"cmp"
	"slices"
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

// AssetCommission is a configured deposit (type 1) or withdrawal (type 2) commission. For an asset without one,
// Commissions returns a record with commission 0.
type AssetCommission struct {
	Type     int // encode.CommissionRefill or encode.CommissionWithdrawal
	Currency string
	Adapter  string     // lower-case blockchain or fiat adapter; empty: none
	Percent  uint32     // 10^-8
	Minimum  fixed.I128 // 10^-18 of the currency
}

// Commissions returns the commission records without a user's discount, sorted by hash code: deposits and
// withdrawals of every asset, and both sides of every pair at its taker fee.
func (m *Market) Commissions(root *marketdata.Root) []encode.Commission {
	var all []encode.Commission
	for _, a := range root.Assets() {
		for kind := encode.CommissionRefill; kind <= encode.CommissionWithdrawal; kind++ {
			all = append(all, m.assetCommissions(a, kind)...)
		}
	}
	for _, id := range root.Sorted() {
		in := root.View(id).Instrument
		for kind := encode.CommissionBuy; kind <= encode.CommissionSell; kind++ {
			all = append(all, encode.Commission{Type: kind, Pair: in.Code, Percent: in.TakerFee, MinimumIn: in.Quote})
		}
	}
	for i := range all {
		c := &all[i]
		c.HashCode = strconv.Itoa(c.Type) + "_" + c.Currency + c.Pair + "_" + c.Adapter
	}
	slices.SortFunc(all, func(a, b encode.Commission) int { return cmp.Compare(a.HashCode, b.HashCode) })
	return all
}

func (m *Market) assetCommissions(a *engine.Asset, kind int) []encode.Commission {
	var of []encode.Commission
	for _, set := range m.opt.Commissions {
		if set.Currency == a.Symbol && set.Type == kind {
			of = append(of, encode.Commission{
				Type: kind, Currency: a.Symbol, Adapter: set.Adapter,
				Percent: set.Percent, Minimum: set.Minimum, MinimumIn: a.Symbol,
			})
		}
	}
	if of == nil {
		of = []encode.Commission{{Type: kind, Currency: a.Symbol, MinimumIn: a.Symbol}}
	}
	return of
}

func (m *Market) appendCommissions(b []byte, r *marketdata.Root) []byte {
	b = append(b, '[')
	for i, one := range m.Commissions(r) {
		if i > 0 {
			b = append(b, ',')
		}
		b = encode.AppendCommission(b, &one, 0)
	}
	return append(b, ']')
}
