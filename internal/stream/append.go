package stream

import (
	"encoding/binary"
)

// appendHead appends a head. seal completes it when the body follows.
func appendHead(dst []byte, m *Message) []byte {
	dst = append(dst, magic...)
	dst = append(dst, byte(m.Kind), version)
	dst = le.AppendUint16(dst, m.Rules)
	dst = le.AppendUint64(dst, m.Term)
	dst = le.AppendUint64(dst, m.Node)
	dst = le.AppendUint64(dst, uint64(m.SentNs))
	dst = le.AppendUint64(dst, m.Prev)
	dst = le.AppendUint64(dst, m.DigestPos)
	dst = le.AppendUint64(dst, m.Digest)
	return le.AppendUint64(dst, 0) // number of records, checksum
}

// seal sets the number of records and the checksum of a message whose head is at b[0].
func seal(b []byte, count uint32) {
	le.PutUint32(b[56:], count)
	le.PutUint32(b[60:], sum(b))
}

// encode returns a message without records.
func encode(m *Message) []byte {
	b := appendHead(make([]byte, 0, headBytes+baseBytes+len(m.Info)), m)
	if m.Kind == Base {
		b = append(b, m.History[:]...)
		b = le.AppendUint64(b, m.Start)
	}
	b = append(b, m.Info...)
	seal(b, 0)
	return b
}

// builder collects the records of the next message behind the place of its head.
type builder struct {
	buf   []byte
	count uint32
}

// fits reports whether a record fits into the message.
func (b *builder) fits(record []byte) bool {
	return max(len(b.buf), headBytes)+firstBytes+maxLength+len(record) <= MaxMessage
}

// add appends a record, which fits, of the position pos. size is the expected size of the message.
func (b *builder) add(pos uint64, record []byte, size int) {
	if b.count == 0 {
		b.buf = make([]byte, headBytes, max(size, headBytes+firstBytes+maxLength+len(record)))
		b.buf = le.AppendUint64(b.buf, pos)
	}
	b.count++
	b.buf = append(binary.AppendUvarint(b.buf, uint64(len(record))), record...)
}

// take completes the message and returns it, and begins the next one. At least one record was added.
func (b *builder) take(m *Message) []byte {
	data := b.buf
	appendHead(data[:0], m)
	seal(data, b.count)
	*b = builder{}
	return data
}
