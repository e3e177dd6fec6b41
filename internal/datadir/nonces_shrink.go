package datadir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// nonceShrink is one pass over a Nonces. It copies the required lines to a temporary file, a few at
// each request, while new lines go on being written to the file. It ends at the file's end: then
// the temporary file has every required line, is synced, and replaces the file.
type nonceShrink struct {
	in            *bufio.Reader
	f             vfs.File // the temporary file
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

// beginPass begins a pass. If there is no disk space for it, the file continues to grow and a later request
// tries again. The caller must hold mu.
func (n *Nonces) beginPass() {
	f, err := n.fsys.Create(n.path + tempExt)
	if err != nil {
		n.endPass()
		return
	}
	in := bufio.NewReaderSize(&nonceLines{n: n}, nonceBuffer)
	n.pass = &nonceShrink{in: in, f: f, keys: map[string]nonceFloor{}}
}

// nonceLines reads the lines of a file that grows, and not its last line, which moves.
type nonceLines struct {
	n  *Nonces
	at int64
}

// Read implements io.Reader. The caller must hold mu.
func (l *nonceLines) Read(b []byte) (int, error) {
	left := l.n.size - l.at
	if left == 0 {
		return 0, io.EOF
	}
	k, err := l.n.f.ReadAt(b[:min(int64(len(b)), left)], l.at)
	l.at += int64(k)
	return k, err
}

// endPass gives up a pass. The next one begins after the file has grown by a seventh. The caller must hold mu.
func (n *Nonces) endPass() {
	if n.pass != nil {
		_ = n.pass.f.Close()
		_ = n.fsys.Remove(n.path + tempExt)
	}
	n.pass, n.limit = nil, n.size+n.size/7
}

// shrink continues the pass, and ends it at the end of the file. The caller must hold mu.
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
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendKept appends a line that is still required and drops an obsolete line. The key's floor, a line of its own,
// replaces the first obsolete line of each key, unless the floor is longer than that line: then the line stays.
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
	dst = appendNonceLine(dst, max(floor.ms, l.timestampMs), string(l.key), []byte(floorMark))
	if len(dst)-kept > len(l.text) {
		return append(dst[:kept], l.text...)
	}
	n.pass.keys[string(l.key)] = nonceFloor{floor.ms, true}
	return dst
}

func (p *nonceShrink) flush() error {
	_, err := p.f.WriteAt(p.out, p.written)
	p.written += int64(len(p.out))
	p.out = p.out[:0]
	return err
}

// shrunk ends the pass: the temporary file replaces the file.
func (n *Nonces) shrunk() error {
	p := n.pass
	err := p.flush()
	if err == nil {
		_, err = p.f.WriteAt(appendNonceEnd(nil, p.written), p.written)
	}
	if err == nil {
		err = p.f.Sync()
	}
	if err == nil {
		err = n.fsys.Rename(n.path+tempExt, n.path)
	}
	if err != nil {
		return err
	}
	n.dropWindow()
	n.window.off = false
	if n.sync.always || n.sync.dirty != nil {
		n.old = append(n.old, n.f)
	} else { // no sync is using the old file
		_ = n.f.Close()
	}
	n.f = p.f
	n.size, n.limit, n.pass = p.written, max(n.least, p.written*3/2), nil
	if err := n.fsys.SyncDir(filepath.Dir(n.path)); err != nil {
		n.broken = fmt.Errorf("%w: %w", wal.ErrStopped, err)
	}
	return n.broken
}
