package durable

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tickhive/internal/clock"
	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

func TestStoreOnAFullDiskRefusesAndRecovers(t *testing.T) {
	fsys := vfstest.NewMem()
	opts := toyOpts(fsys)
	opts.Log.PreallocBytes = -1
	s := mustStore(t, opts)
	want := int64(0)
	for round := range 20 {
		fsys.SetCapacity(fsys.Used() + int64(round*11))
		for {
			got, err := s.Do(toyCommand{key: "a", add: 1})
			if err != nil {
				if !errors.Is(err, wal.ErrUnavailable) || !errors.Is(s.Health(), wal.ErrUnavailable) {
					t.Fatalf("full disk: %v, health %v", err, s.Health())
				}
				break
			}
			want++
			if got != want {
				t.Fatalf("%d, want %d", got, want)
			}
		}
		if v := s.View(); v.amounts["a"] != want {
			t.Fatalf("a refused command shows: %d, want %d", v.amounts["a"], want)
		}
		fsys.SetCapacity(0)
		if _, err := s.Do(toyCommand{key: "a", add: 1}); err != nil || s.Health() != nil {
			t.Fatalf("space is back: %v, %v", err, s.Health())
		}
		want++
	}
	must(t, s.Close())
	s = mustStore(t, toyOpts(fsys))
	if v := s.View(); v.amounts["a"] != want || v.records != uint64(want) {
		t.Fatalf("after restart %+v, want %d", v, want)
	}
	must(t, s.Close())
}

func TestAStoreIsWellAgainAsSoonAsTheDiskHasRoom(t *testing.T) {
	fsys := vfstest.NewMem()
	opts := toyOpts(fsys)
	opts.Log.PreallocBytes = 4096
	s := mustStore(t, opts)
	fsys.SetCapacity(fsys.Used())
	for want := int64(1); ; want++ {
		if _, err := s.Do(toyCommand{key: "a", add: 1}); errors.Is(err, wal.ErrUnavailable) {
			break
		} else if err != nil || want > 1000 {
			t.Fatalf("command %d: %v", want, err)
		}
	}
	for range 3 {
		if !errors.Is(s.Health(), wal.ErrUnavailable) {
			t.Fatalf("full disk: health %v", s.Health())
		}
	}
	fsys.SetCapacity(0)
	if err := s.Health(); err != nil {
		t.Fatalf("space is back: health %v", err)
	}
	shown := s.View().amounts["a"]
	if got, err := s.Do(toyCommand{key: "a", add: 1}); err != nil || got != shown+1 {
		t.Fatalf("%d, %v", got, err)
	}
	must(t, s.Close())
	s = mustStore(t, opts)
	if got := s.View().amounts["a"]; got != shown+1 {
		t.Fatalf("after the restart %d, want %d", got, shown+1)
	}
	must(t, s.Close())
}

func TestStoreEndsWithAFailedSyncAndShowsNothingOfIt(t *testing.T) {
	fsys := vfstest.NewMem()
	s := mustStore(t, toyOpts(fsys))
	_, err := s.Do(toyCommand{key: "a", add: 1})
	must(t, err)
	fsys.FailNext(vfstest.OpSync, vfstest.Fault{Err: syscall.EIO})
	for range 3 {
		if _, err := s.Do(toyCommand{key: "a", add: 1}); !errors.Is(err, wal.ErrStopped) ||
			!errors.Is(err, syscall.EIO) {
			t.Fatalf("%v", err)
		}
		err := s.WithState(func(*toyState) { t.Error("a stopped store ran it") })
		if !errors.Is(err, wal.ErrStopped) {
			t.Fatalf("%v", err)
		}
		if v := s.View(); v.amounts["a"] != 1 {
			t.Fatalf("view shows %d", v.amounts["a"])
		}
	}
	if !errors.Is(s.Health(), wal.ErrStopped) {
		t.Fatalf("health %v", s.Health())
	}
	must(t, s.Close())
}

// What shares a failed sync: a command that was recorded has an unknown outcome, whatever
// its group; a refusal and what comes after changed nothing. The start finds what was recorded.
func TestAFailedSyncLeavesTheOutcomeOfWhatWasRecordedUnknown(t *testing.T) {
	fsys := vfstest.NewMem()
	s := mustStore(t, toyOpts(fsys))
	_, err := s.Do(toyCommand{key: "a", add: 1})
	must(t, err)
	hold, entered := make(chan struct{}), make(chan struct{})
	go func() { _ = s.WithState(func(*toyState) { close(entered); <-hold }) }()
	<-entered
	cmds := []toyCommand{{key: "a", add: 10}, {key: "a", add: -1000}, {key: "b", add: 5}} // the second is refused
	errs := make([]error, len(cmds))
	var wg sync.WaitGroup
	for i, cmd := range cmds {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, errs[i] = s.Do(cmd)
		}()
		for len(s.queue) <= i {
			runtime.Gosched()
		}
	}
	fsys.FailNext(vfstest.OpSync, vfstest.Fault{Err: syscall.EIO})
	close(hold)
	wg.Wait()
	for i, want := range []bool{true, false, true} {
		if errors.Is(errs[i], wal.ErrOutcomeUnknown) != want || !errors.Is(errs[i], wal.ErrStopped) {
			t.Errorf("command %d: %v", i, errs[i])
		}
	}
	_, err = s.Do(toyCommand{key: "a", add: 1})
	if errors.Is(err, wal.ErrOutcomeUnknown) || !errors.Is(err, wal.ErrStopped) ||
		errors.Is(s.Health(), wal.ErrOutcomeUnknown) {
		t.Errorf("the next: %v, health %v", err, s.Health())
	}
	must(t, s.Close())
	s = mustStore(t, toyOpts(fsys.Kill()))
	if v := s.View(); v.amounts["a"] != 11 || v.amounts["b"] != 5 {
		t.Errorf("after a restart without a power cut: %v", v.amounts)
	}
	must(t, s.Close())
}

func TestAStoreWhoseWriteCannotBeCutOffDoesNotKnowItsOutcome(t *testing.T) {
	fsys := vfstest.NewMem()
	s := mustStore(t, toyOpts(fsys))
	fsys.Before(func(op vfstest.Op) vfstest.Fault {
		if op.Kind == vfstest.OpWrite || op.Kind == vfstest.OpTruncate {
			return vfstest.Fault{Err: syscall.EIO}
		}
		return vfstest.Fault{}
	})
	if _, err := s.Do(toyCommand{key: "a", add: 1}); !errors.Is(err, wal.ErrOutcomeUnknown) ||
		!errors.Is(err, wal.ErrStopped) {
		t.Errorf("%v", err)
	}
	if _, err := s.Do(toyCommand{key: "a", add: 1}); errors.Is(err, wal.ErrOutcomeUnknown) ||
		!errors.Is(err, wal.ErrStopped) {
		t.Errorf("the next: %v", err)
	}
	must(t, s.Close())
}

func TestWithStateDoesNotWaitForRoomForWhatIsDue(t *testing.T) {
	fsys, clk := vfstest.NewMem(), clock.NewManual(1000)
	opts := toyOpts(fsys)
	opts.Clock, opts.Log.PreallocBytes = clk, -1
	s := mustStore(t, opts)
	_, err := s.Do(toyCommand{alarm: 2000})
	must(t, err)
	fsys.SetCapacity(fsys.Used())
	clk.Set(2500)
	if err := s.Tick(2500); !errors.Is(err, wal.ErrUnavailable) {
		t.Fatalf("the alarm on a full disk: %v", err)
	}
	must(t, s.WithState(func(st *toyState) { st.folded = append(st.folded, "told once") }))
	if v := s.View(); v.folded != 1 || v.rung != 0 {
		t.Fatalf("on a full disk: %+v", v)
	}
	if _, err := s.Do(toyCommand{key: "a", add: 1}); !errors.Is(err, wal.ErrUnavailable) {
		t.Fatalf("a command before what is due: %v", err)
	}
	fsys.SetCapacity(0)
	must(t, s.Tick(2500))
	if v := s.View(); v.folded != 1 || v.rung != 1 {
		t.Fatalf("space is back: %+v", v)
	}
	text := textOf(t, s)
	again := mustStore(t, toyOpts(fsys.Crash(1)))
	if got := textOf(t, again); got != text || !strings.Contains(text, "1\n2000\n") {
		t.Fatalf("after a cut:\n%s\nbefore:\n%s", got, text)
	}
	must(t, again.Close())
	// A store whose log has ended folds no more: what is due cannot ever be written.
	_, err = s.Do(toyCommand{alarm: 3000})
	must(t, err)
	fsys.FailNext(vfstest.OpSync, vfstest.Fault{Err: syscall.EIO})
	clk.Set(3500)
	if err := s.WithState(func(*toyState) {}); !errors.Is(err, wal.ErrStopped) || s.View().rung != 1 {
		t.Fatalf("%v, %+v", err, s.View())
	}
	must(t, s.Close())
}

func TestAFullDiskAnswersEveryCaller(t *testing.T) {
	fsys := vfstest.NewMem()
	opts := toyOpts(fsys)
	opts.Log.PreallocBytes = -1
	s := mustStore(t, opts)
	fsys.SetCapacity(fsys.Used() + 1)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := s.Do(toyCommand{key: "does not fit", add: 1}); !errors.Is(err, wal.ErrUnavailable) {
				t.Errorf("full disk: %v", err)
			}
		})
	}
	wg.Wait()
	fsys.SetCapacity(0)
	if got, err := s.Do(toyCommand{key: "fits", add: 1}); err != nil || got != 1 || s.Log().LastSeq() != 1 {
		t.Fatalf("%d, %v, record %d", got, err, s.Log().LastSeq())
	}
	must(t, s.Close())
}
