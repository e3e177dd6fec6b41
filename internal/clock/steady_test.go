package clock

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

const second = int64(time.Second)

// fakeMachine is a Source whose clocks a test sets.
type fakeMachine struct {
	mu                    sync.Mutex
	wall, monotonic, boot int64
	apart                 []int64 // ns that pass between the clocks of the next readings
}

func (m *fakeMachine) Read() (wallNs, monotonicNs int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wallNs = m.wall
	if len(m.apart) > 0 {
		m.pass(m.apart[0])
		m.apart = m.apart[1:]
	}
	return wallNs, m.monotonic
}

func (m *fakeMachine) BootNs() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boot
}

func (m *fakeMachine) pass(ns int64) {
	m.wall, m.monotonic, m.boot = m.wall+ns, m.monotonic+ns, m.boot+ns
}

func (m *fakeMachine) suspend(ns int64) { m.wall, m.boot = m.wall+ns, m.boot+ns }

// start is the wall clock of a fake machine when its clock begins.
const start = 1_767_225_600 * second

func newSteady() (*Steady, *fakeMachine) {
	m := &fakeMachine{wall: start, monotonic: 7 * second, boot: 100 * second}
	return NewSteady(m), m
}

func want(t *testing.T, what string, c *Steady, sec float64, ahead float64) {
	t.Helper()
	now, a := c.NowNs()-start, c.Ahead()
	if float64(now) != sec*1e9 || a.Seconds() != ahead {
		t.Errorf("%s: the clock is at %.3f s, the wall clock %.3f s ahead; want %.3f and %.3f",
			what, float64(now)/1e9, a.Seconds(), sec, ahead)
	}
}

// A forward step of at most 5 s is followed at once. A larger one is held until the wall clock
// has come back or Accept, and time goes on meanwhile.
func TestForwardSteps(t *testing.T) {
	c, m := newSteady()
	m.pass(2 * second)
	want(t, "no step", c, 2, 0)
	m.wall += 5 * second
	want(t, "a step of 5 s", c, 7, 0)
	m.wall += 5*second + 1
	if d := c.NowNs() - start; d != 7*second {
		t.Errorf("a step of more than 5 s moved the clock to %d", d)
	}
	m.wall--
	want(t, "1 ns less is within the tolerance of a judged step", c, 7, 5)

	c, m = newSteady()
	m.wall += 25 * 3600 * second
	want(t, "a step of 25 h", c, 0, 25*3600)
	m.pass(3 * second)
	want(t, "3 s later", c, 3, 25*3600)
	m.wall += 2 * second
	want(t, "another step while one is held", c, 3, 25*3600+2)
	m.wall -= 25 * 3600 * second
	want(t, "the wall clock is right again, 2 s ahead", c, 5, 0)
	m.wall += 3600 * second
	want(t, "a step of 1 h", c, 5, 3600)
	c.Accept()
	want(t, "accepted", c, 3605, 0)
	c.Accept()
	want(t, "accepted again", c, 3605, 0)
	m.pass(second)
	want(t, "1 s later", c, 3606, 0)
}

// After a step back the clock runs at half its speed until the wall clock has caught up, also
// when a reading, a suspension or another step comes in between. Accept does not move it back.
func TestStepBackSlowsTheClockDown(t *testing.T) {
	c, m := newSteady()
	m.pass(10 * second)
	m.wall -= 8 * second
	want(t, "a step back", c, 10, -8)
	m.pass(4 * second)
	want(t, "4 s later", c, 12, -6)
	c.Accept()
	want(t, "accept", c, 12, -6)
	m.suspend(100 * second)
	want(t, "after a suspension", c, 112, -6)
	m.wall -= second
	want(t, "another step back", c, 112, -7)
	m.pass(14 * second)
	want(t, "14 s later", c, 119, 0)
	m.pass(second)
	want(t, "level", c, 120, 0)
	m.wall -= 3600 * second
	want(t, "1 h back", c, 120, -3600)
	m.wall += 3600*second + 4*second
	want(t, "right again, 4 s ahead", c, 124, 0)
}

// A suspension is no step, however long: CLOCK_BOOTTIME counts it. A machine that was stopped
// without it, as a paused virtual machine, sees a step.
func TestSuspensionIsFollowed(t *testing.T) {
	c, m := newSteady()
	m.suspend(3 * 24 * 3600 * second)
	want(t, "suspended for three days", c, 3*24*3600, 0)
	m.suspend(3600 * second)
	m.wall += 4 * second
	want(t, "an hour, and the time service corrects it", c, 73*3600+4, 0)
	m.suspend(3600 * second)
	m.wall += 60 * second
	want(t, "an hour, and a step of a minute", c, 74*3600+4, 60)
}

// A thread that loses its processor between two clocks sees no step. Differences below 1 ms are
// none.
func TestReadingsThatAreFarApartAreNoStep(t *testing.T) {
	c, m := newSteady()
	m.apart = []int64{6 * second}
	want(t, "6 s between wall clock and steady clock", c, 6, 0)
	m.apart = []int64{40_000_000, 20_000_000, 0, 30_000_000}
	if got := c.NowNs() - start; got != m.wall-start {
		t.Errorf("the clock is at %d, want %d", got, m.wall-start)
	}
	m.apart = nil
	before := c.NowNs()
	m.wall += 900_000
	if d := c.NowNs() - before; d != 0 {
		t.Errorf("a step of 0.9 ms moved the clock by %d ns", d)
	}
	m.wall += 200_000
	if d := c.NowNs() - before; d != 1_100_000 {
		t.Errorf("a step of 1.1 ms moved the clock by %d ns", d)
	}
}

// No sequence of steps, suspensions and readings moves the clock back, and it is level with the
// wall clock once that has been right for long enough.
func TestSteadyNeverGoesBack(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	held, slowed := 0, 0
	for range 200 {
		c, m := newSteady()
		last := c.NowNs()
		for range 500 {
			switch rnd.IntN(8) {
			case 0:
				m.wall += rnd.Int64N(20*second) - 10*second
			case 1:
				m.wall += rnd.Int64N(20 * second / 1000)
			case 2:
				m.suspend(rnd.Int64N(10 * second))
			case 3:
				m.apart = []int64{rnd.Int64N(second), rnd.Int64N(second)}
			case 4:
				if rnd.IntN(5) == 0 {
					c.Accept()
				}
			default:
				m.pass(rnd.Int64N(3 * second))
			}
			now := c.NowNs()
			if now < last {
				t.Fatalf("the clock went back by %d ns", last-now)
			}
			switch ahead := c.Ahead(); {
			case ahead > FollowedStep:
				held++
			case ahead > 0:
				t.Fatalf("the wall clock is %v ahead", ahead)
			case ahead < 0:
				slowed++
			}
			last = now
		}
		m.wall, m.apart = max(c.NowNs()-2*second, m.wall-100*second), nil
		c.NowNs()
		m.pass(1000 * second)
		c.Accept()
		if now := c.NowNs(); now != m.wall && c.Ahead() != 0 {
			t.Fatalf("%d ns from the wall clock", now-m.wall)
		}
	}
	if held < 10_000 || slowed < 10_000 {
		t.Errorf("held %d times, slowed %d times", held, slowed)
	}
}

// The machine's own clocks are usable: nothing is held, and time passes.
func TestSteadyOnThisMachine(t *testing.T) {
	c := NewSteady(nil)
	a := c.NowNs()
	for c.NowNs() == a {
	}
	if d := c.NowNs() - time.Now().UnixNano(); d > second || d < -second {
		t.Errorf("%d ns from time.Now", d)
	}
	if (machine{time.Now()}).BootNs() <= 0 {
		t.Error("no CLOCK_BOOTTIME")
	}
}

func BenchmarkSteady(b *testing.B) {
	c := NewSteady(nil)
	for b.Loop() {
		c.NowNs()
	}
}
