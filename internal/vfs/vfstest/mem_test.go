package vfstest

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
)

const (
	seeds = 400
	name  = "d/f"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, f vfs.File, p []byte, off int64) {
	t.Helper()
	if n, err := f.WriteAt(p, off); err != nil || n != len(p) {
		t.Fatalf("%d, %v", n, err)
	}
}

func create(t *testing.T, m vfs.FS) vfs.File {
	t.Helper()
	f, err := m.Create(name)
	must(t, err)
	must(t, m.SyncDir("d"))
	return f
}

func TestSyncedBytesSurviveEveryCutAndOthersMay(t *testing.T) {
	m := NewMem()
	f := create(t, m)
	old, fresh := bytes.Repeat([]byte{1}, 4*vfs.SectorBytes), bytes.Repeat([]byte{2}, 4*vfs.SectorBytes)
	put(t, f, old, 0)
	must(t, f.Sync())
	put(t, f, fresh[:2*vfs.SectorBytes], vfs.SectorBytes)
	put(t, f, fresh, 4*vfs.SectorBytes)
	subsets := map[string]bool{}
	sizes := map[int]bool{}
	for seed := range uint64(seeds) {
		got := m.Crash(seed).Content(name)
		sizes[len(got)] = true
		if len(got) < len(old) || !bytes.Equal(got[:vfs.SectorBytes], old[:vfs.SectorBytes]) ||
			!bytes.Equal(got[3*vfs.SectorBytes:4*vfs.SectorBytes], old[:vfs.SectorBytes]) {
			t.Fatalf("seed %d: synced bytes are gone", seed)
		}
		subset := ""
		for at := 0; at+vfs.SectorBytes <= len(got); at += vfs.SectorBytes {
			sector := got[at : at+vfs.SectorBytes]
			if bytes.Count(sector, sector[:1]) != vfs.SectorBytes || (at < 4*vfs.SectorBytes && sector[0] == 0) {
				t.Fatalf("seed %d: sector at %d is no whole one: %d", seed, at, sector[0])
			}
			subset += string('0' + rune(sector[0]))
		}
		subsets[subset] = true
	}
	if len(subsets) < 30 || len(sizes) < 10 {
		t.Fatalf("%d subsets, %d sizes: too tame", len(subsets), len(sizes))
	}
	must(t, f.Sync())
	want := m.Content(name)
	for seed := range uint64(seeds) {
		if !bytes.Equal(m.Crash(seed).Content(name), want) {
			t.Fatalf("seed %d: lost after a sync", seed)
		}
	}
}

func TestNamesAreDurableInOrderAndAfterSyncDirForSure(t *testing.T) {
	m := NewMem()
	create(t, m)
	_, err := m.Create("d/g")
	must(t, err)
	must(t, m.Rename("d/g", "d/h"))
	must(t, m.Remove(name))
	seen := map[string]bool{}
	for seed := range uint64(seeds) {
		names, err := m.Crash(seed).List("d")
		must(t, err)
		seen[filepath.Join(names...)] = true
	}
	for _, want := range []string{"f", "f/g", "f/h", "h"} {
		if !seen[want] {
			t.Fatalf("never %s: %v", want, seen)
		}
	}
	if len(seen) != 4 {
		t.Fatalf("out of order: %v", seen)
	}
	must(t, m.SyncDir("d"))
	for seed := range uint64(seeds) {
		if names, _ := m.Crash(seed).List("d"); len(names) != 1 || names[0] != "h" {
			t.Fatalf("seed %d: %v", seed, names)
		}
	}
}

func TestFailedSyncForgetsWhatItHadToWrite(t *testing.T) {
	m := NewMem()
	f := create(t, m)
	put(t, f, []byte("lost"), 0)
	m.Before(FailNthKind(OpSync, 1, Fault{Err: syscall.EIO}))
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	must(t, f.Sync())
	if string(m.Content(name)) != "lost" {
		t.Fatal("readers no longer see it")
	}
	for seed := range uint64(20) {
		if got := m.Crash(seed).Content(name); string(got) == "lost" {
			t.Fatal("the second sync wrote what the first had given up")
		}
	}
	put(t, f, []byte("kept"), 0)
	must(t, f.Sync())
	if got := m.Crash(1).Content(name); string(got) != "kept" {
		t.Fatalf("%q", got)
	}
}

func TestFullDiskKeepsWhatFitsAndTakesMoreLater(t *testing.T) {
	m := NewMem()
	f := create(t, m)
	m.SetCapacity(10)
	n, err := f.WriteAt(make([]byte, 25), 0)
	if n != 10 || !errors.Is(err, syscall.ENOSPC) || m.Used() != 10 {
		t.Fatalf("%d, %v", n, err)
	}
	put(t, f, []byte("over"), 3) // what is there can be overwritten
	if err := f.Preallocate(10, 5); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	m.SetCapacity(0)
	put(t, f, make([]byte, 25), 10)
}

func TestFaultsShortenAndTear(t *testing.T) {
	m := NewMem()
	f := create(t, m)
	data := bytes.Repeat([]byte{7}, 3*vfs.SectorBytes)
	m.Before(FailNthKind(OpWrite, 1, Fault{Err: ErrInjected, Keep: 5}))
	if n, err := f.WriteAt(data, 0); n != 5 || !errors.Is(err, ErrInjected) || len(m.Content(name)) != 5 {
		t.Fatalf("short: %d, %v", n, err)
	}
	m.Before(FailNthKind(OpWrite, 2, Fault{Err: ErrInjected, Tear: true}))
	if _, err := f.WriteAt(data, 0); !errors.Is(err, ErrInjected) {
		t.Fatal(err)
	}
	got := m.Content(name)
	if got[0] != 7 || got[100] != 0 || got[vfs.SectorBytes] != 7 || len(got) != 2*vfs.SectorBytes {
		t.Fatalf("torn: %d bytes", len(got))
	}
	if m.Count(OpWrite) != 2 || m.Operations() < 4 {
		t.Fatalf("%d writes of %d", m.Count(OpWrite), m.Operations())
	}
}

func TestKillKeepsWhatWasWrittenAndItsRisk(t *testing.T) {
	m := NewMem()
	f := create(t, m)
	put(t, f, []byte("written"), 0)
	_, err := m.Lock("d/LOCK", vfs.Self())
	must(t, err)
	after := m.Kill()
	if string(after.Content(name)) != "written" {
		t.Fatal("lost by a kill")
	}
	if _, err := after.Lock("d/LOCK", vfs.Self()); err != nil {
		t.Fatal("a dead process still holds the lock")
	}
	lost := false
	for seed := range uint64(40) {
		lost = lost || string(after.Crash(seed).Content(name)) != "written"
	}
	if !lost {
		t.Fatal("a kill made it durable")
	}
}

// Both implementations do the same for the operations of a log.
func TestMemDoesWhatTheMachineDoes(t *testing.T) {
	for _, c := range []struct {
		fsys vfs.FS
		dir  string
	}{{NewMem(), "d"}, {vfs.OS{}, filepath.Join(t.TempDir(), "d")}} {
		must(t, c.fsys.MkdirAll(c.dir))
		at := func(base string) string { return filepath.Join(c.dir, base) }
		if _, err := c.fsys.Open(at("none")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := c.fsys.Remove(at("none")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		f, err := c.fsys.Create(at("b"))
		must(t, err)
		put(t, f, []byte("hello"), 3)
		must(t, f.Preallocate(8, 1<<19))
		must(t, f.Truncate(6))
		must(t, f.Truncate(10))
		must(t, f.Sync())
		buf := make([]byte, 20)
		n, err := f.ReadAt(buf, 0)
		if string(buf[:n]) != "\x00\x00\x00hel\x00\x00\x00\x00" || err == nil {
			t.Fatalf("%q, %v", buf[:n], err)
		}
		must(t, f.Close())
		_, err = c.fsys.Create(at("a"))
		must(t, err)
		must(t, c.fsys.Rename(at("b"), at("c")))
		names, err := c.fsys.List(c.dir)
		if err != nil || len(names) != 2 || names[0] != "a" || names[1] != "c" {
			t.Fatalf("%v, %v", names, err)
		}
		must(t, c.fsys.SyncDir(c.dir))
		r, err := c.fsys.Open(at("c"))
		must(t, err)
		if _, err := r.WriteAt([]byte("x"), 0); err == nil {
			t.Fatal("wrote to a file opened for reading")
		}
		lock, err := c.fsys.Lock(at("LOCK"), vfs.Owner{PID: 42, Host: "h", SinceNs: 1e9})
		must(t, err)
		_, err = c.fsys.Lock(at("LOCK"), vfs.Self())
		var held *vfs.LockedError
		want := at("LOCK") + " is held by process 42 on host h since 1970-01-01T00:00:01Z"
		if !errors.As(err, &held) || held.Error() != want {
			t.Fatalf("%v", err)
		}
		must(t, lock.Close())
		lock, err = c.fsys.Lock(at("LOCK"), vfs.Self())
		must(t, err)
		must(t, lock.Close())
	}
}
