package hive

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tickhive/internal/refuse"
)

// Topic is the setting that a proposal wants to change.
type Topic uint8

// The topics of docs/contract/hive.md#votes.
const (
	SlippageCap Topic = iota
	MEVProtection
	SignalSubscriptions
	topics
)

var (
	topicNames   = [topics]string{"slippage_cap", "mev_protection", "signal_subscriptions"}
	topicMembers = [topics]string{memberSlippage, memberMEV, memberSignals}
)

func (t Topic) String() string { return topicNames[t] }

// parseTopic returns the topic with this wire name.
func parseTopic(name string) (Topic, bool) {
	for i, n := range topicNames {
		if n == name {
			return Topic(i), true
		}
	}
	return 0, false
}

// ProposalStatus is a proposal's state.
type ProposalStatus uint8

// The states of a proposal. It is active until closesAt.
const (
	ProposalActive ProposalStatus = iota
	ProposalPassed
	ProposalRejected
	proposalStatuses
)

var proposalStatusNames = [proposalStatuses]string{"active", "passed", "rejected"}

func (s ProposalStatus) String() string { return proposalStatusNames[s] }

// Proposal is one version of a proposal. A vote or the close makes a new version.
type Proposal struct {
	N          uint32 // number, from 1
	Worker     uint32
	Topic      Topic
	Payload    string // JSON without white space between tokens
	Proposer   string
	Status     ProposalStatus
	CreatedSec int64
	ClosesSec  int64
	Checkpoint uint64 // the ledger's checkpoint whose holdings the votes count
	Tally      Tally
	Comments   []Comment // the newest KeptComments, oldest first; the slice is never changed
}

// Comment is the comment of a vote. The voter is not stored.
type Comment struct {
	Text string
	Sec  int64
}

// ID returns the wire id, prop-N.
func (p *Proposal) ID() string { return "prop-" + strconv.FormatUint(uint64(p.N), 10) }

// TokenID returns the agentNftId of the proposal's token.
func (p *Proposal) TokenID() uint64 { return tokenOf(p.Worker) }

// parseProposalID returns the number in an id of the form prop-N.
func parseProposalID(id string) (uint32, bool) {
	digits, ok := strings.CutPrefix(id, "prop-")
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), ok && err == nil && strconv.FormatUint(n, 10) == digits
}

func topicWrong() *refuse.Refusal {
	return refuse.Param("topic", "topic is required: slippage_cap, mev_protection or signal_subscriptions.")
}

func proposerWrong() *refuse.Refusal {
	return refuse.Param("proposer", "proposer is required: a string of 1 to %d bytes.", MaxProposer)
}

func (p *Propose) checkPayload() *refuse.Refusal {
	const field = "payload"
	if p.Topic >= topics {
		return topicWrong()
	}
	members, rej := parseObject(p.Payload, field)
	if rej != nil {
		return rej
	}
	want := topicMembers[p.Topic]
	for name := range members {
		if name != want {
			return refuse.Param(field+"."+name, "The payload of %s is %s alone.", p.Topic, want)
		}
	}
	if _, ok := members[want]; !ok {
		return refuse.Param(field+"."+want, "The payload of %s is %s.", p.Topic, want)
	}
	_, rej = parsePatch(members, field)
	return rej
}

func (p *Propose) check() *refuse.Refusal {
	if rej := p.checkPayload(); rej != nil {
		return rej
	}
	if p.Proposer == "" || len(p.Proposer) > MaxProposer || !utf8.ValidString(p.Proposer) {
		return proposerWrong()
	}
	return nil
}

// planPropose makes its checks in order: the form, whether the token exists, and whether a proposer with the
// form of an agent's id is an agent. Any other name is accepted; the log entry then names the worker as its
// source.
func (s *State) planPropose(cmd Propose, rec *Record) *refuse.Refusal {
	if rej := cmd.check(); rej != nil {
		return rej
	}
	w, ok := s.knownWorker(workerOf(cmd.TokenID))
	if !ok {
		return unknownWorker("tokenId")
	}
	source := Agent{WorkerTier, w.ID}
	if _, form := parseAgent(cmd.Proposer); form {
		if source, ok = s.agent(cmd.Proposer); !ok {
			return refuse.New(refuse.NotFound, "proposer", "There is no agent %q.", cmd.Proposer)
		}
	}
	n, active := uint32(s.proposals.Len())+1, w.ActiveProposals
	for _, cl := range rec.Closes {
		if p, _ := s.proposals.Get(cl.Proposal); p.Worker == w.ID {
			active--
		}
	}
	if n > MaxProposals || active >= MaxActiveProposals {
		return refuse.New(refuse.Conflict, "tokenId",
			"At most %d proposals of a token are active, %d exist in all.", MaxActiveProposals, MaxProposals)
	}
	if rej := s.logFull(1 + s.mayEnter(rec) + 1); rej != nil {
		return rej
	}
	if rec.TimeNs/secondNs+openSec(cmd.Urgent) > cmd.CheckpointEndSec {
		return refuse.New(refuse.Conflict, "tokenId", "The holdings are remembered until Unix second %d, "+
			"the proposal would close later; try again.", cmd.CheckpointEndSec)
	}
	rec.Kind, rec.Worker, rec.Topic, rec.Payload, rec.Proposer = RecPropose, w.ID, cmd.Topic, cmd.Payload, cmd.Proposer
	rec.Urgent, rec.Checkpoint = cmd.Urgent, cmd.Checkpoint
	rec.add(&s.log, Entry{
		TimeNs: rec.TimeNs, Source: source, Target: w.ID, Type: ProposalCreated,
		Payload: fmt.Sprintf(`{"proposalId":"prop-%d","topic":"%s"}`, n, cmd.Topic), Reason: "proposal",
	})
	return nil
}

// mayEnter returns the number of entries that the closes of the active proposals may append to the log, those of the
// record included.
func (s *State) mayEnter(rec *Record) int {
	return len(rec.Entries) + s.closeQueue.Len() - len(rec.Closes)
}

// openSec returns the time for which a proposal is active.
func openSec(urgent bool) int64 {
	if urgent {
		return urgentSec
	}
	return proposalSec
}

func (s *State) applyPropose(rec *Record, res *Result) {
	sec := rec.TimeNs / secondNs
	p := &Proposal{
		N: uint32(s.proposals.Len()) + 1, Worker: rec.Worker, Topic: rec.Topic, Payload: rec.Payload,
		Proposer: rec.Proposer, CreatedSec: sec, ClosesSec: sec + openSec(rec.Urgent), Checkpoint: rec.Checkpoint,
	}
	w := s.edit(p.Worker)
	w.ActiveProposals++
	s.put(w)
	s.voters[p.N] = map[[16]byte]struct{}{}
	s.putProposal(p)
	res.Proposal = p.info(s.opt.QuorumCents)
}

// putProposal stores a version of a proposal and updates the indexes.
func (s *State) putProposal(p *Proposal) {
	before, had := s.proposals.Set(p.N, p)
	if had && before.Status != p.Status {
		s.byState.Delete(pair(uint32(before.Status), p.N))
		s.byWorkerState.Delete(pair(before.Worker<<2|uint32(before.Status), p.N))
	}
	s.byState.Set(pair(uint32(p.Status), p.N), struct{}{})
	s.byWorkerState.Set(pair(p.Worker<<2|uint32(p.Status), p.N), struct{}{})
	s.byWorker.Set(pair(p.Worker, p.N), struct{}{})
	if p.Status == ProposalActive {
		s.closeQueue.Set(closeKey(p), struct{}{})
	} else {
		s.closeQueue.Delete(closeKey(p))
	}
}

// closeKey returns the key that sorts active proposals by closesAt. MaxProposals is 2^22.
func closeKey(p *Proposal) uint64 { return uint64(p.ClosesSec)<<22 | uint64(p.N-1) }

// planCloses decides the proposals whose closesAt has come by the record's time, in the order of closesAt, at most MaxDue
// of them; all is false when more are due. It adds a log entry for each one that passed.
func (s *State) planCloses(rec *Record) (all bool) {
	all = true
	s.closeQueue.Scan(func(key uint64, _ struct{}) bool {
		sec := int64(key >> 22)
		if sec*secondNs > rec.TimeNs {
			return false
		}
		if len(rec.Closes) == MaxDue {
			all = false
			return false
		}
		p, _ := s.proposals.Get(uint32(key&(MaxProposals-1)) + 1)
		passed := p.Tally.passing(s.opt.QuorumCents)
		rec.Closes = append(rec.Closes, closing{p.N, passed})
		if passed {
			rec.add(&s.log, Entry{
				TimeNs: sec * secondNs, Source: Agent{WorkerTier, p.Worker}, Target: p.Worker, Type: ConfigUpdate,
				Payload: p.Payload, Reason: "user_vote",
			})
		}
		return true
	})
	return all
}

// applyCloses closes the proposals of a record, and returns the number of its entries that belong to them.
func (s *State) applyCloses(rec *Record) (entries int) {
	for _, cl := range rec.Closes {
		p := s.editProposal(cl.Proposal)
		p.Status = ProposalRejected
		if cl.Passed {
			p.Status = ProposalPassed
		}
		s.putProposal(p)
		delete(s.voters, p.N)
		w := s.edit(p.Worker)
		w.ActiveProposals--
		s.closed.Set(closedKey(w.ID, p.ClosesSec), closedBy(s.closed, w.ID, p.ClosesSec)+1)
		s.put(w)
		if cl.Passed {
			s.appendEntry(&rec.Entries[entries])
			entries++
		}
	}
	return entries
}

func (s *State) editProposal(n uint32) *Proposal {
	p, ok := s.proposals.Get(n)
	if !ok {
		panic("BUG: hive: no such proposal")
	}
	c := *p
	return &c
}
