package wal

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

func TestSyncRunsBesideTheOwner(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for {
			select {
			case <-stop:
				return
			default:
			}
			before := l.LastSeq()
			if err := l.Sync(); err != nil || l.DurableSeq() < before {
				t.Errorf("durable %d of %d: %v", l.DurableSeq(), before, err)
				return
			}
			if before > 50 {
				if err := l.DropBefore(before - 50); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for range 2000 {
		appendN(t, l, 2)
	}
	close(stop)
	wg.Wait()
	first := l.Segments()[0].FirstSeq
	must(t, l.Close())
	checkContent(t, fsys, small(), first, 4000)
}

// A sync covers what was written before it took the list of segments. A record that the owner writes then, maybe to a
// segment that is not in the list, waits for the next sync.
func TestASyncCoversNothingThatComesBehindItsList(t *testing.T) {
	l := mustOpen(t, vfstest.NewMem(), small())
	appendN(t, l, 1)
	l.listMu.Lock()
	done := make(chan error, 1)
	go func() { done <- l.Sync() }()
	for !waitsForLock("wal.(*Log).sync(") {
		runtime.Gosched()
	}
	l.written.Store(2) // by an owner that goes on
	l.listMu.Unlock()
	must(t, <-done)
	if l.DurableSeq() != 1 || l.end.synced != 1 {
		t.Errorf("durable up to %d, in the slot up to %d, want 1", l.DurableSeq(), l.end.synced)
	}
	l.written.Store(1)
	must(t, l.Close())
}

// A sync that is called while another one is in flight syncs what was written since that one began. The end of the
// other one is not its own.
func TestASyncBesideAnotherOneIsASyncOfItsOwn(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	appendN(t, l, 1)
	began, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fsys.After(func(op vfstest.Op) { // the file has record 1, and the call has not returned
		if op.Kind == vfstest.OpSync {
			once.Do(func() {
				close(began)
				<-goOn
			})
		}
	})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- l.Sync() }()
	<-began
	appendN(t, l, 1)
	go func() { second <- l.Sync() }()
	for len(second) == 0 && !waitsForLock("wal.(*Log).Sync(") {
		runtime.Gosched()
	}
	if len(second) > 0 {
		t.Error("the second Sync has returned before the first one: no sync has covered record 2")
	}
	close(goOn)
	must(t, <-first)
	must(t, <-second)
	if got := l.DurableSeq(); got != 2 {
		t.Errorf("the second Sync has returned: durable up to record %d, want 2", got)
	}
	for seed := range uint64(32) {
		seqs, _, _, err := readAll(fsys.Crash(seed), small())
		must(t, err)
		if len(seqs) != 2 {
			t.Fatalf("a power cut behind the second Sync leaves %d records, want 2: the file was not synced again",
				len(seqs))
		}
	}
	must(t, l.Close())
}

// waitsForLock reports whether a goroutine with the function on its stack waits for a lock.
func waitsForLock(function string) bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, one := range strings.Split(string(stacks), "\n\n") {
		head, frames, _ := strings.Cut(one, "\n")
		if strings.Contains(head, "[sync.Mutex.Lock") && strings.Contains(frames, function) {
			return true
		}
	}
	return false
}

// A goroutine that reads beside the owner, also while it begins a segment, sees the list with the
// sizes that belong to it: everything written before is in it and can be read.
func TestReadingRunsBesideTheOwner(t *testing.T) {
	l := mustOpen(t, vfstest.NewMem(), small())
	appendN(t, l, 1)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for end := false; !end; {
			select {
			case <-done:
				end = true
			default:
			}
			bytes, last := l.BytesWritten(), l.LastSeq()
			if n := l.BytesSince(0); n < bytes {
				t.Errorf("%d bytes in the list, %d were written", n, bytes)
				return
			}
			if err := readTail(l, last); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range scale(500) {
		appendN(t, l, 5)
	}
	close(done)
	wg.Wait()
	must(t, l.Close())
}

// readTail reads the last 20 records up to last, and those that came meanwhile.
func readTail(l *Log, last uint64) error {
	r, err := l.Reader(max(last, 20) - 19)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		_, err := r.Next()
		if errors.Is(err, io.EOF) && r.NextSeq() > last {
			return nil
		}
		if err != nil {
			return fmt.Errorf("record %d of %d: %w", r.NextSeq(), last, err)
		}
	}
}

// After a sync the file of the active segment is the only one open, however many segments
// are kept, and whether a segment was still active at its last sync (one batch a sync) or
// not. What is removed was closed before.
func TestOnlyTheActiveSegmentStaysOpenAfterASync(t *testing.T) {
	for _, batches := range []int{1, 7} {
		fsys := newOpenFiles(vfstest.NewMem())
		l := mustOpen(t, fsys, small())
		for i := range 100 {
			for range batches {
				appendN(t, l, 3)
			}
			must(t, l.Sync())
			if n := fsys.count(); n != 1 {
				t.Fatalf("%d files open after sync %d with %d segments", n, i, len(l.Segments()))
			}
		}
		for range 5 {
			appendN(t, l, 3)
		}
		must(t, l.DropBefore(l.LastSeq()))
		if n := fsys.count(); n != 1 || fsys.wrong != "" {
			t.Fatalf("%d files open after the drop, %q was open when it was removed", n, fsys.wrong)
		}
		appendN(t, l, 3)
		must(t, l.Close())
		if n := fsys.count(); n != 0 {
			t.Fatalf("%d files open after the end", n)
		}
	}
}

// A log that is closed while others use it refuses what comes later, and holds every record
// that it took before.
func TestCloseBesideTheOwnerRefusesAndLosesNothing(t *testing.T) {
	for round := range scale(100) {
		fsys := newOpenFiles(vfstest.NewMem())
		l := mustOpen(t, fsys, small())
		var wg sync.WaitGroup
		begun := make(chan struct{}, 2)
		taken := uint64(0)
		wg.Go(func() {
			for {
				last, err := l.Append([][]byte{payloadOf(taken+1, 0)})
				if err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Errorf("append: %v", err)
					}
					break
				}
				if taken = last; taken == uint64(round%30) {
					begun <- struct{}{}
				}
			}
			if err := l.Rotate(); !errors.Is(err, ErrClosed) {
				t.Errorf("rotate: %v", err)
			}
		})
		wg.Go(func() {
			begun <- struct{}{}
			for {
				l.Room()
				if err := errors.Join(l.Sync(), l.DropBefore(1)); err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Errorf("sync: %v", err)
					}
					return
				}
			}
		})
		<-begun
		if round%30 > 0 {
			<-begun
		}
		must(t, l.Close())
		wg.Wait()
		if l.LastSeq() != taken || l.DurableSeq() != taken || fsys.count() != 0 || l.Room() {
			t.Fatalf("round %d: %d taken, last %d, durable %d, %d files open", round, taken, l.LastSeq(),
				l.DurableSeq(), fsys.count())
		}
		must(t, l.Close())
		checkContent(t, fsys, small(), 1, taken)
	}
}

// What a sync beside the owner says is durable is there after a power cut at that moment.
func TestWhatASyncBesideTheOwnerCoversSurvivesAPowerCut(t *testing.T) {
	fsys := vfstest.NewMem()
	l := mustOpen(t, fsys, small())
	const ahead = 20 // keeps the log small: it is copied for every cut
	fsys.After(func(op vfstest.Op) {
		// The owner writes between a sync and what follows from it.
		for last := l.LastSeq(); op.Kind == vfstest.OpSync && l.LastSeq() == last && last < l.DurableSeq()+ahead; {
			runtime.Gosched()
		}
	})
	var ended atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer ended.Store(true)
		for seed := range uint64(scale(150)) {
			if err := l.Sync(); err != nil {
				t.Error(err)
				return
			}
			durable := l.DurableSeq()
			seqs, _, _, err := readAll(fsys.Crash(seed), small())
			if err != nil || uint64(len(seqs)) < durable {
				t.Errorf("cut %d: %d records, %d were durable: %v", seed, len(seqs), durable, err)
				return
			}
		}
	})
	for !ended.Load() {
		if l.LastSeq() < l.DurableSeq()+ahead {
			appendN(t, l, 1)
		} else {
			runtime.Gosched()
		}
	}
	wg.Wait()
	fsys.After(nil)
	must(t, l.Close())
}
