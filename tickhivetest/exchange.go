package tickhivetest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/exchange"
)

// Exchange is a running exchange. Its addresses stay the same for the whole test.
type Exchange struct {
	URL           string // public REST and the page, http://127.0.0.1:PORT
	StreamURL     string // public and private streams, ws://127.0.0.1:PORT/ws
	Internal      string // internal API, http://127.0.0.1:PORT/internal/v1
	Binance       string // Binance's REST interface, http://127.0.0.1:PORT
	BinanceStream string // its streams, ws://127.0.0.1:PORT, with the paths /ws and /stream
	BinanceSocket string // its WebSocket API, ws://127.0.0.1:PORT/ws-api/v3

	User *User // has money: 10,000 of each currency and 1,000 NATIVE, with a Market about 100,000 USDT's worth of each

	t       testing.TB
	temp    string // directory that the test removes
	options exchange.Options
	door    *door
	http    *http.Client
	log     *log
	launch  *exchange.Launch // nil: stopped
	play    *playback        // nil: no recording

	running atomic.Pointer[exchange.Running] // nil: stopped; any goroutine asks for the time
}

// stopTime limits the wait for requests at the end.
const stopTime = 10 * time.Second

// Start starts an exchange that ends with the test. A virtual clock shows 2026-01-01T00:00:00Z, with a Recording the
// time of its first record, with RealClock the machine's time. Options that do not fit end the test, with the key or
// the file that is wrong.
func Start(t testing.TB, options ...Option) *Exchange {
	t.Helper()
	var s setup
	for _, o := range options {
		o(&s)
	}
	x := &Exchange{t: t, log: &log{}, door: newDoor()}
	x.http = &http.Client{Transport: &http.Transport{}} // of its own, so that its connections end with the test
	if s.logs {
		x.log.show = t
	}
	x.temp = t.TempDir() // before the next line: it is removed after the end
	t.Cleanup(x.end)
	if err := x.configure(&s); err != nil {
		t.Fatalf("tickhivetest: %v", err)
	}
	x.begin()
	if x.play != nil {
		x.Advance(time.Unix(0, x.play.next).Sub(x.Now())) // feeds the records of the first moment
	}
	x.User = x.fundedUser()
	return x
}

// configure makes the options of the exchange, as the program makes them of its flags.
func (x *Exchange) configure(s *setup) (err error) {
	if s.dir == "" {
		s.dir = filepath.Join(x.temp, "data")
	}
	at := start
	if len(s.flags) > 0 && s.recording == nil {
		return errors.New("RecordingFlags: they say how to read a recording: give Recording too")
	}
	if s.recording != nil {
		if x.play, err = s.recording.open(s); err != nil {
			return err
		}
		at = time.Unix(0, x.play.replay.StartNs())
		s.settings = append(s.settings, "market.pairs=none")
	}
	settings := []string{"data.dir=" + s.dir, "sim.enabled=off", "journal.scrub_every=0"}
	if !s.real {
		settings = append(settings, "clock.mode=virtual")
		if _, err := os.Stat(filepath.Join(s.dir, "meta.json")); errors.Is(err, os.ErrNotExist) {
			settings = append(settings, "clock.start="+at.UTC().Format(time.RFC3339Nano))
		}
	}
	file := ""
	if s.text.Len() > 0 {
		file = filepath.Join(x.temp, "tickhivetest.toml")
		if err := os.WriteFile(file, []byte(s.text.String()), 0o600); err != nil {
			return err
		}
	}
	c, err := config.Load(file, nil, append(settings, s.settings...))
	if err != nil {
		return err
	}
	c.UseFreePorts()
	if x.options, err = c.Options(); err != nil {
		return err
	}
	x.options.Clock.Recorded = s.recording != nil
	x.options.Log = slog.New(slog.NewTextHandler(x.log, nil))
	x.options.Machine.FS = unsynced{}
	x.options.Hooks.Listen = x.door.listen
	return nil
}

// begin starts the exchange and lets clients in.
func (x *Exchange) begin() {
	x.t.Helper()
	x.door.open()
	opened, err := exchange.Open(x.options)
	if err != nil {
		x.t.Fatalf("tickhivetest: %v", err)
	}
	x.launch = opened.Launch()
	running, err := x.launch.Running()
	if err != nil {
		x.t.Fatalf("tickhivetest: %v", err)
	}
	x.running.Store(running)
	x.options.Clock.StartGiven = false // a restart goes on
	public, binance := running.PublicAddr(), running.BinanceAddrs()
	x.URL, x.StreamURL = "http://"+public, "ws://"+public+"/ws"
	x.Internal = "http://" + running.InternalAddr() + "/internal/v1"
	if len(binance) > 0 {
		x.Binance, x.BinanceStream = "http://"+binance[0], "ws://"+binance[0]
		x.BinanceSocket = x.BinanceStream + "/ws-api/v3"
	}
	if x.play != nil {
		if err := x.play.begin(running); err != nil {
			x.t.Fatalf("tickhivetest: %v", err)
		}
	}
	running.Admit()
}

// Stop ends the exchange as a signal ends the program. Connections to it fail until Restart.
func (x *Exchange) Stop() {
	if x.launch == nil {
		return
	}
	x.play.end()
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	x.launch.Stop(ctx)
	x.launch = nil
	x.running.Store(nil)
	x.door.close()
}

// Kill ends the exchange as `kill -9` ends the program: connections break off, requests under way get no answer, and
// what was not yet written to the log is lost. Connections to it fail until Restart. The rules of Fault end with it.
// Of a Recording it ends the test, as Restart does: a replay cannot go on in a stored exchange.
func (x *Exchange) Kill() {
	x.t.Helper()
	if x.running.Load() == nil {
		x.t.Fatal("tickhivetest: Kill: the exchange does not run; Restart starts it")
	}
	if x.play != nil {
		x.t.Fatal("tickhivetest: Kill: a replay of a recording cannot go on in a stored exchange; Stop ends it")
	}
	x.door.cut()
	left, err := os.MkdirTemp(x.temp, "killed-")
	if err != nil {
		x.t.Fatalf("tickhivetest: Kill: %v", err)
	}
	if err := datadir.CopyInUse(left, x.options.Dir); err != nil {
		x.t.Fatalf("tickhivetest: Kill: %v", err)
	}
	x.Stop()
	err = datadir.Clear(x.options.Dir)
	if err = errors.Join(err, os.CopyFS(x.options.Dir, os.DirFS(left))); err != nil {
		x.t.Fatalf("tickhivetest: Kill: %v", err)
	}
}

// Restart starts the exchange again on the same addresses, with everything that it had stored; one that runs is stopped
// in order first. The rules of Fault are gone, those of Set (faults.rules, faults.scenario) are in force again.
func (x *Exchange) Restart() {
	x.t.Helper()
	if x.play != nil {
		x.t.Fatal("tickhivetest: Restart: a replay of a recording cannot go on in a stored exchange; Start begins it " +
			"again")
	}
	x.Stop()
	x.begin()
}

// end is the end of the test.
func (x *Exchange) end() {
	x.Stop()
	x.door.end()
	x.http.CloseIdleConnections()
	if text := x.log.text.String(); x.t.Failed() && text != "" {
		x.t.Logf("log of the exchange:\n%s", text)
	}
}

// Now returns the time of the exchange's clock. Clients that sign requests use it in place of time.Now, since the
// exchange refuses timestamps far from its own clock.
func (x *Exchange) Now() time.Time {
	if r := x.running.Load(); r != nil {
		return time.Unix(0, r.NowNs()).UTC()
	}
	return time.Time{}
}

// Advance moves the virtual clock. It returns when everything that falls due on the way is applied and every read shows
// it: orders that expire, dead man's switches, candles, the simulated market, the records of a recording. Messages of
// streams are on their way then, and arrive in their order.
func (x *Exchange) Advance(d time.Duration) {
	x.t.Helper()
	if x.play != nil {
		to := x.Now().Add(d)
		if err := x.play.advance(to.UnixNano()); err != nil {
			x.t.Fatalf("tickhivetest: Advance: %v", err)
		}
		d = to.Sub(x.Now())
	}
	x.call(http.MethodPost, "/clock", map[string]any{"advance": d.String()}, nil)
}

// Client returns a client of x.User.
func (x *Exchange) Client() *client.Client { return x.User.Client() }
