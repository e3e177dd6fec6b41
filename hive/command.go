package hive

import (
	"encoding/json"
	"math/big"
	"strconv"

	"github.com/tickhive/tickhive/internal/rawjson"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/wire"
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
	// Checkpoint makes the ledger remember what accounts hold of the token of a worker, for longer than a proposal is
	// active, and returns the name of that checkpoint (launchpad.State.Checkpoint). So a token counts once, even if it
	// is transferred meanwhile. It is called when nothing else refuses the proposal; the proposal then has its refusal.
	// Whoever calls Do sets it: it does not belong to the encoding.
	Checkpoint func(nowNs int64, worker uint32) (uint64, *refuse.Refusal)
}

// CastVote is a vote of a user. The caller reads Level, Holdings, Counted and Owned from accounts and ledger.
type CastVote struct {
	TokenID    uint64
	ProposalID string // VoteForm.Parse makes one of every id that no proposal can have
	Vote       VoteKind
	Comment    string // at most 500 characters
	User       [16]byte
	Level      int64
	Holdings   *big.Int // the user's holdings of the proposal's token now, in 10^-18; nil means 0
	Counted    *big.Int // the user's holdings of the token at Checkpoint, in 10^-18; nil means 0
	Checkpoint uint64   // the proposal's checkpoint, as the caller knows it
	Owned      int64    // number of tokens that the user spawned
}

func (Begin) command()    {}
func (Act) command()      {}
func (Propose) command()  {}
func (CastVote) command() {}

// Result holds the complete outcome of a command for its caller.
type Result struct {
	Due      int          // number of changes that were due and came first; also beside a refusal
	Entry    EntryInfo    // Act
	Proposal ProposalInfo // Propose
	Vote     VoteInfo     // CastVote
}

// Limits of a command's encoding. No form lets more through.
const (
	maxAgentID    = len("worker-4294967295")
	maxProposalID = len("prop-4294967295")
	maxLevel      = 255 // a level has one byte in the accounts
	maxHolding    = 26  // bytes; a holding is below 2^208 (launchpad.Amount)
)

// noProposal is an id that no proposal has.
const noProposal = "prop-0"

// kinds holds how commands are encoded, by the number that stands before their members. Numbers never change.
var kinds = wire.Kinds[Command]{
	wire.KindOf[Command]((*Begin).code), wire.KindOf[Command]((*Act).code),
	wire.KindOf[Command]((*Propose).code), wire.KindOf[Command]((*CastVote).code),
}

// AppendCommand appends the encoding of a command for the journal.
func AppendCommand(dst []byte, cmd Command) []byte { return kinds.Append(dst, cmd) }

// DecodeCommand decodes the result of AppendCommand. Any other bytes are an error. Do carries out or refuses every
// command that decodes.
func DecodeCommand(b []byte) (Command, error) { return kinds.Decode(b, "hive: command") }

func (b *Begin) code(c *wire.Coder) {
	c.U64(&b.Seed)
	c.I64(&b.GenesisNs)
}

func (a *Act) code(c *wire.Coder) {
	c.Text(&a.Source, maxAgentID)
	c.U64(&a.TokenID)
	c.U8((*uint8)(&a.Type), uint8(actionTypes)-1)
	c.Text(&a.Payload, MaxPayload)
	c.Text(&a.Reason, MaxReason)
}

func (p *Propose) code(c *wire.Coder) {
	c.U64(&p.TokenID)
	c.U8((*uint8)(&p.Topic), uint8(topics)-1)
	c.Text(&p.Payload, MaxPayload)
	c.Text(&p.Proposer, MaxProposer)
	c.Bool(&p.Urgent)
}

func (v *CastVote) code(c *wire.Coder) {
	c.U64(&v.TokenID)
	c.Text(&v.ProposalID, maxProposalID)
	c.U8((*uint8)(&v.Vote), uint8(votes)-1)
	c.Text(&v.Comment, 4*MaxComment)
	c.Fixed(v.User[:])
	codeCount(c, &v.Level, maxLevel)
	codeHolding(c, &v.Holdings)
	codeHolding(c, &v.Counted)
	c.U64(&v.Checkpoint)
	codeCount(c, &v.Owned, MaxWorkers)
}

func codeCount(c *wire.Coder, n *int64, limit uint64) {
	u := uint64(*n)
	c.UpTo(&u, limit)
	*n = int64(u)
}

// codeHolding encodes or decodes a holding as its bytes, the most significant first. 0 has no byte and decodes
// as nil.
func codeHolding(c *wire.Coder, holding **big.Int) {
	var text string
	if *holding != nil {
		text = string((*holding).Bytes())
	}
	c.Text(&text, maxHolding)
	if c.Reading() && text != "" {
		if text[0] == 0 {
			c.Fail("holding with an empty first byte")
		}
		*holding = new(big.Int).SetBytes([]byte(text))
	}
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
	if _, ok := parseProposalID(v.ProposalID); !ok {
		v.ProposalID = noProposal
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
