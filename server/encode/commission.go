package encode

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// The commission types of docs/contract/market-data.md#currencies-pairs-and-commissions.
const (
	CommissionRefill     = 1
	CommissionWithdrawal = 2
	CommissionBuy        = 3
	CommissionSell       = 4
)

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

// AppendCommission appends one record as JSON. It applies discount (10^-8) to the rate.
func AppendCommission(b []byte, c *Commission, discount uint32) []byte {
	kind, names := strconv.Itoa(c.Type), commissionNames[c.Type]
	b = append(b, `{"commissionId":"`...)
	b = AppendDealUUID(b, []byte(c.HashCode))
	b = AppendNullable(append(b, `","currencyCode":`...), c.Currency)
	b = AppendNullable(append(b, `,"currencyPairCode":`...), c.Pair)
	b = AppendNullable(append(b, `,"currencyAdapterCode":`...), c.Adapter)
	b = fixed.AppendShortest(append(b, `,"percent":`...), discounted(c.Percent, discount), 2*engine.RateScale)
	b = fixed.AppendShortest(append(b, `,"minimum":`...), c.Minimum, fixed.Scale)
	b = AppendNullable(append(b, `,"commissionCurrencyCode":`...), c.MinimumIn)
	b = AppendString(append(b, `,"commissionTypeCode":`...), kind)
	b = AppendString(append(b, `,"commissionType":{"code":`...), kind)
	b = AppendString(append(b, `,"value":`...), names[0])
	b = AppendString(append(b, `,"valueKey":`...), names[1])
	b = AppendString(append(b, `},"hashCode":`...), c.HashCode)
	return append(b, '}')
}

// commissionNames holds, for each type, the display name and the key.
var commissionNames = [...][2]string{
	CommissionRefill:     {"Пополнение", "Refill"},
	CommissionWithdrawal: {"Вывод", "Withdrawal"},
	CommissionBuy:        {"Сделка покупка", "Trade"},
	CommissionSell:       {"Сделка продажа", "Trade"},
}

// discounted returns rate x (1 - discount), both in 10^-8, exactly and in 10^-16.
func discounted(rate, discount uint32) fixed.I128 {
	return fixed.Mul64(uint64(rate), uint64(engine.RateOne-discount)).ToI128()
}
