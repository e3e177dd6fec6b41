package fault

import "strings"

// Action is the fault that a rule causes.
type Action uint8

// The actions. Those from Drop on concern the messages of a stream; Close and HalfOpen concern a stream when the
// rule names a channel, else requests.
const (
	Latency     Action = iota // answer later
	Status                    // answer with an error instead of calling the handler
	RateLimit                 // answer 429 with Retry-After
	Close                     // close the connection without an answer
	HalfOpen                  // keep the connection open and send nothing more
	Truncate                  // close the connection within the body
	Stale                     // repeat an earlier answer
	LostAck                   // carry the request out, and lose the answer
	Skew                      // tell a wrong time
	Slow                      // send the body in pieces with pauses
	Empty                     // answer without a body
	HTML                      // answer with a page instead of JSON
	BrokenJSON                // end the body within, with a Content-Length that fits
	Redirect                  // send the client to another address
	ContentType               // name a wrong Content-Type
	Missing                   // leave a pair out
	Null                      // make a value null
	Zero                      // make a value 0
	Crossed                   // put the best bid above the best ask
	Doubled                   // list an entry twice
	Drop                      // lose a message
	Repeat                    // send a message twice
	Reorder                   // send a message after the next one
	Delay                     // send a message, and those behind it, later
	Gap                       // a wrong prevSeq
	Checksum                  // a wrong checksum
	actions
)

var actionNames = [actions]string{
	"latency", "status", "rate-limit", "close", "half-open", "truncate", "stale", "lost-ack", "skew",
	"slow", "empty", "html", "broken-json", "redirect", "content-type", "missing", "null", "zero", "crossed", "doubled",
	"drop", "repeat", "reorder", "delay", "gap", "checksum",
}

// Edits reports whether the action changes the data of a document: Missing to Doubled.
func (a Action) Edits() bool { return a >= Missing && a <= Doubled }

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
