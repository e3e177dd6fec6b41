package jet

import (
	"context"
	"fmt"
	"sync"
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
func NewMem() *Mem { return &Mem{changed: make(chan struct{})} }

// Connect returns the log for one node.
func (m *Mem) Connect() Log { return &memLog{m: m, answers: make(chan Answer, openAnswers)} }

// SetDown stops or starts the log. While it is down, publications are not sent and readers wait.
func (m *Mem) SetDown(down bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = down
	m.change()
}

// Trim removes the messages up to seq.
func (m *Mem) Trim(seq uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ; m.trimmed < seq && m.trimmed < uint64(len(m.messages)); m.trimmed++ {
		m.messages[m.trimmed] = nil
	}
	m.change()
}

// change wakes the readers. The caller holds the lock.
func (m *Mem) change() {
	close(m.changed)
	m.changed = make(chan struct{})
}

type memLog struct {
	m       *Mem
	answers chan Answer
}

func (l *memLog) Publish(number, expect uint64, data []byte) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.down {
		return ErrUnavailable
	}
	last := uint64(len(l.m.messages))
	if expect != last {
		offer(l.answers, Answer{Number: number, Err: fmt.Errorf("%w: at %d", ErrRefused, last)})
		return nil
	}
	l.m.messages = append(l.m.messages, data)
	offer(l.answers, Answer{Number: number, Seq: last + 1})
	l.m.change()
	return nil
}

func (l *memLog) Answers() <-chan Answer { return l.answers }

func (l *memLog) Last(context.Context) (uint64, error) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if l.m.down {
		return 0, ErrUnavailable
	}
	return uint64(len(l.m.messages)), nil
}

func (l *memLog) Read(_ context.Context, seq uint64) ([]byte, error) {
	data, _, err := l.m.at(seq)
	if data == nil && err == nil {
		err = fmt.Errorf("%w: message %d is not there yet", ErrUnavailable, seq)
	}
	return data, err
}

// at returns a message, nil if it is not there yet, and a channel that is closed at the next change.
func (m *Mem) at(seq uint64) ([]byte, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.down:
		return nil, m.changed, ErrUnavailable
	case seq <= m.trimmed:
		return nil, nil, fmt.Errorf("%w: %d, up to %d", ErrTrimmed, seq, m.trimmed)
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

func (l *memLog) Close() {}
