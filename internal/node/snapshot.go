package node

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/cespare/xxhash/v2"

	"tickhive/internal/stream"
)

// The format of a snapshot, which internal/stream/FORMAT.md shows.
const (
	snapshotMagic  = "THN1"
	snapshotFormat = 4
	maxHead        = 1 << 20
	chunkBytes     = 256 << 10
)

// ErrSnapshot reports a snapshot that is damaged, or that this program cannot read. It is wrapped: use errors.Is.
var ErrSnapshot = errors.New("node: a snapshot that cannot be used")

// Head describes a snapshot of a node: the state of the machine behind one message of the stream.
type Head struct {
	Format  int             `json:"format"`
	Version string          `json:"version"` // of the program
	TakenMs int64           `json:"takenMs"`
	At      stream.State    `json:"at"`    // At.Seq is a message that counts
	Chain   uint64          `json:"chain"` // the log's checksum chain behind its last record
	Genesis Genesis         `json:"genesis"`
	Writer  json.RawMessage `json:"writer"` // information of the newest term record
	// Bare reports that the writer has a simulated market and the snapshot does not: no standby begins with it.
	Bare bool `json:"bare,omitempty"`
}

// summed writes to w and to sum.
type summed struct {
	w   io.Writer
	sum hash.Hash64
}

func (s *summed) Write(p []byte) (int, error) {
	_, _ = s.sum.Write(p) // never fails
	return s.w.Write(p)
}

// chunks writes a body in chunks, each behind its length.
type chunks struct{ w io.Writer }

func (c chunks) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), chunkBytes)
		if err := writeBlock(c.w, rest[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// writeBlock writes the length of a block and then the block.
func writeBlock(w io.Writer, block []byte) error {
	if _, err := w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(block)))); err != nil {
		return err
	}
	_, err := w.Write(block)
	return err
}

// WriteSnapshot writes a snapshot. body writes the machine's state.
func WriteSnapshot(to io.Writer, h *Head, body func(w io.Writer) error) error {
	h.Format = snapshotFormat
	head, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	out := bufio.NewWriterSize(to, chunkBytes)
	w := &summed{out, xxhash.New()}
	_, err = io.WriteString(w, snapshotMagic)
	if err == nil {
		err = writeBlock(w, head)
	}
	if err == nil {
		err = body(chunks{w})
	}
	if err == nil {
		err = writeBlock(w, nil)
	}
	if err == nil {
		_, err = out.Write(binary.LittleEndian.AppendUint64(nil, w.sum.Sum64()))
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// Snapshot is a snapshot that is being read. One goroutine uses it.
type Snapshot struct {
	Head

	from io.Closer
	r    *summing
}

// summing reads from r and adds the bytes that it has read to sum.
type summing struct {
	r   *bufio.Reader
	sum hash.Hash64
}

func (s *summing) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	_, _ = s.sum.Write(p[:n]) // never fails
	return n, err
}

// ReadSnapshot reads the head of a node's snapshot; Body reads the rest. ReadSnapshot closes from when it fails, Close
// when it does not.
//
// Errors: ErrSnapshot.
func ReadSnapshot(from io.ReadCloser) (s *Snapshot, err error) {
	s = &Snapshot{from: from, r: &summing{bufio.NewReaderSize(from, chunkBytes), xxhash.New()}}
	defer func() {
		if err != nil {
			s, err = nil, errors.Join(fmt.Errorf("%w: %w", ErrSnapshot, err), from.Close())
		}
	}()
	magic := make([]byte, len(snapshotMagic))
	if _, err := io.ReadFull(s.r, magic); err != nil || string(magic) != snapshotMagic {
		return s, errors.Join(errors.New("it begins with other bytes"), err)
	}
	head, err := readBlock(s.r, nil, maxHead)
	if err != nil {
		return s, err
	}
	var is struct{ Format int } // the other members may have other types in another format
	if err := json.Unmarshal(head, &is); err != nil {
		return s, err
	}
	if is.Format != snapshotFormat {
		return s, fmt.Errorf("it has format %d, and this program reads %d", is.Format, snapshotFormat)
	}
	if err := json.Unmarshal(head, &s.Head); err != nil {
		return s, err
	}
	return s, s.mayRead()
}

// readBlock reads a length and then a block of that length, into buf if it has room.
func readBlock(r io.Reader, buf []byte, limit uint32) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > limit {
		return nil, fmt.Errorf("a block of %d bytes, above %d", n, limit)
	}
	if uint32(cap(buf)) < n {
		buf = make([]byte, n)
	}
	_, err := io.ReadFull(r, buf[:n])
	return buf[:n], err
}

// body reads the chunks of a body up to its end.
type body struct {
	r     io.Reader
	buf   []byte
	rest  []byte
	ended bool
}

func (b *body) Read(p []byte) (n int, err error) {
	if len(b.rest) == 0 && !b.ended {
		if b.rest, err = readBlock(b.r, b.buf, chunkBytes); err != nil {
			return 0, fmt.Errorf("%w: a body: %w", ErrSnapshot, err)
		}
		b.buf, b.ended = b.rest[:0], len(b.rest) == 0
	}
	if b.ended {
		return 0, io.EOF
	}
	n = copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Body calls read with the state of the machine, once, and compares the sum of the whole.
//
// Errors: read's, ErrSnapshot.
func (s *Snapshot) Body(read func(body io.Reader) error) error {
	b := &body{r: s.r}
	if err := read(b); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, b); err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	sum := s.r.sum.Sum64()
	var want [8]byte
	if _, err := io.ReadFull(s.r.r, want[:]); err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if sum != binary.LittleEndian.Uint64(want[:]) {
		return fmt.Errorf("%w: its bytes differ from its sum", ErrSnapshot)
	}
	if _, err := s.r.r.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: bytes behind its end: %w", ErrSnapshot, err)
	}
	return nil
}

// copyBody copies the state of the machine to w, once. Errors: as of Body.
func (s *Snapshot) copyBody(w io.Writer) error {
	return s.Body(func(body io.Reader) error {
		_, err := io.Copy(w, body)
		return err
	})
}

// Close ends the reading. A nil Snapshot may be closed.
func (s *Snapshot) Close() {
	if s != nil {
		_ = s.from.Close() // was only read
	}
}
