package sequencer

import "tickhive/internal/step"

// Folding returns the stepper of the folding loop; with one loop, a stepper without work.
func (l *Loop) Folding() step.Stepper {
	if l.pipeline == nil {
		return noWork{}
	}
	return l.pipeline
}

type noWork struct{}

func (noWork) Step() step.Progress { return step.Idle() }
