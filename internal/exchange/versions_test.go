package exchange_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// A journal whose records have an earlier or a later version is refused by name.
func TestAJournalOfAnotherVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	exchangetest.Start(t, exchangetest.Options(dir)).Stop()
	const own = uint32(engine.CommandVersion)
	for version, age := range map[uint32]string{own - 1: "a newer program", own + 1: "an older program"} {
		_, err := wal.Open(vfs.OS{}, filepath.Join(dir, "engine"), wal.Options{NoLock: true, RecordVersion: version})
		var other *wal.VersionError
		if !errors.As(err, &other) || other.Got != own || other.Want != version ||
			!strings.Contains(err.Error(), age) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}
