package engine

import "tickhive/internal/fixed"

// Asset holds the configuration of one currency (PATCH /assets, docs/contract/internal.md#market).
// Immutable once published: a change makes a new one. Limits and fees in 10^-18.
type Asset struct {
	Symbol               string
	Name                 string
	Fiat                 bool // type fiat, else cryptocurrency
	UnifiedCryptoassetID int64
	HasUnifiedID         bool
	CanWithdraw          bool
	CanDeposit           bool
	MinWithdraw          fixed.I128
	MaxWithdraw          fixed.I128
	HasMinWithdraw       bool
	HasMaxWithdraw       bool
	MakerFee             fixed.I128
	TakerFee             fixed.I128
	HasMakerFee          bool
	HasTakerFee          bool
}
