package jet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// jetLog is a JetStream stream.
type jetLog struct {
	conn    *Conn
	stream  jetstream.Stream
	name    string
	subject string
	nodes   string // subject of what nodes tell each other (Talk)
	inbox   string // the answer to a publication goes to inbox, a point and its number
	sub     *nats.Subscription
	answers chan Answer
	close   sync.Once
}

// Epochs returns the epochs of the streams on the server.
func (c *Conn) Epochs(ctx context.Context) (epochs []string, err error) {
	err = patiently(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, openWithin)
		defer cancel()
		epochs = nil
		names := c.js.StreamNames(ctx)
		for name := range names.Name() {
			if epoch, ok := strings.CutPrefix(name, streamPrefix); ok && !strings.HasSuffix(name, eventsSuffix) {
				epochs = append(epochs, epoch)
			}
		}
		if err := names.Err(); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return nil
	})
	return epochs, err
}

// Leader returns the name of the server that leads the stream of an epoch, as the server says that answers.
func (c *Conn) Leader(ctx context.Context, epoch string) (string, error) {
	s, err := c.js.Stream(ctx, streamPrefix+epoch)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if in := s.CachedInfo().Cluster; in != nil {
		return in.Leader, nil
	}
	return "", nil // it has one copy
}

// patiently calls do again, for at most formWithin, while it returns ErrUnavailable: several servers need some seconds
// to elect a leader, when they start and when one of them fails. An attempt that the end of the time has cut short says
// nothing: the error is the one of the attempt before.
func patiently(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, formWithin)
	defer cancel()
	for last := error(nil); ; {
		err := do(ctx)
		switch {
		case !errors.Is(err, ErrUnavailable):
			return err
		case ctx.Err() != nil:
			return cmp.Or(last, err)
		}
		last = err
		select {
		case <-ctx.Done():
			return err
		case <-time.After(redialAfter):
		}
	}
}

// Log opens the stream of an epoch and makes it if there is none. With replicas 0 it makes none.
//
// Errors: ErrSettings when there is one with settings by which messages could be lost, ErrLost when there is none and
// replicas is 0.
func (c *Conn) Log(ctx context.Context, epoch string, replicas int) (Log, error) {
	want, err := settings(epoch, max(replicas, 1))
	if err != nil {
		return nil, err
	}
	var s jetstream.Stream
	err = patiently(ctx, func(ctx context.Context) error {
		if s, err = c.open(ctx, want, replicas > 0); errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("%w: the stream %s", ErrLost, want.Name)
		}
		if err != nil {
			return fmt.Errorf("%w: the stream %s: %w", ErrUnavailable, want.Name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := check(s.CachedInfo().Config, want); err != nil {
		return nil, err
	}
	l := &jetLog{
		conn: c, stream: s, name: want.Name, subject: want.Subjects[0], nodes: "tickhive." + epoch + ".nodes",
		inbox: nats.NewInbox(), answers: make(chan Answer, openAnswers),
	}
	if l.sub, err = c.nc.Subscribe(l.inbox+".*", l.answered); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return l, nil
}

// open opens the stream. With absent it makes it if there is none.
func (c *Conn) open(ctx context.Context, want jetstream.StreamConfig, absent bool) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	s, err := c.js.Stream(ctx, want.Name)
	if !absent || !errors.Is(err, jetstream.ErrStreamNotFound) {
		return s, err
	}
	s, err = c.js.CreateStream(ctx, want)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // by another node, at this moment
		return c.js.Stream(ctx, want.Name)
	}
	return s, err
}

func (l *jetLog) Publish(number, expect uint64, data []byte) error {
	err := l.conn.nc.PublishMsg(&nats.Msg{
		Subject: l.subject, Reply: l.inbox + "." + strconv.FormatUint(number, 10), Data: data,
		Header: nats.Header{
			jetstream.ExpectedStreamHeader:  {l.name},
			jetstream.ExpectedLastSeqHeader: {strconv.FormatUint(expect, 10)},
		},
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// answered takes the server's answer to a publication.
func (l *jetLog) answered(m *nats.Msg) {
	number, err := strconv.ParseUint(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], 10, 64)
	if err != nil {
		return // not of this program
	}
	offer(l.answers, readAnswer(m.Data, l.name, number))
}

// readAnswer reads the server's answer to a publication into a stream.
func readAnswer(data []byte, stream string, number uint64) Answer {
	var got struct {
		Stream    string
		Seq       uint64
		Duplicate bool
		Error     *struct {
			ErrCode     int `json:"err_code"`
			Description string
		}
	}
	a := Answer{Number: number}
	switch err := json.Unmarshal(data, &got); {
	case err != nil: // no server of the stream is there
		a.Err = fmt.Errorf("%w: no answer of the stream", ErrUnavailable)
	case got.Error != nil && got.Error.ErrCode == int(jetstream.JSErrCodeStreamWrongLastSequence):
		a.Err = fmt.Errorf("%w: %s", ErrRefused, got.Error.Description)
	case got.Error != nil:
		a.Err = fmt.Errorf("%w: %s", ErrUnavailable, got.Error.Description)
	case got.Stream != stream || got.Seq == 0 || got.Duplicate:
		a.Err = fmt.Errorf("%w: answer %q", ErrUnavailable, data)
	default:
		a.Seq = got.Seq
	}
	return a
}

func (l *jetLog) Answers() <-chan Answer { return l.answers }

func (l *jetLog) Last(ctx context.Context) (last uint64, err error) {
	err = patiently(ctx, func(ctx context.Context) error {
		_, last, err = l.ends(ctx)
		return err
	})
	return last, err
}

// ends returns the numbers of the first and of the last message.
func (l *jetLog) ends(ctx context.Context) (first, last uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	info, err := l.stream.Info(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, 0, fmt.Errorf("%w: the stream %s", ErrLost, l.name)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return info.State.FirstSeq, info.State.LastSeq, nil
}

func (l *jetLog) Read(ctx context.Context, seq uint64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	m, err := l.stream.GetMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		switch first, last, err := l.ends(ctx); {
		case err == nil && seq < first:
			return nil, fmt.Errorf("%w: %d, up to %d", ErrTrimmed, seq, first-1)
		case err == nil:
			return nil, fmt.Errorf("%w: %d, and it has %d to %d", ErrMissing, seq, first, last)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: message %d: %w", ErrUnavailable, seq, err)
	}
	return m.Data, nil
}

func (l *jetLog) Trim(ctx context.Context, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	if err := l.stream.Purge(ctx, jetstream.WithPurgeSequence(seq+1)); err != nil {
		return fmt.Errorf("%w: remove the messages up to %d: %w", ErrUnavailable, seq, err)
	}
	return nil
}

// Close ends the answers. The connection stays.
func (l *jetLog) Close() { l.close.Do(func() { _ = l.sub.Unsubscribe() }) } // fails on a closed connection only
