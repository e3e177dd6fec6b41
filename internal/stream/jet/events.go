package jet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// eventsSuffix ends the name of a stream of events. No epoch has its first character.
	eventsSuffix = "_EVENTS"
	// sourceHeader names the message of the log that an event was derived from.
	sourceHeader = "Tickhive-Message"
	// eventsOpen is the number of events that wait for their acknowledgement.
	eventsOpen = 256
	// ackWithin bounds the wait for the next acknowledgement.
	ackWithin = 2 * time.Second
)

// Event is one message of a stream of events.
type Event struct {
	Source  uint64 // number of the log's message that it was derived from
	Subject string // behind the prefix
	ID      string
	Data    []byte
}

// Events is a stream of events for other programs. One goroutine appends; a second process that appends at the same
// time costs both time, and nothing is missing or out of order.
type Events struct {
	conn   *Conn
	stream jetstream.Stream
	name   string
	prefix string
	last   uint64 // number of the last message that this process knows
	behind bool   // last may be wrong: ask before the next Append
}

// Events opens the stream of events of an epoch and makes it if there is none. It keeps the newest maxBytes.
//
// Errors: ErrSettings for a stream with other subjects.
func (c *Conn) Events(ctx context.Context, epoch string, maxBytes int64) (*Events, error) {
	log, err := settings(epoch, 1)
	if err != nil {
		return nil, err
	}
	e := &Events{conn: c, name: log.Name + eventsSuffix, prefix: "tickhive." + epoch + ".ev.", behind: true}
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	want := jetstream.StreamConfig{
		Name: e.name, Subjects: []string{e.prefix + "*.*"}, Storage: jetstream.FileStorage,
		Discard: jetstream.DiscardOld, MaxBytes: maxBytes, MaxMsgSize: maxPayload,
		PersistMode: jetstream.AsyncPersistMode, // what a power cut takes from the end is derived again
	}
	if e.stream, err = c.js.Stream(ctx, e.name); errors.Is(err, jetstream.ErrStreamNotFound) {
		e.stream, err = c.js.CreateStream(ctx, want)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the stream %s: %w", ErrUnavailable, e.name, err)
	}
	got := e.stream.CachedInfo().Config
	if len(got.Subjects) != 1 || got.Subjects[0] != want.Subjects[0] {
		return nil, fmt.Errorf("%w: the stream %s has other subjects", ErrSettings, e.name)
	}
	if got.MaxBytes != maxBytes {
		got.MaxBytes = maxBytes
		if e.stream, err = c.js.UpdateStream(ctx, got); err != nil {
			return nil, fmt.Errorf("%w: the stream %s: %w", ErrUnavailable, e.name, err)
		}
	}
	return e, nil
}

// Last returns the last event and its number; 0 and no event for an empty stream.
//
// Errors: ErrUnavailable, ErrSettings.
func (e *Events) Last(ctx context.Context) (seq uint64, last Event, err error) {
	request, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	info, err := e.stream.Info(request)
	if err != nil {
		return 0, last, fmt.Errorf("%w: the stream %s: %w", ErrUnavailable, e.name, err)
	}
	if seq = info.State.LastSeq; seq > 0 {
		if last, err = e.Read(ctx, seq); err != nil {
			return 0, last, err
		}
	}
	e.last, e.behind = seq, false
	return seq, last, nil
}

// Read returns the event with a number.
//
// Errors: ErrUnavailable, also when there is none; ErrSettings for a message that this program has not written.
func (e *Events) Read(ctx context.Context, seq uint64) (v Event, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	m, err := e.stream.GetMsg(ctx, seq)
	if err != nil {
		return v, fmt.Errorf("%w: event %d: %w", ErrUnavailable, seq, err)
	}
	v = Event{ID: m.Header.Get(jetstream.MsgIDHeader), Subject: strings.TrimPrefix(m.Subject, e.prefix), Data: m.Data}
	if v.Source, err = strconv.ParseUint(m.Header.Get(sourceHeader), 10, 64); err != nil || v.ID == "" {
		return v, fmt.Errorf("%w: message %d of %s is no event of this program", ErrSettings, seq, e.name)
	}
	return v, nil
}

// Follow calls deliver with the events from a number on, as Log.Follow does.
func (e *Events) Follow(ctx context.Context, from uint64, deliver func(seq uint64, data []byte) error) error {
	return (&jetLog{conn: e.conn, stream: e.stream, name: e.name}).Follow(ctx, from, deliver)
}

// Append appends events behind the last one that Last has found, and returns when they are acknowledged. After an
// error some of them may be in the stream, without a gap: Last says which.
//
// Errors: ErrRefused when the stream ends elsewhere, ErrUnavailable.
func (e *Events) Append(ctx context.Context, events []Event) error {
	if e.behind {
		return fmt.Errorf("%w: not asked for the last event", ErrRefused)
	}
	for len(events) > 0 {
		n := min(len(events), eventsOpen)
		if err := e.append(ctx, events[:n]); err != nil {
			e.behind = true
			return err
		}
		events = events[n:]
	}
	return nil
}

// append sends events and waits for their answers. Each one is refused unless the one before is in the stream.
func (e *Events) append(ctx context.Context, events []Event) error {
	inbox := nats.NewInbox()
	sub, err := e.conn.nc.SubscribeSync(inbox + ".*")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails on a closed connection only
	for i := range events {
		err := e.conn.nc.PublishMsg(&nats.Msg{
			Subject: e.prefix + events[i].Subject, Reply: inbox + "." + strconv.Itoa(i), Data: events[i].Data,
			Header: nats.Header{
				jetstream.ExpectedStreamHeader:  {e.name},
				jetstream.ExpectedLastSeqHeader: {strconv.FormatUint(e.last+uint64(i), 10)},
				jetstream.MsgIDHeader:           {events[i].ID},
				sourceHeader:                    {strconv.FormatUint(events[i].Source, 10)},
			},
		})
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	for range events {
		m, err := sub.NextMsg(ackWithin)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("%w: no answer of the stream %s: %w", ErrUnavailable, e.name, err)
		}
		i, err := strconv.Atoi(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
		if err != nil {
			return fmt.Errorf("%w: answer at %s", ErrUnavailable, m.Subject)
		}
		if a := readAnswer(m.Data, e.name, uint64(i)); a.Err != nil || a.Seq != e.last+uint64(i)+1 {
			return errors.Join(a.Err, fmt.Errorf("%w: event %s", ErrRefused, events[i].ID))
		}
	}
	e.last += uint64(len(events))
	return nil
}
