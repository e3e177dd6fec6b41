package accounts

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// The commission types (docs/contract/market-data.md#currencies-pairs-and-commissions).
const (
	commissionRefill     = "1"
	commissionWithdrawal = "2"
	commissionBuy        = "3"
	commissionSell       = "4"
)

// CommissionType names a type of commission.
type CommissionType struct{ Code, Value, ValueKey string }

func commissionType(code string) CommissionType {
	switch code {
	case commissionRefill:
		return CommissionType{code, "Пополнение", "Refill"}
	case commissionWithdrawal:
		return CommissionType{code, "Вывод", "Withdrawal"}
	case commissionBuy:
		return CommissionType{code, "Сделка покупка", "Trade"}
	}
	return CommissionType{code, "Сделка продажа", "Trade"}
}

// Commission is one record of GET commissions. nil members are null.
type Commission struct {
	CommissionID           string
	CurrencyCode           *string
	CurrencyPairCode       *string
	CurrencyAdapterCode    *string
	Percent                fixed.I128 // fraction
	Minimum                fixed.I128
	CommissionCurrencyCode *string
	CommissionTypeCode     string
	CommissionType         CommissionType
	HashCode               string
}

// UserCommissions is the answer of GET user/commissions.
type UserCommissions struct {
	Commissions             []Commission
	UserNoTradeCommissions  bool
	DealBidDiscountFraction fixed.I128
	DealAskDiscountFraction fixed.I128
}

// PairRate holds the facts about a pair that the commissions need.
type PairRate struct {
	Code, Quote string
	TakerFee    uint32 // 10^-8
}

// DefaultCommissions returns the records of the given currencies and pairs, by hashCode.
func (v *View) DefaultCommissions(currencies []string, pairs []PairRate) []Commission {
	return v.s.opts.records(currencies, pairs, Terms{})
}

// Commissions returns the records for user n: the percents of types 3 and 4 include the user's
// discounts and are 0 with noTradeCommissions.
func (v *View) Commissions(n uint32, currencies []string, pairs []PairRate) UserCommissions {
	t := v.Terms(n)
	return UserCommissions{
		Commissions: v.s.opts.records(currencies, pairs, t), UserNoTradeCommissions: t.NoFees,
		DealBidDiscountFraction: decimalOf(t.BidDiscount), DealAskDiscountFraction: decimalOf(t.AskDiscount),
	}
}

func (o *Options) records(currencies []string, pairs []PairRate, t Terms) []Commission {
	out := make([]Commission, 0, 2*len(currencies)+2*len(pairs))
	for _, c := range currencies {
		rules := o.commissions(c)
		out = append(out, currencyCommission(commissionRefill, c, rules.Refill), currencyCommission(commissionWithdrawal, c, rules.Withdrawal))
	}
	for _, p := range pairs {
		out = append(out, pairCommission(commissionBuy, p, t.Discount(engine.Buy)), pairCommission(commissionSell, p, t.Discount(engine.Sell)))
	}
	slices.SortFunc(out, func(a, b Commission) int { return strings.Compare(a.HashCode, b.HashCode) })
	return out
}

func currencyCommission(code, currency string, r CommissionRule) Commission {
	c := newCommission(code, currency)
	c.CurrencyCode, c.CommissionCurrencyCode = &currency, &currency
	c.Percent, c.Minimum = decimalOf(r.Percent), r.Minimum
	return c
}

func pairCommission(code string, p PairRate, discount uint32) Commission {
	c := newCommission(code, p.Code)
	c.CurrencyPairCode, c.CommissionCurrencyCode = &p.Code, &p.Quote
	// rate x (1 - discount) has 16 digits: exact.
	c.Percent = fixed.Mul64(uint64(p.TakerFee)*uint64(RateOne-discount), 100).ToI128()
	return c
}

func newCommission(code, of string) Commission {
	hash := code + "_" + of + "_"
	return Commission{
		CommissionID: uuid.NewSHA1(dealSpace, []byte(hash)).String(), HashCode: hash,
		CommissionTypeCode: code, CommissionType: commissionType(code),
	}
}
