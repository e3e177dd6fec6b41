package exchange

import "testing"

// A standby that would continue another simulated market says which settings differ, and what to set.
func TestAStandbyNamesTheSettingsThatDiffer(t *testing.T) {
	const remedy = "set sim.intensity and sim.scenario as the writer has them"
	for _, c := range [][3]string{
		{SimOff, "intensity 100, scenario none", "the writer's simulated market is off, this node's has intensity " +
			"100, scenario none: start this node with --set sim.enabled=false"},
		{"intensity 50, scenario none", SimOff, "the writer's simulated market has intensity 50, scenario none, this " +
			"node's is off: leave out sim.enabled=false, and " + remedy},
		{"intensity 50, scenario none", "intensity 50, scenario trend", "the writer's simulated market has intensity " +
			"50, scenario none, this node's has intensity 50, scenario trend: " + remedy},
	} {
		if got := errOtherSim(c[0], c[1]).Error(); got != c[2] {
			t.Errorf("%q, not %q", got, c[2])
		}
	}
}
