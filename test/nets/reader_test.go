package nets_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/test/nets"
)

// What an answer has said, every later read of anybody shows: several clients read after each of their answers.
func TestEveryReadShowsWhatTheAnswerBeforeItSaid(t *testing.T) {
	for _, m := range modes {
		for _, virtual := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, virtual clock %t", m.name, virtual), func(t *testing.T) {
				t.Parallel()
				o := options(t.TempDir())
				o.Journal.Sync = m.sync
				o.Hooks.Loop = func(l *sequencer.LoopOptions) {
					l.Sinks = append([]sequencer.Sink{&lateSink{}}, l.Sinks...)
				}
				if !virtual {
					o.Clock = exchange.ClockOptions{}
				}
				x := exchangetest.Start(t, o)
				for i := range 3 {
					t.Run(fmt.Sprint("client ", i), func(t *testing.T) {
						t.Parallel()
						r := nets.NewReader(nodeOf(t, x), i)
						for round := range 8 {
							r.Round(10 + 3*(round%4))
						}
					})
				}
			})
		}
	}
}

// lateSink makes the publication of commands take long, as a busy machine may: who is answered before it has the time
// to read what it does not show yet.
type lateSink struct{ changed bool }

// Fold implements sequencer.Sink.
func (s *lateSink) Fold([]engine.Event, uint64) { s.changed = true }

// Publish implements sequencer.Sink.
func (s *lateSink) Publish(int64) {
	if s.changed {
		<-time.After(3 * time.Millisecond)
	}
	s.changed = false
}

// NextNs implements sequencer.Sink.
func (*lateSink) NextNs() int64 { return math.MaxInt64 }
