package edge

import "tickhive/internal/refuse"

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
	if !ValidPairCode(raw) {
		return nil, refuse.Param(name, "The parameter %s must be a pair code such as BTC_USDT.", name)
	}
	return raw, nil
}

// ValidPairCode reports the same as engine.ValidPairCode, without a regular expression.
func ValidPairCode(code []byte) bool {
	part := 0
	run := 0
	for _, b := range code {
		switch {
		case b-'0' <= 9 || b-'A' <= 25:
			run++
		case b == '_' && part == 0 && run >= 2 && run <= 12:
			part, run = 1, 0
		default:
			return false
		}
	}
	return part == 1 && run >= 2 && run <= 12
}
