package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
)

// Kind says what a message is.
type Kind uint8

// The kinds of messages.
const (
	Records Kind = 1 + iota // records of the log
	Beat                    // the writer has nothing to send, and is alive
	Term                    // a node becomes the writer
	Base                    // the first message: the history and the position at which it begins
)

// Limits of the format.
const (
	MaxMessage = 512 << 10 // bytes; the default limit of a NATS server is 1 MiB
	MaxRecord  = MaxMessage - headBytes - firstBytes - maxLength
	MaxInfo    = 64 << 10 // bytes that a term or base message carries for its readers
	// MaxPosition is the largest position that a message may name, so that no sum overflows. No log grows that long.
	MaxPosition = 1<<62 - 1
)

const (
	magic      = "THM1"
	version    = 4
	headBytes  = 64
	firstBytes = 8
	maxLength  = 3 // bytes of the length of a record: MaxMessage is below 1<<21
	baseBytes  = 16 + 8
)

// Errors of a message that does not count as one. They are wrapped: use errors.Is.
var (
	// ErrDamaged reports bytes that no writer of this format has written.
	ErrDamaged = errors.New("stream: the message is damaged")
	// ErrVersion reports a message of another format.
	ErrVersion = errors.New("stream: a program with another format has written this; use the writer's version")
)

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Message is a decoded message. It shares memory with the bytes that it was decoded from.
type Message struct {
	Kind  Kind
	Rules uint16 // version of the rules of the records; a reader that does not know it stops
	Term  uint64 // 0 in Base
	Node  uint64 // the process that wrote it, a random number that is never used again
	// SentNs is the writer's clock when it completed the message. It never falls from one valid message to the next.
	SentNs int64
	// Prev is the sum of the valid message before, 0 in the first one.
	Prev uint64
	// Digest is the owner's digest of its state after the record DigestPos, 0 and 0 for none.
	DigestPos, Digest uint64
	// Info holds what a term or base message carries for its readers.
	Info []byte
	// History and Start are set in Base: the identity of the exchange, and the position before its first record.
	History [16]byte
	Start   uint64

	first   uint64 // position of the first record
	count   uint32
	records []byte
}

// Decode decodes and verifies a message.
//
// Errors: ErrDamaged, ErrVersion.
//
// Retains: the Message refers to b.
func Decode(b []byte) (Message, error) {
	switch {
	case len(b) < headBytes || len(b) > MaxMessage || string(b[:4]) != magic:
		return Message{}, fmt.Errorf("%w: %d bytes without a head", ErrDamaged, len(b))
	case sum(b) != le.Uint32(b[60:]):
		return Message{}, fmt.Errorf("%w: the checksum differs", ErrDamaged)
	case b[5] != version:
		return Message{}, fmt.Errorf("%w: format %d, and this program reads %d alone", ErrVersion, b[5], version)
	}
	m := Message{
		Kind: Kind(b[4]), Rules: le.Uint16(b[6:]), Term: le.Uint64(b[8:]), Node: le.Uint64(b[16:]),
		SentNs: int64(le.Uint64(b[24:])), Prev: le.Uint64(b[32:]),
		DigestPos: le.Uint64(b[40:]), Digest: le.Uint64(b[48:]),
	}
	if err := m.decodeBody(le.Uint32(b[56:]), b[headBytes:]); err != nil {
		return Message{}, err
	}
	return m, nil
}

// sum returns the checksum of a message: all bytes but the checksum's own.
func sum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:60], castagnoli), castagnoli, b[headBytes:])
}

func (m *Message) decodeBody(count uint32, body []byte) error {
	if m.Node == 0 || m.SentNs < 0 || m.DigestPos > MaxPosition || (m.Term == 0) != (m.Kind == Base) {
		return fmt.Errorf("%w: a field of the head is out of range", ErrDamaged)
	}
	switch m.Kind {
	case Records:
		if err := checkRecords(count, body); err != nil {
			return err
		}
		m.first, m.count, m.records = le.Uint64(body), count, body[firstBytes:]
		return nil
	case Beat:
	case Term:
		m.Info, body = body, nil
	case Base:
		if len(body) < baseBytes {
			return fmt.Errorf("%w: a base message of %d bytes", ErrDamaged, len(body))
		}
		copy(m.History[:], body)
		if m.Start = le.Uint64(body[16:]); m.Start > MaxPosition || m.History == [16]byte{} {
			return fmt.Errorf("%w: a base message at position %d of the history %x", ErrDamaged, m.Start, m.History)
		}
		m.Info, body = body[baseBytes:], nil
	default:
		return fmt.Errorf("%w: kind %d", ErrDamaged, m.Kind)
	}
	if count != 0 || len(body) != 0 || len(m.Info) > MaxInfo {
		return fmt.Errorf("%w: %d bytes and %d records do not belong to kind %d", ErrDamaged, len(body), count, m.Kind)
	}
	return nil
}

// checkRecords verifies that a body has exactly so many records, each well formed.
func checkRecords(count uint32, b []byte) error {
	if len(b) < firstBytes {
		return fmt.Errorf("%w: %d bytes without the position of the first record", ErrDamaged, len(b))
	}
	first := le.Uint64(b)
	if count == 0 || uint64(count) > uint64(len(b)) || first == 0 || first > MaxPosition-uint64(count) {
		return fmt.Errorf("%w: %d records from %d", ErrDamaged, count, first)
	}
	for b = b[firstBytes:]; count > 0; count-- {
		n, size := binary.Uvarint(b)
		if size <= 0 || n == 0 || n > uint64(len(b)-size) || size > 1 && b[size-1] == 0 {
			return fmt.Errorf("%w: a record of %d bytes", ErrDamaged, n)
		}
		b = b[size+int(n):]
	}
	if len(b) != 0 {
		return fmt.Errorf("%w: %d bytes behind the last record", ErrDamaged, len(b))
	}
	return nil
}

// All iterates over the records, with their positions, in their order.
//
// Retains: a record refers to the bytes of the message.
func (m *Message) All() iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		pos := m.first
		for b := m.records; len(b) > 0; pos++ {
			n, size := binary.Uvarint(b)
			if !yield(pos, b[size:size+int(n)]) {
				return
			}
			b = b[size+int(n):]
		}
	}
}
