package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"strconv"
	"sync"

	"tickhive/accounts"
)

// nonceFile keeps the nonces that a later process must still refuse. A line is `timestamp
// publicKey nonce`; it is written before the request is answered, so that it outlives the
// process. With the nonce `*` a line is the key's floor: all its requests of older
// timestamps are refused, and their lines are gone.
//
// A clock may go back over a restart, so which nonces are kept is a matter of the file alone:
// a request is let in at most 60 s before or after its timestamp, so the clock has been
// at the newest timestamp less 60 s. Whatever is older than that is refused by its
// timestamp (notBefore), whatever is not is a line or below its key's floor.
//
// What is kept are the nonces that the table of accounts.Verifier has, 16 Mi at most. The
// rest is dropped while new lines are added, so that there are at most 2.2 lines for each:
// 4.4 GB with the longest nonces.
type nonceFile struct {
	mu     sync.Mutex
	f      *os.File
	size   int64
	limit  int64                        // size at which lines that are not needed any more are dropped
	least  int64                        // of limit
	newest int64                        // timestamp, ms; of all lines that ever were: its line is never dropped
	floor  func(publicKey []byte) int64 // of the present process (follow)
	pass   *nonceShrink                 // nil: none is under way
	line   []byte                       // scratch of keep
	failed error                        // of reading the file at the start
}

const (
	nonceFileLimit = 1 << 20
	floorMark      = "*" // no nonce has this character
	// shrinkLines is how many lines a request looks at while lines are dropped. The pass is
	// over when the file has grown by a seventh, and no request waits for all of it.
	shrinkLines = 8
)

// openNonceFile opens or makes the file. knownMs is the last time that anything else knows:
// the clock, the journals. Timestamps before notBeforeMs are to be refused, and what used
// yields; follow comes next. A line that is none, such as one cut short, is left out.
func openNonceFile(path string, knownMs int64) (n *nonceFile, notBeforeMs int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("data directory: %w", err)
	}
	n = &nonceFile{f: f, least: nonceFileLimit, floor: func([]byte) int64 { return 0 }}
	for l := range n.lines {
		n.size, n.newest = l.end, max(n.newest, l.timestampMs)
	}
	if err = n.failed; err == nil {
		err = f.Truncate(n.size) // a line that was cut short would spoil the next one
	}
	if err != nil {
		return nil, 0, nonceError(errors.Join(err, f.Close()))
	}
	n.limit = max(n.least, n.size)
	return n, max(knownMs, n.notBefore()), nil
}

// used yields the nonces of timestamps at or after notBeforeMs in the order of their use,
// and the floors.
func (n *nonceFile) used(notBeforeMs int64) iter.Seq[accounts.UsedNonce] {
	return func(yield func(accounts.UsedNonce) bool) {
		for l := range n.lines {
			u := accounts.UsedNonce{PublicKey: string(l.key), Nonce: string(l.nonce), TimestampMs: l.timestampMs}
			if u.Nonce == floorMark {
				u.Nonce = ""
			}
			if u.TimestampMs >= notBeforeMs && !yield(u) {
				return
			}
		}
	}
}

// follow has lines dropped that are below the floor of their key in the present process,
// which has taken what used yields. It returns the error of that, if there was one.
func (n *nonceFile) follow(floor func(publicKey []byte) int64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.floor = floor
	if n.failed != nil {
		return nonceError(n.failed)
	}
	return nil
}

// notBefore is a time that the clock has reached. Caller: holds mu, or is alone.
func (n *nonceFile) notBefore() int64 { return n.newest - accounts.MaxWindowMs }

// nonceLine is one line; its slices are valid until the next one is read.
type nonceLine struct {
	timestampMs int64
	key, nonce  []byte
	text        []byte
	end         int64 // offset of what follows
}

func parseNonceLine(text []byte) (l nonceLine, ok bool) {
	stamp, rest, _ := bytes.Cut(text, []byte(" "))
	key, nonce, ok := bytes.Cut(rest, []byte(" "))
	nonce, ended := bytes.CutSuffix(nonce, []byte("\n"))
	ms, err := strconv.ParseInt(string(stamp), 10, 64)
	return nonceLine{timestampMs: ms, key: key, nonce: nonce, text: text}, ok && ended && err == nil && !bytes.Contains(nonce, []byte(" "))
}

// lines yields the lines of the file. It stops at an error, which is in failed then.
func (n *nonceFile) lines(yield func(nonceLine) bool) {
	in, at := newNonceReader(n.f), int64(0)
	for {
		text, err := in.ReadSlice('\n')
		at += int64(len(text))
		if l, ok := parseNonceLine(text); ok {
			l.end = at
			if !yield(l) {
				return
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) { // full: no line is that long
			if !errors.Is(err, io.EOF) {
				n.failed = err
			}
			return
		}
	}
}

func newNonceReader(f io.ReaderAt) *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(f, 0, math.MaxInt64), 64<<10)
}

// keep notes a used nonce, unless its timestamp will be refused. The clock is not asked.
func (n *nonceFile) keep(_, timestampMs int64, publicKey string, nonce []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if timestampMs < n.notBefore() {
		return nil
	}
	if n.pass == nil && n.size >= n.limit {
		n.pass = newNonceShrink(n.f)
	}
	if n.pass != nil {
		if err := n.shrink(); err != nil {
			n.pass = nil
			return nonceError(err)
		}
	}
	n.line = append(append(strconv.AppendInt(n.line[:0], timestampMs, 10), ' '), publicKey...)
	n.line = append(append(append(n.line, ' '), nonce...), '\n')
	if _, err := n.f.WriteAt(n.line, n.size); err != nil {
		return nonceError(err)
	}
	n.size += int64(len(n.line))
	n.newest = max(n.newest, timestampMs)
	return nil
}

func (n *nonceFile) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.f.Close()
}

func nonceError(err error) error { return fmt.Errorf("data directory: nonces: %w", err) }
