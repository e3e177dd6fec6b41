package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of rules (docs/contract/limits.md#faults).
const (
	MaxRules    = 100
	MaxLatency  = time.Minute
	MaxHalfOpen = 5 * time.Minute
	MaxAge      = time.Minute
	MaxSkew     = 24 * time.Hour
	MaxWindow   = 366 * 24 * time.Hour
	MaxKeep     = 1 << 20 // bytes of a truncated body
	MaxPiece    = 1 << 20 // bytes of a slow body that are sent at once
	MaxSlow     = 5 * time.Minute
	certain     = 1_000_000
)

// Listeners lists the names of the listeners whose requests rules can select.
var Listeners = []string{"public", "aggregator", "binance"}

// Rule describes one fault and the requests or messages that it concerns. An empty selector selects all.
type Rule struct {
	Action   Action
	Listener string // one of Listeners
	Method   string
	Route    string // a path of the route table, or a prefix that ends in *
	Pair     string
	Key      string // public key
	Channel  string // a channel of a stream, or a prefix that ends in *
	PPM      int64  // probability in millionths
	Count    uint64 // the rule ends after this many faults; 0: it does not
	Seed     uint64
	FromNs   int64 // process clock; 0: from now on
	UntilNs  int64 // 0: until the rule is removed
	For      time.Duration

	Delay        time.Duration
	Max          time.Duration
	Distribution Distribution
	Status       int // of the answer; LostAck: 0 closes the connection instead
	RetryAfter   int // s
	Keep         int // Truncate, BrokenJSON: bytes of the body that are sent
	Age          time.Duration
	Skew         time.Duration
	Rate         int           // Slow: bytes a second; 0: Chunk says how many
	Chunk        int           // Slow: bytes of a piece
	Every        time.Duration // Slow: from one piece to the next
	Type         string        // ContentType: the value of the header
	Location     string        // Redirect: empty is the request's own target
	Member       string        // Null, Zero: the member that they change
}

// Stream reports whether the rule concerns messages of streams, and not requests.
func (r *Rule) Stream() bool { return r.Action >= Drop || r.Channel != "" }

// uses lists, for each action, the parameters that it takes besides the selectors.
var uses = [actions][]string{
	Latency: {"delay", "max", "distribution"}, Status: {"status", "retry-after"}, RateLimit: {"retry-after"},
	HalfOpen: {"delay"}, Truncate: {"keep"}, Slow: {"rate", "chunk", "every"}, Empty: {"status"},
	HTML: {"status", "retry-after"}, BrokenJSON: {"keep"}, Redirect: {"status", "location"}, ContentType: {"type"},
	Null: {"member"}, Zero: {"member"}, Stale: {"age"}, LostAck: {"status"}, Skew: {"skew"},
	Delay: {"delay", "max", "distribution"},
}

// SelectsRoute reports whether the rule selects a route of a listener.
func (r *Rule) SelectsRoute(listener, method, route string) bool {
	return (r.Listener == "" || r.Listener == listener) && (r.Method == "" || r.Method == method) &&
		selects(r.Route, route)
}

// requestSelectors select requests only.
var requestSelectors = []string{"method", "route"}

// check returns the first thing that is wrong with a rule whose parameters given are set.
func (r *Rule) check(given []string) error {
	for _, name := range given {
		_, parameter := parameters[name]
		switch {
		case r.Stream() && slices.Contains(requestSelectors, name):
			return fmt.Errorf("%s: a rule of a stream has no %s", r.Action, name)
		case parameter && !slices.Contains(uses[r.Action], name):
			return fmt.Errorf("%s: takes no %s", r.Action, name)
		case r.Action == HalfOpen && r.Stream() && parameter:
			return fmt.Errorf("%s: a stream stays open, so there is no %s", r.Action, name)
		}
	}
	switch {
	case r.Stream() && r.Listener == "aggregator":
		return fmt.Errorf("%s: the listener aggregator has no streams: give listener=public or listener=binance",
			r.Action)
	case r.Channel != "" && !slices.ContainsFunc(channels, r.selectsChannel):
		return fmt.Errorf("channel: %q must select one of %s and candles.INTERVAL", r.Channel, listed(channels[1:]))
	case r.Channel != "" && r.Action < Drop && r.Action != Close && r.Action != HalfOpen:
		return fmt.Errorf("%s: concerns requests, which have no channel", r.Action)
	case (r.Action == Latency || r.Action == Delay) && r.Delay == 0:
		return fmt.Errorf("%s: needs delay=, for example delay=250ms", r.Action)
	case r.Distribution == Uniform && r.Max < r.Delay:
		return fmt.Errorf("%s: distribution=uniform needs max=, at least delay", r.Action)
	case r.Distribution == Constant && slices.Contains(given, "max"):
		return fmt.Errorf("%s: max= needs distribution=uniform or exponential", r.Action)
	case r.Action == Skew && r.Skew == 0:
		return fmt.Errorf("%s: needs skew=, for example skew=-5s", r.Action)
	case r.Action == Slow && r.Rate != 0 && (r.Chunk != 0 || r.Every != 0):
		return fmt.Errorf("%s: takes rate=, or chunk= and every=, not both", r.Action)
	case r.Action == Slow && r.Rate == 0 && r.Chunk == 0 && r.Every == 0:
		return fmt.Errorf("%s: needs rate= (bytes a second), or chunk= and every=, for example rate=1024", r.Action)
	case r.Action == Slow && r.Rate == 0 && (r.Chunk == 0 || r.Every == 0):
		return fmt.Errorf("%s: chunk= and every= belong together, for example chunk=10 every=2s", r.Action)
	case r.For != 0 && r.UntilNs != 0:
		return errors.New("for and until exclude each other")
	case r.UntilNs != 0 && r.UntilNs <= r.FromNs:
		return errors.New("until must be after from")
	}
	return r.checkStatus()
}

// channels are the channels of all streams, of those of candles what their names begin with.
var channels = []string{"candles.", "book", "trades", "ticker", "status", "orders", "fills", "balances", "user"}

// selectsChannel reports whether the rule selects a channel, or some of those that begin with candles.
func (r *Rule) selectsChannel(name string) bool {
	return selects(r.Channel, name) || name == channels[0] && strings.HasPrefix(r.Channel, name)
}

// redirects are the statuses of a redirect that has a Location.
var redirects = []int{301, 302, 303, 307, 308}

// checkStatus checks that the action can have the status; 0 is none.
func (r *Rule) checkStatus() error {
	switch {
	case r.Status == 0:
	case r.Action == Redirect:
		if !slices.Contains(redirects, r.Status) {
			return fmt.Errorf("status: must be one of 301, 302, 303, 307, 308 for %s: %d", r.Action, r.Status)
		}
	case (r.Action == Empty || r.Action == HTML) && r.Status == 200:
	case r.Status < 400:
		return fmt.Errorf("status: must be from 400 to 599 for %s (empty and html: 200 too): %d", r.Action, r.Status)
	}
	return nil
}

// selects reports whether a pattern selects a name: an empty one all, PREFIX* all that begin with PREFIX.
func selects(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == "" || pattern == name
}
