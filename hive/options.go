package hive

import "errors"

// The hive's limits.
const (
	// MaxEntries bounds the action log. An entry takes about 200 bytes of memory.
	MaxEntries = 1 << 24
	// MaxWorkers equals the launchpad's MaxTokens: each token has one worker.
	MaxWorkers = 1 << 20
	// MaxProposals bounds the proposals of all workers together.
	MaxProposals = 1 << 22
	// MaxActiveProposals bounds the active proposals of one token, so that its lists stay short.
	MaxActiveProposals = 1000
	// MaxVoters bounds the voters of one proposal, which are stored until it closes.
	MaxVoters = 1 << 20
	// MaxDue bounds the changes that one record carries out because they are due: proposals that close, and workers that
	// become idle.
	MaxDue = 256
	// MaxPayload is the largest payload of an action or a proposal, in bytes.
	MaxPayload = 4096
	// MaxReason is the longest reasonCode, in ASCII characters (docs/contract/hive.md#action-log).
	MaxReason = 32
	// MaxComment is the longest comment of a vote, in characters.
	MaxComment = 500
	// MaxProposer is the longest name of a proposer, in bytes.
	MaxProposer = 64
	// KeptComments is the number of newest comments that a proposal retains.
	KeptComments = 50
	// RecentActions is the number of newest entries that a worker's answers show.
	RecentActions = 20
	// fullSec is the Retry-After, in seconds, of a refusal because a limit is reached. Only time or an operator
	// resolves it.
	fullSec = 60
	// MaxPageSize is the largest page of every list; the default page sizes follow
	// (docs/contract/launchpad.md#tokens, docs/contract/hive.md#action-log).
	MaxPageSize            = 100
	DefaultPageSize        = 20
	DefaultLogPageSize     = 50
	secondNs               = 1_000_000_000
	daySec                 = 86400
	idleAfterSec           = 7 * daySec
	proposalSec            = 7 * daySec
	urgentSec              = daySec
	recentlyClosedSec      = 7 * daySec // period that votes.recentlyClosed covers
	blockNs                = 2 * secondNs
	firstAgentNFT          = 10001
	passingNum, passingDen = 3, 5 // a proposal passes when yes / (yes + no) >= 3/5
)

// Options holds the configuration of the hive. The quorum applies to proposals that close after the start. Seed
// and GenesisNs must equal the launchpad ledger's; the first record stores them for the life of the data
// directory.
type Options struct {
	QuorumCents int64  // hundredths of vote weight that a proposal needs to pass (hive.quorum)
	Queens      uint32 // number of queens: queen-1 to queen-N
	Scouts      uint32 // number of scouts: scout-1 to scout-N
	Seed        uint64 // the ledger's seed, for transaction hashes
	GenesisNs   int64  // the ledger's genesis, for block numbers
}

// DefaultOptions returns quorum 100, three queens, two scouts.
func DefaultOptions() Options {
	return Options{QuorumCents: 100_00, Queens: 3, Scouts: 2, Seed: 1}
}

// Validate reports an option that is out of range.
func (o *Options) Validate() error {
	if o.QuorumCents < 0 || o.QuorumCents > 1_000_000_000_00 {
		return errors.New("hive.quorum is not within 0 and 10^9")
	}
	if o.Queens == 0 || o.Scouts == 0 {
		return errors.New("a hive has at least one queen and one scout")
	}
	return nil
}
