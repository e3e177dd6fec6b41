package sim

// Behaviour is what an operator may change of a running market. It is no part of the state: what the agents do by it
// are orders, which are records as all others, so that a replay of the log needs no behaviour. After a restart the
// configuration holds again.
type Behaviour struct {
	Paused    bool // the agents do nothing; their quotes stay
	Scenario  Scenario
	Intensity int64 // per cent
}

// Behaviour returns the behaviour of the market. The caller calls it on the loop's goroutine.
func (m *Market) Behaviour() Behaviour {
	return Behaviour{Paused: m.paused, Scenario: m.world.scenario, Intensity: m.intensity}
}

// Behave changes the behaviour at nowNs. A scenario begins at once, whatever the time of day: its pattern is the one
// that it has from begin on. Prices do not jump: they go on from where they are. After a pause nothing has happened
// meanwhile, as after Skip. The caller calls it on the loop's goroutine, with values that Options.Validate accepts.
func (m *Market) Behave(b Behaviour, nowNs int64) {
	if m.paused && !b.Paused {
		m.Skip(nowNs)
	}
	m.paused, m.intensity = b.Paused, b.Intensity
	w := &m.world
	if w.scenario == b.Scenario {
		return
	}
	before := make([]int64, len(m.pairs))
	for i, a := range m.pairs {
		before[i] = a.fair(w)
	}
	w.scenario, w.phase = b.Scenario, b.Scenario.begin()-nowNs%dayNs
	for i, a := range m.pairs {
		if a.found {
			a.offset += before[i] - a.fair(w)
		}
	}
}

// begin returns the time of day at which the pattern of a scenario begins.
func (s Scenario) begin() int64 {
	switch s {
	case FlashCrash, Halt:
		return crashAt
	case ThinNight:
		return nightFrom
	case Ordinary, Trend:
	}
	return 0
}

// pattern returns the time of day by which the scenario decides at a time.
func (w *world) pattern(ns int64) int64 { return ns + w.phase }
