package objects

import (
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// PairName is the parameter that names a pair in the routes of {base_url}.
const PairName = "currencyPairCode"

// Pair declares a parameter that names a pair. Its value is a pair code of the right form, which aliases the request.
// The caller checks that the pair exists, after every other check
// (docs/contract/market-data.md#pair-codes-and-order-of-lists and docs/contract/errors.md#order-of-checks).
func Pair(name string) *edge.Param[[]byte] {
	return edge.Declare(json.Field{
		Name: name, Kind: json.KindPairCode, Text: "Pair code `{base}_{target}`.", Example: "BTC_USDT",
	}, func(raw []byte) ([]byte, string) {
		if !engine.ValidPairCode(raw) {
			return nil, "must be a pair code such as BTC_USDT."
		}
		return raw, ""
	})
}

// User declares a parameter that is the id of a user.
func User(name string) *edge.Param[[16]byte] {
	return edge.Declare(json.Field{Name: name, Kind: json.KindUUID}, func(raw []byte) ([16]byte, string) {
		id, ok := json.ParseUUID(raw)
		if !ok {
			return id, "must be a UUID."
		}
		return id, ""
	})
}
