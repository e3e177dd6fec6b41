package datadir

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

	"tickhive/accounts/auth"
)

// Nonces holds the nonces that a later process must still refuse. A line is `timestamp
// publicKey nonce`. It is written before the request is answered, so that it survives the
// process. A line with the nonce `*` is the key's floor: all requests of the key with older
// timestamps are refused, and their lines are removed.
//
// A clock may go back over a restart, so the file alone decides which nonces are retained. A
// request is accepted at most 60 s before or after its timestamp, so the clock has reached the
// newest timestamp minus 60 s. A request older than this is refused by its timestamp
// (notBefore). A newer one has a line or is below its key's floor.
//
// The file retains the nonces that the table of auth.Verifier holds, 16 Mi at most. Other
// lines are dropped while new ones are added, so that the file has at most 2.2 lines per
// retained nonce: 4.4 GB with the longest nonces.
type Nonces struct {
	mu     sync.Mutex
	f      *os.File
	size   int64
	limit  int64                        // size at which obsolete lines are dropped
	least  int64                        // minimum of limit
	newest int64                        // timestamp, ms; newest of all lines ever written: its line is never dropped
	floor  func(publicKey []byte) int64 // floors of the present process (Follow)
	pass   *nonceShrink                 // nil: no pass under way
	line   []byte                       // scratch buffer of Keep
	failed error                        // error of reading the file at the start
}

const (
	nonceFileLimit = 1 << 20
	floorMark      = "*" // no nonce has this character
	// shrinkLines is the number of lines that a request examines while a pass is under way. The
	// pass ends when the file has grown by a seventh, and no request waits for the whole pass.
	shrinkLines = 8
)

// openNonces opens or creates the file. knownMs is the latest time that any other source
// knows: the clock, the journals. The caller must refuse timestamps before notBeforeMs and
// every nonce that Used yields, and then call Follow. An invalid line, for example a truncated
// one, is ignored.
func openNonces(path string, knownMs int64) (n *Nonces, notBeforeMs int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("data directory: %w", err)
	}
	n = &Nonces{f: f, least: nonceFileLimit, floor: func([]byte) int64 { return 0 }}
	for l := range n.lines {
		n.size, n.newest = l.end, max(n.newest, l.timestampMs)
	}
	if err = n.failed; err == nil {
		err = f.Truncate(n.size) // a truncated line would corrupt the next one
	}
	if err != nil {
		return nil, 0, nonceError(errors.Join(err, f.Close()))
	}
	n.limit = max(n.least, n.size)
	return n, max(knownMs, n.notBefore()), nil
}

// Used yields the nonces with timestamps at or after notBeforeMs, and the floors, in the order
// of their use.
func (n *Nonces) Used(notBeforeMs int64) iter.Seq[auth.UsedNonce] {
	return func(yield func(auth.UsedNonce) bool) {
		for l := range n.lines {
			u := auth.UsedNonce{PublicKey: string(l.key), Nonce: string(l.nonce), TimestampMs: l.timestampMs}
			if u.Nonce == floorMark {
				u.Nonce = ""
			}
			if u.TimestampMs >= notBeforeMs && !yield(u) {
				return
			}
		}
	}
}

// Follow sets the floors below which lines may be dropped: those of the present process, after
// it has read Used. It returns the error of that read, if any.
func (n *Nonces) Follow(floor func(publicKey []byte) int64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.floor = floor
	if n.failed != nil {
		return nonceError(n.failed)
	}
	return nil
}

// notBefore returns a time in ms that the clock has reached. Caller: holds mu, or has
// exclusive access.
func (n *Nonces) notBefore() int64 { return n.newest - auth.MaxWindowMs }

// nonceLine is one line. Its slices are valid until the next line is read.
type nonceLine struct {
	timestampMs int64
	key, nonce  []byte
	text        []byte
	end         int64 // offset of the next line
}

func parseNonceLine(text []byte) (l nonceLine, ok bool) {
	stamp, rest, _ := bytes.Cut(text, []byte(" "))
	key, nonce, ok := bytes.Cut(rest, []byte(" "))
	nonce, ended := bytes.CutSuffix(nonce, []byte("\n"))
	ms, err := strconv.ParseInt(string(stamp), 10, 64)
	ok = ok && ended && err == nil && !bytes.Contains(nonce, []byte(" "))
	return nonceLine{timestampMs: ms, key: key, nonce: nonce, text: text}, ok
}

// lines yields the lines of the file. It stops at an error and stores it in failed.
func (n *Nonces) lines(yield func(nonceLine) bool) {
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
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) { // buffer full: no valid line is that long
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

// Keep writes a used nonce, unless its timestamp will be refused. It ignores the current time.
func (n *Nonces) Keep(_, timestampMs int64, publicKey string, nonce []byte) error {
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

func (n *Nonces) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.f.Close()
}

func nonceError(err error) error { return fmt.Errorf("data directory: nonces: %w", err) }
