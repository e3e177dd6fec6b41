package cluster

import (
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// The private stream of each client goes on at the standby that takes over from a killed writer, and returns every fill
// once.
func TestPrivateStreamsGoOnAtTheNextWriter(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for name, follow := range harness.PrivateFollowers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFailover(t)
			f.start(0, f.writer())
			m := harness.NewPrivateMarket(t, f.nodes[0])
			f.start(1, f.standby(1, "--set", "sim.enabled=false"))
			bases := []string{f.nodes[0].Public, f.nodes[1].Public}
			seen, got := follow(t, *m.User, bases[1]), harness.NewPrivateRecord()
			got.Begin(t, seen)
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				m.TradeAlone(stop, bases...)
			}()
			more := func(n int) {
				for last := got.Fills() + n; got.Fills() < last; {
					got.Note(t, harness.ReceiveFollowed(t, seen))
				}
			}
			more(100)
			f.nodes[0].Signal(syscall.SIGKILL)
			f.nodes[0].Wait()
			f.awaitRole(1, "writer")
			m.User.Base = bases[1]
			more(100)
			close(stop)
			<-done
			harness.WaitFor(t, func() bool { // the listener of before answers 421 until it has ended
				_, err := m.User.Balances(t.Context())
				return err == nil
			})
			got.Compare(t, m, seen)
		})
	}
}
