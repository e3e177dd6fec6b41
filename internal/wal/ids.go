package wal

import (
	"encoding/hex"
	"fmt"
	"io"
	"math"

	"github.com/cespare/xxhash/v2"
)

// ID is a random identity of 16 bytes; the zero ID is unknown.
type ID [16]byte

// NewID returns a random identity.
func NewID(random io.Reader) (id ID, err error) {
	if _, err = io.ReadFull(random, id[:]); err != nil {
		return ID{}, fmt.Errorf("wal: random identity: %w", err)
	}
	return id, nil
}

// String returns the identity in 32 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(id) {
		return fmt.Errorf("wal: identity %q is not %d hexadecimal digits", text, 2*len(id))
	}
	copy(id[:], raw)
	return nil
}

// Identity says what a log belongs to.
type Identity struct {
	History   ID // of the exchange: its copies and replicas have it too
	Directory ID // of the data directory: its files verify nowhere else
}

// Position is a place in a log: a sequence, and the checksum chain over every record up to it.
type Position struct {
	Seq   uint64
	Chain uint64
}

// Begins returns the position before the first record of a log.
func Begins(history ID, name string) Position { return Position{Chain: chainStart(history, name, 0)} }

// Next returns the position behind the record that follows.
func (p Position) Next(payload []byte) Position {
	p.Seq++
	d := xxhash.New()
	var head [16]byte
	le.PutUint64(head[:], p.Chain)
	le.PutUint64(head[8:], p.Seq)
	_, _ = d.Write(head[:]) // never fails
	_, _ = d.Write(payload)
	p.Chain = d.Sum64()
	return p
}

// Known is the knowledge of a log's end outside the log. A log that does not agree with it is damaged.
type Known struct {
	Position
	Last bool // the log ended at Seq; otherwise it reached at least there
}

// knownSeq returns the record that the caller knows, or one that no log has.
func (o *Options) knownSeq() uint64 {
	if o.Known == nil {
		return math.MaxUint64 - 1
	}
	return o.Known.Seq
}

// Loss describes records that a log once held.
type Loss struct {
	Position        // after the last record that is left
	To       uint64 // the last record that is known to be missing
	// Damage says where they are missing. It is nil when a power cut explains the loss: none of the
	// records was known to be durable.
	Damage *CorruptError
}

// agrees refuses a header of another version, and one that does not belong to the log. Without an
// identity the log adopts the header's.
func (h *header) agrees(what, file string, version uint32, opts *Options) error {
	switch {
	case h.version != version:
		return &VersionError{File: file, What: what, Got: h.version, Want: version, Writer: h.writer}
	case h.record != opts.RecordVersion:
		return &VersionError{
			File: file, What: "record format", Got: h.record, Want: opts.RecordVersion, Writer: h.writer,
		}
	}
	if opts.Identity == (Identity{}) {
		opts.Identity, opts.Name = h.Identity, h.name
	}
	switch {
	case h.name != opts.Name:
		return foreign(file, fmt.Sprintf("the log %q, not to %q", h.name, opts.Name))
	case h.History != opts.Identity.History:
		return foreign(file, fmt.Sprintf("history %s, not to %s", h.History, opts.Identity.History))
	case h.Directory != opts.Identity.Directory:
		return foreign(file, fmt.Sprintf("data directory %s, not to %s", h.Directory, opts.Identity.Directory))
	}
	return nil
}

func foreign(file, to string) error {
	return &CorruptError{File: file, Foreign: true, Reason: "the file belongs to " + to}
}
