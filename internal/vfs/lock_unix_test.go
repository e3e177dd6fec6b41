//go:build unix

package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

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
