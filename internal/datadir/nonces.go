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
)

// Nonces holds the nonces that a later process must still refuse. A line is `~crc32c timestamp
// publicKey nonce`. It is written before the request is answered, so that it survives the
// process; see writer.go for a power cut. A line with the nonce `*` is the key's floor: all
// requests of the key with older timestamps are refused, and their lines are removed.
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
	f     vfs.File
	old   []vfs.File // files that f has replaced; a sync may still use them, and the next sync closes them
	size  int64
	limit int64 // size of the file at which a pass drops obsolete lines
	least int64 // smallest value of limit
	// newest timestamp of all lines ever written, in ms; its line is never dropped
	newest int64
	floor  func(publicKey []byte) int64 // returns the floor that a key has in this process (Follow)
	pass   *nonceShrink                 // the pass that drops obsolete lines; nil: none
	line   []byte                       // scratch buffer of Keep
	failed error                        // error of reading the file at the start
	torn   int64                        // number of bytes that the start cut off
	count  uint64                       // number of lines written
	broken error                        // error of a failed sync, after which no nonce is accepted

	sync nonceSync
}

const (
	nonceFileLimit = 1 << 20
	nonceMark      = '~' // first character of a line with a checksum
	floorMark      = "*" // no nonce has this character
	// shrinkLines is the number of lines that each request examines during a pass. A pass ends after the file
	// has grown by a seventh, so no request waits for the whole pass.
	shrinkLines = 8
)

// openNonces opens or creates the file. knownMs is the latest time that the clock or a journal has reached. The
// caller must refuse timestamps before notBeforeMs and every nonce that Used yields, and must then call Follow.
func openNonces(fsys vfs.FS, path string, knownMs int64) (n *Nonces, notBeforeMs int64, err error) {
	n = &Nonces{fsys: fsys, path: path, least: nonceFileLimit, floor: func([]byte) int64 { return 0 }}
	if err := n.open(); err != nil {
		var damaged *DamagedError
		if errors.As(err, &damaged) {
			return nil, 0, err
		}
		return nil, 0, nonceError(err)
	}
	n.limit = max(n.least, n.size)
	return n, max(knownMs, n.notBefore()), nil
}

func (n *Nonces) open() (err error) {
	if n.f, err = n.fsys.OpenRW(n.path); errors.Is(err, fs.ErrNotExist) {
		if n.f, err = n.fsys.Create(n.path); err == nil {
			err = n.fsys.SyncDir(filepath.Dir(n.path))
		}
	}
	if err == nil {
		err = n.upgrade()
	}
	if err == nil {
		err = n.read()
	}
	if err != nil && n.f != nil {
		err = errors.Join(err, n.f.Close())
	}
	return err
}

// read finds the end of the valid lines and cuts off what a power cut has left after it.
func (n *Nonces) read() error {
	total, err := n.f.Size()
	if err != nil {
		return err
	}
	n.size = total
	end := int64(0)
	for l := range n.lines {
		if l.end != end+int64(len(l.text)) {
			break // something between the two lines is not valid
		}
		end, n.newest = l.end, max(n.newest, l.timestampMs)
	}
	if n.failed != nil || end == total {
		return n.failed
	}
	rest := make([]byte, total-end)
	if k, err := n.f.ReadAt(rest, end); err != nil && k < len(rest) {
		return err
	}
	if follows := nextNonceLine(rest); follows >= 0 && !vfs.LostSector(rest[:follows], end, true) {
		reason := fmt.Sprintf("the checksum of the line at offset %d differs, and valid lines follow it", end)
		return &DamagedError{n.path, reason}
	}
	n.size, n.torn = end, total-end
	if err := n.f.Truncate(end); err != nil { // the remaining bytes would corrupt the next line
		return err
	}
	return n.f.Sync()
}

// nextNonceLine returns the offset of the first valid line in damaged bytes, -1 if there is none.
func nextNonceLine(b []byte) int {
	for at := range b {
		if b[at] != nonceMark {
			continue
		}
		line, _, _ := bytes.Cut(b[at:], []byte("\n"))
		if _, ok := parseNonceLine(b[at:min(at+len(line)+1, len(b))]); ok {
			return at
		}
	}
	return -1
}

// upgrade replaces the file of an older program, whose lines have no checksum. An invalid line of
// that file, for example a truncated one, is left out.
func (n *Nonces) upgrade() error {
	size, err := n.f.Size()
	if err != nil || size == 0 {
		return err
	}
	var out []byte
	for text, err := range rawLines(n.f) {
		if err != nil {
			return err
		}
		if text[0] == nonceMark {
			return nil
		}
		if l, ok := parseNonceFields(text); ok {
			out = appendNonceLine(out, l.timestampMs, string(l.key), l.nonce)
		}
	}
	if err := n.f.Close(); err != nil {
		return err
	}
	if err := replaceFile(n.fsys, filepath.Dir(n.path), n.path, out); err != nil {
		return err
	}
	n.f, err = n.fsys.OpenRW(n.path)
	return err
}

// Torn returns the number of bytes that the start cut off the end of the file.
func (n *Nonces) Torn() int64 {
	if n == nil {
		return 0
	}
	return n.torn
}

// Failed returns the error of a failed sync, after which no nonce is kept until a restart; nil: none failed.
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

// parseNonceLine parses a line and verifies its checksum.
func parseNonceLine(text []byte) (l nonceLine, ok bool) {
	const sum = len("~01234567 ")
	if len(text) < sum || text[0] != nonceMark || text[sum-1] != ' ' ||
		[8]byte(text[1:sum-1]) != checksum(text[sum:]) {
		return l, false
	}
	l, ok = parseNonceFields(text[sum:])
	l.text = text
	return l, ok
}

// parseNonceFields parses a line behind its checksum, or one of an older program.
func parseNonceFields(text []byte) (l nonceLine, ok bool) {
	stamp, rest, _ := bytes.Cut(text, []byte(" "))
	key, nonce, ok := bytes.Cut(rest, []byte(" "))
	nonce, ended := bytes.CutSuffix(nonce, []byte("\n"))
	ms, err := strconv.ParseInt(string(stamp), 10, 64)
	ok = ok && ended && err == nil && !bytes.Contains(nonce, []byte(" "))
	return nonceLine{timestampMs: ms, key: key, nonce: nonce}, ok
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

// lines yields the valid lines of the file. It stops at an error and stores it in failed.
func (n *Nonces) lines(yield func(nonceLine) bool) {
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
		in := newNonceReader(f)
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

func newNonceReader(f io.ReaderAt) *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(f, 0, math.MaxInt64), 64<<10)
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
	if _, err := n.f.WriteAt(n.line, n.size); err != nil {
		return 0, err
	}
	n.size += int64(len(n.line))
	n.newest = max(n.newest, timestampMs)
	n.count++
	return n.count, nil
}

func nonceError(err error) error { return fmt.Errorf("data directory: nonces: %w", err) }
