package wal1

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"tickhive/internal/vfs"
	"tickhive/internal/wal"
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

// loadChain lists the segments in dir and reads their headers. It judges nothing but
// versions and gaps in the numbers, because a power cut leaves neither.
func loadChain(fsys vfs.FS, dir string, record uint32) ([]segment, error) {
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
		if err := seg.load(fsys, record); err != nil {
			return nil, err
		}
		chain = append(chain, seg)
	}
	slices.SortFunc(chain, func(a, b segment) int { return cmp.Compare(a.num, b.num) })
	for i := 1; i < len(chain); i++ {
		if chain[i].num != chain[i-1].num+1 {
			missing := segmentName(chain[i-1].num + 1)
			return nil, &wal.CorruptError{File: path.Join(dir, missing), Reason: "segment is missing"}
		}
	}
	return chain, nil
}

func (s *segment) load(fsys vfs.FS, record uint32) error {
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
	h, reason := parseHeader(segmentMagic, buf[:n])
	if reason != "" {
		s.reason = reason
		return nil
	}
	if err := h.check("log format", s.path, record); err != nil {
		return err
	}
	if h.segment != s.num {
		s.reason = fmt.Sprintf("header is that of segment %d", h.segment)
		return nil
	}
	s.first = h.first
	return nil
}
