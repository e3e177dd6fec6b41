package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/tickhive/tickhive/internal/wal"
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
	MaxRecord  = MaxMessage - headBytes - maxLength
	MaxInfo    = 64 << 10 // bytes that a term or base message carries for its readers
	// MaxPosition is the largest position that a message may name, so that no sum overflows. No log grows that long.
	MaxPosition = 1<<62 - 1
)

const (
	magic       = "THM2"
	formerMagic = "THM"
	version     = 5
	macAt       = 104 // MACBytes
	headBytes   = macAt + MACBytes
	maxLength   = 3 // bytes of the length of a record: MaxMessage is below 1<<21
	baseBytes   = 16
)

// Errors of a message that does not count as one. They are wrapped: use errors.Is.
var (
	// ErrDamaged reports bytes that no node of the cluster has written.
	ErrDamaged = errors.New("stream: the message is damaged")
	// ErrVersion reports a message of another format.
	ErrVersion = errors.New("stream: a program with another format has written this; use the writer's version, or " +
		"begin a new stream")
	// ErrKey reports a message that was signed with a key that this node does not have.
	ErrKey = errors.New("stream: this was signed with another cluster key; cluster.key_file of this node must have " +
		"the key of the writer, and of what is still in the stream, one a line")
)

var le = binary.LittleEndian

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
	// At is the end of the log before the message: its first record comes directly behind. Base says where the log of
	// the stream begins.
	At wal.Position
	// Digest is the writer's digest of its state after the record DigestPos, which is none before At and none behind
	// the message. All are 0 when the message has none.
	DigestPos uint64
	Digest    [4]uint64
	// Info holds what a term or base message carries for its readers.
	Info []byte
	// History is set in Base: the identity of the exchange.
	History [16]byte

	key     uint32 // id of the key that signed it
	count   uint32
	records []byte
}

// MayBeTerm reports whether bytes have the form of a term record. Nothing is verified.
func MayBeTerm(b []byte) bool {
	return len(b) >= headBytes && string(b[:4]) == magic && Kind(b[4]) == Term
}

// Decode verifies and decodes a message. It believes nothing before the MAC is verified.
//
// Errors: ErrDamaged, ErrVersion, ErrKey.
//
// Retains: the Message refers to b.
func Decode(b []byte, k *Keys) (Message, error) {
	m, _, err := decode(b, k)
	return m, err
}

// decode does what Decode does. authentic reports that a node of the cluster has written the bytes, whatever they mean.
func decode(b []byte, k *Keys) (m Message, authentic bool, err error) {
	switch {
	case len(b) < headBytes || len(b) > MaxMessage:
		return m, false, fmt.Errorf("%w: %d bytes, and a message has %d to %d", ErrDamaged, len(b), headBytes,
			MaxMessage)
	case string(b[:4]) != magic && string(b[:3]) == formerMagic:
		return m, false, fmt.Errorf("%w: format %q, and this program reads %s alone", ErrVersion, b[:4], magic)
	case string(b[:4]) != magic:
		return m, false, fmt.Errorf("%w: it does not begin with %s", ErrDamaged, magic)
	}
	m.key = le.Uint32(b[96:])
	if err := k.verify(b, m.key); err != nil {
		return Message{}, false, err
	}
	if b[5] != version {
		return Message{}, true, fmt.Errorf("%w: version %d, and this program reads %d alone", ErrVersion, b[5], version)
	}
	m.Kind, m.Rules, m.Term, m.Node = Kind(b[4]), le.Uint16(b[6:]), le.Uint64(b[8:]), le.Uint64(b[16:])
	m.SentNs, m.Prev = int64(le.Uint64(b[24:])), le.Uint64(b[32:])
	m.At = wal.Position{Seq: le.Uint64(b[40:]), Chain: le.Uint64(b[48:])}
	m.DigestPos = le.Uint64(b[56:])
	for i := range m.Digest {
		m.Digest[i] = le.Uint64(b[64+8*i:])
	}
	m.count = le.Uint32(b[100:])
	if err := m.decodeBody(b[headBytes:]); err != nil {
		return Message{}, true, err
	}
	return m, true, nil
}

func (m *Message) decodeBody(body []byte) error {
	switch {
	case m.Node == 0 || m.SentNs < 0 || m.At.Seq > MaxPosition-uint64(m.count) || (m.Term == 0) != (m.Kind == Base):
		return fmt.Errorf("%w: a field of the head is out of range", ErrDamaged)
	case m.DigestPos == 0 && m.Digest != [4]uint64{}:
		return fmt.Errorf("%w: a digest without a position", ErrDamaged)
	case m.DigestPos != 0 && (m.DigestPos < m.At.Seq || m.DigestPos > m.Last()):
		return fmt.Errorf("%w: a digest of record %d in a message of records %d to %d",
			ErrDamaged, m.DigestPos, m.At.Seq+1, m.Last())
	}
	switch m.Kind {
	case Records:
		m.records = body
		return checkRecords(m.count, body)
	case Beat:
	case Term:
		m.Info, body = body, nil
	case Base:
		if len(body) < baseBytes {
			return fmt.Errorf("%w: a base message of %d bytes", ErrDamaged, len(body))
		}
		if copy(m.History[:], body); m.History == [16]byte{} {
			return fmt.Errorf("%w: a base message without a history", ErrDamaged)
		}
		m.Info, body = body[baseBytes:], nil
	default:
		return fmt.Errorf("%w: kind %d", ErrDamaged, m.Kind)
	}
	if m.count != 0 || len(body) != 0 || len(m.Info) > MaxInfo {
		return fmt.Errorf("%w: %d bytes and %d records do not belong to kind %d", ErrDamaged, len(body), m.count,
			m.Kind)
	}
	return nil
}

// checkRecords verifies that a body has exactly so many records, each well formed.
func checkRecords(count uint32, b []byte) error {
	if count == 0 {
		return fmt.Errorf("%w: no records", ErrDamaged)
	}
	for ; count > 0; count-- {
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

// Last returns the position of the last record, or of the one before a message without records.
func (m *Message) Last() uint64 { return m.At.Seq + uint64(m.count) }

// end returns the end of the log behind the message.
func (m *Message) end() wal.Position {
	end := m.At
	for _, record := range m.All() {
		end = end.Next(record)
	}
	return end
}

// All iterates over the records, with their positions, in their order.
//
// Retains: a record refers to the bytes of the message.
func (m *Message) All() iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		pos := m.At.Seq + 1
		for b := m.records; len(b) > 0; pos++ {
			n, size := binary.Uvarint(b)
			if !yield(pos, b[size:size+int(n)]) {
				return
			}
			b = b[size+int(n):]
		}
	}
}
