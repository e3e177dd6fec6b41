package wal

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// eachCall runs do on copies of a disk, and in each run lets another call fail. do must return the error of the call,
// or, when the call is one of the harmless ones, what it returns without a failure. It must leave no file open.
// Closing a file that was only read, a synced file of a snapshot, and a lock is always harmless.
func eachCall[T any](t *testing.T, disk *vfstest.Mem, do func(fsys vfs.FS) (T, error), harmless ...string) {
	t.Helper()
	want, err := do(&brittle{FS: disk.Kill()})
	must(t, err)
	var passed []string
	n := 1
	for ; ; n++ {
		b := &brittle{FS: disk.Kill(), left: n}
		got, err := do(b)
		if b.failed == "" {
			break
		}
		if b.open != 0 {
			t.Errorf("after %q failed, %d files are open", b.failed, b.open)
		}
		switch {
		case errors.Is(err, errCall):
			continue
		case err != nil:
			t.Errorf("%q failed: %v", b.failed, err)
		default:
			if d := differ.Diff(want, got); d != "" {
				t.Errorf("%q failed: %s", b.failed, d)
			}
		}
		synced := strings.HasPrefix(b.failed, "close ") && strings.HasSuffix(b.failed, tempExt)
		if !strings.HasPrefix(b.failed, "close read ") && !synced &&
			b.failed != "close "+LockName {
			passed = append(passed, b.failed)
		}
	}
	if n < 4 {
		t.Errorf("%d calls", n-1)
	}
	if !slices.Equal(passed, harmless) {
		t.Errorf("failures that were not reported: %q, want %q", passed, harmless)
	}
}

// usedDisk returns the disk of a log that was killed: several segments, of which the last has a write that was cut
// short, two snapshots, and a third that was being written.
func usedDisk(t *testing.T) (*vfstest.Mem, Options) {
	t.Helper()
	disk, opts := vfstest.NewMem(), small()
	opts.Boot, opts.Identity = bootA, Identity{History: ID{7}, Directory: ID{8}}
	l := mustOpen(t, disk, opts)
	for l.active.num < 4 {
		appendN(t, l, 2)
		must(t, l.Sync())
		if l.active.num > 1 {
			must(t, l.WriteSnapshot(SnapshotMeta{Seq: l.LastSeq()}, writeText("snapshot")))
		}
	}
	appendN(t, l, 2)
	disk = disk.Kill()
	name := l.active.path
	end := l.off.Load()
	disk.Put(name, append(disk.Content(name)[:end:end], "part of a frame"...))
	disk.Put(path.Join(testDir, SnapshotName(99)+tempExt), []byte("TICK"))
	return disk, opts
}

// unsyncedDisk returns the disk of a log of several segments that was killed before a sync. Its last segment has
// zeros behind the records.
func unsyncedDisk(t *testing.T) (*vfstest.Mem, Options) {
	t.Helper()
	disk, opts := vfstest.NewMem(), small()
	opts.Boot = bootA
	l := mustOpen(t, disk, opts)
	for l.active.num < 3 {
		appendN(t, l, 1)
	}
	appendN(t, l, 1)
	return disk.Kill(), opts
}

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// readOn reads to the end of the log and returns the records.
func readOn(r *Reader) (records []string, err error) {
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return nil, err
		}
		records = append(records, fmt.Sprintf("%d %s %d %x", rec.Seq, rec.File, rec.Offset, rec.Payload))
	}
}

func TestEveryFailedCallOfAStartIsReported(t *testing.T) {
	disk, opts := usedDisk(t)
	start := func(opts Options) func(vfs.FS) (OpenInfo, error) {
		return func(fsys vfs.FS) (OpenInfo, error) {
			l, err := Open(fsys, testDir, opts)
			if err != nil {
				if l != nil {
					t.Error("a refused start returns a log")
				}
				return OpenInfo{}, err
			}
			info := l.Recovered()
			return info, l.Close()
		}
	}
	// The figures do without size and time of the newest snapshot, and a full disk may still take small records.
	newest := SnapshotName(28)
	harmless := []string{"open " + newest, "size " + newest, "read " + newest, "preallocate " + segmentName(4)}
	t.Run("after a kill", func(t *testing.T) { eachCall(t, disk, start(opts), harmless...) })
	unsealed, unsealedOpts := unsyncedDisk(t)
	t.Run("after a kill without a sync", func(t *testing.T) {
		eachCall(t, unsealed, start(unsealedOpts), "close 000001.wal", "close 000002.wal")
	})
	opts.AcceptLoss = true
	damaged := disk.Kill()
	damaged.Flip(path.Join(testDir, segmentName(3)), firstFrame+frameHead, 0)
	t.Run("that passes damage over", func(t *testing.T) { eachCall(t, damaged, start(opts), harmless...) })
	for _, seq := range []uint64{26, 28} {
		damaged.Lose(path.Join(testDir, SnapshotName(seq)))
	}
	t.Run("with a loss", func(t *testing.T) {
		eachCall(t, damaged, start(opts), "preallocate 000003.wal")
	})
	gap := disk.Kill()
	gap.Lose(path.Join(testDir, segmentName(2)))
	t.Run("with a missing segment", func(t *testing.T) { eachCall(t, gap, start(opts), harmless...) })
	short := disk.Kill()
	short.Lose(path.Join(testDir, segmentName(3)))
	short.Lose(path.Join(testDir, segmentName(4)))
	t.Run("with snapshots ahead", func(t *testing.T) {
		eachCall(t, short, start(opts), harmless[:3]...)
	})
	for num := range uint64(2) {
		short.Lose(path.Join(testDir, segmentName(num+1)))
	}
	t.Run("without a segment", func(t *testing.T) {
		eachCall(t, short, start(opts), append(harmless[:3:3], "preallocate 000001.wal")...)
	})
	t.Run("of a new log", func(t *testing.T) {
		eachCall(t, vfstest.NewMem(), start(opts), "preallocate "+segmentName(1))
	})
}

func TestEveryFailedCallOfAReaderIsReported(t *testing.T) {
	torn, opts := usedDisk(t)
	unsynced, unsyncedOpts := unsyncedDisk(t)
	large := vfstest.NewMem()
	l := mustOpen(t, large, Options{})
	_, err := l.Append([][]byte{make([]byte, readBuffer+1), []byte("small")})
	must(t, errors.Join(err, l.Close()))
	for _, c := range []struct {
		disk *vfstest.Mem
		opts Options
	}{{torn, opts}, {unsynced, unsyncedOpts}, {large, Options{}}} {
		eachCall(t, c.disk, func(fsys vfs.FS) ([]string, error) {
			r, err := OpenReader(fsys, testDir, c.opts, 0)
			if err != nil {
				return nil, err
			}
			records, err := readOn(r)
			done, total := r.Progress()
			return append(records, fmt.Sprint(r.TornTail(), done, total)), errors.Join(err, r.Close())
		})
	}
}

// The newest snapshot is passed over when it cannot be read, and named. The older one is no fallback then.
func TestEveryFailedCallOfLoadNewestIsReported(t *testing.T) {
	disk, opts := usedDisk(t)
	eachCall(t, disk, func(fsys vfs.FS) (Loaded, error) {
		found, err := LoadNewest(fsys, testDir, opts, func(_ SnapshotMeta, r io.Reader) error { return discard(r) })
		if err != nil || len(found.Kept) == 2 {
			return found, err
		}
		newest := found.Meta.Seq == 28 && len(found.Damaged) == 0
		older := found.Meta.Seq == 26 && len(found.Damaged) == 1 && strings.Contains(found.Damaged[0], errCall.Error())
		if !found.OK || !newest && !older || len(found.bad) > 0 {
			t.Errorf("%+v", found)
		}
		return found, errCall
	})
}

func TestEveryFailedCallOfACheckIsReported(t *testing.T) {
	disk, opts := usedDisk(t)
	check := func(files []Checked, err error) ([]Checked, error) {
		for _, f := range files {
			err = errors.Join(err, f.Err)
		}
		return files, err
	}
	t.Run("of a log that is not open", func(t *testing.T) {
		eachCall(t, disk, func(fsys vfs.FS) ([]Checked, error) {
			return check(Check(fsys, testDir, opts, discard))
		})
	})
	t.Run("of an open log", func(t *testing.T) {
		eachCall(t, disk, func(fsys vfs.FS) ([]Checked, error) {
			return whileOpen(t, fsys, opts, func(l *Log) ([]Checked, error) {
				return check(CheckOpen(l, fsys, discard))
			})
		})
	})
}

func TestEveryFailedCallOfAdoptIsReported(t *testing.T) {
	disk, opts := downloaded(t, "body")
	for _, name := range disk.Paths() {
		if strings.HasPrefix(name, testDir) {
			disk.Lose(name)
		}
	}
	eachCall(t, disk, func(fsys vfs.FS) (int, error) { return 0, adopt(fsys, opts) }, "preallocate 000001.wal")
}

func TestEveryFailedCallOfASnapshotIsReported(t *testing.T) {
	disk, opts := usedDisk(t)
	opts.Identity = Identity{} // it reads the log for the identity and the chain
	eachCall(t, disk, func(fsys vfs.FS) (*Loaded, error) {
		body := strings.Repeat("x", 2*chunkBytes+9)
		err := WriteSnapshot(fsys, testDir, opts, SnapshotMeta{Seq: 29}, writeText(body))
		if err == nil {
			return nil, nil
		}
		found, loadErr := LoadNewest(fsys, testDir, opts, func(_ SnapshotMeta, r io.Reader) error { return discard(r) })
		must(t, loadErr)
		if !found.OK || found.Meta.Seq < 28 || len(found.Damaged) > 0 {
			t.Errorf("after %v: %+v", err, found)
		}
		return nil, err
	})
}

func TestEveryFailedCallOfSetAsideIsReported(t *testing.T) {
	disk, opts := usedDisk(t)
	for _, seq := range []uint64{26, 28} {
		disk.Flip(path.Join(testDir, SnapshotName(seq)), headerBytes+chunkHead, 0)
	}
	load := func(_ SnapshotMeta, r io.Reader) error { return discard(r) }
	found, err := LoadNewest(disk, testDir, opts, load)
	must(t, err)
	eachCall(t, disk, func(fsys vfs.FS) (int, error) { return 0, found.SetAside(fsys, testDir) })
	must(t, found.SetAside(disk, testDir))
	if again, err := LoadNewest(disk.Crash(1), testDir, opts, load); err != nil || len(again.Damaged) > 0 {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestEveryFailedCallOfAnOpenLog(t *testing.T) {
	disk, opts := usedDisk(t)
	grown := func(l *Log) {
		appendN(t, l, 5)
		must(t, l.Rotate())
		appendN(t, l, 5)
	}
	t.Run("drop", func(t *testing.T) {
		eachCall(t, disk, func(fsys vfs.FS) ([]SegmentInfo, error) {
			return whileOpen(t, fsys, opts, func(l *Log) ([]SegmentInfo, error) {
				err := l.DropBefore(l.LastSeq())
				return l.Segments(), err
			})
		}, "preallocate 000004.wal")
	})
	t.Run("extend", func(t *testing.T) {
		eachCall(t, disk, func(fsys vfs.FS) (records []string, err error) {
			b := fsys.(*brittle)
			left := b.left
			b.left = 0
			return whileOpen(t, fsys, opts, func(l *Log) ([]string, error) {
				b.left = 0
				r, err := l.Reader(l.LastSeq())
				must(t, err)
				_, err = readOn(r)
				must(t, err)
				grown(l)
				b.left = left
				if err = r.Extend(l, l.LastSeq()); err == nil {
					records, err = readOn(r)
				}
				return records, errors.Join(err, r.Close())
			})
		})
	})
}

// whileOpen opens a log, and runs do, in which a call of the brittle file system fails.
func whileOpen[T any](t *testing.T, fsys vfs.FS, opts Options, do func(l *Log) (T, error)) (T, error) {
	t.Helper()
	b := fsys.(*brittle)
	left := b.left
	b.left = 0
	l := mustOpen(t, b, opts)
	b.left = left
	got, err := do(l)
	b.left = 0
	if closing := l.Close(); l.Stopped() == nil || err == nil && closing != nil {
		t.Errorf("the log closes with %v", closing)
	}
	return got, err
}
