package gzjoin

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"
)

// level is the effort of compression: 4 gives 90 % of the savings of 9 in a third of the time.
const level = 4

// partHead is the length of the numbers in front of the blocks of a Part: CRC-32 and length of the text.
const partHead = 8

// Part is a compressed piece. AppendPart makes it; it is frozen.
type Part []byte

var writers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, level)
	if err != nil {
		panic(fmt.Sprintf("BUG: gzjoin: level %d: %v", level, err))
	}
	return w
}}

// AppendPart appends the part of text, whose length is below 4 GiB. Equal texts give equal parts.
func AppendPart(dst, text []byte) Part {
	dst = binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(text))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
	out := bytes.NewBuffer(dst)
	w, _ := writers.Get().(*flate.Writer)
	w.Reset(out)
	_, _ = w.Write(text) // writing into memory never fails
	_ = w.Flush()
	writers.Put(w)
	return out.Bytes()
}

// Joiner counts the parts of one file. Its zero value is the file without parts.
type Joiner struct {
	crc, size uint32
}

// AppendHead appends the beginning of every file: no name, no time, so that equal texts give equal files.
func AppendHead(dst []byte) []byte {
	return append(dst, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)
}

// Add returns the bytes of p that come next in the file. They are frozen.
func (j *Joiner) Add(p Part) []byte {
	crc, size := binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:])
	j.crc = joinCRC(j.crc, crc, size)
	j.size += size // gzip counts modulo 2^32
	return p[partHead:]
}

// AppendTail appends the end of the file.
func (j *Joiner) AppendTail(dst []byte) []byte {
	dst = append(dst, 3, 0) // a last block without content
	dst = binary.LittleEndian.AppendUint32(dst, j.crc)
	return binary.LittleEndian.AppendUint32(dst, j.size)
}
