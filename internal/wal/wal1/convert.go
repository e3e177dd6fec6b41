package wal1

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// convertBatch is the number of records in one write.
const convertBatch = 1024

// Result describes a converted log.
type Result struct {
	wal.Position
	Torn      int64    // bytes of an incomplete last write that were left out
	Snapshots int      // converted
	Damaged   []string // snapshots that were left out, with the reason
}

// Convert writes the log in old into the empty directory dir. opts are those of the new log. A log
// that the program of format 1 refused is refused with *wal.CorruptError.
func Convert(fsys vfs.FS, old, dir string, opts wal.Options) (res Result, err error) {
	if err := opts.Validate(); err != nil {
		return res, err
	}
	chain, err := loadChain(fsys, old, opts.RecordVersion)
	if err != nil {
		return res, err
	}
	first := uint64(1)
	if len(chain) > 0 && chain[0].reason == "" {
		first = chain[0].first
	}
	log, err := wal.Create(fsys, dir, opts, wal.Position{Seq: first - 1})
	if err != nil {
		return res, err
	}
	if len(chain) > 0 {
		res.Torn, err = copyRecords(fsys, chain, log)
	}
	if err = errors.Join(err, log.Close()); err != nil {
		return res, err
	}
	res.Position = log.Position()
	return res, res.copySnapshots(fsys, old, dir, opts, first)
}

func copyRecords(fsys vfs.FS, chain []segment, log *wal.Log) (torn int64, err error) {
	r := &reader{fsys: fsys, chain: chain}
	defer r.close()
	if err := r.openSegment(); err != nil {
		return 0, err
	}
	for at := 0; ; {
		log.Begin()
		n := 0
		for ; n < convertBatch && err == nil; n++ {
			var payload []byte
			if payload, err = r.next(); err == nil && r.i == at {
				log.Add(func(dst []byte) []byte { return append(dst, payload...) })
				continue
			}
			if err != nil {
				break
			}
			// The first record of a segment begins one in the new log too.
			if _, werr := log.Write(); werr != nil {
				return 0, werr
			}
			if werr := log.Rotate(); werr != nil {
				return 0, werr
			}
			at = r.i
			log.Begin()
			log.Add(func(dst []byte) []byte { return append(dst, payload...) })
		}
		if _, werr := log.Write(); werr != nil {
			return 0, werr
		}
		if errors.Is(err, io.EOF) {
			return r.torn, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// copySnapshots converts the snapshots, oldest first.
func (res *Result) copySnapshots(fsys vfs.FS, old, dir string, opts wal.Options, first uint64) error {
	names, err := fsys.List(old)
	if err != nil {
		return fmt.Errorf("wal: list %s: %w", old, err)
	}
	for _, name := range names {
		seq, err := strconv.ParseUint(strings.TrimSuffix(name, path.Ext(name)), 10, 64)
		if err != nil || wal.SnapshotName(seq) != name || seq+1 < first {
			continue
		}
		name = path.Join(old, name)
		if seq > res.Seq {
			return &wal.CorruptError{
				File: name, Seq: res.Seq + 1, To: seq,
				Reason: fmt.Sprintf("the log ends at record %d, before the snapshot", res.Seq),
			}
		}
		err = copySnapshot(fsys, name, dir, seq, opts)
		var damaged *wal.CorruptError
		if errors.As(err, &damaged) {
			res.Damaged = append(res.Damaged, damaged.Error())
			continue
		}
		if err != nil {
			return err
		}
		res.Snapshots++
	}
	return nil
}

func copySnapshot(fsys vfs.FS, name, dir string, seq uint64, opts wal.Options) error {
	f, err := fsys.Open(name)
	if err != nil {
		return fmt.Errorf("wal: open snapshot: %w", err)
	}
	defer f.Close()
	var buf [headerBytes]byte
	n, err := f.ReadAt(buf[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("wal: %s: read: %w", name, err)
	}
	h, reason := parseHeader(snapshotMagic, buf[:n])
	if reason == "" && h.first != seq {
		reason = "header has another sequence than the name"
	}
	if reason != "" {
		return &wal.CorruptError{File: name, Seq: seq, Reason: reason}
	}
	if err := h.check("snapshot format", name, opts.RecordVersion); err != nil {
		return err
	}
	meta := wal.SnapshotMeta{Seq: seq, Reflects: h.segment}
	return wal.WriteSnapshot(fsys, dir, opts, meta, func(w io.Writer) error {
		_, err := io.Copy(w, wal.SnapshotBody(f, name, seq, headerBytes, le.Uint32(buf[headerBytes-4:])))
		return err
	})
}
