package aggregator

import (
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// AppendAssets appends the asset object, keys in byte order.
func AppendAssets(b []byte, r *marketdata.Root) []byte {
	w := json.On(b)
	w.Object()
	for _, a := range r.Assets() {
		w.Name(a.Symbol).Object()
		w.Name("name").Text(a.Name)
		w.Name("unified_cryptoasset_id").IntOrNull(a.UnifiedCryptoassetID, a.HasUnifiedID)
		w.Name("can_withdraw").Bool(a.CanWithdraw)
		w.Name("can_deposit").Bool(a.CanDeposit)
		w.Name("min_withdraw").ShortestOrNull(a.MinWithdraw, fixed.Scale, a.HasMinWithdraw)
		w.Name("max_withdraw").ShortestOrNull(a.MaxWithdraw, fixed.Scale, a.HasMaxWithdraw)
		w.Name("maker_fee").ShortestOrNull(a.MakerFee, fixed.Scale, a.HasMakerFee)
		w.Name("taker_fee").ShortestOrNull(a.TakerFee, fixed.Scale, a.HasTakerFee)
		w.EndObject()
	}
	w.EndObject()
	return w.Bytes()
}
