package node

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Bounds of the snapshots that a node keeps for its readers.
const (
	maxKept    = 2                // files
	maxReaders = 8                // transfers under way
	keptFor    = 10 * time.Minute // behind the end of the last transfer
)

// The refusals of KeptSnapshots. They are wrapped: use errors.Is.
var (
	ErrTaking  = errors.New("node: a snapshot is being taken")
	ErrReading = errors.New("node: too many snapshots are being read")
	// ErrNone reports that the node has no snapshot now, because it is between two messages.
	ErrNone = errors.New("node: there is no snapshot at this moment")
)

// KeptSnapshots keeps the last snapshots of a node, so that a transfer can go on behind the byte at which it broke
// off. The files have no names: their blocks go with the process. Any goroutine may use it.
type KeptSnapshots struct {
	mu      sync.Mutex
	taking  bool
	closed  bool
	readers int
	kept    []*keptFile // newest first
}

// keptFile is one of KeptSnapshots, whose lock guards it.
type keptFile struct {
	tag     string
	size    int64
	file    *os.File
	readers int
	gone    bool // no longer kept; the last reader closes the file
	expires *time.Timer
}

// Kept is a snapshot that one client reads. Close ends the reading.
type Kept struct {
	*os.File
	Tag  string // entity tag (RFC 9110): equal tags, equal bytes
	Size int64

	end func()
}

// Close implements io.Closer.
func (k *Kept) Close() error {
	k.end()
	return nil
}

// Take takes a snapshot and keeps it. write writes it and returns the message that it reflects; 0: there can be none
// now.
//
// Errors: ErrTaking, ErrReading, ErrNone, and write's.
func (s *KeptSnapshots) Take(write func(w io.Writer) (seq uint64, err error)) (*Kept, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	k, err := newKept(write)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taking = false
	if err != nil {
		return nil, err
	}
	if s.closed {
		return nil, errors.Join(ErrNone, k.file.Close())
	}
	k.expires = time.AfterFunc(keptFor, func() { s.expire(k) })
	s.kept = append([]*keptFile{k}, s.kept...)
	return s.read(k), nil
}

// begin makes room for another file.
func (s *KeptSnapshots) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrNone
	case s.taking:
		return ErrTaking
	case s.readers >= maxReaders:
		return ErrReading
	}
	for i := len(s.kept) - 1; i >= 0 && len(s.kept) >= maxKept; i-- {
		if s.kept[i].readers == 0 {
			s.drop(s.kept[i])
		}
	}
	if len(s.kept) >= maxKept {
		return ErrReading
	}
	s.taking = true
	return nil
}

// newKept writes a snapshot into a temporary file. The sum at its end is its identity.
func newKept(write func(w io.Writer) (seq uint64, err error)) (*keptFile, error) {
	file, size, seq, err := take(write)
	if err != nil {
		return nil, err
	}
	if seq == 0 {
		return nil, ErrNone
	}
	var sum [8]byte
	if _, err := file.ReadAt(sum[:], size-int64(len(sum))); err != nil {
		return nil, errors.Join(fmt.Errorf("snapshot: %w", err), file.Close())
	}
	tag := fmt.Sprintf(`"%d-%016x"`, seq, binary.LittleEndian.Uint64(sum[:]))
	return &keptFile{file: file, size: size, tag: tag}, nil
}

// Find returns the kept snapshot with a tag, or the newest one for an empty tag; nil: there is none.
//
// Errors: ErrReading.
func (s *KeptSnapshots) Find(tag string) (*Kept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kept {
		if tag == "" || k.tag == tag {
			if s.readers >= maxReaders {
				return nil, ErrReading
			}
			return s.read(k), nil
		}
	}
	return nil, nil
}

// read begins a reading. The caller holds the lock.
func (s *KeptSnapshots) read(k *keptFile) *Kept {
	s.readers++
	k.readers++
	k.expires.Stop()
	return &Kept{File: k.file, Tag: k.tag, Size: k.size, end: sync.OnceFunc(func() { s.end(k) })}
}

// end ends a reading.
func (s *KeptSnapshots) end(k *keptFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers--
	k.readers--
	switch {
	case k.readers > 0:
	case k.gone:
		_ = k.file.Close() // was only read
	default:
		k.expires.Reset(keptFor)
	}
}

// expire removes a snapshot that no client has read for long.
func (s *KeptSnapshots) expire(k *keptFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.readers == 0 && !k.gone {
		s.drop(k)
	}
}

// drop removes a snapshot from the kept ones. The caller holds the lock.
func (s *KeptSnapshots) drop(k *keptFile) {
	k.gone = true
	k.expires.Stop()
	for i := range s.kept {
		if s.kept[i] == k {
			s.kept = append(s.kept[:i:i], s.kept[i+1:]...)
			break
		}
	}
	if k.readers == 0 {
		_ = k.file.Close() // was only read
	}
}

// Close removes all snapshots. Readings that are under way go on.
func (s *KeptSnapshots) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for len(s.kept) > 0 {
		s.drop(s.kept[0])
	}
}
