package wal_test

import (
	"crypto/rand"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// Position.Next follows the chain of a log that somebody else writes.
func TestAPositionFollowsTheChainOfALog(t *testing.T) {
	history, err := wal.NewID(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	directory, err := wal.NewID(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	o := wal.Options{NoLock: true, Name: "engine", Identity: wal.Identity{History: history, Directory: directory}}
	log, err := wal.Create(vfs.OS{}, t.TempDir(), o, wal.Position{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	at := wal.Begins(history, "engine")
	for _, record := range []string{"one", "a longer record that is no multiple of eight", "four"} {
		if _, err := log.Append([][]byte{[]byte(record)}); err != nil {
			t.Fatal(err)
		}
		if at = at.Next([]byte(record)); at != log.Position() {
			t.Errorf("after %q: %+v, the log has %+v", record, at, log.Position())
		}
	}
}
