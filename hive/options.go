package hive

import "errors"

// The hive's limits.
const (
	// MaxEntries bounds the action log: about 200 bytes of memory each.
	MaxEntries = 1 << 24
	// MaxWorkers is the launchpad's MaxTokens.
	MaxWorkers = 1 << 20
	// MaxProposals in all.
	MaxProposals = 1 << 22
	// MaxActiveProposals per token, so that a worker's own lists stay short.
	MaxActiveProposals = 1000
	// MaxVoters of one proposal: they are remembered until it closes.
	MaxVoters = 1 << 20
	// MaxPayload is the size of an action's or proposal's payload in bytes.
	MaxPayload = 4096
	// MaxReason is the length of a reasonCode, ASCII (docs/contract/hive.md#action-log).
	MaxReason = 32
	// MaxComment is the length of a vote's comment in characters.
	MaxComment = 500
	// MaxProposer is the length of a proposer's name in bytes.
	MaxProposer = 64
	// KeptComments is the number of comments that a proposal shows.
	KeptComments = 50
	// RecentActions is the number of entries that a worker's views show.
	RecentActions = 20
	// fullSec is the Retry-After of a refusal because a limit is reached: only time or an
	// operator helps.
	fullSec = 60
	// MaxPageSize of every list, and the defaults (docs/contract/launchpad.md#tokens,
	// docs/contract/hive.md#action-log).
	MaxPageSize            = 100
	DefaultPageSize        = 20
	DefaultLogPageSize     = 50
	secondNs               = 1_000_000_000
	daySec                 = 86400
	idleAfterSec           = 7 * daySec
	proposalSec            = 7 * daySec
	urgentSec              = daySec
	recentlyClosedSec      = 7 * daySec // "recently" of votes.recentlyClosed
	blockNs                = 2 * secondNs
	firstAgentNFT          = 10001
	passingNum, passingDen = 3, 5 // passing: yes / (yes + no) >= 0.6
)

// Options holds the configuration of the hive. The quorum applies to proposals that close
// after the start; seed and genesis are the launchpad ledger's, and the first record fixes
// them for a data directory.
type Options struct {
	QuorumCents int64  // hundredths of vote weight, hive.quorum
	Queens      uint32 // queen-1 to queen-N
	Scouts      uint32 // scout-1 to scout-N
	Seed        uint64 // of transaction hashes
	GenesisNs   int64  // of block numbers
}

// DefaultOptions returns quorum 100, three queens, two scouts.
func DefaultOptions() Options {
	return Options{QuorumCents: 100_00, Queens: 3, Scouts: 2, Seed: 1}
}

// Validate reports an option outside of its limits.
func (o *Options) Validate() error {
	if o.QuorumCents < 0 || o.QuorumCents > 1_000_000_000_00 {
		return errors.New("hive.quorum is not within 0 and 10^9")
	}
	if o.Queens == 0 || o.Scouts == 0 {
		return errors.New("a hive has at least one queen and one scout")
	}
	return nil
}
