package accrual

import "strconv"

// Type is the source of an accrual (docs/contract/accounts.md#accruals), with the values of the wire.
type Type uint8

// The profit types.
const (
	DealCommission        Type = 1
	WithdrawalCommission  Type = 2
	CurrencyListing       Type = 40
	APITradeProfitPayment Type = 50
	StakeAccrual          Type = 100
)

// Types holds every type, ascending.
var Types = [...]Type{
	DealCommission, WithdrawalCommission, CurrencyListing, APITradeProfitPayment, StakeAccrual,
}

// String returns the type's name on the wire, empty for an unknown value.
func (t Type) String() string {
	switch t {
	case DealCommission:
		return "DealCommission"
	case WithdrawalCommission:
		return "WithdrawalCommission"
	case CurrencyListing:
		return "CurrencyListing"
	case APITradeProfitPayment:
		return "ApiTradeProfitPayment"
	case StakeAccrual:
		return "StakeAccrual"
	}
	return ""
}

// ParseType parses a name or a number, because queries may use either.
func ParseType(s string) (Type, bool) {
	for _, t := range Types {
		if s == t.String() || s == strconv.Itoa(int(t)) {
			return t, true
		}
	}
	return 0, false
}
