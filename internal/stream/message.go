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
	Records Kind = 1 + iota // records of one or several logs
	Beat                    // the writer has nothing to send, and is alive
	Term                    // a node becomes the writer
	Base                    // the first message: the history and the positions at which it begins
)

// Log names one of the logs whose records travel in the stream.
type Log uint8

// The logs of an exchange.
const (
	Engine Log = 1 + iota
	Accounts
)

// Logs is the number of logs.
const Logs = 2

// Positions has the position of the last record of each log, Engine first.
type Positions [Logs]uint64

// Of returns the position of a log.
func (p Positions) Of(l Log) uint64 { return p[l-1] }

// Limits of the format.
const (
	MaxMessage = 512 << 10 // bytes; the default limit of a NATS server is 1 MiB
	MaxRecord  = MaxMessage - headBytes - partBytes - maxLength
	MaxInfo    = 64 << 10 // bytes that a term or base message carries for its readers
	// MaxPosition is the largest position that a message may name, so that no sum overflows. No log grows that long.
	MaxPosition = 1<<62 - 1
)

const (
	magic     = "THM1"
	version   = 3
	headBytes = 64
	partBytes = 16
	maxLength = 3 // bytes of the length of a record: MaxMessage is below 1<<21
	baseBytes = 16 + 8*Logs
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
	// Digest is the owner's digest of its state after the record DigestPos of the engine's log, 0 and 0 for none.
	DigestPos, Digest uint64
	// Info holds what a term or base message carries for its readers.
	Info []byte
	// History and Start are set in Base: the identity of the exchange, and the positions before its first record.
	History [16]byte
	Start   Positions

	parts []byte
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

func (m *Message) decodeBody(parts uint32, body []byte) error {
	if m.Node == 0 || m.SentNs < 0 || m.DigestPos > MaxPosition || (m.Term == 0) != (m.Kind == Base) {
		return fmt.Errorf("%w: a field of the head is out of range", ErrDamaged)
	}
	switch m.Kind {
	case Records:
		m.parts = body
		return checkParts(parts, body)
	case Beat:
	case Term:
		m.Info, body = body, nil
	case Base:
		if len(body) < baseBytes {
			return fmt.Errorf("%w: a base message of %d bytes", ErrDamaged, len(body))
		}
		copy(m.History[:], body)
		for i := range m.Start {
			if m.Start[i] = le.Uint64(body[16+8*i:]); m.Start[i] > MaxPosition {
				return fmt.Errorf("%w: position %d", ErrDamaged, m.Start[i])
			}
		}
		if m.History == [16]byte{} {
			return fmt.Errorf("%w: a base message without a history", ErrDamaged)
		}
		m.Info, body = body[baseBytes:], nil
	default:
		return fmt.Errorf("%w: kind %d", ErrDamaged, m.Kind)
	}
	if parts != 0 || len(body) != 0 || len(m.Info) > MaxInfo {
		return fmt.Errorf("%w: %d bytes and %d parts do not belong to kind %d", ErrDamaged, len(body), parts, m.Kind)
	}
	return nil
}

// checkParts verifies that a body has exactly so many parts, each well formed, and that neighbours differ in their
// log, so that equal records have equal bytes.
func checkParts(parts uint32, b []byte) error {
	if parts == 0 {
		return fmt.Errorf("%w: no part", ErrDamaged)
	}
	var before Log
	for ; parts > 0; parts-- {
		if len(b) < partBytes {
			return fmt.Errorf("%w: the body ends before a part", ErrDamaged)
		}
		log, count, first := Log(b[0]), le.Uint32(b[4:]), le.Uint64(b[8:])
		switch {
		case log < Engine || log > Accounts || log == before || b[1] != 0 || b[2] != 0 || b[3] != 0:
			return fmt.Errorf("%w: a part of log %d behind one of log %d", ErrDamaged, log, before)
		case count == 0 || uint64(count) > uint64(len(b)) || first == 0 || first > MaxPosition-uint64(count):
			return fmt.Errorf("%w: a part of %d records from %d", ErrDamaged, count, first)
		}
		b, before = b[partBytes:], log
		for ; count > 0; count-- {
			n, size := binary.Uvarint(b)
			if size <= 0 || n == 0 || n > uint64(len(b)-size) || size > 1 && b[size-1] == 0 {
				return fmt.Errorf("%w: a record of %d bytes", ErrDamaged, n)
			}
			b = b[size+int(n):]
		}
	}
	if len(b) != 0 {
		return fmt.Errorf("%w: %d bytes behind the last part", ErrDamaged, len(b))
	}
	return nil
}

// Place names a record by its log and its position there.
type Place struct {
	Log Log
	Pos uint64
}

// All iterates over the records in their order.
//
// Retains: a record refers to the bytes of the message.
func (m *Message) All() iter.Seq2[Place, []byte] {
	return func(yield func(Place, []byte) bool) {
		for b := m.parts; len(b) > 0; {
			at := Place{Log(b[0]), le.Uint64(b[8:])}
			count := le.Uint32(b[4:])
			b = b[partBytes:]
			for range count {
				n, size := binary.Uvarint(b)
				if !yield(at, b[size:size+int(n)]) {
					return
				}
				b = b[size+int(n):]
				at.Pos++
			}
		}
	}
}

// follow adds the records of m to p. It reports false, and the change of p is of no use, unless each part
// begins directly behind the last position of its log.
func (p *Positions) follow(m *Message) bool {
	for b := m.parts; len(b) > 0; {
		log, count := Log(b[0]), le.Uint32(b[4:])
		if le.Uint64(b[8:]) != p[log-1]+1 {
			return false
		}
		p[log-1] += uint64(count)
		for b = b[partBytes:]; count > 0; count-- {
			n, size := binary.Uvarint(b)
			b = b[size+int(n):]
		}
	}
	return true
}
