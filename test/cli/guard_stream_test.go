package cli

import (
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// guarded opens a stream of a user; with guards, the user's orders are canceled when it is gone.
func guarded(in *harness.Instance, u *harness.Voter, guards bool) *client.Stream {
	in.T.Helper()
	in.AwaitSigned(u)
	s, err := client.Dial(in.T.Context(), client.StreamURL(in.Public))
	if err != nil {
		in.T.Fatal(err)
	}
	in.T.Cleanup(func() { _ = s.Close() })
	now := time.Now()
	if guards {
		err = s.AuthenticateGuarded(u.Public, u.Private, now, 0)
	} else {
		err = s.Authenticate(u.Public, u.Private, now)
	}
	if err != nil {
		in.T.Fatal(err)
	}
	if m, err := s.Next(); err != nil || m.Type != "authenticated" {
		in.T.Fatalf("%+v %v", m, err)
	}
	return s
}

// The orders of a user whose guarding socket is gone are canceled; those of a user without the wish stay, and so do
// all at the end of the server, in order or by kill -9.
func TestOrdersOfAGoneClientAreCanceled(t *testing.T) {
	t.Parallel()
	args := []string{"--data-dir", t.TempDir(), "--pairs", "none", "--sim", "off"}
	in := harness.Start(t, args...)
	in.TwoPairs()
	a, plain, stays := in.Trader(), in.Trader(), in.Trader()
	for _, u := range []*harness.Voter{a, plain, stays} {
		rest(in, u)
	}
	gone, other := guarded(in, a, true), guarded(in, plain, false)
	guarded(in, stays, true)
	_ = other.Close()
	_ = gone.Close()
	in.WaitLog("cause=disconnect", 1)
	holds(in, a, nothingHeld)
	holds(in, plain, allHeld)
	holds(in, stays, allHeld)
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		in.Signal(end)
		in.Wait()
		in = harness.Start(t, args...)
		holds(in, plain, allHeld)
		holds(in, stays, allHeld)
		guarded(in, stays, true)
	}
	rest(in, a)
	_ = guarded(in, a, true).Close()
	in.WaitLog("cause=disconnect", 1)
	holds(in, a, nothingHeld)
	holds(in, stays, allHeld)
}
