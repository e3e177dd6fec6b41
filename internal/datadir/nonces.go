package datadir

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
	"strconv"
	"sync"

	"tickhive/accounts/auth"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// Nonces holds the nonces that a later process must still refuse. A line is `~crc32c timestamp
// publicKey nonce`. It is written before the request is answered, so that it survives the
// process; see writer.go for a power cut. A line with the nonce `*` is the key's floor: all
// requests of the key with older timestamps are refused, and their lines are removed.
//
// The last line, `~crc32c offset` with its own offset, proves that no line behind it is missing; each write
// moves it. Zeros may follow it (nonces_window.go). Without it, or with anything else that is not valid, the used
// nonces are not known: the start begins the file again with a line that refuses every timestamp that the last
// process can have accepted.
//
// A clock may go back over a restart, so the file alone decides which nonces are retained. A
// request is accepted at most 60 s before or after its timestamp, so the clock has reached the
// newest timestamp minus 60 s. A request older than this is refused by its timestamp
// (notBefore). A newer one has a line or is below its key's floor.
//
// The file retains the nonces that the table of auth.Verifier holds, 16 Mi at most. Other
// lines are dropped while new ones are added, so that the file has at most 2.2 lines per
// retained nonce: 4.8 GB with the longest nonces, and half as much again during a pass.
type Nonces struct {
	fsys vfs.FS
	path string

	mu    sync.Mutex
	f     vfs.File   // nil: it is damaged and could not be made again
	old   []vfs.File // files that f has replaced; a sync may still use them, and the next sync closes them
	size  int64
	limit int64 // size of the file at which a pass drops obsolete lines
	least int64 // smallest value of limit
	// newest timestamp of all lines ever written, in ms; its line is never dropped
	newest int64
	floor  func(publicKey []byte) int64 // returns the floor that a key has in this process (Follow)
	pass   *nonceShrink                 // the pass that drops obsolete lines; nil: none
	window nonceWindow                  // of f
	line   []byte                       // scratch buffer of Keep
	failed error                        // error of reading the file at the start
	bad    string                       // what the start has found damaged; empty: nothing
	count  uint64                       // number of lines written
	broken error                        // of a failed sync, or of shut: after which no nonce is accepted

	sync nonceSync
}

const (
	nonceFileLimit = 1 << 20
	nonceBuffer    = 64 << 10
	nonceMark      = '~' // first character of a line with a checksum
	floorMark      = "*" // no nonce and no key has this character
	endDigits      = 19
	endBytes       = len("~01234567 ") + endDigits + len("\n")
	// shrinkLines is the number of lines that each request examines during a pass. A pass ends after the file
	// has grown by a seventh, so no request waits for the whole pass.
	shrinkLines = 8
)

// openNonces opens or creates the file. knownMs is the latest time that the clock or a journal has reached. ended
// reports that the file must be there. The caller must refuse timestamps before notBeforeMs
// and every nonce that Used yields, and must then call Follow.
func openNonces(fsys vfs.FS, path string, knownMs int64, ended bool) (n *Nonces, notBeforeMs int64, err error) {
	n = &Nonces{fsys: fsys, path: path, least: nonceFileLimit, floor: func([]byte) int64 { return 0 }}
	if err := n.open(knownMs, ended); err != nil {
		return nil, 0, nonceError(remedied(err))
	}
	n.limit = max(n.least, n.size)
	return n, max(knownMs, n.notBefore()), nil
}

func (n *Nonces) open(knownMs int64, ended bool) (err error) {
	n.f, err = n.fsys.OpenRW(n.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && ended:
		n.bad = "it is missing"
		n.shut(knownMs)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return n.replace(nil)
	case err == nil:
		err = n.read(knownMs)
	}
	if err != nil && n.f != nil {
		err = errors.Join(err, n.f.Close())
	}
	return err
}

// read verifies the file. It replaces a damaged one.
func (n *Nonces) read(knownMs int64) error {
	total, err := n.f.Size()
	if err != nil {
		return err
	}
	for text, err := range rawLines(n.f) {
		if err != nil {
			return err
		}
		l, ok := parseNonceLine(text)
		switch {
		case ok:
			n.size, n.newest = n.size+int64(len(text)), max(n.newest, l.timestampMs)
			continue
		case string(text) == string(appendNonceEnd(nil, n.size)):
			whole, err := onlyZeros(n.f, n.size+int64(endBytes), total)
			if err != nil || whole {
				return err
			}
		}
		n.bad = fmt.Sprintf("the line at offset %d is not valid", n.size)
		err = n.f.Close()
		n.shut(knownMs)
		return err
	}
	n.bad = fmt.Sprintf("it ends at offset %d without its last line", n.size)
	err = n.f.Close()
	n.shut(knownMs)
	return err
}

// shut replaces a damaged file by one that refuses every timestamp that may have been accepted: those up to
// the window ahead of the latest known time. Where a full disk prevents that, no nonce is accepted until a restart,
// which finds the damaged file again.
func (n *Nonces) shut(knownMs int64) {
	n.newest = max(knownMs, n.notBefore()) + 2*auth.MaxWindowMs + 1
	n.f = nil
	if err := n.replace(appendNonceLine(nil, n.newest, floorMark, []byte(floorMark))); err != nil {
		n.broken = fmt.Errorf("%w: %w", wal.ErrStopped, err)
	}
}

// replace durably makes the file one with these lines, and opens it.
func (n *Nonces) replace(lines []byte) (err error) {
	n.size = int64(len(lines))
	if err := replaceFile(n.fsys, filepath.Dir(n.path), n.path, appendNonceEnd(lines, n.size)); err != nil {
		return err
	}
	n.f, err = n.fsys.OpenRW(n.path)
	return err
}

// Damaged returns what the start has found damaged, empty for nothing. It then refuses all timestamps that may
// have been accepted.
func (n *Nonces) Damaged() string {
	if n == nil {
		return ""
	}
	return n.bad
}

// Failed returns the error after which no nonce is kept until a restart; nil: there was none.
func (n *Nonces) Failed() error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.broken == nil {
		return nil
	}
	return nonceError(n.broken)
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
			if u.TimestampMs >= notBeforeMs && u.PublicKey != floorMark && !yield(u) {
				return
			}
		}
	}
}

// Follow sets the function that returns the floor of a key; lines with timestamps below the floor may be dropped. The
// floors are the present process's, which must have read Used before. Follow returns the error of that read, if any.
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

// parseNonceLine parses a line and verifies its checksum.
func parseNonceLine(text []byte) (l nonceLine, ok bool) {
	const sum = len("~01234567 ")
	if len(text) < sum || text[0] != nonceMark || text[sum-1] != ' ' ||
		[8]byte(text[1:sum-1]) != checksum(text[sum:]) {
		return l, false
	}
	stamp, rest, _ := bytes.Cut(text[sum:], []byte(" "))
	key, nonce, ok := bytes.Cut(rest, []byte(" "))
	nonce, ended := bytes.CutSuffix(nonce, []byte("\n"))
	ms, err := strconv.ParseInt(string(stamp), 10, 64)
	ok = ok && ended && err == nil && !bytes.Contains(nonce, []byte(" "))
	return nonceLine{timestampMs: ms, key: key, nonce: nonce, text: text}, ok
}

func appendNonceLine(dst []byte, timestampMs int64, publicKey string, nonce []byte) []byte {
	at := len(dst)
	dst = append(dst, "~01234567 "...)
	body := len(dst)
	dst = append(append(strconv.AppendInt(dst, timestampMs, 10), ' '), publicKey...)
	dst = append(append(append(dst, ' '), nonce...), '\n')
	crc := checksum(dst[body:])
	copy(dst[at+1:], crc[:])
	return dst
}

// appendNonceEnd appends the last line of a file, which begins at an offset.
func appendNonceEnd(dst []byte, at int64) []byte {
	mark := len(dst)
	dst = append(dst, "~01234567 "...)
	body := len(dst)
	dst = append(dst, "0000000000000000000\n"...)
	for i := body + endDigits - 1; at > 0; i-- {
		dst[i] = byte('0' + at%10)
		at /= 10
	}
	crc := checksum(dst[body:])
	copy(dst[mark+1:], crc[:])
	return dst
}

// lines yields the valid lines of the file. It stops at an error and stores it in failed.
func (n *Nonces) lines(yield func(nonceLine) bool) {
	if n.f == nil {
		return
	}
	at := int64(0)
	for text, err := range rawLines(n.f) {
		if err != nil {
			n.failed = err
			return
		}
		at += int64(len(text))
		if l, ok := parseNonceLine(text); ok {
			l.end = at
			if !yield(l) {
				return
			}
		}
	}
}

// rawLines yields the pieces of a file, each with its newline, or an error at the end. A piece
// without one is longer than any valid line, or the last.
func rawLines(f io.ReaderAt) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(io.NewSectionReader(f, 0, math.MaxInt64), nonceBuffer)
		for {
			text, err := in.ReadSlice('\n')
			if len(text) > 0 && !yield(text, nil) {
				return
			}
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				if !errors.Is(err, io.EOF) {
					yield(nil, err)
				}
				return
			}
		}
	}
}

// Keep writes a used nonce, unless its timestamp will be refused. It ignores the current time.
func (n *Nonces) Keep(_, timestampMs int64, publicKey string, nonce []byte) error {
	upTo, err := n.write(timestampMs, publicKey, nonce)
	if err == nil && upTo > 0 {
		err = n.keepDurable(upTo)
	}
	if err != nil {
		return nonceError(err)
	}
	return nil
}

// write appends a line and returns the number of lines written, 0 without one.
func (n *Nonces) write(timestampMs int64, publicKey string, nonce []byte) (upTo uint64, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.broken != nil || timestampMs < n.notBefore() {
		return 0, n.broken
	}
	if n.pass == nil && n.size >= n.limit {
		n.beginPass()
	}
	if n.pass != nil {
		if err := n.shrink(); err != nil {
			n.endPass()
		}
		if n.broken != nil {
			return 0, n.broken
		}
	}
	n.line = appendNonceLine(n.line[:0], timestampMs, publicKey, nonce)
	end := n.size + int64(len(n.line))
	n.line = appendNonceEnd(n.line, end)
	if err := n.put(n.line); err != nil {
		return 0, errors.Join(err, n.unwrite())
	}
	n.size = end
	n.newest = max(n.newest, timestampMs)
	n.count++
	return n.count, nil
}

// unwrite makes the file end as it did before a write that failed. A start finds damage where that fails too.
func (n *Nonces) unwrite() error {
	n.dropWindow()
	_, err := n.f.WriteAt(appendNonceEnd(nil, n.size), n.size)
	return errors.Join(err, n.f.Truncate(n.size+int64(endBytes)))
}

func nonceError(err error) error { return fmt.Errorf("data directory: nonces: %w", err) }
