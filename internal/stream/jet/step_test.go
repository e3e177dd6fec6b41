package jet_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
)

// stepped is an appender without a goroutine, and its clock.
type stepped struct {
	*jet.Appender
	t     *testing.T
	clock *clock.Manual
}

func newStepped(t *testing.T, l jet.Log, at stream.State, node uint64) *stepped {
	t.Helper()
	w, err := stream.Campaign(&stream.Candidate{
		At: at, Node: node, Rules: 1, Keys: testKeys, Found: stream.Founding{History: [16]byte{7}},
		Limits: stream.Limits{InFlight: 4, Queue: 4 << 20},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	now := clock.NewManual(int64(time.Hour))
	return &stepped{t: t, clock: now, Appender: jet.NewAppender(l, w, jet.Timing{
		NowNs: now.NowNs, Clock: now, BeatAfter: 200 * time.Millisecond, AckTimeout: 2 * time.Second,
		StaleFor: 30 * time.Second,
	})}
}

// run steps until there is no more to do now, and returns the last step.
func (s *stepped) run() step.Progress {
	s.t.Helper()
	for range 100 {
		if p := s.Step(); !p.Worked {
			return p
		}
	}
	s.t.Fatal("the appender does not come to rest")
	return step.Progress{}
}

// pass lets time pass from one step with work to the next.
func (s *stepped) pass(d time.Duration) step.Progress {
	s.t.Helper()
	end := s.clock.NowNs() + int64(d)
	for {
		p := s.run()
		if p.Stopped || p.NextNs > end {
			s.clock.Set(end)
			return p
		}
		s.clock.Set(max(p.NextNs, s.clock.NowNs()+1))
	}
}

// Steps alone do what Run does: they campaign, send, beat, and end a doubt, by the clock of the appender.
func TestAnAppenderRunsBySteps(t *testing.T) {
	t.Parallel()
	m := jettest.NewMem()
	a := newStepped(t, m.Connect(), stream.State{}, 1)
	a.run()
	if !leads(a.Status()) {
		t.Fatal("it does not lead")
	}
	if _, err := a.Add([]byte("r")); err != nil {
		t.Fatal(err)
	}
	a.run()
	_, at := a.Status()
	if at.End.Seq != 1 || at.Seq != 3 {
		t.Fatalf("after a record: %+v", at)
	}
	a.pass(time.Second)
	if _, at = a.Status(); at.Seq != 8 {
		t.Errorf("after a second: message %d, want five beats", at.Seq)
	}
	m.SetDown(true)
	if _, err := a.Add([]byte("s")); err != nil {
		t.Fatal(err)
	}
	a.pass(10 * time.Second)
	if _, now := a.Status(); now != at || a.Ended() != nil {
		t.Errorf("without a server: %+v, %v", now, a.Ended())
	}
	m.SetDown(false)
	a.pass(time.Second)
	if _, now := a.Status(); now.End.Seq != 2 {
		t.Errorf("with the server: %+v", now)
	}
	next := newStepped(t, m.Connect(), lastState(t, m.Connect()), 2)
	next.run()
	if !a.pass(time.Second).Stopped || !errors.Is(a.Ended(), jet.ErrFenced) {
		t.Errorf("the former writer: %v", a.Ended())
	}
	next.Stop(errEnough)
	if !next.run().Stopped || !errors.Is(next.Ended(), errEnough) {
		t.Errorf("ended with %v", next.Ended())
	}
}

// The log loses the last message of a writer whose process stands still, and another node's term record gets its
// number. When the writer goes on, it looks before it sends anything, and before it believes an answer.
func TestAWriterThatStoodStillLooksFirst(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"it sends": false, "an answer is late": true} {
		m := jettest.NewMem()
		l := &lateAnswers{Log: m.Connect(), answers: make(chan jet.Answer, 1)}
		a := newStepped(t, l, stream.State{}, 1)
		a.pass(time.Second)
		last := end(t, l)
		m.Cut(last - 1)
		other := newStepped(t, m.Connect(), lastState(t, l), 2)
		if other.run(); !leads(other.Status()) || end(t, l) != last {
			t.Fatalf("the other node does not lead at message %d", last)
		}
		if l.hold = late; late { // before it stands still
			a.clock.Set(a.clock.NowNs() + int64(200*time.Millisecond))
			a.run()
			last++
		}
		a.clock.Set(a.clock.NowNs() + int64(time.Minute))
		l.hold = false
		_, before := a.Status()
		a.run()
		if _, at := a.Status(); at.Valid != before.Valid || end(t, l) != last {
			t.Errorf("%s: it confirms message %d behind %d, and the log ends at %d", name, at.Valid, before.Valid,
				end(t, l))
		}
		if !a.pass(time.Minute).Stopped || !errors.Is(a.Ended(), stream.ErrReplaced) {
			t.Errorf("%s: ended with %v", name, a.Ended())
		}
	}
}

// lateAnswers holds the answers of a log back.
type lateAnswers struct {
	jet.Log
	hold    bool
	answers chan jet.Answer
}

func (l *lateAnswers) Answers() <-chan jet.Answer {
	if l.hold {
		return l.answers
	}
	return l.Log.Answers()
}

// A log that has lost what it confirmed ends the writer when it has lacked it for long: one that is shorter, and one
// that was begun again and is longer.
func TestALogThatLacksWhatItConfirmed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(m *jettest.Mem)
		want   error
	}{
		"shorter": {func(m *jettest.Mem) { m.Cut(2) }, stream.ErrShrunk},
		"begun again": {func(m *jettest.Mem) {
			m.Cut(0)
			other := newStepped(t, m.Connect(), stream.State{}, 2)
			other.pass(time.Minute)
		}, stream.ErrReplaced},
	} {
		m := jettest.NewMem()
		a := newStepped(t, m.Connect(), stream.State{}, 1)
		a.pass(time.Second)
		_, at := a.Status()
		c.change(m)
		if _, err := a.Add([]byte("r")); err != nil {
			t.Fatal(err)
		}
		if a.pass(29 * time.Second).Stopped {
			t.Errorf("%s: it ended before its patience, with %v", name, a.Ended())
		}
		if !a.pass(5*time.Second).Stopped || !errors.Is(a.Ended(), c.want) {
			t.Errorf("%s: ended with %v, want %v", name, a.Ended(), c.want)
		}
		if _, now := a.Status(); now != at {
			t.Errorf("%s: it confirms %+v behind %+v", name, now, at)
		}
	}
}
