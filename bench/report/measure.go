package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Measure holds the figures of the product in each round, and the reference's figures in the same rounds.
// Without a reference, the product's own figures are judged.
type Measure struct {
	// goal of docs/internals/performance.md, such as E1; empty: for information only
	Goal string `json:"goal,omitempty"`
	Name string `json:"name"`
	Unit string `json:"unit"` // unit of Product and Reference
	// Higher marks a measure of which more is better (a rate); otherwise less is better (a cost).
	Higher bool `json:"higher,omitempty"`
	// Worst marks a measure that its worst round judges, not its best: pauses, stale answers.
	Worst bool `json:"worst,omitempty"`
	// Median marks a measure that the median of the rounds' ratios judges: for figures that depend on a disk,
	// because product and reference meet the disk's fast moments at different times.
	Median    bool      `json:"median,omitempty"`
	Product   []float64 `json:"product"`
	Reference []float64 `json:"reference,omitempty"`
	RefName   string    `json:"referenceName,omitempty"`
	Target    float64   `json:"target,omitempty"` // of a goal
	// With states the conditions: what was batched, warmed up and outstanding.
	With string `json:"with,omitempty"`
	// Reason states with figures why the target is missed.
	Reason string `json:"reason,omitempty"`
}

// String returns the figure in one line, with its goal and limit if it has them.
func (m *Measure) String() string {
	text := fmt.Sprintf("%s %s", m.Name, Figure(m.Best()))
	if m.Goal != "" {
		text = m.Goal + " " + text
	}
	if m.Goal != "" {
		text += " (goal " + Figure(m.Target) + ")"
	}
	return text
}

// Ratios returns the product's figure divided by the reference's, for each round; without a reference, the
// product's figures.
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

// Best returns the ratio that judges the measure: the product's best round divided by the reference's best
// round, the same for the worst rounds (Worst), or the median of the rounds' ratios (Median).
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

// Of returns the figure of v, which belongs to the product or to the reference, that Best uses.
func (m *Measure) Of(v []float64) float64 {
	if m.Higher != m.Worst {
		return slices.Max(v)
	}
	return slices.Min(v)
}

// Met reports whether the measure reaches its target.
func (m *Measure) Met() bool {
	if m.Goal == "" || len(m.Product) == 0 {
		return false
	}
	if len(m.Reference) > 0 && m.Best() == 0 {
		return false // a cost of 0 means that the clock was not precise enough
	}
	if m.Higher {
		return m.Best() >= m.Target
	}
	return m.Best() <= m.Target
}

// Round appends the figures of one round. A measure without a reference passes only the first.
func (m *Measure) Round(product float64, reference ...float64) {
	m.Product, m.Reference = append(m.Product, product), append(m.Reference, reference...)
}

// Noise returns how far a repeated run of the same program would differ, as a fraction: the distance between
// the best and the second best round, of product and reference, and the scatter of the ratios, which falls with
// the number of rounds.
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

// sortGoals sorts measures by goal: D1, D2, ... E1, E1a, ... H10. Measures with equal goals keep their order.
func sortGoals(all []*Measure) {
	number := func(m *Measure) (n int) {
		_, _ = fmt.Sscanf(m.Goal[1:], "%d", &n)
		return n
	}
	slices.SortStableFunc(all, func(a, b *Measure) int {
		return cmp.Or(cmp.Compare(a.Goal[0], b.Goal[0]), cmp.Compare(number(a), number(b)), cmp.Compare(a.Goal, b.Goal))
	})
}

// Spread holds smallest, median and largest figure of the rounds.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// SpreadOf returns the spread of values, zeros when there are none.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Sorted(slices.Values(values))
	return Spread{v[0], quantile(v, 0.5), v[len(v)-1]}
}

// quantile returns the quantile q, from 0 to 1, of sorted values; it interpolates linearly.
func quantile(v []float64, q float64) float64 {
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// Slope returns the exponent with which y grows over x, by least squares of the logarithms: 1 is proportional,
// 0 is constant. It ignores points without a logarithm.
func Slope(x, y []float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for i := range x {
		if x[i] <= 0 || y[i] <= 0 {
			continue
		}
		a, b := math.Log(x[i]), math.Log(y[i])
		n, sx, sy, sxx, sxy = n+1, sx+a, sy+b, sxx+a*a, sxy+a*b
	}
	d := n*sxx - sx*sx
	if n < 2 || d == 0 {
		return 0
	}
	return (n*sxy - sx*sy) / d
}
