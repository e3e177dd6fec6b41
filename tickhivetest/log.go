package tickhivetest

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

// log keeps what an exchange logs. Any goroutine may write.
type log struct {
	show testing.TB // gets each line at once; nil: the lines are kept

	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer. Each call has one line.
func (l *log) Write(line []byte) (int, error) {
	if l.show != nil {
		l.show.Log(strings.TrimSuffix(string(line), "\n"))
		return len(line), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// String returns the lines that are kept.
func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
