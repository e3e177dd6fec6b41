package hive

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
