package launchpad

import "errors"

// The launchpad's limits.
const (
	// MaxTokens bounds memory: about 2 KB a token with its index entries.
	MaxTokens = 1 << 20
	// MaxWindowMarks bounds the marks of the 24 h windows: one mark of 48 bytes per token and second with a
	// swap. When it is reached, swaps are refused until marks have left.
	MaxWindowMarks = 1 << 22
	// MaxCheckpoints bounds the checkpoints that last. One takes about 150 bytes.
	MaxCheckpoints = 1 << 20
	// MaxPast bounds the holdings that all checkpoints remember, 150 bytes each. When it is reached, commands that
	// change holdings of a token with a checkpoint are refused until a checkpoint ends.
	MaxPast = 1 << 22
	// CheckpointSec is the time for which a checkpoint lasts. It is a day longer than a proposal of the hive.
	CheckpointSec = 8 * 86400
	// maxDue bounds the changes that one record carries out because they are due. The rest waits for the next record.
	maxDue = 256
	// MaxMetadata is the largest size of a token's metadata in bytes (docs/contract/launchpad.md#spawn).
	MaxMetadata = 4096
	// MaxBoostAheadSec limits how far ahead repeated boosts can extend a boost: ten years.
	MaxBoostAheadSec = 10 * 366 * 86400
	// MaxFaults limits the injected faults that have not been used yet.
	MaxFaults = 1_000_000
	// MaxPageSize is the largest page of the token list.
	MaxPageSize = 100
	// fullSec is the Retry-After, in seconds, of a refusal because a limit is reached. Only time or an operator
	// resolves it.
	fullSec = 60
	// DefaultPageSize is the page size of the token list (docs/contract/launchpad.md#tokens).
	DefaultPageSize = 20
)

// Options holds the configuration of the launchpad. It is not durable: a changed fee or
// cooldown applies to new commands from the next start on.
type Options struct {
	Fee        Amount // NATIVE that a spawn costs (launchpad.fee)
	CooldownNs int64  // minimum time between two spawns of an address (launchpad.cooldown)
	NativeUSD  Amount // price of one NATIVE in 10^-18 USD (launchpad.native_usd)
	Seed       uint64 // seed of addresses and hashes; a data directory's first record fixes it
}

// DefaultOptions returns fee 100, cooldown 24 h, 1 USD per NATIVE, seed 1.
func DefaultOptions() Options {
	return Options{Fee: AmountOf(100), CooldownNs: 86400 * secondNs, NativeUSD: AmountOf(1), Seed: 1}
}

// Validate reports an option that is out of range.
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

// maxBalance is the largest balance of NATIVE or USBI that a deposit may lead to.
var maxBalance, _ = ParseAmount("100000000000000000000")
