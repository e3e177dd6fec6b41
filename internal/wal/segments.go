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
	size   int64 // when listed
	first  uint64
	chain  uint64 // before first
	reason string // why the header cannot be used, "" when it can
	seed   uint32
	used   bool // a record was once begun in it
	slots  slots
}

// loadSegments lists the segments in dir and reads their headers and slots. It sets opts' Identity
// from the first header if it is not given. It judges nothing but versions and identities, because a
// power cut changes neither.
func loadSegments(fsys vfs.FS, dir string, opts *Options) ([]segment, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("wal: list %s: %w", dir, err)
	}
	var segs []segment
	for _, name := range names {
		if num, ok := parseSegmentName(name); ok {
			segs = append(segs, segment{num: num, path: path.Join(dir, name)})
		}
	}
	slices.SortFunc(segs, func(a, b segment) int { return cmp.Compare(a.num, b.num) })
	for i := range segs {
		if err := segs[i].load(fsys, opts); err != nil {
			return nil, err
		}
	}
	return segs, nil
}

func (s *segment) load(fsys vfs.FS, opts *Options) error {
	f, err := fsys.Open(s.path)
	if err != nil {
		return fmt.Errorf("wal: open segment: %w", err)
	}
	defer f.Close()
	if s.size, err = f.Size(); err != nil {
		return fmt.Errorf("wal: %s: size: %w", s.path, err)
	}
	var buf [firstFrame + frameHead]byte
	n, err := f.ReadAt(buf[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("wal: %s: read header: %w", s.path, err)
	}
	s.used = n > firstFrame && !vfs.AllZero(buf[firstFrame:n])
	h, reason := parseHeader(segmentMagic, FormatVersion, buf[:min(n, headerBytes)])
	if reason == "" && h.version == FormatVersion && !vfs.AllZero(buf[min(n, headerBytes):min(n, int(slotOffset(0)))]) {
		reason = "the rest of the header's sector is not zero"
	}
	if err := s.take(&h, reason, opts); err != nil {
		return err
	}
	s.seed = seedOf(opts.Identity.Directory, opts.Name, s.num)
	if s.slots, err = readSlots(f, s.seed); err != nil {
		return fmt.Errorf("wal: %s: read: %w", s.path, err)
	}
	return nil
}

// take judges the header.
func (s *segment) take(h *header, reason string, opts *Options) error {
	if reason != "" {
		s.reason = reason
		return nil
	}
	if err := h.agrees("log format", s.path, FormatVersion, opts); err != nil {
		return err
	}
	if h.segment != s.num {
		s.reason = fmt.Sprintf("header is that of segment %d", h.segment)
		return nil
	}
	s.first, s.chain = h.first, h.chain
	return nil
}
