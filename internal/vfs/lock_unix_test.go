//go:build unix

package vfs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A closed lock is free, although a process that was forked before has its files until it runs its own program.
func TestAForkedProcessKeepsNoLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "LOCK")
	first, err := OS{}.Lock(name, Self())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{first.(osLock).file, first.(osLock).dir} {
		forked, err := syscall.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Close(forked) }()
	}
	passesOn(t, name, first)
}

// A lock file that is removed while its holder runs lets no second holder in.
func TestALockOutlivesItsFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "LOCK")
	first, err := OS{}.Lock(name, Self())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		var held *LockedError
		if second, err := (OS{}).Lock(name, Self()); !errors.As(err, &held) {
			t.Fatalf("second holder: %v, %v", second, err)
		}
	}
	passesOn(t, name, first)
}

// passesOn closes a lock: the next holder gets it at once.
func passesOn(t *testing.T, name string, first io.Closer) {
	t.Helper()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OS{}.Lock(name, Self())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
