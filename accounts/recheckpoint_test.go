package accounts

import (
	"testing"

	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

// newPlantAhead returns a plant that acknowledges two records which name commands that a power cut
// may take.
func newPlantAhead(t *testing.T) *plant {
	t.Helper()
	p := newPlant(t)
	if err := p.store.Snapshot(); err != nil {
		t.Fatal(err)
	}
	p.lax = true
	for range 5 {
		p.idle()
	}
	p.do(Command{Kind: CreateUser})
	p.do(Command{Kind: Deposit, User: 1, Currency: "USDT", Amount: dec("1000")})
	return p
}

// A start that ends at any step of Recheckpoint leaves a directory whose next starts keep these records
// in place, even if the newest snapshot is damaged after new commands took their positions.
func TestACrashAtEveryStepOfRecheckpointKeepsTheRecordsInPlace(t *testing.T) {
	p := newPlantAhead(t)
	seed := uint64(0)
	for ; ; seed++ {
		if log, err := wal.Open(p.fs.Crash(seed), "engine", wal.Options{NoLock: true}); err != nil {
			t.Fatal(err)
		} else if log.LastSeq() == 1 {
			break
		}
	}
	fs := p.fs.Crash(seed)
	var steps []*vfstest.Mem
	fs.After(func(op vfstest.Op) {
		switch op.Kind {
		case vfstest.OpRead, vfstest.OpOpen, vfstest.OpList:
		default:
			n := uint64(len(steps))
			steps = append(steps, fs.Kill(), fs.Crash(4*n), fs.Crash(4*n+1), fs.Crash(4*n+2))
		}
	})
	p.on(fs)
	if len(steps) < 40 {
		t.Fatalf("%d steps", len(steps))
	}
	for i, fs := range steps {
		q := p.on(fs)
		for range 4 {
			q.buy(1)
		}
		if err := q.s.Check(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		q.goOn()
		q.close()
	}
	t.Logf("%d steps", len(steps))
}
