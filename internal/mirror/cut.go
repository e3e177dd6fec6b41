package mirror

import (
	"context"
	"fmt"

	"tickhive/internal/stream"
)

// cutting is a call of Cut.
type cutting struct {
	ctx  context.Context // of the caller, who waits
	take func() (uint64, error)
	at   stream.State
	done chan error
}

// Cut makes a state of the log one of the stream: between two sendings it calls take, which returns the position of the
// state; it sends exactly the records up to this one, and waits until the stream has them and nothing else is open.
// Later records wait so long. It returns the state of the stream behind these records.
//
// Errors: take's, those by which the mirror has ended, and ctx's.
func (m *Mirror) Cut(ctx context.Context, take func() (uint64, error)) (stream.State, error) {
	c := &cutting{ctx: ctx, take: take, done: make(chan error, 1)}
	handed := m.cuts
	for {
		_, changed, err := m.confirmed()
		if err != nil {
			return stream.State{}, err
		}
		select {
		case <-ctx.Done():
			return stream.State{}, context.Cause(ctx)
		case handed <- c:
			handed = nil
		case err := <-c.done:
			return c.at, err
		case <-changed:
		}
	}
}

// cut carries a cut out. Its error ends the mirror.
func (m *Mirror) cut(work context.Context, c *cutting) error {
	to, err := c.take()
	if err == nil && !m.source.DurableAll {
		err = m.source.MakeDurable()
	}
	if err != nil {
		c.done <- err
		return nil
	}
	m.digestPos = 0 // the next one will do
	if err := m.sendTo(work, to); err != nil {
		return err
	}
	if m.sent != to {
		c.done <- fmt.Errorf("BUG: the records up to %d are sent, not those up to %d", m.sent, to)
		return nil
	}
	for c.ctx.Err() == nil {
		_, changed, _ := m.confirmed() // before the look
		if _, at := m.appender.Status(); at.Pos == to && m.appender.Unconfirmed() == 0 {
			c.at = at
			c.done <- nil
			return nil
		}
		if err := m.pause(work, changed); err != nil {
			return err
		}
	}
	return nil // the caller has gone
}
