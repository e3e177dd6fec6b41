package player

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const second = int64(time.Second)

// recording has a record each second, and begins and ends with one.
var recording = Recording{BeginNs: 1000 * second, EndNs: 1010 * second, Total: 11}

// tape is a run of a recording under a player.
type tape struct {
	*Player
	fed     []int64 // seconds of the records, since the beginning
	rested  []int64 // times of the rests, in nanoseconds
	hurried int
	done    chan error
}

// begin begins a run in a bubble, which ends with the context.
func begin(t *testing.T, p *Player) *tape {
	t.Helper()
	r := &tape{Player: p, done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { r.done <- r.run(ctx) }()
	synctest.Wait()
	return r
}

func (r *tape) run(ctx context.Context) error {
	r.Begin()
	for ns := recording.BeginNs; ns <= recording.EndNs; ns += second {
		hurried, err := r.Due(ctx, ns, false, func(at int64) (Counts, error) {
			r.rested = append(r.rested, at)
			return Counts{Records: uint64(len(r.fed))}, nil
		})
		if err != nil {
			return err
		}
		if hurried {
			r.hurried++
		}
		r.fed = append(r.fed, (ns-recording.BeginNs)/second)
	}
	r.End(Counts{Records: uint64(len(r.fed))})
	return r.AwaitBack(ctx)
}

// is fails the test unless the player is in this state, and the run has fed this many records.
func (r *tape) is(t *testing.T, status Status, atMs int64, fed int) {
	t.Helper()
	synctest.Wait()
	s := r.State()
	if got := (s.TimeNs - recording.BeginNs) / 1e6; s.Status != status || got != atMs || len(r.fed) != fed {
		t.Errorf("%s at %d ms with %d records, want %s at %d ms with %d", s.Status, got, len(r.fed), status, atMs, fed)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestARecordIsDueAtItsTimeAndASpeedCountsFromItsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, New(recording, 1000, true, nil))
		pass(2500 * time.Millisecond)
		r.is(t, Playing, 2500, 3)
		must(t, r.SetSpeed(4000))
		pass(time.Second)
		must(t, r.Pause())
		r.is(t, Paused, 6500, 7)
		if r.hurried != 0 {
			t.Errorf("%d records were fed at full speed", r.hurried)
		}
		must(t, r.SetSpeed(Max))
		r.is(t, Paused, 6500, 7)
		must(t, r.Play())
		r.is(t, Ended, 10_000, 11)
	})
}

func TestAPauseKeepsTheTimeAndStepsFeedRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, New(recording, 1000, true, nil))
		pass(1200 * time.Millisecond)
		must(t, r.Pause())
		pass(time.Hour)
		r.is(t, Paused, 1200, 2)
		must(t, r.Step(3))
		r.is(t, Paused, 4000, 5)
		must(t, r.StepTo(recording.BeginNs+6500*int64(time.Millisecond)))
		r.is(t, Paused, 6500, 7)
		must(t, r.Play())
		pass(600 * time.Millisecond)
		r.is(t, Playing, 7100, 8)
		must(t, r.Step(1_000_000))
		r.is(t, Ended, 10_000, 11)
		for name, err := range map[string]error{
			"play": r.Play(), "step": r.Step(1), "step to the end": r.StepTo(recording.EndNs),
		} {
			if !errors.Is(err, ErrEnded) {
				t.Errorf("%s after the end: %v", name, err)
			}
		}
	})
}

func TestASeekHurriesAndThenGoesOnAsBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, New(recording, 1000, true, nil))
		must(t, r.SeekTo(recording.BeginNs+5*second))
		r.is(t, Playing, 5000, 6)
		if r.hurried != 5 { // the first one was due at once
			t.Errorf("%d records were fed at full speed", r.hurried)
		}
		pass(1500 * time.Millisecond)
		r.is(t, Playing, 6500, 7)
		must(t, r.Pause())
		must(t, r.SeekTo(recording.BeginNs+8200*int64(time.Millisecond)))
		r.is(t, Paused, 8200, 9)
		if last := r.rested[len(r.rested)-1]; last != recording.BeginNs+8200*int64(time.Millisecond) {
			t.Errorf("the market's clock is at %d", last)
		}
	})
}

// A seek back ends the run, in whatever state it is, and the next one goes to the time.
func TestASeekBackBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, New(recording, 1000, true, nil))
		pass(4 * time.Second)
		must(t, r.SeekTo(recording.BeginNs+2*second))
		if s := r.State(); s.Status != Seeking || s.TargetNs != recording.BeginNs+2*second {
			t.Errorf("%+v", s)
		}
		if err := <-r.done; !errors.Is(err, ErrBack) {
			t.Fatal(err)
		}
		r = begin(t, r.Player)
		r.is(t, Playing, 2000, 3)
		must(t, r.SetSpeed(Max))
		r.is(t, Ended, 10_000, 11)
		must(t, r.Pause())
		must(t, r.SeekTo(recording.BeginNs))
		if err := <-r.done; !errors.Is(err, ErrBack) {
			t.Fatal(err)
		}
		r = begin(t, r.Player)
		r.is(t, Paused, 0, 1) // the first record has the time of the beginning
		if s := r.State(); s.Backs != 2 || !slices.Equal(r.fed, []int64{0}) {
			t.Errorf("%+v, %v", s, r.fed)
		}
	})
}

// A seek back stands where it lands when the recording did not play: it had ended by itself.
func TestASeekBackFromTheEndStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, speed := range []Speed{Max, 1000} {
			r := begin(t, New(recording, speed, true, nil))
			pass(11 * time.Second)
			r.is(t, Ended, 10_000, 11)
			must(t, r.SeekTo(recording.BeginNs+2*second))
			if err := <-r.done; !errors.Is(err, ErrBack) {
				t.Fatal(err)
			}
			r = begin(t, r.Player)
			pass(time.Hour)
			r.is(t, Paused, 2000, 3)
			must(t, r.Play())
			pass(9 * time.Second)
			r.is(t, Ended, 10_000, 11)
		}
	})
}

func TestAPlayerRefusesTimesThatItCannotReach(t *testing.T) {
	looped, kept := recording, recording
	looped.Loop, kept.Kept = true, true
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, New(kept, 1000, true, nil))
		pass(2 * time.Second)
		for _, ns := range []int64{recording.BeginNs - 1, recording.EndNs + 1} {
			if err := r.SeekTo(ns); !errors.As(err, new(*OutsideError)) {
				t.Errorf("%d: %v", ns, err)
			}
		}
		if err := r.SeekTo(recording.BeginNs); !errors.Is(err, ErrKept) {
			t.Error(err)
		}
		if err := r.StepTo(recording.BeginNs); !errors.As(err, new(*OutsideError)) {
			t.Error(err)
		}
		must(t, r.SeekTo(recording.EndNs))
		if err := New(looped, Max, true, nil).SeekTo(recording.EndNs); !errors.Is(err, ErrLoop) {
			t.Error(err)
		}
	})
}

func TestSpeedsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]Speed{
		"max": Max, "1": 1000, "0.001": 1, "2.5": 2500, "1000000": MaxSpeed * speedUnit,
	} {
		if got, err := ParseSpeed(text); got != want || err != nil || got.String() != text {
			t.Errorf("%s: %d %s, %v", text, got, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "fast", "1.", "1.0001", "1000000.001", "1000001", "1e3", ".5", "+1"} {
		if got, err := ParseSpeed(text); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// pass lets the time of a synctest bubble pass, which is not the machine's.
func pass(d time.Duration) { <-time.After(d) }
