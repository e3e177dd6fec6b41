package jet

import (
	"bytes"
	"context"
	"fmt"
	"io"
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
	archived map[uint64][]byte
	nodes    map[int]func([]byte) []byte // that respond
	asked    int
}

// NewMem returns an empty log.
func NewMem() *Mem {
	return &Mem{
		changed: make(chan struct{}), archived: map[uint64][]byte{}, nodes: map[int]func([]byte) []byte{},
	}
}

// Connect returns the log for one node.
func (m *Mem) Connect() Log { return &memLog{m: m, answers: make(chan Answer, openAnswers)} }

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
		err = fmt.Errorf("%w: %d is behind the end", ErrMissing, seq)
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

func (l *memLog) Trim(_ context.Context, seq uint64) error {
	m := l.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return ErrUnavailable
	}
	for ; m.trimmed < seq && m.trimmed < uint64(len(m.messages)); m.trimmed++ {
		m.messages[m.trimmed] = nil
	}
	m.change()
	return nil
}

func (l *memLog) Archive() Archive { return l.m }

// List implements Archive.
func (m *Mem) List(context.Context) (all []Archived, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return nil, ErrUnavailable
	}
	for seq, body := range m.archived {
		all = append(all, Archived{Seq: seq, Bytes: uint64(len(body))})
	}
	newestFirst(all)
	return all, nil
}

// Put implements Archive.
func (m *Mem) Put(ctx context.Context, seq uint64, body io.Reader, keep int) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.archived[seq] = data
	m.mu.Unlock()
	all, err := m.List(ctx)
	if err != nil {
		return err
	}
	for _, old := range all[min(keep, len(all)):] {
		m.mu.Lock()
		delete(m.archived, old.Seq)
		m.mu.Unlock()
	}
	return nil
}

// Open implements Archive.
func (m *Mem) Open(_ context.Context, seq uint64) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, ok := m.archived[seq]
	if !ok {
		return nil, fmt.Errorf("%w: there is no snapshot %d", ErrTrimmed, seq)
	}
	return io.NopCloser(bytes.NewReader(body)), nil
}

func (l *memLog) Close() {}
