package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/wal"
)

// Handover is the term of a standby that has taken over.
type Handover struct {
	Held    *node.Term
	Genesis node.Genesis // of the stream
	Term    uint64
	number  uint64 // of the node in this term
	// sealedWith is the id of the key with which this node seals secrets.
	sealedWith string
	machine    Machine
}

// errLocalWriter refuses a standby that would lose changes by a takeover.
var errLocalWriter = errors.New("the writer acknowledges changes before the stream has them (journal.ack = local), " +
	"and a takeover would lose them: start the writer with --ack quorum")

// errOtherSim refuses a standby whose settings of sim differ from the writer's: after a takeover it would continue
// another simulated market. The error names the settings to change.
func errOtherSim(writers, own string) error {
	remedy := "set sim.intensity and sim.scenario as the writer has them"
	switch SimOff {
	case writers:
		return fmt.Errorf("the writer's simulated market is off, this node's has %s: start this node with "+
			"--set sim.enabled=false", own)
	case own:
		return fmt.Errorf("the writer's simulated market has %s, this node's is off: leave out sim.enabled=false, "+
			"and %s", writers, remedy)
	}
	return fmt.Errorf("the writer's simulated market has %s, this node's has %s: %s", writers, own, remedy)
}

// TakeOver waits until the writer has been silent for the time after, and makes this node the writer. When it returns,
// y has executed and copied everything that counts before the new term, and executes nothing more; the caller stops y,
// calls Finish and starts the writer with the Handover. It is nil when ctx has ended, and with an error when y cannot
// go on (as Wait).
func (y *Following) TakeOver(ctx context.Context, after time.Duration) (*Handover, error) {
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if d := y.o.Machine.Driver; d != nil {
		d.Drive("standby", &ending{y, watched, cancel})
	} else {
		go func() { cancel(y.Wait(watched.Done())) }()
	}
	for {
		h, err := y.takeOver(watched, after)
		switch {
		case err == nil:
			return h, nil
		case ctx.Err() != nil:
			return nil, nil
		case watched.Err() != nil:
			return nil, context.Cause(watched)
		case !errors.Is(err, jet.ErrFenced):
			return nil, fmt.Errorf("takeover: %w", err)
		}
		y.log.Info("another node has the term, or the writer speaks again", "term", y.term.Load())
	}
}

// ending cancels what a standby waits for, once it cannot go on. A driver steps it.
type ending struct {
	y       *Following
	watched context.Context
	cancel  context.CancelCauseFunc
}

// Step implements step.Stepper.
func (e *ending) Step() step.Progress {
	select {
	case <-e.watched.Done():
	case <-e.y.over:
		e.cancel(e.y.Failure())
	default:
		return step.Idle()
	}
	return step.Progress{Stopped: true}
}

func (y *Following) takeOver(ctx context.Context, after time.Duration) (*Handover, error) {
	if err := y.mayReplace(); err != nil {
		return nil, err
	}
	m := y.o.node()
	if err := m.AwaitSilence(ctx, y.o.Follow.Log, after, y.heard); err != nil {
		return nil, err
	}
	h, err := y.campaign(ctx)
	if err != nil {
		return nil, err
	}
	if err := y.catchUp(ctx, h); err != nil {
		h.Held.End()
		return nil, err
	}
	return h, nil
}

// heard returns the number of the last message that was read, and when the last one arrived by which the writer spoke.
// A message that does not verify may be one that the writer has sent: until it has spoken again, it has just spoken.
func (y *Following) heard() (seq uint64, atNs int64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.reader.Unsure() != nil {
		return y.read.Load(), y.steadyNs()
	}
	return y.read.Load(), y.heardNs.Load()
}

// mayReplace returns the reason why a standby cannot replace the present writer, nil if it can.
func (y *Following) mayReplace() error {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.replaceable()
}

// replaceable is mayReplace for a caller that holds the lock.
func (y *Following) replaceable() error {
	switch {
	case y.o.Follow.Copy == nil:
		return nil
	case y.o.Follow.Stands && y.info.Version != "" && !y.info.Quorum:
		return errLocalWriter
	case y.info.Version != "" && y.info.Sim != y.o.Stream.Sim:
		return errOtherSim(y.info.Sim, y.o.Stream.Sim)
	case y.o.Follow.Stands && y.lacksKey():
		_, err := y.followerKey(y.info.SealedWith)
		return err
	}
	return nil
}

// lacksKey reports whether the writer seals secrets with a key that this node does not have.
func (y *Following) lacksKey() bool {
	return y.info.SealedWith != "" && !y.secrets.Has(y.info.SealedWith)
}

// campaignsBehind returns the state behind which this node may campaign. The writer may have started again since
// takeOver began to wait for its silence.
func (y *Following) campaignsBehind() (at stream.State, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if unsure := y.reader.Unsure(); unsure != nil {
		return at, fmt.Errorf("%w: %w", jet.ErrFenced, unsure)
	}
	if err := y.replaceable(); err != nil {
		return at, err
	}
	return y.reader.State(), y.state.Money.Missing(y.secrets) // a writer verifies every request
}

func (y *Following) campaign(ctx context.Context) (*Handover, error) {
	at, err := y.campaignsBehind()
	if err != nil {
		return nil, err
	}
	info, err := y.termRecord()
	if err != nil {
		return nil, err
	}
	number, err := node.NewNumber(y.o.Machine.Random)
	if err != nil {
		return nil, err
	}
	y.log.Warn("the writer is silent; this node campaigns", "term", at.Term+1)
	m := y.o.node()
	held, err := node.Campaign(ctx, m, y.o.Follow.Log, m.Candidate(at, number, info, y.o.Follow.Keys))
	if err != nil {
		return nil, err
	}
	return &Handover{
			Held: held, Genesis: y.o.Follow.Genesis, Term: at.Term + 1, number: number, sealedWith: y.secrets.ID(),
			machine: y.o.Machine,
		},
		nil
}

// catchUp waits until everything before the term is executed, ends the execution, and checks that the copy has all of
// the stream.
func (y *Following) catchUp(ctx context.Context, h *Handover) error {
	for {
		more := y.took.Wait() // before the look: the message may arrive after it
		if y.term.Load() >= h.Term {
			break
		}
		if d := y.o.Machine.Driver; d != nil {
			d.Wait(more)
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-more:
		}
	}
	y.cancel(errFollowEnds)
	step.Wait(y.o.Machine.Driver, y.over)
	y.log.Info("this node is the writer", "term", h.Term)
	return y.o.Follow.Copy.Matches(y.reader.State().End)
}

// Finish makes the copy of a standby that has taken over, and has stopped, a data directory.
func (h *Handover) Finish(o *Options) error {
	c := o.Follow.Copy
	return c.Finish(func(end wal.Position) error {
		meta := datadir.Rebuilt{
			Identity: c.Identity, CreatedNs: h.Genesis.LedgerNs, Seed: h.Genesis.Seed, SealedWith: h.sealedWith,
			End: end, Epoch: h.Genesis.Epoch, Term: h.number,
		}
		now := time.Unix(0, h.machine.Clock.NowNs())
		return meta.WriteMeta(h.machine.FS, c.Dir(), now, fmt.Sprintf(
			"the writer was silent: this machine took over in term %d", h.Term))
	})
}
