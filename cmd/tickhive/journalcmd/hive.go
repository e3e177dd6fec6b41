package journalcmd

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"tickhive/hive"
	"tickhive/internal/exchange"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// isHiveDir reports whether dir has the name of the hive's log in a data directory.
func isHiveDir(dir string) bool { return filepath.Base(filepath.Clean(dir)) == "hive" }

// verifyHive checks the hive's log offline: every record, and that each entry of the action log contains the
// hash of the entry before. It takes no lock and changes nothing.
func verifyHive(out io.Writer, dir string) error {
	if _, err := verifyFiles(out, dir); err != nil {
		return err
	}
	options := wal.Options{NoLock: true, RecordVersion: hive.RecordVersion}
	chain, next := &hive.Chain{}, uint64(1)
	rd, err := wal.OpenReader(vfs.OS{}, dir, options, next)
	if errors.Is(err, wal.ErrTruncated) {
		// The snapshot replaced the records before it. hiveSnapshot checks their effect.
		if chain, next, err = hiveSnapshot(dir, options); err == nil {
			rd, err = wal.OpenReader(vfs.OS{}, dir, options, next)
		}
	}
	if err != nil {
		return exchange.ExplainDamage(err)
	}
	defer func() { _ = rd.Close() }()
	first := chain.Len() + 1
	for {
		raw, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return exchange.ExplainDamage(err)
		}
		rec, err := hive.DecodeRecord(raw.Payload)
		if err != nil {
			return fmt.Errorf("%s: record %d at %d: %w", raw.File, raw.Seq, raw.Offset, err)
		}
		for i := range rec.Entries {
			if err := chain.Next(&rec.Entries[i]); err != nil {
				return fmt.Errorf("%s: record %d at %d: %w", raw.File, raw.Seq, raw.Offset, err)
			}
		}
	}
	_, err = fmt.Fprintf(out, "hive entries %d to %d head %s\n", first, chain.Len(), chain.Head())
	return err
}

// hiveSnapshot returns the hash chain after the newest snapshot and the number of the next record.
func hiveSnapshot(dir string, options wal.Options) (chain *hive.Chain, next uint64, err error) {
	found, err := wal.LoadNewest(vfs.OS{}, dir, options, func(m wal.SnapshotMeta, r io.Reader) error {
		body, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		s, err := hive.DecodeSnapshot(body, hive.DefaultOptions())
		if err != nil {
			return err
		}
		v := s.View()
		chain, next = hive.ChainFrom(v.Entries(), v.Head()), m.Seq+1
		return nil
	})
	if err == nil && !found.OK {
		err = fmt.Errorf("%s: the log's first records were removed and no usable snapshot covers them; "+
			"restore the directory from a copy", dir)
	}
	return chain, next, err
}
