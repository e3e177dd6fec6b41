package wal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tickhive/internal/clock"
	"tickhive/internal/vfs"
)

func TestStoreAnswersAndShowsWhatSurvives(t *testing.T) {
	defer goleak.VerifyNone(t)
	fsys := vfs.NewMem()
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
	if _, err := s.Do(toyCommand{}); !errors.Is(err, ErrClosed) {
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

func TestStoreOnAFullDiskRefusesAndRecovers(t *testing.T) {
	fsys := vfs.NewMem()
	opts := toyOpts(fsys)
	opts.Log.PreallocBytes = -1
	s := mustStore(t, opts)
	want := int64(0)
	for round := range 20 {
		fsys.SetCapacity(fsys.Used() + int64(round*11))
		for {
			got, err := s.Do(toyCommand{key: "a", add: 1})
			if err != nil {
				if !errors.Is(err, ErrUnavailable) || !errors.Is(s.Health(), ErrUnavailable) {
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

func TestStoreEndsWithAFailedSyncAndShowsNothingOfIt(t *testing.T) {
	fsys := vfs.NewMem()
	s := mustStore(t, toyOpts(fsys))
	_, err := s.Do(toyCommand{key: "a", add: 1})
	must(t, err)
	fsys.Before(vfs.FailNthKind(vfs.OpSync, fsys.Count(vfs.OpSync)+1, vfs.Fault{Err: syscall.EIO}))
	for range 3 {
		if _, err := s.Do(toyCommand{key: "a", add: 1}); !errors.Is(err, ErrStopped) || !errors.Is(err, syscall.EIO) {
			t.Fatalf("%v", err)
		}
		if err := s.Fold(func(*toyState) { t.Error("folded into a stopped store") }); !errors.Is(err, ErrStopped) {
			t.Fatalf("%v", err)
		}
		if v := s.View(); v.amounts["a"] != 1 {
			t.Fatalf("view shows %d", v.amounts["a"])
		}
	}
	if !errors.Is(s.Health(), ErrStopped) {
		t.Fatalf("health %v", s.Health())
	}
	must(t, s.Close())
}

func TestStoreGroupsCommandsUnderOneSync(t *testing.T) {
	fsys := vfs.NewMem()
	s := mustStore(t, toyOpts(fsys))
	const callers, each = 64, 40
	hold, entered := make(chan struct{}), make(chan struct{})
	var first sync.Once
	fsys.Before(func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpSync {
			first.Do(func() { close(entered); <-hold })
		}
		return vfs.Fault{}
	})
	before := fsys.Count(vfs.OpSync)
	var wg sync.WaitGroup
	call := func(key string, times int64) {
		defer wg.Done()
		for i := range times {
			got, err := s.Do(toyCommand{key: key, add: 1})
			if err != nil || got != i+1 || s.View().amounts[key] != got || s.Log().DurableSeq() < s.View().records {
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
	syncs := fsys.Count(vfs.OpSync) - before
	t.Logf("%d commands in %d syncs", callers*each+1, syncs)
	if syncs > callers*(each-1)+2 {
		t.Fatal("the callers that waited together did not share a sync")
	}
	must(t, s.Close())
}

func TestFullQueueRefusesAndNothingHappens(t *testing.T) {
	fsys := vfs.NewMem()
	opts := toyOpts(fsys)
	opts.Queue = 3
	s := mustStore(t, opts)
	hold, entered := make(chan struct{}), make(chan struct{})
	go func() { _ = s.Fold(func(*toyState) { close(entered); <-hold }) }()
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
	if _, err := s.Do(toyCommand{key: "a", add: 1}); !errors.Is(err, ErrBusy) {
		t.Fatalf("%v", err)
	}
	close(hold)
	wg.Wait()
	if v := s.View(); v.amounts["a"] != 3 {
		t.Fatalf("%+v", v)
	}
	must(t, s.Close())
}

// toyScript runs random commands and notes, naively, the state after each record.
type toyScript struct {
	fsys   *vfs.Mem
	clk    *clock.Manual
	states []string // text after i records
	model  *toyState
	acked  int
	store  *toyStore
}

func newToyScript() *toyScript {
	s := &toyScript{fsys: vfs.NewMem(), clk: clock.NewManual(1000), model: newToy()}
	s.states = []string{s.model.lines()}
	return s
}

func (s *toyScript) opts() toyOptions {
	o := toyOpts(s.fsys)
	o.Clock, o.SnapshotBytes = s.clk, 700
	return o
}

func (s *toyScript) record(r toyRecord) {
	s.model.Apply(&r)
	s.states = append(s.states, s.model.lines())
}

// step does one random thing; what the store may have recorded by the time of a crash is
// noted before it is asked.
func (s *toyScript) step(rnd *rand.Rand) error {
	s.clk.Set(s.clk.NowNs() + int64(rnd.IntN(50)))
	now := s.clk.NowNs()
	saved := *s.model
	saved.amounts = map[string]int64{}
	for k, v := range s.model.amounts {
		saved.amounts[k] = v
	}
	n := len(s.states)
	for len(s.model.alarms) > 0 && s.model.alarms[0] <= now {
		s.record(toyRecord{toyCommand{ring: true}, s.model.alarms[0]})
	}
	var err error
	switch k := rnd.IntN(12); {
	case k == 0:
		if err = s.store.Snapshot(); err != nil && s.store.Log().Stopped() == nil {
			err = nil // no snapshot is no harm
		}
	case k == 1:
		err = s.store.Tick(now)
	case k == 2:
		if err = s.store.Close(); err == nil {
			err = s.open()
		}
		s.model, s.states = &saved, s.states[:n] // nothing falls due in a restart by itself
	case k == 3 && len(s.model.alarms) == 0:
		cmd := toyCommand{alarm: now + int64(rnd.IntN(200)) + 1}
		s.record(toyRecord{cmd, now})
		_, err = s.store.Do(cmd)
	default:
		cmd := toyCommand{key: string(rune('a' + rnd.IntN(5))), add: int64(rnd.IntN(20)) - 8}
		if s.model.amounts[cmd.key]+cmd.add >= 0 {
			s.record(toyRecord{cmd, now})
		}
		if _, err = s.store.Do(cmd); errors.Is(err, errToyShort) {
			err = nil
		}
	}
	switch {
	case err == nil:
		s.acked = len(s.states) - 1
	case errors.Is(err, ErrUnavailable):
		// Alarms that went off before the refusal are recorded and stay.
		want := int(s.store.Log().LastSeq())
		s.model, s.states = &saved, s.states[:n]
		for len(s.states)-1 < want {
			s.record(toyRecord{toyCommand{ring: true}, s.model.alarms[0]})
		}
		return nil
	}
	return err
}

func (s *toyScript) open() (err error) {
	s.store, err = OpenStore(s.opts())
	return err
}

func (s *toyScript) run(seed uint64, steps int) error {
	rnd := rand.New(rand.NewPCG(seed, 2))
	if err := s.open(); err != nil {
		return err
	}
	for range steps {
		if err := s.step(rnd); err != nil {
			if s.store != nil {
				_ = s.store.Close()
			}
			return err
		}
	}
	return s.store.Close()
}

// verifyToy opens what a crash left: the state is the naive one after some number of
// records that includes all acknowledged ones.
func verifyToy(fsys *vfs.Mem, clk *clock.Manual, states []string, acked int) error {
	opts := toyOpts(fsys)
	opts.Clock = clk
	s, err := OpenStore(opts)
	if err != nil {
		return err
	}
	n := int(s.View().records)
	text := ""
	// The clock of the reopened store stands where nothing more falls due.
	if err := s.Fold(func(st *toyState) { text = st.lines() }); err != nil {
		return err
	}
	if n < acked || n >= len(states) {
		return fmt.Errorf("%d records, %d acknowledged of %d", n, acked, len(states)-1)
	}
	if text != states[n] {
		return fmt.Errorf("after %d records:\n%swant\n%s", n, text, states[n])
	}
	return s.Close()
}

func TestStoreIsTheNaiveStateAfterAPowerCutAtEveryOperation(t *testing.T) {
	cuts, snapshots := 0, 0
	for seed := range uint64(scale(3)) {
		s := newToyScript()
		s.fsys.After(func(op vfs.Op) {
			if op.Kind == vfs.OpRead || op.Kind == vfs.OpOpen || op.Kind == vfs.OpList {
				return
			}
			if op.Kind == vfs.OpRename {
				snapshots++
			}
			for sub := range uint64(3) {
				after := s.fsys.Crash(seed<<40 | uint64(op.N)<<8 | sub)
				if sub == 0 {
					after = s.fsys.Kill()
				}
				if err := verifyToy(after, clock.NewManual(0), s.states, s.acked); err != nil {
					panic(fmt.Sprintf("seed %d, operation %d (%s %s), subset %d: %v", seed, op.N, op.Kind, op.Path, sub, err))
				}
				cuts++
			}
		})
		must(t, s.run(seed, 120))
	}
	t.Logf("%d cuts, %d snapshots: each left the naive state after a prefix with all acknowledged", cuts, snapshots)
}

func TestStoreSurvivesEveryOperationFailingOnce(t *testing.T) {
	runs, ended := 0, 0
	for seed := range uint64(scale(2)) {
		for n := 1; ; n++ {
			s := newToyScript()
			s.fsys.Before(vfs.FailNth(n, vfs.ErrInjected))
			err := s.run(seed, 60)
			if s.fsys.Total() < n {
				break
			}
			if runs++; err != nil {
				ended++
			}
			for sub := range uint64(3) {
				after := s.fsys.Crash(seed<<40 | uint64(n)<<8 | sub)
				if sub == 0 {
					after = s.fsys.Kill()
				}
				if err := verifyToy(after, clock.NewManual(0), s.states, s.acked); err != nil {
					t.Fatalf("seed %d, n %d, subset %d: %v", seed, n, sub, err)
				}
			}
		}
	}
	t.Logf("%d runs with one failing operation, %d ended by it, none lied", runs, ended)
}

func TestWhatIsDueHappensAtItsTimeAlsoAcrossARestart(t *testing.T) {
	fsys := vfs.NewMem()
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
	_, err := s.Do(toyCommand{key: "a", add: 1}) // sees the state as of now
	must(t, err)
	if text := textOf(t, s); !strings.Contains(text, "3\n2000\n3000\n4000\n") {
		t.Fatalf("rang at:\n%s", text)
	}
	must(t, s.Close())
}

func TestStoreOnARealClockWakesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := toyOpts(vfs.NewMem())
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
	fsys := vfs.NewMem()
	s := mustStore(t, toyOpts(fsys))
	fill := func(reflects uint64) {
		for range 40 {
			_, err := s.Do(toyCommand{key: "a", add: 1})
			must(t, err)
		}
		must(t, s.Fold(func(st *toyState) { st.reflects = reflects }))
		must(t, s.Snapshot())
	}
	if s.RetainFrom() != 1 {
		t.Fatalf("without a snapshot: from %d", s.RetainFrom())
	}
	fill(100)
	if s.RetainFrom() != 1 || s.Log().FirstSeq() != 1 {
		t.Fatalf("one snapshot, which may be damaged: from %d, first %d", s.RetainFrom(), s.Log().FirstSeq())
	}
	fill(250)
	if s.RetainFrom() != 101 || s.Log().FirstSeq() > 41 || s.Log().FirstSeq() == 1 {
		t.Fatalf("from %d, first %d", s.RetainFrom(), s.Log().FirstSeq())
	}
	fill(300)
	if s.RetainFrom() != 251 {
		t.Fatalf("from %d", s.RetainFrom())
	}
	must(t, s.Close())
	s = mustStore(t, toyOpts(fsys))
	if info := s.Recovered(); s.RetainFrom() != 251 || info.SnapshotReflects != 300 || info.SnapshotSeq != 120 || info.Replayed != 0 {
		t.Fatalf("after restart from %d, %+v", s.RetainFrom(), info)
	}
	newest := testDir + "/" + snapshotName(120)
	must(t, s.Close())
	fsys.Flip(newest, 80, 2)
	s = mustStore(t, toyOpts(fsys))
	if info := s.Recovered(); info.SnapshotSeq != 80 || info.Replayed != 40 || len(info.Damaged) != 1 || s.View().amounts["a"] != 120 {
		t.Fatalf("fallback: %+v", info)
	}
	must(t, s.Close())
}

func TestRecordWaitsForWhatItRestsOn(t *testing.T) {
	fsys := vfs.NewMem()
	opts := toyOpts(fsys)
	opts.BeforeRecord = func(st *toyState, rec *toyRecord) error {
		if rec.add < 0 && st.reflects > 7 {
			return errors.New("the other log is durable up to 7 only")
		}
		return nil
	}
	s := mustStore(t, opts)
	must(t, s.Fold(func(st *toyState) { st.reflects = 8 }))
	_, err := s.Do(toyCommand{key: "a", add: 9})
	must(t, err)
	if _, err := s.Do(toyCommand{key: "a", add: -1}); !errors.Is(err, ErrUnavailable) || s.View().amounts["a"] != 9 {
		t.Fatalf("%v", err)
	}
	must(t, s.Fold(func(st *toyState) { st.reflects = 7 }))
	if got, err := s.Do(toyCommand{key: "a", add: -1}); err != nil || got != 8 {
		t.Fatalf("%d, %v", got, err)
	}
	must(t, s.Close())
}

func TestStoreRefusesALogThatDoesNotReachBackToItsSnapshot(t *testing.T) {
	fsys := vfs.NewMem()
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
		must(t, noSnapshots.Remove(testDir+"/"+snapshotName(seq)))
	}
	if _, err := OpenStore(toyOpts(noSnapshots)); !errors.Is(err, ErrTruncated) {
		t.Fatalf("without snapshots: %v", err)
	}
	noLog := fsys.Kill()
	names, _ := noLog.List(testDir)
	for _, name := range names {
		if strings.HasSuffix(name, segmentExt) {
			must(t, noLog.Remove(testDir+"/"+name))
		}
	}
	var corrupt *CorruptError
	if _, err := OpenStore(toyOpts(noLog)); !errors.As(err, &corrupt) {
		t.Fatalf("without log: %v", err)
	}
}
