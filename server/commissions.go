package server

import (
	"cmp"
	"crypto/sha1"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// The commission types of docs/contract/market-data.md#currencies-pairs-and-commissions.
const (
	CommissionRefill     = 1
	CommissionWithdrawal = 2
	commissionBuy        = 3
	commissionSell       = 4
)

// commissionNames holds the display name and the key of each type.
var commissionNames = [...][2]string{
	CommissionRefill:     {"Пополнение", "Refill"},
	CommissionWithdrawal: {"Вывод", "Withdrawal"},
	commissionBuy:        {"Сделка покупка", "Trade"},
	commissionSell:       {"Сделка продажа", "Trade"},
}

// AssetCommission is a configured deposit (type 1) or withdrawal (type 2) commission. An
// asset that has none of a type gets a free record of that type without an adapter.
type AssetCommission struct {
	Type     int // CommissionRefill or CommissionWithdrawal
	Currency string
	Adapter  string     // lower-case blockchain or fiat adapter; empty: none
	Percent  uint32     // 10^-8
	Minimum  fixed.I128 // 10^-18 of the currency
}

// Commission is one record of /api/currencies/commissions.
type Commission struct {
	Type      int
	Currency  string // empty for trades
	Pair      string // empty for deposits and withdrawals
	Adapter   string
	Percent   uint32     // 10^-8
	Minimum   fixed.I128 // 10^-18 of MinimumIn
	MinimumIn string
	HashCode  string
}

// Commissions returns the default records as of root, sorted by hash code: deposits and
// withdrawals of every asset, and both sides of every pair at its taker fee.
func (s *Server) Commissions(root *marketdata.Root) []Commission {
	var all []Commission
	for _, a := range root.Assets() {
		for kind := CommissionRefill; kind <= CommissionWithdrawal; kind++ {
			all = append(all, s.assetCommissions(a, kind)...)
		}
	}
	for _, id := range root.Sorted() {
		in := root.View(id).Instrument
		for kind := commissionBuy; kind <= commissionSell; kind++ {
			all = append(all, Commission{Type: kind, Pair: in.Code, Percent: in.TakerFee, MinimumIn: in.Quote})
		}
	}
	for i := range all {
		c := &all[i]
		c.HashCode = strconv.Itoa(c.Type) + "_" + c.Currency + c.Pair + "_" + c.Adapter
	}
	slices.SortFunc(all, func(a, b Commission) int { return cmp.Compare(a.HashCode, b.HashCode) })
	return all
}

func (s *Server) assetCommissions(a *engine.Asset, kind int) []Commission {
	var of []Commission
	for _, set := range s.opt.Commissions {
		if set.Currency == a.Symbol && set.Type == kind {
			of = append(of, Commission{
				Type: kind, Currency: a.Symbol, Adapter: set.Adapter,
				Percent: set.Percent, Minimum: set.Minimum, MinimumIn: a.Symbol,
			})
		}
	}
	if of == nil {
		of = []Commission{{Type: kind, Currency: a.Symbol, MinimumIn: a.Symbol}}
	}
	return of
}

func (s *Server) appendCommissions(b []byte, r *marketdata.Root) []byte {
	b = append(b, '[')
	for i, one := range s.Commissions(r) {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendCommission(b, &one)
	}
	return append(b, ']')
}

// AppendCommission appends one record as JSON.
func AppendCommission(b []byte, c *Commission) []byte { return appendCommission(b, c, 0) }

// appendCommission is AppendCommission with a discount (10^-8) in the rate.
func appendCommission(b []byte, c *Commission, discount uint32) []byte {
	kind, names := strconv.Itoa(c.Type), commissionNames[c.Type]
	b = append(b, `{"commissionId":"`...)
	b = appendDealUUID(b, []byte(c.HashCode))
	b = appendJSONNullable(append(b, `","currencyCode":`...), c.Currency)
	b = appendJSONNullable(append(b, `,"currencyPairCode":`...), c.Pair)
	b = appendJSONNullable(append(b, `,"currencyAdapterCode":`...), c.Adapter)
	b = fixed.AppendShortest(append(b, `,"percent":`...), discounted(c.Percent, discount), 2*engine.RateScale)
	b = fixed.AppendShortest(append(b, `,"minimum":`...), c.Minimum, fixed.Scale)
	b = appendJSONNullable(append(b, `,"commissionCurrencyCode":`...), c.MinimumIn)
	b = appendJSONString(append(b, `,"commissionTypeCode":`...), kind)
	b = appendJSONString(append(b, `,"commissionType":{"code":`...), kind)
	b = appendJSONString(append(b, `,"value":`...), names[0])
	b = appendJSONString(append(b, `,"valueKey":`...), names[1])
	b = appendJSONString(append(b, `},"hashCode":`...), c.HashCode)
	return append(b, '}')
}

// dealNamespace is the UUID namespace of deals and commissions
// (docs/contract/market-data.md#deals).
var dealNamespace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("tickhive:deal"))

// appendDealUUID appends the UUID v5 of name, without allocation up to 64 bytes.
func appendDealUUID(dst, name []byte) []byte {
	var buf [16 + 64]byte
	text := append(append(buf[:0], dealNamespace[:]...), name...)
	sum := sha1.Sum(text)
	id := sum[:16]
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst
}
