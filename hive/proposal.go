package hive

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/btree"

	"github.com/tickhive/tickhive/internal/refuse"
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

// propose makes its checks in order: the form, whether the token exists, and whether a proposer with the
// form of an agent's id is an agent. Any other name is accepted; the log entry then names the worker as its
// source.
func (s *State) propose(cmd *Propose, res *Result) *refuse.Refusal {
	if rej := cmd.check(); rej != nil {
		return rej
	}
	known, ok := s.workers.Get(workerOf(cmd.TokenID))
	if !ok {
		return unknownWorker("tokenId")
	}
	source := Agent{WorkerTier, known.ID}
	if _, form := parseAgent(cmd.Proposer); form {
		if source, ok = s.agent(cmd.Proposer); !ok {
			return noAgent("proposer", cmd.Proposer)
		}
	}
	n := uint32(s.proposals.Len()) + 1
	if n > MaxProposals || known.ActiveProposals >= MaxActiveProposals {
		return refuse.New(refuse.Conflict, "tokenId",
			"At most %d proposals of a token are active, %d exist in all.", MaxActiveProposals, MaxProposals)
	}
	if rej := s.logFull(1 + s.closeQueue.Len() + 1); rej != nil { // this one may pass, too
		return rej
	}
	checkpoint, rej := cmd.Checkpoint(s.nowNs, known.ID)
	if rej != nil {
		return rej
	}
	sec := s.nowNs / secondNs
	p := &Proposal{
		N: n, Worker: known.ID, Topic: cmd.Topic, Payload: cmd.Payload, Proposer: cmd.Proposer,
		CreatedSec: sec, ClosesSec: sec + openSec(cmd.Urgent), Checkpoint: checkpoint,
	}
	w := s.edit(p.Worker)
	w.ActiveProposals++
	s.put(w)
	s.voters[p.N] = map[[16]byte]struct{}{}
	s.putProposal(p)
	res.Proposal = p.info(s.opt.QuorumCents)
	s.enter(Entry{
		Source: source, Target: w.ID, Type: ProposalCreated,
		Payload: fmt.Sprintf(`{"proposalId":"%s","topic":"%s"}`, p.ID(), cmd.Topic), Reason: "proposal",
	})
	return nil
}

// openSec returns the time for which a proposal is active.
func openSec(urgent bool) int64 {
	if urgent {
		return urgentSec
	}
	return proposalSec
}

// putProposal stores a version of a proposal and updates the indexes.
func (s *State) putProposal(p *Proposal) {
	before, had := s.proposals.Set(p.N, p)
	s.digest += p.mix() - before.mix()
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

// closeOne closes the proposal that ends first. One that passed changes its worker's config by an entry of the log.
func (s *State) closeOne() {
	key, _, _ := s.closeQueue.Min()
	p := s.editProposal(uint32(key&(MaxProposals-1)) + 1)
	passed := p.Tally.passing(s.opt.QuorumCents)
	p.Status = ProposalRejected
	if passed {
		p.Status = ProposalPassed
	}
	s.putProposal(p)
	s.digest -= s.voted[p.N]
	delete(s.voters, p.N)
	delete(s.voted, p.N)
	w := s.edit(p.Worker)
	w.ActiveProposals--
	s.countClosed(w.ID, p.ClosesSec)
	s.put(w)
	if passed {
		s.enter(Entry{
			Source: Agent{WorkerTier, p.Worker}, Target: p.Worker, Type: ConfigUpdate, Payload: p.Payload,
			Reason: "user_vote",
		})
	}
}

// countClosed counts a proposal of a worker that closed.
func (s *State) countClosed(worker uint32, sec int64) {
	k, n := closedKey(worker, sec), closedBy(s.closed, worker, sec)+1
	if before, had := s.closed.Set(k, n); had {
		s.digest -= mixOfClosed(k, before)
	}
	s.digest += mixOfClosed(k, n)
}

func (s *State) editProposal(n uint32) *Proposal {
	p, ok := s.proposals.Get(n)
	if !ok {
		panic("BUG: hive: no such proposal")
	}
	c := *p
	return &c
}

func commentWrong() *refuse.Refusal {
	return refuse.Param("comment", "comment is a string of at most %d characters.", MaxComment)
}

func (v *CastVote) check() *refuse.Refusal {
	if v.ProposalID == "" {
		return refuse.Param("proposalId", "proposalId is required: a string.")
	}
	if v.Vote >= votes {
		return refuse.Param("vote", "vote is required: yes, no or abstain.")
	}
	if utf8.RuneCountInString(v.Comment) > MaxComment || !utf8.ValidString(v.Comment) {
		return commentWrong()
	}
	return nil
}

// vote makes the checks of docs/contract/hive.md#votes that follow authentication and the rate limit, in
// order.
func (s *State) vote(cmd *CastVote, res *Result) *refuse.Refusal {
	if rej := cmd.check(); rej != nil {
		return rej
	}
	w, ok := s.workers.Get(workerOf(cmd.TokenID))
	if !ok {
		return unknownWorker("tokenId")
	}
	n, ok := parseProposalID(cmd.ProposalID)
	before, found := s.proposals.Get(n)
	if !ok || !found || before.Worker != w.ID || before.Checkpoint != cmd.Checkpoint {
		return refuse.New(refuse.ProposalNotFound, "proposalId", "This token has no such proposal.")
	}
	if cmd.Level < MinLevel {
		return refuse.New(refuse.LevelTooLow, "", "Voting needs level %d, the user has %d.", MinLevel,
			cmd.Level)
	}
	if cmd.Holdings == nil || cmd.Holdings.Cmp(oneToken) < 0 {
		return refuse.New(refuse.NoHoldings, "", "Voting needs at least 1 %s.", w.Symbol)
	}
	if before.Status != ProposalActive {
		return refuse.New(refuse.ProposalClosed, "proposalId", "The vote period of %s has ended.", before.ID())
	}
	if _, voted := s.voters[n][cmd.User]; voted {
		return refuse.New(refuse.AlreadyVoted, "proposalId", "The user has already voted on %s.", before.ID())
	}
	if len(s.voters[n]) >= MaxVoters {
		return refuse.Later(fullSec, "%s has %d votes, the limit.", before.ID(), MaxVoters)
	}
	if rej := s.logFull(1 + s.closeQueue.Len()); rej != nil { // each active proposal may pass
		return rej
	}
	weight := weightCents(cmd.Level, cmd.Owned, logCents(cmd.Counted))
	p := s.count(cmd, n, weight)
	e := s.enter(Entry{
		Source: Agent{WorkerTier, w.ID}, Target: w.ID, Type: VoteCast,
		Payload: fmt.Sprintf(`{"proposalId":"%s","vote":"%s"}`, p.ID(), cmd.Vote), Reason: "user_vote",
	})
	res.Vote = VoteInfo{
		VoteID: fmt.Sprintf("vote-%d", s.votes), ProposalID: p.ID(), Vote: cmd.Vote, WeightCents: weight,
		TxHash: txHash(s.seed, e.ID), VotedAt: e.Sec(), Tally: p.Tally.info(s.opt.QuorumCents),
	}
	return nil
}

// count counts a vote on proposal n, and returns the proposal.
func (s *State) count(cmd *CastVote, n uint32, weight int64) *Proposal {
	p := s.editProposal(n)
	s.votes++
	s.voters[n][cmd.User] = struct{}{}
	s.digest += mixOfVoter(n, cmd.User)
	s.voted[n] += mixOfVoter(n, cmd.User)
	p.Tally[cmd.Vote] += weight
	if cmd.Comment != "" {
		// The clone keeps the comments of the published version unchanged.
		p.Comments = append(slices.Clone(p.Comments), Comment{cmd.Comment, s.nowNs / secondNs})
		if n := len(p.Comments); n > KeptComments {
			p.Comments = p.Comments[n-KeptComments:]
		}
	}
	s.putProposal(p)
	return p
}

// VoteKind is the choice of a vote: yes, no or abstain.
type VoteKind uint8

// The choices of docs/contract/api.md.
const (
	Yes VoteKind = iota
	No
	Abstain
	votes
)

var voteNames = [votes]string{"yes", "no", "abstain"}

func (v VoteKind) String() string { return voteNames[v] }

// parseVote returns the choice with this wire name.
func parseVote(name string) (VoteKind, bool) {
	for i, n := range voteNames {
		if n == name {
			return VoteKind(i), true
		}
	}
	return 0, false
}

// Tally holds the sum of the weights for each choice, in hundredths. Its bound:
// docs/internals/bounds.md#launchpad-and-hive.
type Tally [votes]int64

// quorum reports whether the sum of all weights, abstentions included, reaches cents.
func (t Tally) quorum(cents int64) bool { return t[Yes]+t[No]+t[Abstain] >= cents }

// passing reports whether the quorum is reached and yes / (yes + no) >= 0.6. It is false when there is neither
// a yes nor a no.
func (t Tally) passing(quorumCents int64) bool {
	sum := t[Yes] + t[No]
	return t.quorum(quorumCents) && sum > 0 && t[Yes]*passingDen >= sum*passingNum
}

// MinLevel is the lowest level that may vote (docs/contract/api.md).
const MinLevel = 20

// tokenDigits is the number of decimal digits of a holding behind the point.
const tokenDigits = 18

// oneToken is the number of units of one token, 10^18.
var oneToken = powers[tokenDigits]

// powers holds the powers of 10 up to those that have one digit more than every bound.
var powers = func() (list [boundDigits + 2]*big.Int) {
	list[0] = big.NewInt(1)
	for i := range list[1:] {
		list[i+1] = new(big.Int).Mul(list[i], big.NewInt(10))
	}
	return list
}()

// weightCents returns the weight of a vote in hundredths: 1 + 0.9 x (level - 20) + owned tokens + log, the logCents of
// the holdings.
func weightCents(level, owned, log int64) int64 { return 100 + 90*(level-MinLevel) + 100*owned + log }

// logCents returns log10(holdings in whole tokens) in hundredths, rounded half to even; 0 below one token and for nil.
// The other parts of a weight are whole hundredths, so the sum is rounded like this part alone. It is exact: with n
// digits the logarithm is 100 x (n - 19) hundredths and those that the first digits add, which the bounds count.
func logCents(holdings *big.Int) int64 {
	if holdings == nil {
		return 0
	}
	digits := sort.Search(len(powers), func(i int) bool { return holdings.Cmp(powers[i]) < 0 })
	if digits <= tokenDigits {
		return 0
	}
	if digits > boundDigits+1 { // more than every supply, 10^30 tokens
		return 100 * (boundDigits + 1 - tokenDigits)
	}
	first := new(big.Int).Mul(holdings, powers[boundDigits+1-digits])
	passed := sort.Search(len(logBounds), func(i int) bool { return first.Cmp(logBounds[i]) <= 0 })
	return int64(100*(digits-1-tokenDigits) + passed)
}

// boundDigits is the number of digits after the first one of each bound. The bounds are rounded down, which loses
// nothing for a holding of as many digits: a holding is above a bound exactly when it is above the rounded one.
const boundDigits = 48

// logBounds holds 10^((i + 1/2) / 100) x 10^48, rounded down: a number between 1 and 10 has a logarithm of more than
// i + 1/2 hundredths when it is above bound i. The bounds are irrational, so no holding lies on one, and how a half is
// rounded never matters.
var logBounds = readBounds([100]string{
	"1011579454259898524440932314454314695741923521510", "1035142166679343817275623473454318273716901298475",
	"1059253725177288878809280373278108619979400906232", "1083926914021203526330013323941699199986575165093",
	"1109174815262401066676169579581690711928193078978", "1135010815672315063971723285898752663114709888372",
	"1161448613840342748569700079830899904424103255656", "1188502227437018437730122464892177271202161561951",
	"1216186000646367998719585144495329933647193063017", "1244514611771385087047637277037794025316190959715",
	"1273503081016661684011863748815058326717259968258", "1303166778452299387277965397863411011072044394634",
	"1333521432163324025675931715295331092415667964764", "1364583136588924525711325697058665161699140732543",
	"1396368361055937604621580882545113219873123683887", "1428893958511102856515592254781677792315653558286",
	"1462177174456718188828332630428502477621107391940", "1496235656094433411880285114387887157771360045802",
	"1531087461682030141935292521074807654081274180317", "1566751070108149106313048668120009217844122480663",
	"1603245390690041497709900732663319173926282502694", "1640589773199539275184594389271663354603788655102",
	"1678804018122560313971950080415583010769914233430", "1717908387157588129555506502284514543364302461240",
	"1757923613958692608912641934135092068445510950350", "1798870915128787840724569778156391449868447917613",
	"1840772001468955815365755432374098289117912809771", "1883649089489800535000891150208749685068184589993",
	"1927524913190936006109387074087203340061375922727", "1972422736114853754890971213072977150081560676120",
	"2018366363681560985660865036601046233511928616742", "2065380155810529370654353243099794200063884861046",
	"2113489039836646795560345317379328010487417946082", "2162718523727020269362243181027166386928732408490",
	"2213094709605637722333980909362563568163174427004", "2264644307593059646896596487258691209841511835000",
	"2317394649968478569033293163490522038971510341491", "2371373705661655261651752757478889838567936650425",
	"2426610095082415516297478580591261212840073511208", "2483133105295570268698125559211185645539154384206",
	"2540972705549305021653194947339599051282470792837", "2600159563165271922883642792748487318963904236412",
	"2660725059798809634991311702630560007035503665482", "2722701308077912381332692592601767961089906243533",
	"2786121168629770369437930895782283375581649602941", "2851018267503909289080479856092711489390363659386",
	"2917427014001166864181792659638553948208407692813", "2985382618917959617913276962521572537768795446408",
	"3054921113215513202725788385404922452684906684021", "3126079367123954968344121896927900379309323970115",
	"3198895109691398010478611247785210897425825599655", "3273406948788381883379181404014143088362561470771",
	"3349654391578276595487726190897373397119568994850", "3427677865464503567345135288434125597719310363947",
	"3507518739525680045574100759556358101953080809799", "3589219346450052170233675121028589291078768642171",
	"3672823004980846622294437290719786411234141983218", "3758374042884441673777109591503073997905529845757",
	"3845917820453535668865094062984769470628603098258", "3935500754557774627020826874510932457165188595496",
	"4027170343254590929208814208491682130760088295268", "4120975190973302079659746456473234683915559338657",
	"4216965034285822485690133595094063782509665771017", "4315190768277652228078818880421737174894823187653",
	"4415704473533125069307726547708291340392608189705", "4518559443749223635352797034853065669147870095714",
	"4623810213992602981346549689725224603610006996475", "4731512589614804789032711120198592681940367667868",
	"4841723675840993425318506456416900244294111690844", "4954501908047902201436080543521982109737246237430",
	"5069907082747043600595654534367271794405537877670", "5188000389289611182304389899530289208926668166262",
	"5308844442309883522004618683677482689640696954664", "5432503314924332108239455220845694908226239864025",
	"5559042572704035803795009952607120814747184718969", "5688529308438414494644568842427173170033550820495",
	"5821032177708714118427822199319931844112329655350", "5956621435290104605097982825271655482205463281196",
	"6095368972401691603903653333170900692472028784391", "6237348354824192445985282955212602234702354972386",
	"6382634861905486838928670908301499758426159984349", "6531305526474723552553268445028239528935232493569",
	"6683439175686146083625744673876134605089902467092", "6839116472814293236498192930204178175826675519511",
	"6998419960022734988243713460701952480582868193281", "7161434102129020188156211584571190021091689314652",
	"7328245331389040846182252915434901346266280890053", "7498942093324558273021842756151364384418679181649",
	"7673614893618189432856631103063534134383567023711", "7852356346100717851198286047722335281170014682789",
	"8035261221856172585287527848810735735656236493028", "8222426499470711419896489713877570374221502787852",
	"8413951416451950911527418938004764328624055029701", "8609937521846006490412447355935012811527982765439",
	"8810488730080140871445372999197303807735823382337", "9015711376059568858924634419451461662998420124614",
	"9225714271547631600307380226776668864365217604110", "9440608762859233803643804966022671812659166591523",
	"9660508789898133742767356067692282154529019626420", "9885530946569388402852479297820268368641072672305",
})

func readBounds(texts [100]string) (bounds [100]*big.Int) {
	for i, text := range texts {
		bounds[i], _ = new(big.Int).SetString(text, 10)
	}
	return bounds
}

// ProposalQuery asks for a page of proposals. A nil member does not filter.
type ProposalQuery struct {
	Page
	TokenID *uint64
	Status  *ProposalStatus
}

// Proposals returns one page, newest first. q must have passed Check.
func (v *View) Proposals(q ProposalQuery) (out List[ProposalInfo]) {
	tr, hiWord, ok := v.proposalIndex(q)
	if !ok {
		return out
	}
	lo, hi := 0, v.proposals.Len()
	if tr != nil {
		lo, hi = lowerBound(tr, pair(hiWord, 0)), lowerBound(tr, pair(hiWord+1, 0))
	}
	out.TotalItems = int64(hi - lo)
	if q.After != 0 {
		before := uint32(min(q.After, math.MaxUint32))
		if tr == nil {
			hi = min(hi, int(before)-1)
		} else {
			hi = min(hi, lowerBound(tr, pair(hiWord, before)))
		}
	}
	from, to := q.span(hi - lo)
	for i := from; i < to; i++ {
		n := uint32(hi - i) // without a filter: proposals are numbered from 1 without a gap
		if tr != nil {
			key, _, _ := tr.GetAt(hi - 1 - i)
			n = uint32(key)
		}
		p, _ := v.proposals.Get(n)
		out.Items = append(out.Items, p.info(v.opt.QuorumCents))
		out.Next = uint64(n)
	}
	out.endAt(to == hi-lo)
	return out
}

// proposalIndex returns the index of a query's filters, nil without filters.
func (v *View) proposalIndex(q ProposalQuery) (tr *btree.Map[uint64, struct{}], hiWord uint32, ok bool) {
	if q.TokenID == nil {
		if q.Status == nil {
			return nil, 0, true
		}
		return v.byState, uint32(*q.Status), true
	}
	w, ok := v.worker(*q.TokenID)
	switch {
	case !ok:
		return nil, 0, false
	case q.Status == nil:
		return v.byWorker, w.ID, true
	}
	return v.byWorkerState, w.ID<<2 | uint32(*q.Status), true
}

// Proposal returns one proposal; ok is false for an unknown id.
func (v *View) Proposal(id string) (d ProposalInfo, ok bool) {
	n, ok := parseProposalID(id)
	p, found := v.proposals.Get(n)
	if !ok || !found {
		return d, false
	}
	return p.info(v.opt.QuorumCents), true
}
