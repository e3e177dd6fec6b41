package exchangetest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/launchpad"
)

// StartNs is the start of a rig's virtual clock: 2026-01-01T00:00:00Z.
const StartNs = int64(1_767_225_600_000_000_000)

// Rig is an exchange of a test.
type Rig struct {
	*exchange.Running // nil until Ready
	Opened            *exchange.Opened
	Public            string // http://127.0.0.1:PORT
	Internal          string // http://127.0.0.1:PORT/internal/v1
	Log               *Log
	Clock             *clock.Manual // nil: the machine's
	Faults            Faults

	t    testing.TB
	dir  string
	stop func()

	public, internal *listener // nil: TCP
}

// Options returns an exchange without pairs on a virtual clock. With an empty dir nothing is
// stored.
func Options(dir string) exchange.Options {
	return exchange.Options{
		Dir:       dir,
		Server:    exchange.ServerConfig{Listen: "127.0.0.1:0"},
		Internal:  exchange.InternalConfig{Listen: "127.0.0.1:0"},
		Clock:     exchange.ClockOptions{Virtual: true, StartNs: StartNs, StartGiven: true},
		Accounts:  accounts.Settings{Referral: accounts.DefaultConfig()},
		Launchpad: launchpad.DefaultOptions(), Hive: hive.DefaultOptions(),
		Sim: exchange.SimOptions{SimConfig: exchange.SimConfig{Seed: 1}},
	}
}

// Start opens, recovers and starts an exchange and admits clients.
func Start(t testing.TB, o exchange.Options) *Rig {
	t.Helper()
	r := Open(t, o)
	r.Ready()
	return r
}

// Open opens an exchange whose clients wait until Ready.
func Open(t testing.TB, o exchange.Options) *Rig {
	t.Helper()
	r := &Rig{t: t, dir: o.Dir, Log: &Log{}}
	r.open(o)
	return r
}

// StartInMemory is Start with listeners in memory, which Dial and DialInternal reach.
func StartInMemory(t testing.TB, o exchange.Options) *Rig {
	t.Helper()
	r := &Rig{t: t, dir: o.Dir, Log: &Log{}, public: newListener(), internal: newListener()}
	o.Server.Listen, o.Internal.Listen = "127.0.0.1:8080", "127.0.0.1:8081"
	o.Hooks.Listen = func(address string) (net.Listener, error) {
		if address == o.Internal.Listen {
			return r.internal, nil
		}
		return r.public, nil
	}
	r.open(o)
	r.Ready()
	return r
}

func (r *Rig) open(o exchange.Options) {
	r.t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(r.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	r.hook(&o.Hooks)
	var err error
	if r.Opened, err = exchange.Open(o); err != nil {
		r.t.Fatal(err)
	}
	r.Public, r.Internal = "http://"+r.Opened.PublicAddr(), "http://"+r.Opened.InternalAddr()+"/internal/v1"
}

// Ready recovers and starts the exchange and admits clients.
func (r *Rig) Ready() {
	r.t.Helper()
	launch := r.Opened.Launch()
	r.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		launch.Stop(ctx)
	})
	r.t.Cleanup(r.stop)
	var err error
	if r.Running, err = launch.Running(); err != nil {
		r.t.Fatal(err)
	}
	r.Admit()
}

// Dial connects to the public listener in memory from an address.
func (r *Rig) Dial(ip string) (net.Conn, error) { return r.public.dial(ip) }

// Listener returns the public listener in memory.
func (r *Rig) Listener() net.Listener { return r.public }

// DialInternal connects to the internal listener in memory.
func (r *Rig) DialInternal() (net.Conn, error) { return r.internal.dial("127.0.0.1") }

// Stop stops the exchange in order.
func (r *Rig) Stop() { r.stop() }

// Kill returns a copy of the data directory as the end of the process would leave it now. No
// request may be under way. Snapshots go on.
func (r *Rig) Kill() (dir string) {
	r.t.Helper()
	dir = r.t.TempDir()
	if err := datadir.CopyInUse(dir, r.dir); err != nil {
		r.t.Fatal(err)
	}
	return dir
}

// SnapshotDirectory returns a data directory with users, orders and two snapshots, as the end of a process between two
// snapshots would leave it.
func SnapshotDirectory(t testing.TB) (dir string) {
	t.Helper()
	o := Options(t.TempDir())
	o.Journal.SnapshotBytes, o.Journal.Keep = 4096, exchange.KeepAll
	r := Start(t, o)
	r.Pair("BTC_USDT")
	for i := 0; len(Files(t, o.Dir, "engine/*.snap")) < 2; i++ {
		r.Limit("BTC_USDT", "buy", "1", "1")
		r.Call(http.MethodPost, "/users", fmt.Sprintf(`{"nickname":"user%d"}`, i))
	}
	for dir == "" || len(Files(t, dir, "*/*.tmp")) > 0 { // a snapshot is being written
		dir = r.Kill()
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
