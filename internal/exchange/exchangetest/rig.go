package exchangetest

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tickhive/internal/exchange"
)

// StartNs is the start of a rig's virtual clock: 2026-01-01T00:00:00Z.
const StartNs = int64(1_767_225_600_000_000_000)

// Rig is a running exchange of a test.
type Rig struct {
	*exchange.Running
	Public   string // http://127.0.0.1:PORT
	Internal string // http://127.0.0.1:PORT/internal/v1
	Log      *Log

	t    testing.TB
	dir  string
	stop func()
}

// Options returns an exchange without pairs on a virtual clock. With an empty dir nothing is
// stored.
func Options(dir string) exchange.Options {
	o := exchange.DefaultOptions()
	o.Dir = dir
	o.Clock = exchange.ClockOptions{Virtual: true, StartNs: StartNs, StartGiven: true}
	return o
}

// Start opens, recovers and starts an exchange and admits clients.
func Start(t testing.TB, o exchange.Options) *Rig {
	t.Helper()
	r := &Rig{t: t, dir: o.Dir, Log: &Log{}}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(r.Log, nil))
	}
	opened, err := exchange.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	launch := opened.Launch()
	r.stop = sync.OnceFunc(func() { launch.Stop(context.Background()) })
	t.Cleanup(r.stop)
	if r.Running, err = launch.Running(); err != nil {
		t.Fatal(err)
	}
	r.Admit()
	r.Public, r.Internal = "http://"+r.PublicAddr(), "http://"+r.InternalAddr()+"/internal/v1"
	return r
}

// Stop stops the exchange in order.
func (r *Rig) Stop() { r.stop() }

// Kill returns a copy of the data directory as the end of the process would leave it now. No
// request may be under way.
func (r *Rig) Kill() (dir string) {
	r.t.Helper()
	dir = r.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(r.dir)); err != nil {
		r.t.Fatal(err)
	}
	return dir
}

// Files returns the paths of a directory's files that match pattern, oldest name first.
func Files(t testing.TB, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Log holds what an exchange has logged.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the log.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Trouble returns the lines that report an error or an incident.
func (l *Log) Trouble() (lines []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "incident=") {
			lines = append(lines, line)
		}
	}
	return lines
}
