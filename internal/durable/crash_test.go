package durable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"tickhive/internal/clock"
	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

// toyScript runs random commands and notes, naively, the state after each record.
type toyScript struct {
	fsys   *vfstest.Mem
	clk    *clock.Manual
	states []string // text after i records
	model  *toyState
	acked  int
	store  *toyStore
}

func newToyScript() *toyScript {
	s := &toyScript{fsys: vfstest.NewMem(), clk: clock.NewManual(1000), model: newToy()}
	s.states = []string{s.model.lines()}
	return s
}

func (s *toyScript) opts() toyOptions {
	o := toyOpts(s.fsys)
	o.Clock, o.SnapshotBytes = s.clk, 700
	return o
}

func (s *toyScript) record(r toyRecord) {
	s.model.Apply(&r)
	s.states = append(s.states, s.model.lines())
}

// step does one random thing; what the store may have recorded by the time of a crash is
// noted before it is asked.
func (s *toyScript) step(rnd *rand.Rand) error {
	s.clk.Set(s.clk.NowNs() + int64(rnd.IntN(50)))
	now := s.clk.NowNs()
	saved := *s.model
	saved.amounts = map[string]int64{}
	for k, v := range s.model.amounts {
		saved.amounts[k] = v
	}
	n := len(s.states)
	for len(s.model.alarms) > 0 && s.model.alarms[0] <= now {
		s.record(toyRecord{toyCommand{ring: true}, s.model.alarms[0]})
	}
	var err error
	switch k := rnd.IntN(12); {
	case k == 0:
		if err = s.store.Snapshot(); err != nil && s.store.Log().Stopped() == nil {
			err = nil // no snapshot is no harm
		}
	case k == 1:
		err = s.store.Tick(now)
	case k == 2:
		if err = s.store.Close(); err == nil {
			err = s.open()
		}
		s.model, s.states = &saved, s.states[:n] // nothing falls due in a restart by itself
	case k == 3 && len(s.model.alarms) == 0:
		cmd := toyCommand{alarm: now + int64(rnd.IntN(200)) + 1}
		s.record(toyRecord{cmd, now})
		_, err = s.store.Do(cmd)
	default:
		cmd := toyCommand{key: string(rune('a' + rnd.IntN(5))), add: int64(rnd.IntN(20)) - 8}
		if s.model.amounts[cmd.key]+cmd.add >= 0 {
			s.record(toyRecord{cmd, now})
		}
		if _, err = s.store.Do(cmd); errors.Is(err, errToyShort) {
			err = nil
		}
	}
	switch {
	case err == nil:
		s.acked = len(s.states) - 1
	case errors.Is(err, wal.ErrUnavailable):
		// Alarms that went off before the refusal are recorded and stay.
		want := int(s.store.Log().LastSeq())
		s.model, s.states = &saved, s.states[:n]
		for len(s.states)-1 < want {
			s.record(toyRecord{toyCommand{ring: true}, s.model.alarms[0]})
		}
		return nil
	}
	return err
}

func (s *toyScript) open() (err error) {
	s.store, err = openToy(s.opts())
	return err
}

func (s *toyScript) run(seed uint64, steps int) error {
	rnd := rand.New(rand.NewPCG(seed, 2))
	if err := s.open(); err != nil {
		return err
	}
	for range steps {
		if err := s.step(rnd); err != nil {
			if s.store != nil {
				_ = s.store.Close()
			}
			return err
		}
	}
	return s.store.Close()
}

// verifyToy opens what a crash left: the state is the naive one after some number of
// records that includes all acknowledged ones.
func verifyToy(fsys *vfstest.Mem, clk *clock.Manual, states []string, acked int) error {
	opts := toyOpts(fsys)
	opts.Clock = clk
	s, err := openToy(opts)
	if err != nil {
		return err
	}
	n := int(s.View().records)
	text := ""
	// The clock of the reopened store stands where nothing more falls due.
	if err := s.WithState(func(st *toyState) { text = st.lines() }); err != nil {
		return err
	}
	if n < acked || n >= len(states) {
		return fmt.Errorf("%d records, %d acknowledged of %d", n, acked, len(states)-1)
	}
	if text != states[n] {
		return fmt.Errorf("after %d records:\n%swant\n%s", n, text, states[n])
	}
	return s.Close()
}

func TestStoreIsTheNaiveStateAfterAPowerCutAtEveryOperation(t *testing.T) {
	cuts, snapshots := 0, 0
	for seed := range uint64(scale(3)) {
		s := newToyScript()
		s.fsys.After(func(op vfstest.Op) {
			if op.Kind == vfstest.OpRead || op.Kind == vfstest.OpOpen || op.Kind == vfstest.OpList {
				return
			}
			if op.Kind == vfstest.OpRename {
				snapshots++
			}
			for sub := range uint64(3) {
				after := s.fsys.Crash(seed<<40 | uint64(op.N)<<8 | sub)
				if sub == 0 {
					after = s.fsys.Kill()
				}
				if err := verifyToy(after, clock.NewManual(0), s.states, s.acked); err != nil {
					panic(fmt.Sprintf("seed %d, operation %d (%s %s), subset %d: %v", seed, op.N, op.Kind, op.Path,
						sub, err))
				}
				cuts++
			}
		})
		must(t, s.run(seed, 120))
	}
	t.Logf("%d cuts, %d snapshots: each left the naive state after a prefix with all acknowledged", cuts, snapshots)
}

func TestStoreSurvivesEveryOperationFailingOnce(t *testing.T) {
	runs, ended := 0, 0
	for seed := range uint64(scale(2)) {
		for n := 1; ; n++ {
			s := newToyScript()
			s.fsys.Before(vfstest.FailNth(n, vfstest.ErrInjected))
			err := s.run(seed, 60)
			if s.fsys.Operations() < n {
				break
			}
			if runs++; err != nil {
				ended++
			}
			for sub := range uint64(3) {
				after := s.fsys.Crash(seed<<40 | uint64(n)<<8 | sub)
				if sub == 0 {
					after = s.fsys.Kill()
				}
				if err := verifyToy(after, clock.NewManual(0), s.states, s.acked); err != nil {
					t.Fatalf("seed %d, n %d, subset %d: %v", seed, n, sub, err)
				}
			}
		}
	}
	t.Logf("%d runs with one failing operation, %d ended by it, none lied", runs, ended)
}
