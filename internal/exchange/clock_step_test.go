package exchange_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
)

// stepClock is a machine whose wall clock a test sets.
type stepClock struct {
	mu         sync.Mutex
	wall, boot int64
}

func (s *stepClock) Read() (wallNs, monotonicNs int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wall, s.boot
}

func (s *stepClock) BootNs() int64 {
	_, boot := s.Read()
	return boot
}

func (s *stepClock) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wall, s.boot = s.wall+int64(d), s.boot+int64(d)
}

func (s *stepClock) set(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wall += int64(by)
}

// clockRig is an exchange on a machine whose wall clock a test sets, with one pair.
type clockRig struct {
	*exchangetest.Rig
	*stepClock
	t *testing.T
}

func startClockRig(t *testing.T, dir string, m *stepClock, change ...func(*exchange.Options)) *clockRig {
	t.Helper()
	o := exchangetest.Options(dir)
	for _, f := range change {
		f(&o)
	}
	o.Clock.Virtual, o.Clock.StartGiven = false, false
	o.Machine.Clock = clock.NewSteady(m)
	o.Pairs = []*engine.Instrument{{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 5}}
	return &clockRig{exchangetest.Start(t, o), m, t}
}

// trade makes a trade of an amount at a price and returns its time.
func (r *clockRig) trade(price, amount int) int64 {
	r.t.Helper()
	for _, side := range []string{"sell", "buy"} {
		r.Call("POST", "/orders", fmt.Sprintf(
			`{"currencyPairCode":"BTC_USDT","side":%q,"type":"limit","price":%d,"amount":%d}`, side, price, amount))
	}
	v := r.Feed().Board().Load().View(0)
	return v.Trades.At(v.Trades.Last()).TimeNs - exchangetest.StartNs
}

// figures fails unless the ticker has this volume and these extremes.
func (r *clockRig) figures(what string, volume, low, high int64) {
	r.t.Helper()
	k := r.Feed().Board().Load().View(0).Ticker
	if got := int64(k.Volume.Lo) / 1e5; got != volume || k.Low != low*100 || k.High != high*100 {
		r.t.Errorf("%s: volume %d, low %d, high %d; want %d, %d, %d",
			what, got, k.Low, k.High, volume, low*100, high*100)
	}
}

// incident waits for an incident of the clock with this text.
func (r *clockRig) incident(text string) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		status := r.Do("GET", r.Public+"/api/status", "").Body
		if strings.Contains(status, `"kind":"clock","message":"`+text) {
			return
		}
		if time.Now().After(end) {
			r.t.Fatalf("no incident %q in %s", text, status)
		}
	}
}

func (r *clockRig) status() string {
	r.t.Helper()
	body := r.Do("GET", r.Public+"/api/status", "").Body
	_, rest, _ := strings.Cut(body, `"status":"`)
	word, _, _ := strings.Cut(rest, `"`)
	return word
}

// A wall clock that is 25 h ahead for a while moves neither the window nor the stamps of
// commands, with commands in between or without, and the status shows it. Once it is right again
// everything is as if nothing had happened, also after a restart.
func TestAWallClockThatIsAheadForAWhileChangesNothing(t *testing.T) {
	const hour = time.Hour
	for _, busy := range []bool{false, true} {
		dir, m := t.TempDir(), &stepClock{wall: exchangetest.StartNs, boot: 5}
		r := startClockRig(t, dir, m)
		r.trade(100, 5)
		m.set(25 * hour)
		if busy { // a refused command, which is in the journal too
			r.Do("DELETE", r.Internal+"/orders/99", "")
			r.figures("ahead", 5, 100, 100)
		}
		r.incident("the machine's clock was set ahead by 25h0m0s: the exchange goes on with its own time")
		if s := r.status(); s != "degraded" {
			t.Errorf("status %s while a step is held", s)
		}
		m.pass(2 * time.Second)
		r.figures("ahead, 2 s later", 5, 100, 100)
		m.set(-25 * hour)
		r.incident("the exchange's clock and the machine's agree again")
		if s := r.status(); s != "ok" {
			t.Errorf("status %s after the clock is right", s)
		}
		if at := r.trade(101, 3); at != 2e9 {
			t.Errorf("the trade is at %v, want 2 s", time.Duration(at))
		}
		r.figures("right again", 8, 100, 101)
		m.pass(hour)
		if at := r.trade(102, 1); at != int64(hour)+2e9 {
			t.Errorf("the trade is at %v, want 1h0m2s", time.Duration(at))
		}
		before, _ := r.StateHash()
		r.Stop()
		r = startClockRig(t, dir, m)
		r.figures("after a restart", 9, 100, 102)
		if after, _ := r.StateHash(); after.Hash != before.Hash {
			t.Error("another state after the restart")
		}
		m.pass(22 * hour) // the first two trades leave the window 24 h after they were made
		m.pass(hour)
		if at := r.trade(103, 1); at != int64(24*hour)+2e9 {
			t.Errorf("the trade is at %v, want 24h0m2s", time.Duration(at))
		}
		r.figures("a day later", 2, 102, 103)
		r.Stop()
	}
}

// An operator may accept a step that is held: time and everything that falls due follow at once.
// A step back slows the clock down, and stamps go on.
func TestAHeldStepIsAcceptedAndAStepBackSlowsDown(t *testing.T) {
	m := &stepClock{wall: exchangetest.StartNs, boot: 5}
	r := startClockRig(t, t.TempDir(), m)
	r.trade(100, 5)
	m.set(clock.FollowedStep)
	if at := r.trade(101, 1); at != int64(clock.FollowedStep) {
		t.Errorf("a step of 5 s: the trade is at %v", time.Duration(at))
	}
	m.set(30 * time.Hour)
	if at := r.trade(101, 1); at != int64(clock.FollowedStep) {
		t.Errorf("a held step: the trade is at %v", time.Duration(at))
	}
	r.incident("the machine's clock was set ahead by 30h0m0s")
	now := r.Call("POST", "/clock/accept", "")["nowNs"]
	if want := exchangetest.StartNs + int64(30*time.Hour+clock.FollowedStep); fmt.Sprint(now) != fmt.Sprint(want) {
		t.Errorf("accepted: now %v, want %d", now, want)
	}
	r.figures("accepted", 0, 0, 0)
	m.set(-time.Hour)
	r.incident("the machine's clock was set back by 1h0m0s: the exchange's clock runs at half its speed")
	m.pass(20 * time.Second)
	if at := r.trade(100, 1); at != int64(30*time.Hour+clock.FollowedStep+10*time.Second) {
		t.Errorf("20 s after a step back: the trade is at %v", time.Duration(at))
	}
	if s := r.status(); s != "ok" {
		t.Errorf("status %s while the clock is slow", s)
	}
	r.Stop()

	v := exchangetest.Start(t, exchangetest.Options(""))
	if a := v.Do("POST", v.Internal+"/clock/accept", `{"to":1}`); a.Status != 400 {
		t.Errorf("an unknown member: %d %s", a.Status, a.Body)
	}
	if a := v.Do("POST", v.Internal+"/clock/accept", ""); a.Status != 409 {
		t.Errorf("a virtual clock: %d %s", a.Status, a.Body)
	}
}

// A machine clock that went back over a restart refuses signed requests, and the status says so until it has caught up.
func TestAClockBehindTheLastTimeDegrades(t *testing.T) {
	dir, m := t.TempDir(), &stepClock{wall: exchangetest.StartNs, boot: 5}
	r := startClockRig(t, dir, m)
	r.Call("POST", "/users", `{}`)
	r.trade(100, 5)
	r.Stop()
	r = startClockRig(t, dir, m)
	if s := r.status(); s != "ok" {
		t.Errorf("status %s after a restart", s)
	}
	r.Stop()
	m.set(-time.Hour)
	r = startClockRig(t, dir, m)
	r.incident("the clock is 1h0m0s behind the last recorded time: signed requests are rejected until it catches up")
	if s := r.status(); s != "degraded" {
		t.Errorf("status %s while signed requests are refused", s)
	}
	m.pass(time.Hour)
	if s := r.status(); s != "ok" {
		t.Errorf("status %s after the clock has caught up", s)
	}
}
