package fault

import "strings"

// Action is the fault that a rule causes.
type Action uint8

// The actions. Those from Drop on concern the messages of a stream; Close and HalfOpen concern a stream when the
// rule names a channel, else requests.
const (
	Latency   Action = iota // answer later
	Status                  // answer with an error instead of calling the handler
	RateLimit               // answer 429 with Retry-After
	Close                   // close the connection without an answer
	HalfOpen                // keep the connection open and send nothing more
	Truncate                // close the connection within the body
	Stale                   // repeat an earlier answer
	LostAck                 // carry the request out, and lose the answer
	Skew                    // tell a wrong time
	Drop                    // lose a message
	Repeat                  // send a message twice
	Reorder                 // send a message after the next one
	Delay                   // send a message, and those behind it, later
	Gap                     // a wrong prevSeq
	Checksum                // a wrong checksum
	actions
)

var actionNames = [actions]string{
	"latency", "status", "rate-limit", "close", "half-open", "truncate", "stale", "lost-ack", "skew",
	"drop", "repeat", "reorder", "delay", "gap", "checksum",
}

// String returns the action's word.
func (a Action) String() string { return actionNames[a] }

// parseAction reads an action's word.
func parseAction(word string) (Action, bool) {
	for a := Latency; a < actions; a++ {
		if actionNames[a] == word {
			return a, true
		}
	}
	return 0, false
}

// Distribution is the distribution of a delay.
type Distribution uint8

// The distributions of a delay between Rule.Delay and Rule.Max.
const (
	Constant    Distribution = iota // always Delay
	Uniform                         // from Delay to Max
	Exponential                     // with the mean Delay, at most Max
	distributions
)

var distributionNames = [distributions]string{"constant", "uniform", "exponential"}

// String returns the distribution's word.
func (d Distribution) String() string { return distributionNames[d] }

func parseDistribution(word string) (Distribution, bool) {
	for d := Constant; d < distributions; d++ {
		if distributionNames[d] == word {
			return d, true
		}
	}
	return 0, false
}

// listed joins words for a message.
func listed(words []string) string { return strings.Join(words, ", ") }
