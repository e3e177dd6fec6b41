package exchange_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/exchange/exchangetest"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// A log whose records have an earlier or a later version is refused by name.
func TestLogsOfOtherVersionsAreRefused(t *testing.T) {
	dir := t.TempDir()
	exchangetest.Start(t, exchangetest.Options(dir)).Stop()
	for log, own := range map[string]uint32{
		"engine": engine.CommandVersion, "accounts": accounts.RecordVersion,
	} {
		for version, age := range map[uint32]string{own - 1: "a newer program", own + 1: "an older program"} {
			_, err := wal.Open(vfs.OS{}, filepath.Join(dir, log), wal.Options{NoLock: true, RecordVersion: version})
			var other *wal.VersionError
			if !errors.As(err, &other) || other.Got != own || other.Want != version ||
				!strings.Contains(err.Error(), age) {
				t.Errorf("%s as version %d: %v", log, version, err)
			}
		}
	}
}
