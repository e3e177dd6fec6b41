package jet_test

import (
	"errors"
	"testing"

	"github.com/tickhive/tickhive/internal/stream/jet"
)

// What a node says reaches those that hear it at the moment, and nothing keeps it.
func TestNodesTalkBesideTheLog(t *testing.T) {
	s := serve(t, t.TempDir(), "")
	con := conn(t, jet.Remote{Embedded: s})
	a := open(t, con).(jet.Talk)
	b := open(t, conn(t, jet.Remote{Embedded: s})).(jet.Talk)
	if err := a.Say([]byte("nobody hears it")); err != nil {
		t.Fatal(err)
	}
	if err := con.Flush(within(t)); err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 8)
	deaf, err := b.Hear(func(text []byte) { heard <- string(text) })
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Say([]byte("one")); err != nil { // on the connection that hears: its ears are at the server
		t.Fatal(err)
	}
	hears := func(want string) {
		t.Helper()
		select {
		case got := <-heard:
			if got != want {
				t.Errorf("it hears %q, want %q", got, want)
			}
		case <-within(t).Done():
			t.Fatalf("nobody says %q", want)
		}
	}
	hears("one")
	if err := a.Say([]byte("two")); err != nil {
		t.Fatal(err)
	}
	hears("two")
	deaf()
	for _, l := range []jet.Log{a, b} {
		if last, err := l.Last(within(t)); last != 0 || err != nil {
			t.Errorf("the log has %d messages, %v", last, err)
		}
	}
}

// Servers that let a node neither speak nor hear: it learns that once it has tried, and its log goes on.
func TestNodesThatMayNotTalk(t *testing.T) {
	for _, deny := range []string{"publish", "subscribe"} {
		user, public := seed(t)
		at, _ := configured(t, `
jetstream { store_dir: STORE }
authorization { users: [{nkey: `+public+`, permissions: {`+deny+`: {deny: "tickhive.*.nodes"}}}] }
`)
		con := conn(t, jet.Remote{URLs: []string{at}, Seed: user})
		l := open(t, con)
		talk := l.(jet.Talk)
		if _, err := talk.Hear(func([]byte) {}); err != nil {
			t.Fatal(err)
		}
		if err := talk.Say([]byte("one")); err != nil && !errors.Is(err, jet.ErrForbidden) {
			t.Errorf("%s: %v", deny, err)
		}
		if err := con.Flush(within(t)); err != nil {
			t.Fatal(err)
		}
		if err := talk.Say([]byte("two")); !errors.Is(err, jet.ErrForbidden) {
			t.Errorf("%s: %v", deny, err)
		}
		if a := publish(t, l, 1, 0, "m1"); a.Seq != 1 {
			t.Errorf("%s: answer %+v", deny, a)
		}
	}
}
