package accounts

import (
	"errors"
	"syscall"
	"testing"

	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

// failFrom lets the n-th operation from now fail, counted from 0. It returns a function that reports
// whether that operation was reached.
func failFrom(fs *vfstest.Mem, n int) func() bool {
	reached := false
	fs.Before(func(vfstest.Op) vfstest.Fault {
		n--
		if n != -1 {
			return vfstest.Fault{}
		}
		reached = true
		return vfstest.Fault{Err: syscall.EIO}
	})
	return func() bool { return reached }
}

// newPlantWithSnapshots returns a closed plant whose log of accounts has two snapshots and a tail.
func newPlantWithSnapshots(t *testing.T) *plant {
	t.Helper()
	p := newPlant(t)
	p.do(Command{Kind: CreateUser})
	for range 2 {
		p.do(Command{Kind: Deposit, User: 1, Currency: "USDT", Amount: dec("1000")})
		p.buy(1)
		if err := p.store.Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	p.do(Command{Kind: CreateUser})
	p.close()
	return p
}

func TestRecoverRefusesOptionsThatAreWrong(t *testing.T) {
	fs := vfstest.NewMem()
	p := &plant{t: t, fs: fs}
	var err error
	if p.journal, err = wal.Open(fs, "engine", wal.Options{NoLock: true}); err != nil {
		t.Fatal(err)
	}
	before := len(fs.Paths())
	o := p.options()
	o.State.Random = nil
	if r, err := Recover(o); err == nil || r != nil {
		t.Fatalf("recovered %v, %v", r, err)
	}
	if after := len(fs.Paths()); after != before {
		t.Fatalf("a refused start made %d files", after-before)
	}
}

// The log of accounts keeps its version: a program with other records does not read it.
func TestTheLogHasTheVersionOfItsRecords(t *testing.T) {
	p := newPlantWithSnapshots(t)
	open := func(version uint32) error {
		log, err := wal.Open(p.fs.Kill(), "accounts", wal.Options{NoLock: true, RecordVersion: version})
		if err == nil {
			err = log.Close()
		}
		return err
	}
	if err := open(RecordVersion); err != nil {
		t.Fatal(err)
	}
	for _, version := range []uint32{RecordVersion - 1, RecordVersion + 1} {
		var other *wal.VersionError
		if err := open(version); !errors.As(err, &other) || other.Got != 2 {
			t.Fatalf("as version %d: %v", version, err)
		}
	}
}

// Each operation of Recover fails once. It then returns an error and leaves the log unlocked, or it returns
// a state.
func TestRecoverWithEachOperationFailing(t *testing.T) {
	p := newPlantWithSnapshots(t)
	refused, n := 0, 0
	for reached := true; reached; n++ {
		q := &plant{t: t, fs: p.fs.Kill(), clock: p.clock, table: p.table}
		var err error
		if q.journal, err = wal.Open(q.fs, "engine", wal.Options{PreallocBytes: -1, NoLock: true}); err != nil {
			t.Fatal(err)
		}
		o := q.options()
		o.Log.NoLock = false
		was := failFrom(q.fs, n)
		r, err := Recover(o)
		reached = was()
		q.fs.Before(nil)
		if (err == nil) != (r != nil) {
			t.Fatalf("operation %d: recovered %v, %v", n, r != nil, err)
		}
		if err != nil {
			refused++
			if r, err = Recover(o); err != nil {
				t.Fatalf("operation %d: the start after the failed one: %v", n, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if refused < 10 {
		t.Fatalf("%d of %d operations refused the start", refused, n)
	}
	t.Logf("%d of %d operations refused the start", refused, n)
}

// Each operation of Recheckpoint fails once. It then returns an error, or the records are in both snapshots.
func TestRecheckpointWithEachOperationFailing(t *testing.T) {
	p := newPlantAhead(t)
	seed := uint64(0)
	for ; ; seed++ {
		log, err := wal.Open(p.fs.Crash(seed), "engine", wal.Options{NoLock: true})
		if err != nil {
			t.Fatal(err)
		}
		if log.LastSeq() == 1 {
			break
		}
	}
	refused, n := 0, 0
	for reached := true; reached; n++ {
		q := &plant{t: t, fs: p.fs.Crash(seed), clock: p.clock, table: p.table, lax: true}
		var err error
		if q.journal, err = wal.Open(q.fs, "engine", wal.Options{PreallocBytes: -1, NoLock: true}); err != nil {
			t.Fatal(err)
		}
		q.read()
		r, err := Recover(q.options())
		if err != nil {
			t.Fatal(err)
		}
		q.s = r.State()
		q.store = mergeAll(t, r, q.foldTo)
		if q.s.lastAhead == 0 {
			t.Fatal("no record is ahead of the journal")
		}
		was := failFrom(q.fs, n)
		err = Recheckpoint(q.store, q.s)
		reached = was()
		q.fs.Before(nil)
		if done := q.store.FallbackSeq() >= q.s.lastAhead; err == nil && !done {
			t.Fatalf("operation %d: no error, the older snapshot is at %d and the records end at %d", n,
				q.store.FallbackSeq(), q.s.lastAhead)
		}
		if err != nil {
			refused++
		}
	}
	if refused < 3 || refused == n {
		t.Fatalf("%d of %d operations failed", refused, n)
	}
	t.Logf("%d of %d operations failed", refused, n)
}

// A start without records ahead of the journal writes nothing more.
func TestAnOrdinaryStartTakesNoSnapshots(t *testing.T) {
	p := newPlantWithSnapshots(t)
	q := p.on(p.fs.Kill())
	if q.s.lastAhead != 0 {
		t.Fatalf("record %d is ahead of the journal", q.s.lastAhead)
	}
}
