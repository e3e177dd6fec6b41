package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

const (
	// maxElements bounds the elements of all lists in a structure. The decoder allocates a list by its length, and a
	// column of a row group takes about 700 bytes.
	maxElements = 1 << 18
	// maxDepth bounds the structures in structures. Those of Parquet have about 8.
	maxDepth = 16
)

// Types of the compact protocol.
const (
	thriftTrue, thriftFalse, thriftByte, thriftI16, thriftI32, thriftI64 = 1, 2, 3, 4, 5, 6
	thriftDouble, thriftBinary, thriftList, thriftSet, thriftMap         = 7, 8, 9, 10, 11
	thriftStruct                                                         = 12
)

var errThrift = errors.New("damaged metadata")

// skim walks over a structure of Thrift's compact protocol and compares every length with the bytes that are there.
type skim struct {
	rest     []byte
	elements uint64
}

// decode decodes the structure at the beginning of b into v and returns its length.
func decode(b []byte, v any) (n int, err error) {
	s := skim{rest: b}
	if err := s.structure(0); err != nil {
		return 0, err
	}
	n = len(b) - len(s.rest)
	defer func() { // the lengths are sound; a wrong type of a field must not end the program either
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errThrift, r)
		}
	}()
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), b[:n], v); err != nil {
		return 0, fmt.Errorf("%w: %w", errThrift, err)
	}
	return n, nil
}

func (s *skim) take(n uint64) error {
	if n > uint64(len(s.rest)) {
		return errThrift
	}
	s.rest = s.rest[n:]
	return nil
}

func (s *skim) byte() (byte, error) {
	if len(s.rest) == 0 {
		return 0, errThrift
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	return b, nil
}

func (s *skim) varint() (uint64, error) {
	v, n := binary.Uvarint(s.rest)
	if n <= 0 {
		return 0, errThrift
	}
	s.rest = s.rest[n:]
	return v, nil
}

func (s *skim) structure(depth int) error {
	if depth > maxDepth {
		return errThrift
	}
	for {
		head, err := s.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 {
			if _, err := s.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind != thriftTrue && kind != thriftFalse { // a boolean field is its type
			if err := s.value(kind, depth+1); err != nil {
				return err
			}
		}
	}
}

func (s *skim) value(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return s.take(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := s.varint()
		return err
	case thriftDouble:
		return s.take(8)
	case thriftBinary:
		n, err := s.varint()
		if err != nil {
			return err
		}
		return s.take(n)
	case thriftList, thriftSet:
		return s.list(depth)
	case thriftMap:
		return s.pairs(depth)
	case thriftStruct:
		return s.structure(depth)
	}
	return errThrift
}

// count takes the number of elements of a list, which have at least a byte each.
func (s *skim) count(n uint64) error {
	if n > uint64(len(s.rest)) {
		return errThrift
	}
	if s.elements += n; s.elements > maxElements {
		return fmt.Errorf("metadata with more than %d elements of lists", maxElements)
	}
	return nil
}

func (s *skim) list(depth int) error {
	head, err := s.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = s.varint(); err != nil {
			return err
		}
	}
	if err := s.count(n); err != nil {
		return err
	}
	for range n {
		if err := s.value(head&15, depth); err != nil {
			return err
		}
	}
	return nil
}

func (s *skim) pairs(depth int) error {
	n, err := s.varint()
	if err != nil || n == 0 {
		return err
	}
	kinds, err := s.byte()
	if err != nil {
		return err
	}
	if err := s.count(n); err != nil {
		return err
	}
	for range n {
		if err := errors.Join(s.value(kinds>>4, depth), s.value(kinds&15, depth)); err != nil {
			return err
		}
	}
	return nil
}
