package durable

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tickhive/internal/clock"
	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

func TestStoreAnswersAndShowsWhatSurvives(t *testing.T) {
	defer goleak.VerifyNone(t)
	fsys := vfstest.NewMem()
	s := mustStore(t, toyOpts(fsys))
	for i := range int64(50) {
		got, err := s.Do(toyCommand{key: "a", add: 2})
		if err != nil || got != (i+1)*2 {
			t.Fatalf("%d, %v", got, err)
		}
		if v := s.View(); v.amounts["a"] != got || v.records != uint64(i+1) {
			t.Fatalf("view %+v after %d", v, got)
		}
		again := mustStore(t, toyOpts(fsys.Crash(uint64(i))))
		if v := again.View(); v.amounts["a"] != got {
			t.Fatalf("after a cut: %+v, answered %d", v, got)
		}
		must(t, again.Close())
	}
	records := s.Log().LastSeq()
	if _, err := s.Do(toyCommand{key: "a", add: -101}); !errors.Is(err, errToyShort) {
		t.Fatalf("refusal: %v", err)
	}
	if s.Log().LastSeq() != records {
		t.Fatal("a refusal left a record")
	}
	must(t, s.Close())
	if _, err := s.Do(toyCommand{}); !errors.Is(err, wal.ErrClosed) {
		t.Fatalf("after close: %v", err)
	}
}

func TestStoreWithoutFilesKeepsNothingAndWorks(t *testing.T) {
	defer goleak.VerifyNone(t)
	opts := toyOpts(nil)
	opts.FS = nil
	s := mustStore(t, opts)
	got, err := s.Do(toyCommand{key: "a", add: 5})
	if err != nil || got != 5 || s.View().amounts["a"] != 5 {
		t.Fatalf("%d, %v", got, err)
	}
	must(t, s.Snapshot())
	must(t, s.Close())
}

func TestStoreGroupsCommandsUnderOneSync(t *testing.T) {
	fsys := vfstest.NewMem()
	opts := toyOpts(fsys)
	opts.Log.SegmentBytes = 1 << 20 // a new segment needs further syncs
	s := mustStore(t, opts)
	const callers, each = 64, 40
	hold, entered := make(chan struct{}), make(chan struct{})
	var first sync.Once
	fsys.Before(func(op vfstest.Op) vfstest.Fault {
		if op.Kind == vfstest.OpSync {
			first.Do(func() { close(entered); <-hold })
		}
		return vfstest.Fault{}
	})
	before := fsys.Count(vfstest.OpSync)
	var wg sync.WaitGroup
	call := func(key string, times int64) {
		defer wg.Done()
		for i := range times {
			got, err := s.Do(toyCommand{key: key, add: 1})
			v := s.View() // before the log is asked: what is seen was durable before
			if err != nil || got != i+1 || v.amounts[key] != got || s.Log().DurableSeq() < v.records {
				t.Errorf("%s: %d, %v", key, got, err)
				return
			}
		}
	}
	wg.Add(1)
	go call("first", 1)
	<-entered
	for c := range callers {
		wg.Add(1)
		go call(fmt.Sprint("k", c), each)
	}
	for len(s.queue) < callers { // until all wait behind the first one's sync
		runtime.Gosched()
	}
	close(hold)
	wg.Wait()
	syncs := fsys.Count(vfstest.OpSync) - before
	t.Logf("%d commands in %d syncs", callers*each+1, syncs)
	if syncs > callers*(each-1)+2 {
		t.Fatal("the callers that waited together did not share a sync")
	}
	must(t, s.Close())
}

func TestFullQueueRefusesAndNothingHappens(t *testing.T) {
	fsys := vfstest.NewMem()
	opts := toyOpts(fsys)
	opts.Queue = 3
	s := mustStore(t, opts)
	hold, entered := make(chan struct{}), make(chan struct{})
	go func() { _ = s.WithState(func(*toyState) { close(entered); <-hold }) }()
	<-entered
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := s.Do(toyCommand{key: "a", add: 1}); err != nil {
				t.Error(err)
			}
		}()
	}
	for len(s.queue) < 3 {
		runtime.Gosched()
	}
	if _, err := s.Do(toyCommand{key: "a", add: 1}); !errors.Is(err, wal.ErrBusy) {
		t.Fatalf("%v", err)
	}
	close(hold)
	wg.Wait()
	if v := s.View(); v.amounts["a"] != 3 {
		t.Fatalf("%+v", v)
	}
	must(t, s.Close())
}

func TestWhatIsDueHappensAtItsTimeAlsoAcrossARestart(t *testing.T) {
	fsys := vfstest.NewMem()
	clk := clock.NewManual(1000)
	opts := toyOpts(fsys)
	opts.Clock = clk
	s := mustStore(t, opts)
	for _, at := range []int64{2000, 3000, 4000} {
		_, err := s.Do(toyCommand{alarm: at})
		must(t, err)
	}
	clk.Set(1999)
	must(t, s.Tick(1999))
	if v := s.View(); v.rung != 0 {
		t.Fatalf("%d rang early", v.rung)
	}
	clk.Set(2500)
	must(t, s.Tick(2500))
	if v := s.View(); v.rung != 1 {
		t.Fatalf("%d rang", v.rung)
	}
	must(t, s.Close())
	clk.Set(9000)
	s = mustStore(t, opts)
	_, err := s.Do(toyCommand{key: "a", add: 1}) // sees the current state
	must(t, err)
	if text := textOf(t, s); !strings.Contains(text, "3\n2000\n3000\n4000\n") {
		t.Fatalf("rang at:\n%s", text)
	}
	must(t, s.Close())
}

func TestStoreOnARealClockWakesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := toyOpts(vfstest.NewMem())
		opts.Clock = clock.Real{}
		s := mustStore(t, opts)
		start := time.Now()
		_, err := s.Do(toyCommand{alarm: start.Add(3 * time.Hour).UnixNano()})
		must(t, err)
		<-time.After(3*time.Hour - time.Second)
		synctest.Wait()
		if s.View().rung != 0 {
			t.Fatal("rang early")
		}
		<-time.After(time.Second)
		synctest.Wait()
		if s.View().rung != 1 {
			t.Fatal("did not ring")
		}
		must(t, s.Close())
	})
}

func TestSnapshotsRetainWhatBothOfThemNeed(t *testing.T) {
	fsys := vfstest.NewMem()
	s := mustStore(t, toyOpts(fsys))
	fill := func(reflects uint64) {
		for range 40 {
			_, err := s.Do(toyCommand{key: "a", add: 1})
			must(t, err)
		}
		must(t, s.WithState(func(st *toyState) { st.reflects = reflects }))
		must(t, s.Snapshot())
	}
	if s.RetainFrom() != 1 {
		t.Fatalf("without a snapshot: from %d", s.RetainFrom())
	}
	fill(100)
	first := func() uint64 { return s.Log().Segments()[0].FirstSeq }
	if s.RetainFrom() != 1 || first() != 1 {
		t.Fatalf("one snapshot, which may be damaged: from %d, first %d", s.RetainFrom(), first())
	}
	fill(250)
	if s.RetainFrom() != 101 || first() > 41 || first() == 1 {
		t.Fatalf("from %d, first %d", s.RetainFrom(), first())
	}
	fill(300)
	if s.RetainFrom() != 251 {
		t.Fatalf("from %d", s.RetainFrom())
	}
	must(t, s.Close())
	s = mustStore(t, toyOpts(fsys))
	if info := s.Recovered(); s.RetainFrom() != 251 || info.SnapshotReflects != 300 || info.SnapshotSeq != 120 ||
		info.Replayed != 0 {
		t.Fatalf("after restart from %d, %+v", s.RetainFrom(), info)
	}
	newest := testDir + "/" + wal.SnapshotName(120)
	must(t, s.Close())
	fsys.Flip(newest, 80, 2)
	s = mustStore(t, toyOpts(fsys))
	if info := s.Recovered(); info.SnapshotSeq != 80 || info.Replayed != 40 || len(info.Damaged) != 1 ||
		s.View().amounts["a"] != 120 {
		t.Fatalf("fallback: %+v", info)
	}
	must(t, s.Close())
}

func TestRecordWaitsForWhatItRestsOn(t *testing.T) {
	fsys := vfstest.NewMem()
	opts := toyOpts(fsys)
	var st *toyState
	opts.BeforeRecord = func(rec *toyRecord) error {
		if rec.add < 0 && st.reflects > 7 {
			return errors.New("the other log is durable up to 7 only")
		}
		return nil
	}
	s := mustStore(t, opts)
	st = s.state
	must(t, s.WithState(func(st *toyState) { st.reflects = 8 }))
	_, err := s.Do(toyCommand{key: "a", add: 9})
	must(t, err)
	if _, err := s.Do(toyCommand{key: "a", add: -1}); !errors.Is(err, wal.ErrUnavailable) ||
		s.View().amounts["a"] != 9 {
		t.Fatalf("%v", err)
	}
	must(t, s.WithState(func(st *toyState) { st.reflects = 7 }))
	if got, err := s.Do(toyCommand{key: "a", add: -1}); err != nil || got != 8 {
		t.Fatalf("%d, %v", got, err)
	}
	must(t, s.Close())
}

func TestStoreRefusesALogThatDoesNotReachBackToItsSnapshot(t *testing.T) {
	fsys := vfstest.NewMem()
	s := mustStore(t, toyOpts(fsys))
	for range 3 {
		for range 40 {
			_, err := s.Do(toyCommand{key: "a", add: 1})
			must(t, err)
		}
		must(t, s.Snapshot())
	}
	must(t, s.Close())
	noSnapshots := fsys.Kill()
	for _, seq := range []uint64{80, 120} {
		must(t, noSnapshots.Remove(testDir+"/"+wal.SnapshotName(seq)))
	}
	if _, err := openToy(toyOpts(noSnapshots)); !errors.Is(err, wal.ErrTruncated) {
		t.Fatalf("without snapshots: %v", err)
	}
	noLog := fsys.Kill()
	names, _ := noLog.List(testDir)
	for _, name := range names {
		if strings.HasSuffix(name, wal.SegmentExt) {
			must(t, noLog.Remove(testDir+"/"+name))
		}
	}
	var corrupt *wal.CorruptError
	if _, err := openToy(toyOpts(noLog)); !errors.As(err, &corrupt) {
		t.Fatalf("without log: %v", err)
	}
}

// Neither a record that was answered nor a snapshot is ahead of the other log that the
// state reflects: both wait for it, and do not come to be when it fails.
func TestStoreWaitsForTheOtherLogBeforeASyncAndASnapshot(t *testing.T) {
	fsys := vfstest.NewMem()
	opts := toyOpts(fsys)
	var refuse error
	asked, snapshots := 0, []uint64{}
	var st *toyState
	opts.BeforeSync = func() error {
		if asked++; st.records == 0 {
			t.Error("asked before the records of the group are there")
		}
		return refuse
	}
	opts.BeforeSnapshot = func(reflects uint64) error {
		snapshots = append(snapshots, reflects)
		return refuse
	}
	s := mustStore(t, opts)
	st = s.state
	_, err := s.Do(toyCommand{key: "a", add: 1})
	must(t, err)
	must(t, s.WithState(func(st *toyState) { st.reflects = 7 }))
	must(t, s.Snapshot())
	if asked != 1 || !slices.Equal(snapshots, []uint64{7}) {
		t.Fatalf("asked %d times for a sync, for snapshots at %d", asked, snapshots)
	}
	refuse = errors.New("no disk")
	_, err = s.Do(toyCommand{key: "a", add: 1})
	if !errors.Is(err, wal.ErrStopped) || !errors.Is(s.Health(), wal.ErrStopped) || s.View().amounts["a"] != 1 {
		t.Fatalf("not durable: %v, view %+v", err, s.View())
	}
	if err := s.Snapshot(); err == nil {
		t.Fatal("a snapshot was taken")
	}
	_ = s.Close()
	again := mustStore(t, toyOpts(fsys.Kill()))
	if info := again.Recovered(); info.SnapshotSeq != 1 || info.SnapshotReflects != 7 {
		t.Fatalf("%+v", info)
	}
	must(t, again.Close())
}

// A store that follows another one applies what WithState does, refuses commands, and does nothing by itself: what is
// due comes as a record, too.
func TestStoreThatFollowsDoesNothingByItself(t *testing.T) {
	defer goleak.VerifyNone(t)
	opts := toyOpts(nil)
	opts.FS, opts.Follows, opts.First = nil, true, []toyCommand{{key: "first", add: 1}}
	s := mustStore(t, opts)
	must(t, s.WithState(func(state *toyState) { state.Apply(&toyRecord{toyCommand{key: "a", add: 7}, 1}) }))
	if v := s.View(); v.amounts["a"] != 7 || v.records != 1 {
		t.Errorf("the view: %+v", v)
	}
	if _, err := s.Do(toyCommand{key: "a", add: 1}); !errors.Is(err, wal.ErrUnavailable) {
		t.Errorf("a command: %v", err)
	}
	must(t, s.WithState(func(state *toyState) { state.Apply(&toyRecord{toyCommand{alarm: 5}, 2}) }))
	must(t, s.Tick(1<<60))
	if v := s.View(); v.amounts["a"] != 7 || v.records != 2 || v.rung != 0 {
		t.Errorf("after a tick: %+v", v)
	}
	must(t, s.Close())
}
