package jet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Bounds of what nodes ask each other.
const (
	maxAsked     = 4 << 10 // bytes of a question or an answer
	maxQuestions = 64      // that wait at a node
)

// nodes returns the subject at which the nodes of a stream answer each other. No stream takes it.
func (l *jetLog) nodes() string { return strings.TrimSuffix(l.subject, "log") + "nodes" }

func (l *jetLog) Respond(answer func(question []byte) []byte) (stop func(), err error) {
	sub, err := l.conn.nc.Subscribe(l.nodes(), func(m *nats.Msg) {
		if len(m.Data) > maxAsked || m.Reply == "" {
			return
		}
		if text := answer(m.Data); text != nil {
			_ = m.Respond(text) // the node that asks does not wait for it
		}
	})
	if err == nil {
		err = sub.SetPendingLimits(maxQuestions, maxQuestions*maxAsked)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // fails on a closed connection only
}

func (l *jetLog) Ask(ctx context.Context, question []byte, within time.Duration, most int) (
	answers [][]byte, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	inbox := nats.NewInbox()
	sub, err := l.conn.nc.SubscribeSync(inbox)
	if err == nil {
		defer func() { _ = sub.Unsubscribe() }() // fails on a closed connection only
		err = l.conn.nc.PublishRequest(l.nodes(), inbox, question)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for n := 0; n < most; n++ {
		wait, done := ctx, func() {}
		if len(answers) > 0 { // the others come about as fast
			wait, done = context.WithTimeout(ctx, within/10)
		}
		m, err := sub.NextMsgWithContext(wait)
		done()
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			return answers, nil
		case err != nil:
			return answers, fmt.Errorf("%w: %w", ErrUnavailable, err)
		case len(m.Data) == 0: // no node answers, says the server
			return answers, nil
		case len(m.Data) <= maxAsked:
			answers = append(answers, m.Data)
		}
	}
	return answers, nil
}
