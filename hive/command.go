package hive

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"tickhive/internal/rawjson"
	"tickhive/internal/refuse"
	"tickhive/internal/wire"
)

// Command is a request to the hive: one of the structs below.
type Command interface{ command() }

// Begin stores the seed and the genesis. It comes once, before every other command.
type Begin struct {
	Seed      uint64
	GenesisNs int64 // of the launchpad, Unix ns
}

// Act is an action of an agent (POST /hive/actions, docs/contract/internal.md#hive).
type Act struct {
	Source  string // id of the acting agent: queen-1, scout-2, worker-7
	TokenID uint64 // agentNftId of the target, 0: none
	Type    ActionType
	Payload string // a JSON object; "" means {}
	Reason  string // 1 to 32 ASCII characters
}

// Propose opens a proposal about a token's worker (POST /hive/proposals).
type Propose struct {
	TokenID  uint64
	Topic    Topic
	Payload  string // a JSON object with exactly the topic's member
	Proposer string // an agent's id, which logs the proposal, or any other name: the worker logs it
	Urgent   bool   // the proposal closes after 24 h instead of 7 days
	// Checkpoint names the checkpoint of the ledger that remembers what accounts hold of the token now, so that a
	// token counts once, even if it is transferred while the proposal is active. It lasts until CheckpointEndSec.
	Checkpoint       uint64
	CheckpointEndSec int64
}

// CastVote is a vote of a user. The caller reads Level, Holdings, Counted and Owned from accounts and ledger.
type CastVote struct {
	TokenID    uint64
	ProposalID string
	Vote       VoteKind
	Comment    string // at most 500 characters
	User       [16]byte
	Level      int64
	Holdings   *big.Int // the user's holdings of the proposal's token now, in 10^-18; nil means 0
	Counted    *big.Int // the user's holdings of the token at Checkpoint, in 10^-18; nil means 0
	Checkpoint uint64   // the proposal's checkpoint, as the caller knows it
	Owned      int64    // number of tokens that the user spawned
}

// Tick applies the changes that are due by time alone. Due returns it.
type Tick struct{}

func (Begin) command()    {}
func (Act) command()      {}
func (Propose) command()  {}
func (CastVote) command() {}
func (Tick) command()     {}

// RecordKind is the kind of a Record.
type RecordKind uint8

// The kinds of records.
const (
	RecBegin RecordKind = iota
	RecAct
	RecPropose
	RecVote
	RecTick
	recordKinds
)

// Record is one accepted command with every decision that Plan made. Entries holds the log entries that it
// appends; each contains the hash of the entry before.
type Record struct {
	Kind   RecordKind
	TimeNs int64

	Seed      uint64 // kind begin
	GenesisNs int64  // kind begin

	Closes []closing // the proposals that are due to close by TimeNs, at most MaxDue

	Proposal uint32   // kind vote: number of the proposal
	Worker   uint32   // kind propose
	Topic    Topic    // kind propose
	Payload  string   // kind propose
	Proposer string   // kind propose
	Urgent   bool     // kind propose
	User     [16]byte // kind vote
	Vote     VoteKind // kind vote
	Comment  string   // kind vote
	Weight   int64    // kind vote, in hundredths
	// Checkpoint belongs to the kind propose.
	Checkpoint uint64
	Entries    []Entry // one for each proposal that passed; then, kinds act, propose and vote, the command's own
}

// wantEntries returns the number of entries that the closings and the kind make.
func (r *Record) wantEntries() (n int) {
	for _, cl := range r.Closes {
		if cl.Passed {
			n++
		}
	}
	if r.Kind == RecAct || r.Kind == RecPropose || r.Kind == RecVote {
		n++
	}
	return n
}

// own returns the entry of the command itself, which follows the entries of the proposals that passed.
func (r *Record) own() *Entry { return &r.Entries[len(r.Entries)-1] }

// add appends an entry that continues the log, or the entries before it, by number and hash.
func (r *Record) add(l *log, e Entry) {
	e.ID, e.Prev = l.n+1, l.head
	if len(r.Entries) > 0 {
		e.ID, e.Prev = r.own().ID+1, r.own().Hash()
	}
	r.Entries = append(r.Entries, e)
}

// closing is the decision on a proposal whose time has ended.
type closing struct {
	Proposal uint32
	Passed   bool
}

// Result holds the complete outcome of a command for its caller.
type Result struct {
	Entry    EntryInfo    // kind act
	Proposal ProposalInfo // kind propose
	Vote     VoteInfo     // kind vote
}

// code encodes or decodes the members that each kind of record has.
func (r *Record) code(c *wire.Coder) {
	c.U8((*uint8)(&r.Kind), uint8(recordKinds)-1)
	c.I64(&r.TimeNs)
	n := c.Len(len(r.Closes))
	if c.Reading() && n > 0 {
		r.Closes = make([]closing, n)
	}
	for i := range r.Closes {
		c.U32(&r.Closes[i].Proposal)
		c.Bool(&r.Closes[i].Passed)
	}
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
		c.U64(&r.Checkpoint)
	case RecVote:
		c.U32(&r.Proposal)
		c.Fixed(r.User[:])
		c.U8((*uint8)(&r.Vote), uint8(votes)-1)
		c.Text(&r.Comment, 4*MaxComment)
		c.I64(&r.Weight)
	case RecAct, RecTick: // closings and entries hold everything
	}
	n = c.Len(len(r.Entries))
	if c.Reading() && n > 0 {
		r.Entries = make([]Entry, n)
	}
	for i := range r.Entries {
		c.Fixed(r.Entries[i].Prev[:])
		r.Entries[i].code(c)
	}
	if want := r.wantEntries(); c.Reading() && (len(r.Entries) != want || len(r.Closes) > MaxDue) {
		c.Fail("%d closings with %d entries, not %d", len(r.Closes), len(r.Entries), want)
	}
}

// RecordVersion is the version of the encoding of records and snapshots.
const RecordVersion = 4

// AppendRecord appends the encoding of rec for the log.
func AppendRecord(dst []byte, rec *Record) []byte { return wire.Append(dst, rec.code) }

// DecodeRecord decodes the result of AppendRecord. Any other bytes are an error.
func DecodeRecord(b []byte) (rec Record, err error) {
	if err := wire.Decode(b, rec.code); err != nil {
		return Record{}, fmt.Errorf("hive: record: %w", err)
	}
	return rec, nil
}

// VoteForm holds the members of a vote's body as JSON text; nil for a missing member. The handler has already
// refused unknown and duplicate members.
type VoteForm struct{ ProposalID, Vote, Comment json.RawMessage }

// Parse reads the members in the order of docs/contract/api.md and refuses the first wrong one. The caller sets
// the token, the user, and the user's level, holdings and owned tokens.
func (f VoteForm) Parse() (CastVote, *refuse.Refusal) {
	var v CastVote
	if v.ProposalID, _ = rawjson.Text(f.ProposalID); v.ProposalID == "" {
		return v, refuse.Param("proposalId", "proposalId is required: a string.")
	}
	word, ok := rawjson.Text(f.Vote)
	if ok {
		v.Vote, ok = parseVote(word)
	}
	if !ok {
		return v, refuse.Param("vote", "vote is required: yes, no or abstain.")
	}
	if v.Comment, ok = rawjson.Text(f.Comment); !ok && !rawjson.Absent(f.Comment) {
		return v, commentWrong()
	}
	return v, v.check()
}

// ActionForm holds the members of the body of POST /hive/actions, like VoteForm.
type ActionForm struct{ SourceAgentID, TargetTokenID, ActionType, ActionPayload, ReasonCode json.RawMessage }

// Parse reads the members in the order of the table and refuses the first wrong one.
func (f ActionForm) Parse() (Act, *refuse.Refusal) {
	var a Act
	if a.Source, _ = rawjson.Text(f.SourceAgentID); a.Source == "" {
		return a, sourceWrong()
	}
	if !readID(f.TargetTokenID, &a.TokenID) {
		return a, refuse.Param("targetTokenId", "targetTokenId is required: an integer, 0 for no token.")
	}
	word, ok := rawjson.Text(f.ActionType)
	if ok {
		a.Type, ok = parseActionType(word)
	}
	if !ok {
		return a, typeWrong()
	}
	if !rawjson.Absent(f.ActionPayload) {
		a.Payload = compact(string(f.ActionPayload))
	}
	if rej := a.checkPayload(); rej != nil {
		return a, rej
	}
	if a.Reason, ok = rawjson.Text(f.ReasonCode); !ok {
		return a, reasonWrong()
	}
	return a, a.check()
}

// ProposalForm holds the members of the body of POST /hive/proposals, like VoteForm.
type ProposalForm struct{ TokenID, Topic, Payload, Proposer, Urgent json.RawMessage }

// Parse reads the members in the order of the table and refuses the first wrong one.
func (f ProposalForm) Parse() (Propose, *refuse.Refusal) {
	var p Propose
	if !readID(f.TokenID, &p.TokenID) {
		return p, refuse.Param("tokenId", "tokenId is required: an integer.")
	}
	word, ok := rawjson.Text(f.Topic)
	if ok {
		p.Topic, ok = parseTopic(word)
	}
	if !ok {
		return p, topicWrong()
	}
	p.Payload = compact(string(f.Payload))
	if rej := p.checkPayload(); rej != nil {
		return p, rej
	}
	if p.Proposer, ok = rawjson.Text(f.Proposer); !ok {
		return p, proposerWrong()
	}
	if rej := p.check(); rej != nil {
		return p, rej
	}
	switch string(f.Urgent) {
	case "true":
		p.Urgent = true
	case "", "null", "false":
	default:
		return p, refuse.Param("urgent", "urgent is true or false.")
	}
	return p, nil
}

// readID reads a JSON integer of at least 0 into p. It returns false for anything else.
func readID(raw json.RawMessage, p *uint64) bool {
	if len(raw) == 0 || len(raw) > 19 {
		return false
	}
	n, err := strconv.ParseUint(string(raw), 10, 64)
	*p = n
	return err == nil
}
