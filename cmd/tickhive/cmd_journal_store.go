package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"tickhive/accounts"
	"tickhive/internal/exchange"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// isStoreDir reports whether a directory has the name of the accounts' or the launchpad's log
// in a data directory.
func isStoreDir(dir string) bool {
	return slices.Contains([]string{"accounts", "launchpad"}, filepath.Base(filepath.Clean(dir)))
}

// verifyStore checks every record of a store's log offline: checksum, sequence and no gap. It
// takes no lock and changes nothing.
func verifyStore(out io.Writer, dir string) error {
	if err := verifyFiles(out, dir); err != nil {
		return err
	}
	rd, err := wal.OpenReader(vfs.OS{}, dir, wal.Options{NoLock: true, RecordVersion: accounts.RecordVersion}, 0)
	if err != nil {
		return exchange.ExplainDamage(err)
	}
	defer func() { _ = rd.Close() }()
	first, last := uint64(0), uint64(0)
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return exchange.ExplainDamage(err)
		}
		if first == 0 {
			first = rec.Seq
		}
		last = rec.Seq
	}
	_, err = fmt.Fprintf(out, "%s records %d to %d verified\n", filepath.Base(filepath.Clean(dir)), first, last)
	return err
}
