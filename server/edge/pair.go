package edge

import (
	"tickhive/engine"
	"tickhive/internal/refuse"
)

// PairName is the parameter that names a pair in the routes of {base_url}.
const PairName = "currencyPairCode"

// DealUnitNs is the precision of dealDateUtc; date parameters compare with the printed date.
const DealUnitNs = 100

// PairParam returns the text of a required pair code of the right form. The caller checks that
// the pair exists, after every other check
// (docs/contract/market-data.md#pair-codes-and-order-of-lists and
// docs/contract/errors.md#order-of-checks). It aliases the request.
func (c *Ctx) PairParam(name string) ([]byte, *refuse.Refusal) {
	raw, err := c.Raw(name)
	if err != nil {
		return nil, err
	}
	if len(raw) == 0 {
		return nil, MissingParam(name)
	}
	if !engine.ValidPairCode(raw) {
		return nil, refuse.Param(name, "The parameter %s must be a pair code such as BTC_USDT.", name)
	}
	return raw, nil
}
