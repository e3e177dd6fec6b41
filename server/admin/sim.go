package admin

import (
	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// Simulation says how the simulated market behaves.
type Simulation struct {
	Enabled   bool // there is one on this node
	Paused    bool
	Scenario  string
	Intensity int64 // per cent
}

// SimOptions configures the routes of the simulated market.
type SimOptions struct {
	// Market reads the behaviour of the simulated market, after change, if it is not nil, has changed it. It does not
	// call change where there is no market.
	Market func(change func(*Simulation)) (Simulation, error)
	// Scenarios lists the names of the scenarios.
	Scenarios []string
}

// SimRoutes returns the routes that read and change the behaviour of the simulated market
// (docs/contract/internal.md#simulated-market).
func SimRoutes(o SimOptions) Resource {
	s := simRoutes{o, simForm(o.Scenarios)}
	const path = edge.InternalPrefix + "/sim"
	return func() []*edge.Route {
		return edge.Tagged("System", []*edge.Route{
			{
				Method: fasthttp.MethodGet, Path: path, Handle: s.get,
				Name: "getSimulation", Summary: "The behaviour of the simulated market",
			},
			{
				Method: fasthttp.MethodPatch, Path: path, Handle: s.patch, Schema: "PatchSimulation",
				Members: s.form.Members(),
				Name:    "patchSimulation", Summary: "Pause the simulated market, or change its scenario or intensity",
				Refuses: []int{409},
			},
		})
	}
}

type simRoutes struct {
	SimOptions
	form *json.Form[simChange]
}

// simChange is the body of PATCH /sim; nil leaves a member as it is.
type simChange struct {
	paused    *bool
	scenario  *string
	intensity *int64
}

func simForm(scenarios []string) *json.Form[simChange] {
	words := make([]json.Word[string], 0, len(scenarios))
	for _, name := range scenarios {
		words = append(words, json.Word[string]{Text: name, Value: name})
	}
	return json.Of(
		json.Flag("paused", func(q *simChange, v bool) { q.paused = &v }),
		json.Choice("scenario", words, func(q *simChange, v string) { q.scenario = &v }),
		json.Integer("intensity", 10, 1000, func(q *simChange, v int64) { q.intensity = &v }),
	)
}

func (s simRoutes) get(c *edge.Ctx) *refuse.Refusal { return s.answer(c, nil) }

// patch serves PATCH /sim.
func (s simRoutes) patch(c *edge.Ctx) *refuse.Refusal {
	var q simChange
	if err := s.form.Decode(c.PostBody(), &q); err != nil {
		return err
	}
	return s.answer(c, func(m *Simulation) {
		if q.paused != nil {
			m.Paused = *q.paused
		}
		if q.scenario != nil {
			m.Scenario = *q.scenario
		}
		if q.intensity != nil {
			m.Intensity = *q.intensity
		}
	})
}

func (s simRoutes) answer(c *edge.Ctx, change func(*Simulation)) *refuse.Refusal {
	m, err := s.Market(change)
	switch {
	case err != nil:
		return entry.NotApplied(err)
	case change != nil && !m.Enabled:
		return refuse.New(refuse.Conflict, "", "There is no simulated market here: start with --sim on.")
	case change != nil:
		c.Audit("simulated market changed", "paused", m.Paused, "scenario", m.Scenario, "intensity", m.Intensity)
	}
	var w json.Writer
	w.Object()
	w.Name("enabled").Bool(m.Enabled)
	w.Name("paused").Bool(m.Paused)
	w.Name("scenario").Word(m.Scenario)
	w.Name("intensity").Int(m.Intensity)
	w.Name("scenarios").List()
	for _, name := range s.Scenarios {
		w.Word(name)
	}
	w.EndList()
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}
