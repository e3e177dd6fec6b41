package fault

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/fixed"
)

// member is a word name=value of a rule's text.
type member struct {
	set func(r *Rule, value string) error
	get func(r *Rule) string // empty: the member has its default
}

// selectors are the members that every action takes.
var selectors = map[string]member{
	"listener": {
		func(r *Rule, v string) error { r.Listener = v; return oneOf(v, Listeners) },
		func(r *Rule) string { return r.Listener },
	},
	"method": {
		func(r *Rule, v string) error {
			r.Method = v
			return oneOf(v, []string{"GET", "POST", "PUT", "PATCH", "DELETE"})
		},
		func(r *Rule) string { return r.Method },
	},
	"route": {
		func(r *Rule, v string) error {
			r.Route = v
			return matches(v, routeForm, 202, "a path such as /api/orders or /api/*")
		},
		func(r *Rule) string { return r.Route },
	},
	"pair": {
		func(r *Rule, v string) error {
			r.Pair = v
			return matches(v, pairForm, 41, "a pair code of the form BASE_QUOTE")
		},
		func(r *Rule) string { return r.Pair },
	},
	"key": {
		func(r *Rule, v string) error { r.Key = v; return matches(v, keyForm, 128, "a public key") },
		func(r *Rule) string { return r.Key },
	},
	"channel": {
		func(r *Rule, v string) error {
			r.Channel = v
			return matches(v, channelForm, 41, "a channel such as book or candles.*")
		},
		func(r *Rule) string { return r.Channel },
	},
	"probability": {setProbability, func(r *Rule) string {
		if r.PPM == certain {
			return ""
		}
		return string(fixed.AppendShortest(nil, fixed.FromU64(uint64(r.PPM)).ToI128(), 6))
	}},
	"count": {
		func(r *Rule, v string) (err error) { r.Count, err = natural(v, 1, 1<<62); return err },
		func(r *Rule) string { return number(r.Count) },
	},
	"seed": {
		func(r *Rule, v string) (err error) { r.Seed, err = natural(v, 0, 1<<62); return err },
		func(r *Rule) string { return number(r.Seed) },
	},
	"from":  at(func(r *Rule) *int64 { return &r.FromNs }),
	"until": at(func(r *Rule) *int64 { return &r.UntilNs }),
	"for":   lasting(func(r *Rule) *time.Duration { return &r.For }, 1, MaxWindow),
}

// parameters are the members that only some actions take.
var parameters = map[string]member{
	"delay": lasting(func(r *Rule) *time.Duration { return &r.Delay }, time.Millisecond, MaxHalfOpen),
	"max":   lasting(func(r *Rule) *time.Duration { return &r.Max }, time.Millisecond, MaxLatency),
	"distribution": {func(r *Rule, v string) error {
		d, ok := parseDistribution(v)
		r.Distribution = d
		if !ok {
			return fmt.Errorf("%q must be one of %s", v, listed(distributionNames[:]))
		}
		return nil
	}, func(r *Rule) string {
		if r.Distribution == Constant {
			return ""
		}
		return r.Distribution.String()
	}},
	"status": {
		func(r *Rule, v string) error { return setInt(&r.Status, v, 200, 599) },
		func(r *Rule) string { return number(uint64(r.Status)) },
	},
	"retry-after": {
		func(r *Rule, v string) error { return setInt(&r.RetryAfter, v, 1, 3600) },
		func(r *Rule) string { return number(uint64(r.RetryAfter)) },
	},
	"keep": {
		func(r *Rule, v string) error { return setInt(&r.Keep, v, 0, MaxKeep) },
		func(r *Rule) string { return number(uint64(r.Keep)) },
	},
	"rate": {
		func(r *Rule, v string) error { return setInt(&r.Rate, v, 1, 10*MaxPiece) },
		func(r *Rule) string { return number(uint64(r.Rate)) },
	},
	"chunk": {
		func(r *Rule, v string) error { return setInt(&r.Chunk, v, 1, MaxPiece) },
		func(r *Rule) string { return number(uint64(r.Chunk)) },
	},
	"every": lasting(func(r *Rule) *time.Duration { return &r.Every }, time.Millisecond, MaxLatency),
	"type": {
		func(r *Rule, v string) error {
			r.Type = v
			return matches(v, typeForm, 182, "a media type without spaces such as text/html;charset=utf-8")
		},
		func(r *Rule) string { return r.Type },
	},
	"location": {
		func(r *Rule, v string) error {
			r.Location = v
			return matches(v, locationForm, 500, "a path or a URL")
		},
		func(r *Rule) string { return r.Location },
	},
	"member": {
		func(r *Rule, v string) error {
			r.Member = v
			return matches(v, jsonMemberForm, 60, "price, amount, or the name of a member such as last_price")
		},
		func(r *Rule) string { return r.Member },
	},
	"age":  lasting(func(r *Rule) *time.Duration { return &r.Age }, time.Millisecond, MaxAge),
	"skew": lasting(func(r *Rule) *time.Duration { return &r.Skew }, -MaxSkew, MaxSkew),
}

// order is the order of the members in a rule's text.
var order = []string{
	"listener", "method", "route", "pair", "key", "channel", "probability", "count", "delay", "max", "distribution",
	"status", "retry-after", "keep", "age", "skew", "rate", "chunk", "every", "type", "location",
	"member", "seed", "from", "until", "for",
}

func memberOf(name string) (m member, ok bool) {
	if m, ok = selectors[name]; !ok {
		m, ok = parameters[name]
	}
	return m, ok
}

// Defaults of the parameters.
const (
	defaultStatus     = 503
	defaultRetryAfter = 1
	defaultHalfOpen   = 30 * time.Second
	defaultAge        = 10 * time.Second
	defaultType       = "text/html"
	defaultMember     = "price"
	maxText           = 1 << 10
)

// Parse reads the text of a rule: an action and members name=value, separated by spaces
// (docs/contract/faults.md#rules).
func Parse(text string) (Rule, error) {
	r := Rule{PPM: certain, Seed: 1}
	words := strings.Fields(text)
	if len(words) == 0 || len(text) > maxText {
		return r, fmt.Errorf("a rule has 1 to %d characters and begins with an action, such as latency, close or "+
			"drop: docs/contract/faults.md lists them", maxText)
	}
	a, ok := parseAction(words[0])
	switch {
	case ok:
	case scenarios[words[0]] != nil:
		return r, fmt.Errorf("%q is a scenario, which has many rules: faults.scenario=%[1]s puts it in force from the "+
			"start, `tickhive faults apply %[1]s` later", words[0])
	default:
		return r, fmt.Errorf("%q is no action such as latency, close or drop: docs/contract/faults.md lists them",
			words[0])
	}
	r.Action = a
	var given []string
	for _, word := range words[1:] {
		name, value, ok := strings.Cut(word, "=")
		m, known := memberOf(name)
		switch {
		case !ok:
			return r, fmt.Errorf("%q must have the form name=value", word)
		case !known:
			return r, fmt.Errorf("%q must be one of %s", name, listed(order))
		case slices.Contains(given, name):
			return r, fmt.Errorf("%s is given twice", name)
		}
		if err := m.set(&r, value); err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
		given = append(given, name)
	}
	if err := r.check(given); err != nil {
		return r, err
	}
	r.setDefaults()
	if r.Action != HalfOpen && (r.Delay > MaxLatency || r.Max > MaxLatency) {
		return r, fmt.Errorf("delay: must be at most %v", MaxLatency)
	}
	return r, nil
}

func (r *Rule) setDefaults() {
	set := func(v *int, value int) {
		if *v == 0 {
			*v = value
		}
	}
	switch r.Action {
	case Status:
		set(&r.Status, defaultStatus)
	case RateLimit:
		set(&r.RetryAfter, defaultRetryAfter)
	case HalfOpen:
		if r.Delay == 0 && !r.Stream() {
			r.Delay = defaultHalfOpen
		}
	case Stale:
		if r.Age == 0 {
			r.Age = defaultAge
		}
	case Latency, Delay:
		if r.Distribution == Exponential && r.Max == 0 {
			r.Max = min(10*r.Delay, MaxLatency)
		}
	case Empty, HTML:
		set(&r.Status, 200)
	case Redirect:
		set(&r.Status, 302)
	case ContentType:
		r.Type = cmp.Or(r.Type, defaultType)
	case Null, Zero:
		r.Member = cmp.Or(r.Member, defaultMember)
	case Close, Truncate, LostAck, Skew, Slow, BrokenJSON, Missing, Crossed, Doubled,
		Drop, Repeat, Reorder, Gap, Checksum, actions:
	}
}

// String returns the rule's text, which Parse reads.
func (r *Rule) String() string { return r.text(order) }

// Public returns the text without the key, for answers that every client may read.
func (r *Rule) Public() string {
	return r.text(slices.DeleteFunc(slices.Clone(order), func(name string) bool {
		return name == "key" || name == "seed"
	}))
}

// identity returns the text on which decisions depend: neither seed nor times, so that a later run repeats.
func (r *Rule) identity() string { return r.text(order[:len(order)-4]) }

func (r *Rule) text(names []string) string {
	b := []byte(r.Action.String())
	for _, name := range names {
		if m, _ := memberOf(name); m.get(r) != "" {
			b = append(append(append(append(b, ' '), name...), '='), m.get(r)...)
		}
	}
	return string(b)
}

// The forms have no counts but small ones: a count is compiled into so many copies, at each start of the program.
var (
	routeForm = regexp.MustCompile(`^/[A-Za-z0-9_./{}-]*\*?$`)
	pairForm  = regexp.MustCompile(`^[A-Z0-9]{1,20}_[A-Z0-9]{1,20}$`) // as engine.ValidPairCode
	keyForm   = regexp.MustCompile(`^[A-Za-z0-9]+$`)
	typeForm  = regexp.MustCompile(`^[a-z0-9.+-]+/[a-z0-9.+-]+(;[a-zA-Z0-9=-]+)?$`)
	// locationForm allows what may be in a URL, and nothing that could end the header.
	locationForm   = regexp.MustCompile(`^(/|https?://)[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%{}-]*$`)
	jsonMemberForm = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
	channelForm    = regexp.MustCompile(`^([a-z]+(\.[a-z0-9-]+)?|[a-z.]*\*)$`)
)

// matches checks the form of a value of at most so many bytes.
func matches(v string, form *regexp.Regexp, most int, what string) error {
	if len(v) > most || !form.MatchString(v) {
		return fmt.Errorf("%q must be %s of at most %d characters", v, what, most)
	}
	return nil
}

func oneOf(v string, words []string) error {
	if !slices.Contains(words, v) {
		return fmt.Errorf("%q must be one of %s", v, listed(words))
	}
	return nil
}

func setProbability(r *Rule, v string) error {
	units, exact, fits, err := fixed.ParseUnits(v, 6)
	if err != nil || !exact || !fits || units < 1 || units > certain {
		return fmt.Errorf("%q must be above 0 and at most 1, with at most 6 fractional digits", v)
	}
	r.PPM = units
	return nil
}

func natural(v string, low, high uint64) (uint64, error) {
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%q must be an integer from %d to %d", v, low, high)
	}
	return n, nil
}

func setInt(dst *int, v string, low, high uint64) error {
	n, err := natural(v, low, high)
	*dst = int(n)
	return err
}

func number(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// at returns the member of a time in Unix ns.
func at(ns func(*Rule) *int64) member {
	return member{func(r *Rule, v string) error {
		t, err := time.Parse(time.RFC3339Nano, v)
		if err != nil || t.Year() < 1970 || t.Year() > 2200 {
			return errors.New("must be an RFC 3339 time such as 2026-01-01T00:00:00Z")
		}
		*ns(r) = t.UnixNano()
		return nil
	}, func(r *Rule) string {
		if *ns(r) == 0 {
			return ""
		}
		return time.Unix(0, *ns(r)).UTC().Format(time.RFC3339Nano)
	}}
}

// lasting returns the member of a duration from low to high.
func lasting(at func(*Rule) *time.Duration, low, high time.Duration) member {
	return member{func(r *Rule, v string) error {
		d, err := clock.ParseDuration(v)
		if err == nil && (d < low || d > high) {
			err = fmt.Errorf("%q must be from %v to %v", v, low, high)
		}
		*at(r) = d
		return err
	}, func(r *Rule) string {
		if *at(r) == 0 {
			return ""
		}
		return at(r).String()
	}}
}
