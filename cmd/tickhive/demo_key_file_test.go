package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Two calls that began before either wrote the file: the second one leaves the first one's key.
func TestAnUnaskedDemoKeyNeverReplacesAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "key.json")
	first := demoKey{Kind: demoKeyKind, PublicKey: "first"}
	if err := first.write(file, false); err != nil {
		t.Fatal(err)
	}
	err := demoKey{Kind: demoKeyKind, PublicKey: "second"}.write(file, false)
	if kept, readErr := readDemoKey(file); !errors.Is(err, fs.ErrExist) || kept != first {
		t.Errorf("%v, %v: %v", kept, readErr, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left %v: %v", left, err)
	}
}
