package wal

import (
	"bytes"
	"errors"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

const tailDir = "d/log.tail"

// positions returns the position after each record of a log on a disk, and the one before the first.
func positions(t *testing.T, disk vfs.FS, opts Options) (all []Position) {
	t.Helper()
	r, err := OpenReader(disk, testDir, opts, 0)
	must(t, err)
	defer r.Close()
	for {
		all = append(all, r.Position())
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// checkCut fails unless the log ends at a position, has no snapshot behind it, goes on, and what was cut is aside.
func checkCut(t *testing.T, before, disk *vfstest.Mem, opts Options, at Position) {
	t.Helper()
	for _, name := range before.Paths() {
		base := path.Base(name)
		if !strings.HasPrefix(name, testDir) || strings.HasSuffix(name, tempExt) || base == LockName {
			continue
		}
		was := before.Content(name)
		now, aside := contentOf(disk, name), contentOf(disk, path.Join(tailDir, base))
		if strings.HasSuffix(name, SnapshotExt) {
			if !bytes.Equal(now, was) && !bytes.Equal(aside, was) {
				t.Errorf("%s is lost", name)
			}
			continue
		}
		kept := bytes.TrimRight(was[firstFrame:], "\x00")
		if now != nil && bytes.HasPrefix(now[firstFrame:], kept) || aside != nil && bytes.HasPrefix(aside[firstFrame:],
			kept) {
			continue
		}
		t.Errorf("records of %s are lost", name)
	}
	opts.Known = &Known{Position: at, Last: true}
	l := mustOpen(t, disk, opts)
	if l.Position() != at || l.Recovered().Lost != 0 {
		t.Errorf("the log ends at %+v, want %+v; %+v", l.Position(), at, l.Recovered())
	}
	metas, err := l.Snapshots()
	must(t, err)
	for _, m := range metas {
		if m.Seq > at.Seq {
			t.Errorf("a snapshot at %d is left", m.Seq)
		}
	}
	first := l.Recovered().FirstSeq
	appendN(t, l, 3)
	must(t, l.Close())
	opts.Known = nil
	checkContent(t, disk, opts, first, at.Seq+3)
}

func contentOf(disk *vfstest.Mem, name string) []byte {
	for _, p := range disk.Paths() {
		if p == name {
			return disk.Content(name)
		}
	}
	return nil
}

// A log can be cut back to each of its records, in whatever segment it is.
func TestCutBack(t *testing.T) {
	whole, opts := usedDisk(t)
	for _, at := range positions(t, whole, opts) {
		disk := whole.Kill()
		ends := 0
		opts.Ended = func(p Position) {
			if ends++; p != at {
				t.Errorf("Ended received %+v, want %+v", p, at)
			}
		}
		must(t, CutBack(disk, testDir, opts, at, tailDir))
		if ends != 1 {
			t.Errorf("Ended ran %d times", ends)
		}
		opts.Ended = nil
		checkCut(t, whole, disk, opts, at)
	}
}

// After a cut of the power at any operation nothing is lost, and CutBack can be repeated.
func TestCutBackAfterACutAtEveryOperation(t *testing.T) {
	whole, opts := usedDisk(t)
	all := positions(t, whole, opts)
	for _, i := range []int{1, len(all) / 2, len(all) - 2} {
		at := all[i]
		cutEach(t, whole, func(fsys vfs.FS) error {
			return CutBack(fsys, testDir, opts, at, tailDir)
		}, func(t *testing.T, disk *vfstest.Mem) {
			must(t, CutBack(disk, testDir, opts, at, tailDir))
			checkCut(t, whole, disk, opts, at)
		})
	}
}

func TestEveryFailedCallOfCutBackIsReported(t *testing.T) {
	disk, opts := usedDisk(t)
	at := positions(t, disk, opts)[14]
	eachCall(t, disk, func(fsys vfs.FS) (int, error) {
		return 0, CutBack(fsys, testDir, opts, at, tailDir)
	}, "preallocate 000002.wal")
}

// What CutBack refuses it leaves as it is.
func TestCutBackRefuses(t *testing.T) {
	whole, opts := usedDisk(t)
	all := positions(t, whole, opts)
	last := all[len(all)-1]
	var damaged *CorruptError
	for what, c := range map[string]struct {
		at   Position
		lose []string
		is   func(err error) bool
	}{
		"another chain": {Position{Seq: 14, Chain: 1}, nil, func(err error) bool {
			return errors.As(err,
				&damaged) && damaged.Foreign
		}},
		"behind the end": {Position{Seq: last.Seq + 1, Chain: 1}, nil, func(err error) bool {
			return errors.As(err,
				&damaged)
		}},
		"before the log": {all[2], []string{"000001.wal"}, func(err error) bool {
			return errors.Is(err,
				ErrTruncated)
		}},
		"before a snapshot": {all[20], []string{"000001.wal"}, func(err error) bool {
			return errors.Is(err,
				ErrTruncated)
		}},
		"without a segment": {
			all[2],
			[]string{"000001.wal", "000002.wal", "000003.wal", "000004.wal"},
			func(err error) bool { return errors.Is(err, ErrTruncated) },
		},
		"without the middle": {last, []string{"000004.wal"}, func(err error) bool { return errors.As(err, &damaged) }},
	} {
		disk := whole.Kill()
		for _, name := range c.lose {
			disk.Lose(path.Join(testDir, name))
		}
		before := disk.Kill()
		if err := CutBack(disk, testDir, opts, c.at, tailDir); err == nil || !c.is(err) {
			t.Errorf("%s: %v", what, err)
		}
		for _, name := range before.Paths() {
			if !strings.HasSuffix(name, tempExt) && !bytes.Equal(before.Content(name), contentOf(disk, name)) {
				t.Errorf("%s: %s has changed", what, name)
			}
		}
	}
	l := mustOpen(t, whole, opts)
	defer l.Close()
	if err := CutBack(whole, testDir, opts, all[3], tailDir); !errors.As(err, new(*vfs.LockedError)) {
		t.Errorf("a log in use: %v", err)
	}
}
