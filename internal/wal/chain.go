package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"tickhive/internal/vfs"
)

// segment is one file of the log.
type segment struct {
	num    uint64
	path   string
	size   int64 // bytes of the file when it was listed
	first  uint64
	reason string // why the header is not usable, "" when it is
	seed   uint32
}

// loadChain lists the segments in dir and reads their headers. It returns errors only for versions and for gaps
// in the numbers, because a power cut causes neither.
func loadChain(fsys vfs.FS, dir string, opts Options) ([]segment, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("wal: list %s: %w", dir, err)
	}
	var chain []segment
	for _, name := range names {
		num, ok := parseSegmentName(name)
		if !ok {
			continue
		}
		seg := segment{num: num, path: path.Join(dir, name), seed: seedOf(num)}
		if err := seg.load(fsys, opts); err != nil {
			return nil, err
		}
		chain = append(chain, seg)
	}
	slices.SortFunc(chain, func(a, b segment) int { return cmp.Compare(a.num, b.num) })
	for i := 1; i < len(chain); i++ {
		if chain[i].num != chain[i-1].num+1 {
			missing := segmentName(chain[i-1].num + 1)
			return nil, &CorruptError{File: path.Join(dir, missing), Reason: "segment is missing"}
		}
	}
	return chain, nil
}

func (s *segment) load(fsys vfs.FS, opts Options) error {
	f, err := fsys.Open(s.path)
	if err != nil {
		return fmt.Errorf("wal: open segment: %w", err)
	}
	defer f.Close()
	if s.size, err = f.Size(); err != nil {
		return fmt.Errorf("wal: %s: size: %w", s.path, err)
	}
	var buf [headerBytes]byte
	n, err := f.ReadAt(buf[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("wal: %s: read header: %w", s.path, err)
	}
	h, reason := parseHeader(buf[:n])
	switch {
	case reason != "":
		s.reason = reason
		return nil
	case h.version != FormatVersion:
		return &VersionError{File: s.path, What: "log format", Got: h.version, Want: FormatVersion, Writer: h.writer}
	case h.record != opts.RecordVersion:
		return &VersionError{
			File: s.path, What: "record format", Got: h.record, Want: opts.RecordVersion, Writer: h.writer,
		}
	case h.segment != s.num:
		s.reason = fmt.Sprintf("header is that of segment %d", h.segment)
		return nil
	}
	s.first = h.first
	return nil
}
