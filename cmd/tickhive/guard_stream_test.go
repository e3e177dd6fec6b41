package main

import (
	"syscall"
	"testing"
	"time"

	"tickhive/client"
)

// guarded opens a stream of a user; with guards, the user's orders are canceled when it is gone.
func (in *instance) guarded(u *voter, guards bool) *client.Stream {
	in.t.Helper()
	s, err := client.Dial(in.t.Context(), client.StreamURL(in.public))
	if err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(func() { _ = s.Close() })
	now := time.Now()
	if guards {
		err = s.AuthenticateGuarded(u.public, u.private, now, 0)
	} else {
		err = s.Authenticate(u.public, u.private, now)
	}
	if err != nil {
		in.t.Fatal(err)
	}
	if m, err := s.Next(); err != nil || m.Type != "authenticated" {
		in.t.Fatalf("%+v %v", m, err)
	}
	return s
}

// The orders of a user whose guarding socket is gone are canceled; those of a user without the wish stay, and so do
// all at the end of the server, in order or by kill -9.
func TestOrdersOfAGoneClientAreCanceled(t *testing.T) {
	t.Parallel()
	args := []string{"--data-dir", t.TempDir(), "--pairs", "none", "--sim", "off"}
	in := start(t, args...)
	in.twoPairs()
	a, plain, stays := in.trader(), in.trader(), in.trader()
	for _, u := range []*voter{a, plain, stays} {
		in.rest(u)
	}
	gone, other := in.guarded(a, true), in.guarded(plain, false)
	in.guarded(stays, true)
	_ = other.Close()
	_ = gone.Close()
	in.waitLog("cause=disconnect", 1)
	in.holds(a, nothingHeld)
	in.holds(plain, allHeld)
	in.holds(stays, allHeld)
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		in.signal(end)
		in.wait()
		in = start(t, args...)
		in.holds(plain, allHeld)
		in.holds(stays, allHeld)
		in.guarded(stays, true)
	}
	in.rest(a)
	_ = in.guarded(a, true).Close()
	in.waitLog("cause=disconnect", 1)
	in.holds(a, nothingHeld)
	in.holds(stays, allHeld)
}
