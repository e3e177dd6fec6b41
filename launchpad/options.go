package launchpad

import "errors"

// The launchpad's limits.
const (
	// MaxTokens bounds memory: about 2 KB a token with its index entries.
	MaxTokens = 1 << 20
	// MaxWindowMarks bounds the swaps remembered for the 24 h windows (one mark per
	// token and second, 48 bytes). Full: swaps are refused until some have left.
	MaxWindowMarks = 1 << 22
	// MaxMetadata is the size of a token's metadata in bytes (docs/contract/launchpad.md#spawn).
	MaxMetadata = 4096
	// MaxBoostAheadSec: boosts cannot be stacked more than ten years ahead.
	MaxBoostAheadSec = 10 * 366 * 86400
	// MaxFaults limits the injected faults, the coming spawns that are to fail.
	MaxFaults = 1_000_000
	// MaxPageSize is the largest page of the token list.
	MaxPageSize = 100
	// fullSec is the Retry-After of a refusal because a limit is reached: only time or an
	// operator helps.
	fullSec = 60
	// DefaultPageSize of the token list (docs/contract/launchpad.md#tokens).
	DefaultPageSize = 20
)

// Options holds the configuration of the launchpad. It is not durable: a changed fee or
// cooldown applies to new commands from the next start on.
type Options struct {
	Fee        Amount // NATIVE per spawn, launchpad.fee
	CooldownNs int64  // between two spawns of an address, launchpad.cooldown
	NativeUSD  Amount // USD per NATIVE in 10^-18, launchpad.native_usd
	Seed       uint64 // of addresses and hashes; fixed for a data directory by its first record
}

// DefaultOptions returns fee 100, cooldown 24 h, 1 USD per NATIVE, seed 1.
func DefaultOptions() Options {
	return Options{Fee: AmountOf(100), CooldownNs: 86400 * secondNs, NativeUSD: AmountOf(1), Seed: 1}
}

// Validate reports an option outside of its limits.
func (o *Options) Validate() error {
	switch {
	case o.CooldownNs < 0 || o.CooldownNs > 366*86400*secondNs:
		return errors.New("launchpad.cooldown is not within 0 and 366 days")
	case maxBalance.Less(o.Fee):
		return errors.New("launchpad.fee is above 10^20, the largest balance")
	case AmountOf(1_000_000_000).Less(o.NativeUSD):
		return errors.New("launchpad.native_usd is above 10^9")
	}
	return nil
}

// maxBalance is the largest balance of NATIVE or USBI that a deposit may make.
var maxBalance, _ = ParseAmount("100000000000000000000")
