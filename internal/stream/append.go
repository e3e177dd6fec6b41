package stream

import (
	"encoding/binary"

	"github.com/tickhive/tickhive/internal/wal"
)

// appendHead appends a head. sign completes it when the body follows.
func appendHead(dst []byte, m *Message) []byte {
	dst = append(dst, magic...)
	dst = append(dst, byte(m.Kind), version)
	dst = le.AppendUint16(dst, m.Rules)
	dst = le.AppendUint64(dst, m.Term)
	dst = le.AppendUint64(dst, m.Node)
	dst = le.AppendUint64(dst, uint64(m.SentNs))
	dst = le.AppendUint64(dst, m.Prev)
	dst = le.AppendUint64(dst, m.At.Seq)
	dst = le.AppendUint64(dst, m.At.Chain)
	dst = le.AppendUint64(dst, m.DigestPos)
	for _, part := range m.Digest {
		dst = le.AppendUint64(dst, part)
	}
	return append(dst, make([]byte, headBytes-96)...) // key, number of records, MAC
}

// encode returns a message without records, signed with the key m.key.
func encode(m *Message, k *Keys) []byte {
	b := appendHead(make([]byte, 0, headBytes+baseBytes+len(m.Info)), m)
	if m.Kind == Base {
		b = append(b, m.History[:]...)
	}
	b = append(b, m.Info...)
	k.sign(b, m.key)
	return b
}

// builder collects the records of the next message behind the place of its head.
type builder struct {
	at    wal.Position // before the first record
	buf   []byte
	count uint32
}

// fits reports whether records of a size fit into the message.
func (b *builder) fits(size int) bool { return max(len(b.buf), headBytes)+size <= MaxMessage }

// add appends a record, which fits. size is the expected size of the message.
func (b *builder) add(record []byte, size int) {
	if b.count == 0 {
		b.buf = make([]byte, headBytes, max(size, headBytes+maxLength+len(record)))
	}
	b.count++
	b.buf = append(binary.AppendUvarint(b.buf, uint64(len(record))), record...)
}

// take completes the message and returns it, and begins the next one. At least one record was added.
func (b *builder) take(m *Message, k *Keys) []byte {
	data := b.buf
	appendHead(data[:0], m)
	le.PutUint32(data[100:], b.count)
	k.sign(data, m.key)
	*b = builder{}
	return data
}
