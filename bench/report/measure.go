package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Measure is one figure of the product, round by round, beside its reference in the same rounds.
// Without a reference the product's own figure counts.
type Measure struct {
	Goal string `json:"goal,omitempty"` // E1 ... H11; empty: for information
	Name string `json:"name"`
	Unit string `json:"unit"` // of Product and Reference
	// Higher: more is better (a rate); else less is (a cost).
	Higher bool `json:"higher,omitempty"`
	// Worst: judged by the worst round instead of the best: pauses, stale answers.
	Worst bool `json:"worst,omitempty"`
	// Median: judged by the median of the rounds' ratios: for disk-bound figures, because product and
	// reference meet a disk's best moments at different times.
	Median    bool      `json:"median,omitempty"`
	Product   []float64 `json:"product"`
	Reference []float64 `json:"reference,omitempty"`
	RefName   string    `json:"referenceName,omitempty"`
	Target    float64   `json:"target,omitempty"`
	HasTarget bool      `json:"hasTarget,omitempty"`
	// With says what was batched, warmed and outstanding.
	With string `json:"with,omitempty"`
	// Reason says why a target is not met, in figures.
	Reason string `json:"reason,omitempty"`
}

// Ratios returns product to reference, round by round; without a reference the product's figures.
func (m *Measure) Ratios() []float64 {
	if len(m.Reference) == 0 {
		return m.Product
	}
	out := make([]float64, 0, len(m.Product))
	for i := range min(len(m.Product), len(m.Reference)) {
		if m.Reference[i] != 0 {
			out = append(out, m.Product[i]/m.Reference[i])
		}
	}
	return out
}

// Spread returns the spread of Ratios.
func (m *Measure) Spread() Spread { return SpreadOf(m.Ratios()) }

// Best returns the ratio that judges the measure: the best round of the product to the best
// round of the reference, the worst ones (Worst), or the median of the rounds (Median).
func (m *Measure) Best() float64 {
	if len(m.Product) == 0 {
		return 0
	}
	if m.Median {
		return m.Spread().Median
	}
	if len(m.Reference) == 0 {
		return m.Of(m.Product)
	}
	ref := m.Of(m.Reference)
	if ref == 0 {
		return 0
	}
	return m.Of(m.Product) / ref
}

// Of returns the round of v, the product's or the reference's, that counts in Best.
func (m *Measure) Of(v []float64) float64 {
	if m.Higher != m.Worst {
		return slices.Max(v)
	}
	return slices.Min(v)
}

// Met reports whether the target is reached.
func (m *Measure) Met() bool {
	if !m.HasTarget || len(m.Product) == 0 {
		return false
	}
	if len(m.Reference) > 0 && m.Best() == 0 {
		return false // a cost of 0 means that the clock was too coarse
	}
	if m.Higher {
		return m.Best() >= m.Target
	}
	return m.Best() <= m.Target
}

// Against names the reference.
func (m *Measure) Against(reference string) *Measure {
	m.RefName = reference
	return m
}

// ByMedian judges the measure by the median of its rounds.
func (m *Measure) ByMedian() *Measure {
	m.Median = true
	return m
}

// ByWorst judges the measure by its worst round.
func (m *Measure) ByWorst() *Measure {
	m.Worst = true
	return m
}

// Round appends the figures of one round; a measure without a reference has the first alone.
func (m *Measure) Round(product float64, reference ...float64) *Measure {
	m.Product, m.Reference = append(m.Product, product), append(m.Reference, reference...)
	return m
}

// Aim sets the goal and its target.
func (m *Measure) Aim(goal string, target float64) *Measure {
	m.Goal, m.Target, m.HasTarget = goal, target, true
	return m
}

// Noise returns the expected difference of a repeated run of the same program, as a fraction: the
// distance of the second best round from the best, for product and reference, and the scatter of the
// single ratios, which shrinks with the number of rounds.
func (m *Measure) Noise() float64 {
	gap := func(v []float64) float64 {
		if len(v) < 2 {
			return 0
		}
		s := slices.Sorted(slices.Values(v))
		if m.Higher != m.Worst {
			slices.Reverse(s)
		}
		if s[0] == 0 {
			return 0
		}
		return math.Abs((s[1] - s[0]) / s[0])
	}
	noise := gap(m.Product) + gap(m.Reference)
	if r := slices.Sorted(slices.Values(m.Ratios())); len(r) > 1 && quantile(r, 0.5) != 0 {
		noise += math.Abs((quantile(r, 0.75)-quantile(r, 0.25))/quantile(r, 0.5)) / math.Sqrt(float64(len(r)))
	}
	return noise
}

// sortGoals orders E1, E2, ... E8, H1 ... H11; equal goals stay as they came.
func sortGoals(all []*Measure) {
	key := func(m *Measure) (string, int) {
		n := 0
		_, _ = fmt.Sscanf(strings.TrimLeft(m.Goal, "EHSL"), "%d", &n)
		return m.Goal[:1], n
	}
	slices.SortStableFunc(all, func(a, b *Measure) int {
		ka, na := key(a)
		kb, nb := key(b)
		return cmp.Or(cmp.Compare(ka, kb), cmp.Compare(na, nb))
	})
}
