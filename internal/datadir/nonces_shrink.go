package datadir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// nonceShrink is one pass over a Nonces. It moves the required lines to the beginning of
// the file, a few at each request:
//
//	0          written             read              size
//	| retained  | already read ...  | not yet read ... | new lines
//
// written never exceeds read. A process that ends during a pass therefore leaves every required
// line, some of them twice, and at written the rest of a line. This rest begins in the middle of
// the line, so it is invalid or has a shorter timestamp, which is before notBefore.
type nonceShrink struct {
	in            *bufio.Reader
	read, written int64
	out           []byte // retained lines, not yet written
	keys          map[string]nonceFloor
}

// nonceFloor is a key's floor, read at the key's first line of the pass and used for all its
// lines. Dropped lines are therefore below the floor in the file.
type nonceFloor struct {
	ms   int64
	told bool // a line with the floor was retained
}

const shrinkWrite = 32 << 10

func newNonceShrink(f *os.File) *nonceShrink {
	return &nonceShrink{in: newNonceReader(f), keys: map[string]nonceFloor{}}
}

// shrink continues the pass and ends it at the end of the file. Caller: holds mu.
func (n *Nonces) shrink() error {
	p := n.pass
	for range shrinkLines {
		if p.read == n.size {
			return n.shrunk()
		}
		text, err := p.in.ReadSlice('\n')
		if errors.Is(err, io.EOF) { // the file has grown since the reader reached its end
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

// appendKept appends a required line. In place of the first obsolete line of a key it appends
// the key's floor, unless the floor is longer: then the line stays.
func (n *Nonces) appendKept(dst []byte, l *nonceLine) []byte {
	floor, met := n.pass.keys[string(l.key)]
	if !met {
		floor.ms = n.floor(l.key)
		n.pass.keys[string(l.key)] = floor
	}
	if l.timestampMs == n.newest || l.timestampMs >= floor.ms && string(l.nonce) != floorMark {
		return append(dst, l.text...)
	}
	if floor.told || floor.ms == math.MaxInt64 { // MaxInt64: the key is deleted
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

// shrunk ends the pass and truncates the file after the retained lines.
func (n *Nonces) shrunk() error {
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
