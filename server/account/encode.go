package account

import (
	"strconv"

	"tickhive/accounts"
	"tickhive/accounts/accrual"
	"tickhive/internal/fixed"
	"tickhive/server/encode"
)

// Money is an amount, balance or fee in 10^-18 (docs/contract/market-data.md#decimals).
type Money = fixed.I128

// anyMoney is the constraint of amounts and sums of amounts.
type anyMoney interface{ Wide() fixed.I192 }

// appendMoney appends money as its shortest decimal text.
func appendMoney[M anyMoney](dst []byte, v M) []byte {
	return fixed.AppendShortest192(dst, v.Wide(), fixed.Scale)
}

// appendJSONPtr appends a string that may be null.
func appendJSONPtr(dst []byte, s *string) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	return encode.AppendString(dst, *s)
}

// appendSums appends sums as a JSON object from currency code to amount.
func appendSums(dst []byte, sums []accrual.CurrencyAmount) []byte {
	dst = append(dst, '{')
	for i, s := range sums {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendMoney(append(encode.AppendString(dst, s.CurrencyCode), ':'), s.Amount)
	}
	return append(dst, '}')
}

// appendList appends a JSON array; f appends one element.
func appendList[T any](dst []byte, list []T, f func(dst []byte, v *T) []byte) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f(dst, &list[i])
	}
	return append(dst, ']')
}

func appendBool(dst []byte, name string, v bool) []byte {
	return strconv.AppendBool(append(dst, name...), v)
}

// appendBalance appends {currencyCode, free, held, total}.
func appendBalance(dst []byte, b *accounts.BalanceView) []byte {
	return append(appendBalanceMembers(append(dst, '{'), b), '}')
}

func appendBalanceMembers(dst []byte, b *accounts.BalanceView) []byte {
	dst = encode.AppendString(append(dst, `"currencyCode":`...), b.CurrencyCode)
	dst = appendMoney(append(dst, `,"free":`...), b.Free)
	dst = appendMoney(append(dst, `,"held":`...), b.Held)
	return appendMoney(append(dst, `,"total":`...), b.Total)
}
