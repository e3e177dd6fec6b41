package exchange

import (
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/sim"
)

// simulation returns what the routes of the simulated market call.
func (f *front) simulation(b *base) admin.SimOptions {
	o := admin.SimOptions{}
	for _, s := range sim.Scenarios {
		o.Scenarios = append(o.Scenarios, string(s))
	}
	o.Market = func(change func(*admin.Simulation)) (now admin.Simulation, err error) {
		now = admin.Simulation{Scenario: string(sim.Ordinary)}
		if b.sim == nil || f.phase.Load().running == nil {
			return now, nil
		}
		err = f.gate.Query(func() {
			is := b.sim.Behaviour()
			now = admin.Simulation{
				Enabled: true, Paused: is.Paused, Scenario: string(is.Scenario), Intensity: is.Intensity,
			}
			if change == nil {
				return
			}
			change(&now)
			b.sim.Behave(sim.Behaviour{
				Paused: now.Paused, Scenario: sim.Scenario(now.Scenario), Intensity: now.Intensity,
			}, b.clock.NowNs())
		})
		return now, err
	}
	return o
}
