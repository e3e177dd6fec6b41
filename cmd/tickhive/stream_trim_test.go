package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tickhive/internal/backup"
	"tickhive/internal/stream/jet"
)

// A stream that nodes trim while it is read is read again from a later snapshot, a few times.
func TestAReadIsRepeatedWhenMessagesAreRemoved(t *testing.T) {
	trimmed, other := fmt.Errorf("read: %w", jet.ErrTrimmed), errors.New("another error")
	for _, c := range []struct {
		answers []error
		reads   int
		want    error
	}{
		{[]error{nil}, 1, nil},
		{[]error{other}, 1, other},
		{[]error{trimmed, trimmed, nil}, 3, nil},
		{[]error{trimmed, other}, 2, other},
		{[]error{trimmed, trimmed, trimmed, trimmed, trimmed, nil}, surveyAttempts, jet.ErrTrimmed},
	} {
		reads := 0
		err := untilUntrimmed(func() error { reads++; return c.answers[reads-1] })
		if reads != c.reads || !errors.Is(err, c.want) {
			t.Errorf("%v: %d reads, %v", c.answers, reads, err)
		}
	}
}

func TestAnotherAttemptOfARestoreBeginsWithAnEmptyDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "restored")
	if err := backup.EmptyDir(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "engine"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "engine", "000001.wal"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := backup.EmptyDir(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}
