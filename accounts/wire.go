package accounts

import (
	"encoding/binary"
	"errors"

	"tickhive/internal/fixed"
)

// errCorrupt reports a record or snapshot that does not decode. The log's checksums detect
// damage first, so the cause is a defect or the file of another program.
var errCorrupt = errors.New("accounts: the bytes are not of this format")

// maxText bounds a decoded text; the longest real one is a name of 64 code points.
const maxText = 4096

func putUint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

func putInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

func putText(b []byte, s string) []byte { return append(putUint(b, uint64(len(s))), s...) }

func putBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func putMoney(b []byte, v fixed.I128) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, uint64(v.Hi)), v.Lo)
}

// putSum writes a sum of 192 bits.
func putSum(b []byte, v fixed.I192) []byte {
	for _, w := range [...]uint64{v.W0, v.W1, v.W2} {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func putOptional(b []byte, s *string) []byte {
	if s == nil {
		return append(b, 0)
	}
	return putText(append(b, 1), *s)
}

func putTexts(b []byte, list []string) []byte {
	b = putUint(b, uint64(len(list)))
	for _, s := range list {
		b = putText(b, s)
	}
	return b
}

// reader decodes records and snapshots. After the first fault everything reads as zero and bad
// stays true.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() {
	r.bad, r.b = true, nil
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) uint32() uint32 {
	v := r.uint()
	if v > 1<<32-1 {
		r.fail()
		return 0
	}
	return uint32(v)
}

// rate reads a rate, at most 1.
func (r *reader) rate() uint32 {
	v := r.uint32()
	if v > RateOne {
		r.fail()
		return 0
	}
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

// below reads a byte that is less than limit.
func (r *reader) below(limit byte) byte {
	v := r.byte()
	if v >= limit {
		r.fail()
		return 0
	}
	return v
}

func (r *reader) bool() bool { return r.below(2) == 1 }

func (r *reader) money() fixed.I128 {
	if len(r.b) < 16 {
		r.fail()
		return fixed.I128{}
	}
	v := fixed.I128{Hi: int64(binary.LittleEndian.Uint64(r.b)), Lo: binary.LittleEndian.Uint64(r.b[8:])}
	r.b = r.b[16:]
	return v
}

func (r *reader) text() string {
	n := r.uint()
	if n > maxText || n > uint64(len(r.b)) {
		r.fail()
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) optional() *string {
	if !r.bool() {
		return nil
	}
	s := r.text()
	return &s
}

// count reads the length of a list whose entries have at least least bytes each. A wrong length
// therefore cannot make the reader allocate more entries than the input can hold.
func (r *reader) count(least int) int {
	n := r.uint()
	if n > uint64(len(r.b)/least) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) texts() []string {
	n := r.count(1)
	var list []string
	for i := 0; i < n && !r.bad; i++ {
		list = append(list, r.text())
	}
	return list
}

// end reports a fault, or bytes that are left over.
func (r *reader) end() error {
	if r.bad || len(r.b) != 0 {
		return errCorrupt
	}
	return nil
}
