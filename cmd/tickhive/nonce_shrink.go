package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// nonceShrink is one pass over a nonceFile that moves the lines that are still needed to
// its beginning, a few at each request:
//
//	0          written             read              size
//	| kept ...  | what was read ... | not yet read ... | new lines
//
// written is never beyond read, so a process that ends in between leaves every line that is
// needed, some of them twice, and the rest of a line where written is: it begins in
// the middle, so it is none or has a shorter timestamp, which is before notBefore.
type nonceShrink struct {
	in            *bufio.Reader
	read, written int64
	out           []byte // kept, not yet written
	keys          map[string]nonceFloor
}

// nonceFloor is a key's floor when a pass met the key first, and the same for all its lines:
// what is dropped is below the floor that the file has.
type nonceFloor struct {
	ms   int64
	told bool // a line with it is kept
}

const shrinkWrite = 32 << 10

func newNonceShrink(f *os.File) *nonceShrink {
	return &nonceShrink{in: newNonceReader(f), keys: map[string]nonceFloor{}}
}

// shrink goes on with the pass and ends it at the end of the file. Caller: holds mu.
func (n *nonceFile) shrink() error {
	p := n.pass
	for range shrinkLines {
		if p.read == n.size {
			return n.shrunk()
		}
		text, err := p.in.ReadSlice('\n')
		if errors.Is(err, io.EOF) { // the file has grown since the reader met its end
			text, err = p.in.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		p.read += int64(len(text))
		if l, ok := parseNonceLine(text); ok && l.timestampMs >= n.notBefore() {
			p.out = n.appendKept(p.out, &l)
		}
		if len(p.out) >= shrinkWrite {
			if err := p.flush(n.f); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendKept appends a line, or, in place of the first of its key that is not needed any
// more, the key's floor. That is never longer, or the line stays.
func (n *nonceFile) appendKept(dst []byte, l *nonceLine) []byte {
	floor, met := n.pass.keys[string(l.key)]
	if !met {
		floor.ms = n.floor(l.key)
		n.pass.keys[string(l.key)] = floor
	}
	if l.timestampMs == n.newest || l.timestampMs >= floor.ms && string(l.nonce) != floorMark {
		return append(dst, l.text...)
	}
	if floor.told || floor.ms == math.MaxInt64 { // the key is deleted
		return dst
	}
	kept := len(dst)
	dst = fmt.Appendf(dst, "%d %s %s\n", max(floor.ms, l.timestampMs), l.key, floorMark)
	if len(dst)-kept > len(l.text) {
		return append(dst[:kept], l.text...)
	}
	n.pass.keys[string(l.key)] = nonceFloor{floor.ms, true}
	return dst
}

func (p *nonceShrink) flush(f *os.File) error {
	_, err := f.WriteAt(p.out, p.written)
	p.written += int64(len(p.out))
	p.out = p.out[:0]
	return err
}

// shrunk cuts the file behind what was kept.
func (n *nonceFile) shrunk() error {
	p := n.pass
	if err := p.flush(n.f); err != nil {
		return err
	}
	if err := n.f.Truncate(p.written); err != nil {
		return err
	}
	n.size, n.limit, n.pass = p.written, max(n.least, p.written*3/2), nil
	return nil
}
