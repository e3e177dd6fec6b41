package hive

import (
	"math/big"

	"tickhive/internal/wire"
)

// Command is a request to the hive: one of the plain structs below.
type Command interface{ command() }

// Begin fixes seed and genesis from the options. Store sends it once, before every other
// command.
type Begin struct{}

// Act is an action of an agent (POST /hive/actions, docs/contract/internal.md#hive).
type Act struct {
	Source  string // queen-1, scout-2, worker-7
	TokenID uint64 // agentNftId, 0: no token
	Type    ActionType
	Payload string // a JSON object; "" is {}
	Reason  string // 1 to 32 ASCII characters
}

// Propose opens a proposal about a token's worker (POST /hive/proposals).
type Propose struct {
	TokenID  uint64
	Topic    Topic
	Payload  string // a JSON object with exactly the topic's member
	Proposer string // an agent's id, or another name: then the worker logs the proposal
	Urgent   bool   // 24 h instead of 7 days
}

// CastVote is a user's vote. Level, holdings and owned tokens are what accounts and
// ledger say of the user at that time.
type CastVote struct {
	TokenID    uint64
	ProposalID string
	Vote       VoteKind
	Comment    string // at most 500 characters
	User       [16]byte
	Level      int64
	Holdings   *big.Int // of the proposal's token, in 10^-18; nil is 0
	Owned      int64    // tokens that the user spawned
}

// Tick applies the changes that are due by time alone; Due makes it.
type Tick struct{}

func (Begin) command()    {}
func (Act) command()      {}
func (Propose) command()  {}
func (CastVote) command() {}
func (Tick) command()     {}

// RecordKind says what a Record did.
type RecordKind uint8

// The records.
const (
	RecBegin RecordKind = iota
	RecAct
	RecPropose
	RecVote
	RecTick
	recordKinds
)

// Record is one accepted command with everything that was decided about it. Entries
// holds the entries that it appends to the log, with each one's hash of the entry before.
type Record struct {
	Kind   RecordKind
	TimeNs int64

	Seed      uint64 // begin
	GenesisNs int64  // begin

	Proposal uint32    // vote: its number; propose: its members below
	Worker   uint32    // propose
	Topic    Topic     // propose
	Payload  string    // propose
	Proposer string    // propose
	Urgent   bool      // propose
	User     [16]byte  // vote
	Vote     VoteKind  // vote
	Comment  string    // vote
	Weight   int64     // vote: hundredths
	Closes   []closing // tick
	Entries  []Entry   // act, propose, vote: one; tick: one for each passed proposal
}

// closing is a proposal that reached its closesAt.
type closing struct {
	Proposal uint32
	Passed   bool
}

// Result holds the complete outcome of a command for its caller.
type Result struct {
	Entry    EntryInfo    // act
	Proposal ProposalInfo // propose
	Vote     VoteInfo     // vote
}

// code names every member of every kind once, for both directions.
func (r *Record) code(c *wire.Coder) {
	c.U8((*uint8)(&r.Kind), uint8(recordKinds)-1)
	c.I64(&r.TimeNs)
	switch r.Kind {
	case RecBegin:
		c.U64(&r.Seed)
		c.I64(&r.GenesisNs)
	case RecPropose:
		c.U32(&r.Worker)
		c.U8((*uint8)(&r.Topic), uint8(topics)-1)
		c.Text(&r.Payload, MaxPayload)
		c.Text(&r.Proposer, MaxProposer)
		c.Bool(&r.Urgent)
	case RecVote:
		c.U32(&r.Proposal)
		c.Fixed(r.User[:])
		c.U8((*uint8)(&r.Vote), uint8(votes)-1)
		c.Text(&r.Comment, 4*MaxComment)
		c.I64(&r.Weight)
	case RecTick:
		n := c.Len(len(r.Closes))
		if c.Reading() && n > 0 {
			r.Closes = make([]closing, n)
		}
		for i := range r.Closes {
			c.U32(&r.Closes[i].Proposal)
			c.Bool(&r.Closes[i].Passed)
		}
	case RecAct: // its entry says it all
	}
	n := c.Len(len(r.Entries))
	if c.Reading() && n > 0 {
		r.Entries = make([]Entry, n)
	}
	for i := range r.Entries {
		c.Fixed(r.Entries[i].Prev[:])
		r.Entries[i].code(c)
	}
}
