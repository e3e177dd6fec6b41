package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// maxMisses bounds the comparisons of one kind whose difference is reported.
const maxMisses = 5

// Miss is a comparison that does not agree with the recording.
type Miss struct {
	Kind   string `json:"kind"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

// miss keeps one of the first comparisons of its kind that do not agree.
func (c *checker) miss(kind string, at format.Position, ours, theirs string) {
	n := 0
	for i := range c.misses {
		if c.misses[i].Kind == kind {
			n++
		}
	}
	if n < maxMisses {
		c.misses = append(c.misses, Miss{kind, at.File, at.Line, ours, theirs})
	}
}

// percentUnit is the resolution of a percentage: thousandths.
const percentUnit = 1000

// Whole is 100 percent, for Report.Agrees.
const Whole = 100 * percentUnit

// ParsePercent returns a percentage from 0 to 100, with at most three decimals, in thousandths; 0 for "".
func ParsePercent(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	d, err := format.ParseDecimal([]byte(text))
	v := int64(0)
	if err == nil {
		v, err = d.Units(3)
	}
	if err == nil && (v < 0 || v > Whole) {
		err = errors.New("outside 0 to 100")
	}
	if err != nil {
		return 0, fmt.Errorf("replay: percentage %q: %w", text, err)
	}
	return v, nil
}

// Agrees reports whether at least percent, in thousandths, of the comparisons of each kind agree. Nothing compared is
// no agreement.
func (r *Report) Agrees(percent int64) bool {
	all := 0
	for i := range r.Checks {
		c := &r.Checks[i]
		if c.Given {
			continue
		}
		all += c.All
		if int64(c.Good)*Whole < percent*int64(c.All) {
			return false
		}
	}
	return all > 0
}

func (c *checker) tradeText(t *marketdata.Trade) string {
	return fmt.Sprintf("%s %s of %s at %s", format.NsText(t.TimeNs), t.TakerSide, c.amount(t.Amount), c.price(t.Price))
}

func (c *checker) barText(open, high, low, last int64, volume fixed.U128) string {
	return fmt.Sprintf("%s %s %s %s volume %s", c.price(open), c.price(high), c.price(low), c.price(last),
		fixed.AppendU128(nil, volume, c.s.Amount.Chosen()))
}

// bookTexts describes the first level, best first, that differs between two books.
func (c *checker) bookTexts(want [2][]format.Level, bids, asks []marketdata.Level) (ours, theirs string) {
	got := [2][]marketdata.Level{bids, asks}
	for side, name := range [2]string{"bid", "ask"} {
		for i := range max(len(want[side]), len(got[side])) {
			a, b := levelAt(got[side], i), levelAt(want[side], i)
			if cmp.Compare(a.Price, b.Price) != 0 || a.Amount != b.Amount {
				level := func(l marketdata.Level) string {
					if l.Amount == 0 {
						return fmt.Sprintf("no %s %d", name, i+1)
					}
					return fmt.Sprintf("%s %d: %s at %s", name, i+1, c.amount(l.Amount), c.price(l.Price))
				}
				return level(a), level(b)
			}
		}
	}
	return "", ""
}

// levelAt returns a level of a side, the zero level behind its end.
func levelAt[L format.Level | marketdata.Level](side []L, i int) marketdata.Level {
	if i >= len(side) {
		return marketdata.Level{}
	}
	return marketdata.Level(side[i])
}

func (c *checker) price(v int64) string  { return units(v, c.s.Price.Chosen()) }
func (c *checker) amount(v int64) string { return units(v, c.s.Amount.Chosen()) }

// units returns v x 10^-digits as text.
func units(v int64, digits int) string { return string(fixed.AppendI64(nil, v, digits)) }

// sortMisses puts the misses of one kind together, in the order of the checks.
func (c *checker) sortMisses(checks []Check) []Miss {
	rank := func(m Miss) int { return slices.IndexFunc(checks, func(k Check) bool { return k.Kind == m.Kind }) }
	slices.SortStableFunc(c.misses, func(a, b Miss) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return c.misses
}
