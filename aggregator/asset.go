package aggregator

import (
	"strconv"

	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// AppendAssets appends the asset object, keys in byte order. quote must append its argument as
// JSON text.
func AppendAssets(b []byte, r *marketdata.Root, quote func(dst []byte, s string) []byte) []byte {
	b = append(b, '{')
	for i, a := range r.Assets() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), a.Symbol...), `":{"name":`...)
		b = append(quote(b, a.Name), `,"unified_cryptoasset_id":`...)
		if a.HasUnifiedID {
			b = strconv.AppendInt(b, a.UnifiedCryptoassetID, 10)
		} else {
			b = append(b, "null"...)
		}
		b = strconv.AppendBool(append(b, `,"can_withdraw":`...), a.CanWithdraw)
		b = strconv.AppendBool(append(b, `,"can_deposit":`...), a.CanDeposit)
		b = appendOptional(append(b, `,"min_withdraw":`...), a.MinWithdraw, a.HasMinWithdraw)
		b = appendOptional(append(b, `,"max_withdraw":`...), a.MaxWithdraw, a.HasMaxWithdraw)
		b = appendOptional(append(b, `,"maker_fee":`...), a.MakerFee, a.HasMakerFee)
		b = appendOptional(append(b, `,"taker_fee":`...), a.TakerFee, a.HasTakerFee)
		b = append(b, '}')
	}
	return append(b, '}')
}

func appendOptional(b []byte, v fixed.I128, has bool) []byte {
	if !has {
		return append(b, "null"...)
	}
	return fixed.AppendShortest(b, v, fixed.Scale)
}
