package node_test

import (
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/wal"
)

// A snapshot is written some time behind its position. However fast messages come, the state that it names is little
// before it: a node that begins there reads little, and the stream can be trimmed up to there.
func TestStatesOfABusyStreamAreCloseToEachOther(t *testing.T) {
	for _, step := range []time.Duration{time.Millisecond, 70 * time.Millisecond, 200 * time.Millisecond} {
		var s node.States
		n := uint64(200 * time.Second / step)
		for i := uint64(1); i <= n; i++ {
			s.Note(stream.State{Seq: i, SentNs: int64(i) * int64(step), End: wal.Position{Seq: 10 * i}})
		}
		for _, age := range []time.Duration{0, time.Second, 10 * time.Second, 40 * time.Second, 150 * time.Second} {
			i := n - uint64(age/step)
			at := s.Before(10*i + 3)
			behind, most := time.Duration(i-at.Seq)*step, 200*time.Millisecond+age/20
			if at.Seq == 0 || at.Seq > i || behind > most {
				t.Errorf("a message each %s, %s ago: the state is %s before it, at most %s", step, age, behind, most)
			}
		}
		if at := s.Before(10); at.Seq != 1 {
			t.Errorf("a message each %s: the first state is gone: %+v", step, at)
		}
		if at := s.Before(9); at.Seq != 0 {
			t.Errorf("a message each %s: a state before the first: %+v", step, at)
		}
	}
}
