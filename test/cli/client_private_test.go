package cli

import (
	"net/http"
	"os"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// privateCuts returns how often the line of a private stream is cut: 1,000 times in make soak.
func privateCuts() int64 {
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		return 1000
	}
	return 200
}

// The private stream of each client returns every fill once and in order, and the end of every order, while its line is
// cut at every message, and the exchange is killed in between.
func TestPrivateStreamsLoseNothing(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	cuts := privateCuts()
	for name, follow := range harness.PrivateFollowers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{
				"--data-dir", t.TempDir(), "--pairs", "none", "--sim", "off", "--quiet",
				"--set", "rate.allow=127.0.0.1",
			}
			in := harness.Start(t, args...)
			m := harness.NewPrivateMarket(t, in)
			line := harness.NewCutter(t, in.Public, 20, cuts)
			c := *m.User
			c.Base = line.URL()
			seen := follow(t, c)
			begin := func() (end func()) {
				stop, done := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(done)
					m.Trade(line, stop)
				}()
				return func() { close(stop); <-done }
			}
			end, got, killed := begin(), harness.NewPrivateRecord(), false
			for line.Cuts.Load() < cuts {
				got.Note(t, harness.ReceiveFollowed(t, seen))
				if killed || line.Cuts.Load() < cuts/2 {
					continue
				}
				killed = true
				end()
				in.Signal(syscall.SIGKILL)
				in.Wait()
				in = harness.Start(t, args...)
				m.In, m.User.Base = in, in.Public
				line.Aim(t, in.Public)
				end = begin()
			}
			end()
			got.Compare(t, m, seen)
			if got.Missed() == 0 || got.Missed() == got.Fills() {
				t.Errorf("%d of %d fills came by a request", got.Missed(), got.Fills())
			}
		})
	}
}

// A message that the exchange loses on the way is noticed: by the next one of its channel, or by a heartbeat.
func TestPrivateStreamsNoticeALostMessage(t *testing.T) {
	t.Parallel()
	for name, follow := range harness.PrivateFollowers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := harness.Start(t, "--pairs", "none", "--sim", "off", "--quiet", "--set", "rate.allow=127.0.0.1")
			m := harness.NewPrivateMarket(t, in)
			seen := follow(t, *m.User)
			got := harness.NewPrivateRecord()
			got.Begin(t, seen)
			in.Call(http.StatusOK, http.MethodPost, "/faults",
				`{"rules":["drop channel=fills probability=0.1 seed=1","drop channel=orders probability=0.1 seed=2"]}`)
			for i := range 60 {
				m.Round(i)
			}
			got.Compare(t, m, seen)
			if got.Missed() == 0 {
				t.Error("no fill came by a request")
			}
		})
	}
}
