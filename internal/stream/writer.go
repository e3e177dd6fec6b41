package stream

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tickhive/tickhive/internal/wal"
)

// The refusals of a writer. Nothing was added. They are wrapped: use errors.Is.
var (
	ErrNotLeading = errors.New("stream: this node is not the writer")
	ErrBusy       = errors.New("stream: the queue is full")
	ErrTooLarge   = errors.New("stream: the record is empty or too large")
)

// The errors of a log that has lost messages which it has confirmed. They are wrapped: use errors.Is.
var (
	// ErrShrunk reports a log that ends before such messages: it has lost them, or an old copy answers.
	ErrShrunk = errors.New("stream: the log ends before what it has confirmed")
	// ErrReplaced reports a log that has others in their place.
	ErrReplaced = errors.New("stream: the log has lost messages that it had confirmed, and has others in their " +
		"place. Start this node again: it compares what it has with the log. If it ends in the same way, start it as " +
		"a standby with a new directory, tickhive replica --promote --data-dir NEW")
)

// Status says what a Writer may do.
type Status uint8

// The statuses of a writer. They only rise.
const (
	Campaigning Status = iota // its term record is not known to count
	Leading
	Fenced // a message of another node has taken the place of this writer's: it sends nothing more
	// Forged: a message in the name of this writer counts that it has not sent. No other node is the writer, and the
	// records of the log are not this node's: it sends nothing more.
	Forged
)

// Limits bound the memory of a writer and the work that is open.
type Limits struct {
	InFlight int // messages that are published and not answered
	Queue    int // bytes of messages that are not confirmed; at least MaxMessage
}

// Publication is a message to be published, if the last message of the log has the number Expect. Number identifies
// it in Acked and Failed.
type Publication struct {
	Number uint64
	Expect uint64
	Data   []byte
}

// pending is a message that is not confirmed.
type pending struct {
	data    []byte
	prev    uint64       // its sum
	end     wal.Position // of the log behind it
	sentNs  int64
	key     uint32
	number  uint64 // of its last publication
	acked   uint64 // number in the log by its acknowledgement; 0: none yet
	becomes Status
}

// Writer sends the messages of one node for one term, its term record first, and finds out which of them count. The
// caller publishes what Publish returns, and passes on each answer.
//
// An acknowledgement counts only for the oldest open message, and only if its number in the log is directly behind
// what the writer knows: then nothing is between, and the message counts. At anything else the writer is in doubt. It
// believes no open acknowledgement, reads the log from the last valid message that it knows, and sends again what is
// not in it.
//
// The acknowledgement of a term record is a doubt, too. A log that has lost messages, and has others in their place,
// takes the record at the number that the candidate expects: only what it reads there tells whether the record counts.
type Writer struct {
	read   Reader // behind the last confirmed message, or the last one read in doubt
	node   uint64
	term   uint64
	limits Limits
	status Status
	doubt  bool
	proven bool // in doubt: the log has the last valid message that the writer knows

	window []pending // oldest first
	flying int       // so many of the window are published
	number uint64    // of the last publication
	bytes  int       // of the window

	// behind the window and the open message
	prev   uint64
	end    wal.Position
	sentNs int64
	open   builder
	size   int    // of the last message with records
	key    uint32 // id of the key that signs

	digestPos uint64 // of the newest digest; 0: none
	digest    [4]uint64
}

// Status returns the status.
func (w *Writer) Status() Status { return w.status }

// State returns the state of the log as far as the writer knows it. Its position is the confirmed one, and its Seq goes
// back to Valid when a doubt begins. After Fenced and Forged, it ends before the message of the other sender, and a
// Reader continues there.
func (w *Writer) State() State { return w.read.at }

// Unconfirmed returns the number of messages that are not confirmed, without the one that still collects records.
func (w *Writer) Unconfirmed() int { return len(w.window) }

// Last returns the position of the last record that was added.
func (w *Writer) Last() uint64 { return w.end.Seq }

// NoteDigest notes the owner's digest of its state after the record pos, in the place of the one before. The message
// that ends not before pos carries it, if it is not complete yet, and further ones that begin at pos.
func (w *Writer) NoteDigest(pos uint64, digest [4]uint64) { w.digestPos, w.digest = pos, digest }

// Add adds records, all or none, and returns the position of the last one. A message takes what was added when Publish
// completes it; records of several calls share it. The records of a call are in one message if they fit into one.
//
// Errors: ErrNotLeading, ErrBusy, ErrTooLarge.
func (w *Writer) Add(nowNs int64, records ...[]byte) (pos uint64, err error) {
	if w.status != Leading {
		return 0, ErrNotLeading
	}
	size := 0
	for _, r := range records {
		if len(r) == 0 || len(r) > MaxRecord {
			return 0, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(r), MaxRecord)
		}
		size += len(r) + maxLength
	}
	if size+w.bytes+len(w.open.buf) > w.limits.Queue {
		return 0, ErrBusy
	}
	if w.open.count > 0 && !w.open.fits(size) {
		w.complete(nowNs)
	}
	for _, r := range records {
		if !w.open.fits(len(r) + maxLength) {
			w.complete(nowNs)
		}
		if w.open.count == 0 {
			w.open.at = w.end
		}
		w.open.add(r, w.size)
		w.end = w.end.Next(r)
	}
	return w.end.Seq, nil
}

// Beat adds a message without records, if nothing is open that has the same effect.
func (w *Writer) Beat(nowNs int64) {
	if w.status == Leading && len(w.window) == 0 && w.open.count == 0 {
		m := w.head(Beat, nowNs)
		w.push(encode(&m, w.read.keys), Leading)
	}
}

// head returns the head of the next message.
func (w *Writer) head(kind Kind, nowNs int64) Message {
	w.sentNs = max(w.sentNs, nowNs)
	m := Message{
		Kind: kind, Rules: w.read.rules, Term: w.term, Node: w.node, SentNs: w.sentNs, Prev: w.prev, At: w.end,
		key: w.key,
	}
	if kind == Records {
		m.At = w.open.at
	}
	if w.digestPos != 0 && w.digestPos >= m.At.Seq && w.digestPos <= w.end.Seq {
		m.DigestPos, m.Digest = w.digestPos, w.digest
	}
	return m
}

// complete moves the open message to the window.
func (w *Writer) complete(nowNs int64) {
	m := w.head(Records, nowNs)
	data := w.open.take(&m, w.read.keys)
	w.size = len(data) + len(data)/8
	w.push(data, Leading)
}

func (w *Writer) push(data []byte, becomes Status) {
	w.prev = sumOf(data)
	w.bytes += len(data)
	w.window = append(w.window, pending{
		data: data, prev: w.prev, end: w.end, sentNs: w.sentNs, key: le.Uint32(data[96:]), becomes: becomes,
	})
}

// Publish returns the next message to be published. ok is false when there is none, when enough are in flight, and in
// doubt. nowNs is the writer's clock.
func (w *Writer) Publish(nowNs int64) (p Publication, ok bool) {
	if w.status >= Fenced || w.doubt || w.flying >= w.limits.InFlight {
		return p, false
	}
	if w.flying == len(w.window) {
		if w.open.count == 0 {
			return p, false
		}
		w.complete(nowNs)
	}
	m := &w.window[w.flying]
	w.number++
	m.number = w.number
	p = Publication{Number: w.number, Expect: w.read.at.Seq + uint64(w.flying), Data: m.data}
	w.flying++
	return p, true
}

// flight returns the open message of a publication, nil when it has been answered or is not believed any more.
func (w *Writer) flight(number uint64) *pending {
	if w.flying == 0 || number < w.window[0].number || number-w.window[0].number >= uint64(w.flying) {
		return nil
	}
	return &w.window[number-w.window[0].number]
}

// Acked takes the acknowledgement of a publication: the log has it under the number seq. Acknowledgements may arrive
// in any order.
func (w *Writer) Acked(number, seq uint64) {
	m := w.flight(number)
	if m == nil {
		return
	}
	if m.acked = seq; seq == 0 {
		w.distrust()
	}
	if w.status == Campaigning {
		if w.flying > 0 && w.window[w.flying-1].acked != 0 {
			w.distrust()
		}
		return
	}
	for w.flying > 0 && w.window[0].acked != 0 {
		if w.window[0].acked != w.read.at.Seq+1 {
			w.distrust()
			return
		}
		w.confirm()
	}
}

// Failed takes a publication that was refused or is not answered in time. It may still reach the log.
func (w *Writer) Failed(number uint64) {
	if w.flight(number) != nil {
		w.distrust()
	}
}

// Doubt begins a doubt for a reason of the caller's: the log has been silent for too long to be believed unread.
func (w *Writer) Doubt() {
	if !w.doubt && w.status < Fenced {
		w.distrust()
	}
}

// distrust begins a doubt. What came behind the last valid message may be lost, and another writer's in its place.
func (w *Writer) distrust() {
	w.doubt, w.flying, w.proven = true, 0, w.read.at.Valid == 0
	w.read.at.Seq = w.read.at.Valid
	for i := range w.window {
		w.window[i].acked = 0
	}
}

// confirm removes the oldest message of a writer that leads, which counts and has the next number in the log.
func (w *Writer) confirm() {
	m := &w.window[0]
	s := &w.read.at
	w.read.odd = 0
	s.Seq, s.Prev, s.Term, s.Node, s.Rules = s.Seq+1, m.prev, w.term, w.node, w.read.rules
	s.Valid, s.SentNs, s.Key, s.End = s.Seq, m.sentNs, m.key, m.end
	w.drop()
}

// drop removes the oldest message from the window.
func (w *Writer) drop() {
	m := &w.window[0]
	w.status, w.bytes = max(w.status, m.becomes), w.bytes-len(m.data)
	*m = pending{}
	w.window, w.flying = w.window[1:], max(0, w.flying-1)
}

// Wants returns the number of the message that the caller has to read next, while the writer is in doubt. The caller
// answers with Read, or with End. The first one is the last valid message that the writer knows: a log that was lost
// and begun again would take the messages of this writer, and no reader would count them.
func (w *Writer) Wants() (seq uint64, ok bool) {
	seq, ok = w.read.at.Seq+1, w.doubt && w.status < Fenced
	if ok && !w.proven {
		seq = w.read.at.Valid
	}
	return seq, ok
}

// Read takes the message with the number seq of the log.
//
// Errors: ErrReplaced, and as Reader.Next. The writer stays in doubt.
func (w *Writer) Read(seq uint64, data []byte) error {
	if w.doubt && !w.proven {
		if seq != w.read.at.Valid || !w.read.at.EndsWith(data) {
			return fmt.Errorf("%w: message %d", ErrReplaced, seq)
		}
		w.proven = true
		return nil
	}
	w.read.strays = 0 // it knows what it has confirmed, so nothing before was damaged
	before := w.read
	m, valid, err := w.read.Next(seq, data)
	switch {
	case errors.Is(err, ErrRules): // it counts, and is not of this program
	case err != nil:
		return err
	case !valid && w.status == Leading && w.read.at.lacks(&m):
		w.read = before
		return fmt.Errorf("%w: message %d is of the writer of term %d", ErrReplaced, seq, m.Term)
	case !valid:
		return nil
	case len(w.window) > 0 && bytes.Equal(data, w.window[0].data):
		w.drop()
		return nil
	}
	// another sender's message counts; a Reader reads it again
	w.read, w.status, w.window, w.open = before, Fenced, nil, builder{}
	if m.Kind != Term && m.Term == w.term && m.Node == w.node {
		w.status = Forged
	}
	return nil
}

// End takes the number of the last message of the log. When the writer has read up to that message, End ends a doubt:
// the writer then knows which of its messages the log lacks, and publishes them again.
//
// Errors: ErrShrunk. The writer stays in doubt.
func (w *Writer) End(last uint64) error {
	switch {
	case last < w.read.at.Seq:
		return fmt.Errorf("%w: at %d, and it has confirmed %d", ErrShrunk, last, w.read.at.Seq)
	case last == w.read.at.Seq && w.proven:
		w.doubt = false
	}
	return nil
}
