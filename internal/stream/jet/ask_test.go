package jet_test

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

// A question reaches every node that responds, until it stops; answers are bounded, and without a node there are none.
func TestNodesAnswerEachOther(t *testing.T) {
	onEveryRig(t, func(t *testing.T, r *rig) {
		ctx := within(t)
		ask := func(most int) (all []string) {
			t.Helper()
			answers, err := r.connect().Ask(ctx, []byte("who"), 2*time.Second, most)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range answers {
				all = append(all, string(a))
			}
			slices.Sort(all)
			return all
		}
		if got := ask(9); len(got) != 0 {
			t.Errorf("no node answers %q", got)
		}
		var stops []func()
		for _, name := range []string{"a", "b", "c"} {
			stop, err := r.connect().Respond(func(question []byte) []byte {
				if !bytes.Equal(question, []byte("who")) || name == "c" {
					return nil
				}
				return []byte(name)
			})
			if err != nil {
				t.Fatal(err)
			}
			stops = append(stops, stop)
		}
		if got := ask(9); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%q", got)
		}
		if got := ask(1); len(got) != 1 {
			t.Errorf("at most one: %q", got)
		}
		stops[0]()
		if got := ask(9); !slices.Equal(got, []string{"b"}) {
			t.Errorf("after one has stopped: %q", got)
		}
		if last, err := r.connect().Last(ctx); err != nil || last != 0 {
			t.Errorf("the log has taken %d messages, %v", last, err)
		}
		if r.stop == nil {
			return
		}
		r.stop()
		r.start()
		for len(ask(9)) != 1 { // the node has its subscription again when it is connected again
			if ctx.Err() != nil {
				t.Fatal("no answer after a restart of the server")
			}
		}
	})
}
