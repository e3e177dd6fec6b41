package node_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
)

const after = 2 * time.Second

// silence returns how long AwaitSilence waits for a log that was read up to seq, of which the last message that counts
// arrived now. During change, which runs beside it, the test may use the log.
func silence(t *testing.T, seq uint64, change func(m *jettest.Mem)) (took time.Duration, err error) {
	t.Helper()
	servers, m := jettest.NewMem(), node.OwnMachine()
	log := servers.Connect()
	if err := log.Publish(1, 0, []byte("x")); err != nil {
		t.Fatal(err)
	}
	heardNs := clock.MachineNs()
	begun := time.Now()
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("never"))
	defer cancel()
	go change(servers)
	err = m.AwaitSilence(ctx, log, after, func() (uint64, int64) { return seq, heardNs })
	return time.Since(begun), err
}

// A writer is silent when nothing has arrived for the whole time and everything is read. An outage of the log begins
// the time again.
func TestAwaitSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took, err := silence(t, 1, func(*jettest.Mem) {})
		if err != nil || took != after {
			t.Errorf("%v, %v", took, err)
		}
		took, err = silence(t, 1, func(m *jettest.Mem) {
			<-time.After(time.Second)
			m.SetDown(true)
			<-time.After(3 * time.Second)
			m.SetDown(false)
		})
		if err != nil || took < 4*time.Second+after-after/4 || took > 4*time.Second+after {
			t.Errorf("after an outage from 1 s to 4 s: %v, %v", took, err)
		}
		if took, err = silence(t, 0, func(*jettest.Mem) {}); err == nil || err.Error() != "never" {
			t.Errorf("with a message that is not read: %v, %v", took, err)
		}
	})
}

// The silence of a writer whose last message arrived at any time is found when it is complete, not at the next look.
func TestSilenceIsFoundAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := jettest.NewMem()
		log := m.Connect()
		if err := log.Publish(1, 0, []byte("x")); err != nil {
			t.Fatal(err)
		}
		begun, heardNs := time.Now(), clock.MachineNs()
		const later = 333 * time.Millisecond
		own := node.OwnMachine()
		err := own.AwaitSilence(t.Context(), log, after, func() (uint64, int64) {
			if time.Since(begun) < later {
				return 1, heardNs
			}
			return 1, heardNs + int64(later)
		})
		if took := time.Since(begun); err != nil || took < later+after || took > later+after+after/100 {
			t.Errorf("%v, %v, want %v", took, err, later+after)
		}
	})
}
