package journalcmd

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"tickhive/internal/wal"
)

// isStoreDir reports whether dir has the name of the accounts' or the launchpad's log in a data directory.
func isStoreDir(dir string) bool {
	return slices.Contains([]string{"accounts", "launchpad"}, filepath.Base(filepath.Clean(dir)))
}

// verifyStore checks every record of a store's log offline: its checksum, and that the sequence has no gap. It
// takes no lock and changes nothing.
func verifyStore(out io.Writer, dir string) error {
	files, err := verifyFiles(out, dir)
	if err != nil {
		return err
	}
	first, last := uint64(0), uint64(0)
	for _, f := range files {
		if filepath.Ext(f.File) != wal.SegmentExt || f.Last < f.First {
			continue // a snapshot, or a segment without a record
		}
		if first == 0 {
			first = f.First
		}
		last = f.Last
	}
	_, err = fmt.Fprintf(out, "%s records %d to %d verified\n", filepath.Base(filepath.Clean(dir)), first, last)
	return err
}
