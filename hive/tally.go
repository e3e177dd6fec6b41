package hive

// VoteKind holds a vote: yes, no or abstain.
type VoteKind uint8

// The votes of docs/contract/api.md.
const (
	Yes VoteKind = iota
	No
	Abstain
	votes
)

var voteNames = [votes]string{"yes", "no", "abstain"}

func (v VoteKind) String() string { return voteNames[v] }

// parseVote finds a vote by its wire name.
func parseVote(name string) (VoteKind, bool) {
	for i, n := range voteNames {
		if n == name {
			return VoteKind(i), true
		}
	}
	return 0, false
}

// Tally holds the sums of weights by vote, in hundredths. For its bound see
// docs/internals/bounds.md#launchpad-and-hive.
type Tally [votes]int64

// quorum counts abstentions too.
func (t Tally) quorum(cents int64) bool { return t[Yes]+t[No]+t[Abstain] >= cents }

// passing reports whether yes / (yes + no) >= 0.6 and the quorum is reached. Without a yes or a
// no, nothing passes.
func (t Tally) passing(quorumCents int64) bool {
	sum := t[Yes] + t[No]
	return t.quorum(quorumCents) && sum > 0 && t[Yes]*passingDen >= sum*passingNum
}
