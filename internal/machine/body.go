package machine

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/launchpad"
)

// bodyFormat is the version of a snapshot's body. Read refuses any other one.
const bodyFormat = 8

// A body consists of parts, each `tag u8 | number uvarint | length uvarint | bytes`, in this order. The file
// around it has the checksum and the versions (internal/wal/FORMAT.md).
//
//	head      format, position, time of the last command
//	settings  as their record has them
//	controls  registers of the core, then of the feed
//	pairs     by number: the core's encoding, then the feed's
//	history   the order history
//	accounts  sealed, unless the key is empty
//	ledger    the launchpad
//	hive
//	extra     name and state of one further fold
//	digest    the market's without the settings, then the other parts': u64, little-endian
//	end
const (
	partHead byte = iota + 1
	partCoreControl
	partFeedControl
	partCorePair
	partFeedPair
	partHistory
	partLedger
	partHive
	partExtra
	partEnd
	partSettings
	partAccounts
	partDigest
)

// maxPart limits the bytes of one part. A pair with ten million resting orders takes a third of it.
const maxPart = 1 << 30

// bodyWriter writes parts and remembers the first error.
type bodyWriter struct {
	w   *bufio.Writer
	buf []byte
	err error
}

func (b *bodyWriter) part(tag byte, number uint64, data []byte) {
	if b.err != nil {
		return
	}
	var head [21]byte
	h := binary.AppendUvarint(append(head[:0], tag), number)
	h = binary.AppendUvarint(h, uint64(len(data)))
	if len(data) > maxPart {
		b.err = fmt.Errorf("machine: a part of %d bytes is beyond what a snapshot holds", len(data))
		return
	}
	if _, b.err = b.w.Write(h); b.err == nil {
		_, b.err = b.w.Write(data)
	}
}

// Write writes the body of a snapshot. extras, unless nil, holds the states of the live extras at s.Pos; otherwise
// Write encodes the states of s's own extras.
func (s *State) Write(w io.Writer, extras map[string][]byte) error {
	// Allocate room for the largest part at once. Growing it by append would copy tens of megabytes in one
	// uninterruptible step, for which a garbage collection would have to wait.
	b := &bodyWriter{w: bufio.NewWriterSize(w, 256<<10), buf: make([]byte, 0, s.part+s.part/4)}
	head := binary.AppendUvarint(nil, bodyFormat)
	head = binary.AppendVarint(binary.AppendUvarint(head, s.Pos), s.LastNs)
	b.part(partHead, 0, head)
	b.part(partSettings, 0, s.Settings.Append(nil))
	b.part(partCoreControl, 0, s.Core.EncodeControl(nil))
	b.part(partFeedControl, 0, s.Feed.AppendControlState(nil))
	for id := range s.Core.EndPair() {
		b.buf = s.Core.EncodePair(b.buf[:0], id)
		b.part(partCorePair, uint64(id), b.buf)
		b.buf = s.Feed.AppendPairState(b.buf[:0], id)
		b.part(partFeedPair, uint64(id), b.buf)
	}
	b.buf = s.Feed.AppendHistoryState(b.buf[:0])
	b.part(partHistory, 0, b.buf)
	b.part(partAccounts, 0, s.Money.AppendSnapshot(b.buf[:0]))
	b.buf = s.Ledger.AppendSnapshot(b.buf[:0])
	b.part(partLedger, 0, b.buf)
	b.buf = s.Hive.AppendSnapshot(b.buf[:0])
	b.part(partHive, 0, b.buf)
	if extras == nil {
		extras = s.extraStates()
	}
	for name, state := range extras {
		b.part(partExtra, 0, append(append([]byte(name), 0), state...))
	}
	b.part(partDigest, 0, s.appendDigest(nil))
	b.part(partEnd, 0, nil)
	if b.err != nil {
		return b.err
	}
	return b.w.Flush()
}

func (s *State) extraStates() map[string][]byte {
	states := make(map[string][]byte, len(s.opts.Extras))
	for _, x := range s.opts.Extras {
		states[x.Name()] = x.AppendState(nil)
	}
	return states
}

// Read restores the state in body into a state with an empty market.
func (s *State) Read(body io.Reader) error {
	rd := bufio.NewReaderSize(body, 256<<10)
	var buf []byte
	for {
		tag, err := rd.ReadByte()
		if err != nil {
			return fmt.Errorf("machine: the snapshot ends early: %w", err)
		}
		number, err := binary.ReadUvarint(rd)
		if err != nil {
			return fmt.Errorf("machine: the snapshot ends early: %w", err)
		}
		size, err := binary.ReadUvarint(rd)
		if err != nil || size > maxPart {
			return fmt.Errorf("machine: a part of %d bytes: %w", size, errors.Join(err, errPart))
		}
		if uint64(cap(buf)) < size {
			buf = make([]byte, size)
			s.part = int(size)
		}
		buf = buf[:size]
		if _, err := io.ReadFull(rd, buf); err != nil {
			return fmt.Errorf("machine: the snapshot ends early: %w", err)
		}
		if tag == partEnd {
			return s.readEnd()
		}
		if err := s.readPart(tag, number, buf); err != nil {
			return err
		}
	}
}

var errPart = errors.New("machine: the snapshot has a part that this version does not know")

func (s *State) readPart(tag byte, number uint64, data []byte) error {
	switch tag {
	case partHead:
		return s.readHead(data)
	case partSettings:
		settings, err := DecodeSettings(data)
		if err == nil {
			s.Set(settings)
		}
		return err
	case partCoreControl:
		return s.Core.DecodeControl(data)
	case partFeedControl:
		return s.Feed.DecodeControlState(data)
	case partCorePair:
		_, err := s.Core.DecodePair(data)
		return err
	case partFeedPair:
		return s.Feed.DecodePairState(data)
	case partHistory:
		return s.Feed.DecodeHistoryState(data)
	case partAccounts:
		return s.readAccounts(data)
	case partLedger:
		var err error
		s.Ledger, err = launchpad.DecodeSnapshot(data, s.Settings.Launchpad)
		return err
	case partHive:
		var err error
		s.Hive, err = hive.DecodeSnapshot(data, s.Settings.Hive)
		return err
	case partExtra:
		return s.readExtra(data)
	case partDigest:
		return s.readDigest(data)
	}
	return fmt.Errorf("%w: tag %d, number %d", errPart, tag, number)
}

// readEnd refuses a snapshot without a digest.
func (s *State) readEnd() error {
	if !s.summed {
		return errors.New("machine: the snapshot has no digest")
	}
	return nil
}

func (s *State) readAccounts(data []byte) error {
	money, err := accounts.DecodeSnapshot(data)
	if err == nil {
		s.setMoney(money)
	}
	return err
}

func (s *State) readHead(data []byte) error {
	format, n := binary.Uvarint(data)
	if n <= 0 || format != bodyFormat {
		return fmt.Errorf("machine: a snapshot of body format %d cannot be read by this program, which has %d",
			format, bodyFormat)
	}
	pos, m := binary.Uvarint(data[n:])
	if m <= 0 {
		return errPart
	}
	at, k := binary.Varint(data[n+m:])
	if k <= 0 {
		return errPart
	}
	s.Pos, s.LastNs = pos, at
	return nil
}

func (s *State) readExtra(data []byte) error {
	for _, x := range s.opts.Extras {
		name := x.Name()
		if len(data) > len(name) && string(data[:len(name)]) == name && data[len(name)] == 0 {
			return x.DecodeState(data[len(name)+1:])
		}
	}
	return nil
}
