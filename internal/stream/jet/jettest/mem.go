package jettest

import (
	"context"
	"fmt"
	"sync"

	"github.com/tickhive/tickhive/internal/stream/jet"
)

// Mem is a log in memory with the behaviour of a server: nodes connect to it, and it can be stopped and started. It
// keeps its messages.
type Mem struct {
	mu       sync.Mutex
	messages [][]byte
	trimmed  uint64
	down     bool
	changed  chan struct{} // closed at the next change
}

// NewMem returns an empty log.
func NewMem() *Mem {
	return &Mem{changed: make(chan struct{})}
}

// Connect returns the log for one node.
func (m *Mem) Connect() jet.Log { return &memLog{m: m, answers: make(chan jet.Answer, openAnswers)} }

// Cut loses the messages behind a number, as a server does that lost its disk.
func (m *Mem) Cut(last uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.messages = m.messages[:last]
}

// SetDown stops or starts the log. While it is down, publications are not sent and readers wait.
func (m *Mem) SetDown(down bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = down
	m.change()
}

// change wakes the readers. The caller holds the lock.
func (m *Mem) change() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// openAnswers is the number of answers that may wait in the channel.
const openAnswers = 1024

// offer puts an answer into the channel unless it is full, as a Log may.
func offer(answers chan<- jet.Answer, a jet.Answer) {
	select {
	case answers <- a:
	default:
	}
}

type memLog struct {
	m       *Mem
	answers chan jet.Answer
}

func (l *memLog) Publish(number, expect uint64, data []byte) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.down {
		return jet.ErrUnavailable
	}
	last := uint64(len(l.m.messages))
	if expect != last {
		offer(l.answers, jet.Answer{Number: number, Err: fmt.Errorf("%w: at %d", jet.ErrRefused, last)})
		return nil
	}
	l.m.messages = append(l.m.messages, data)
	offer(l.answers, jet.Answer{Number: number, Seq: last + 1})
	l.m.change()
	return nil
}

func (l *memLog) Answers() <-chan jet.Answer { return l.answers }

func (l *memLog) Last(context.Context) (uint64, error) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.down {
		return 0, jet.ErrUnavailable
	}
	return uint64(len(l.m.messages)), nil
}

func (l *memLog) Read(_ context.Context, seq uint64) ([]byte, error) {
	data, _, err := l.m.at(seq)
	if data == nil && err == nil {
		err = fmt.Errorf("%w: %d is behind the end", jet.ErrMissing, seq)
	}
	return data, err
}

// at returns a message, nil if it is not there yet, and a channel that is closed at the next change.
func (m *Mem) at(seq uint64) ([]byte, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.down:
		return nil, m.changed, jet.ErrUnavailable
	case seq <= m.trimmed:
		return nil, nil, fmt.Errorf("%w: %d, up to %d", jet.ErrTrimmed, seq, m.trimmed)
	case seq > uint64(len(m.messages)):
		return nil, m.changed, nil
	}
	return m.messages[seq-1], nil, nil
}

func (l *memLog) Follow(ctx context.Context, from uint64, deliver func(uint64, []byte) error) error {
	for seq := from; ; {
		data, changed, err := l.m.at(seq)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case data != nil:
			if err := deliver(seq, data); err != nil {
				return err
			}
			seq++
		case changed == nil:
			return err
		default:
			select {
			case <-ctx.Done():
			case <-changed:
			}
		}
	}
}

func (l *memLog) Trim(_ context.Context, seq uint64) error {
	m := l.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return jet.ErrUnavailable
	}
	for ; m.trimmed < seq && m.trimmed < uint64(len(m.messages)); m.trimmed++ {
		m.messages[m.trimmed] = nil
	}
	m.change()
	return nil
}

func (l *memLog) Close() {}
