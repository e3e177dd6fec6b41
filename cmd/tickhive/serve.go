package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/exchange"
)

// serveCmd runs the exchange until a signal stops it.
type serveCmd struct {
	serveFlags
	AcceptDataLoss bool   `help:"Start although records that the log once had are missing; a new epoch begins."`
	Journal        string `placeholder:"STREAM" help:"Send all records to a stream, which replicas follow: embedded, or nats://HOST:PORT,... (journal.stream)."`
	Ack            string `placeholder:"local|quorum" help:"What a change waits for before its answer: local, or quorum: the stream, too (journal.ack)."`
	Advertise      string `placeholder:"HOST:PORT" help:"Address of the public listener for replicas (cluster.advertise)."`
	Promote        bool   `help:"When another node is the writer, go on as a standby, which becomes the writer when that one is silent; needs --ack quorum."`
	TrustLazySync  bool   `help:"Do not ask whether the servers of the stream sync before they acknowledge (stream.trust_lazy_sync)."`
	DemoKey        string `placeholder:"FILE" help:"Write a funded API key to this file (JSON, mode 0600) before the exchange is ready."`
	Ephemeral      bool   `help:"For test suites: a temporary data directory, removed at the end, free ports, and one line of JSON with addresses and a funded API key."`

	UntilStdinCloses bool `help:"Stop in order when standard input closes, as it does when the program that started this one ends, however it ends. What it carries is discarded."`
}

// shutdownTime is the time that accepted requests have after SIGTERM.
const shutdownTime = 20 * time.Second

// Run serves until SIGTERM or an interrupt (signals.go), or with UntilStdinCloses until standard input closes.
func (s *serveCmd) Run(p *program) error {
	signals := takeSignals(p)
	if s.UntilStdinCloses {
		go signals.untilClosed(os.Stdin)
	}
	for key, value := range map[string]string{
		"journal.stream": s.Journal, "journal.ack": s.Ack, "cluster.advertise": s.Advertise,
	} {
		if value != "" {
			s.Set = append(s.Set, key+"="+value)
		}
	}
	if s.TrustLazySync {
		s.Set = append(s.Set, trustLazySync)
	}
	cfg, err := s.config(p)
	if err != nil {
		return err
	}
	if err := s.checkReplaceable(cfg); err != nil {
		return err
	}
	a, leave := announcement{out: p.out, file: s.DemoKey, stream: cfg.Embedded()}, func() error { return nil }
	if s.Ephemeral {
		if leave, err = cfg.Ephemeral(); err != nil {
			return err
		}
		a.dir, a.file = cfg.Data.Dir, cmp.Or(a.file, filepath.Join(cfg.Data.Dir, "demo-key.json"))
	}
	if a.file != "" {
		if a.key, err = readDemoKey(a.file); err != nil {
			return errors.Join(err, leave())
		}
	}
	o, err := exchangeOptions(cfg, p, s.Quiet)
	if err != nil {
		return errors.Join(err, leave())
	}
	o.AcceptDataLoss = s.AcceptDataLoss
	if !cfg.Given("server.console") && o.ConsoleFits() {
		a.hint = consoleHint
	}
	if a.wantsKey() {
		o.DemoKey = nil // one key is enough
	}
	if !cfg.Replaceable() {
		return errors.Join(serve(p, o, a, signals), leave())
	}
	return s.write(p, cfg, o, a, signals)
}

// serve opens, starts, runs and stops the exchange.
func serve(p *program, o exchange.Options, a announcement, signals processSignals) error {
	defer newReloads(&o).follow(signals)()
	s, x, err := p.start(o, a, signals.stop)
	if x == nil {
		return err
	}
	select {
	case err := <-x.Failed():
		ctx, cancel := stopContext(err)
		defer cancel()
		x.Stop(ctx)
		return err
	case sig := <-signals.stop:
		return s.stop(sig)
	}
}

// served is an exchange that is starting or running.
type served struct {
	p       *program
	log     *slog.Logger
	launch  *exchange.Launch
	signals <-chan os.Signal // signals that stop the exchange
}

// start opens the exchange, starts the market and admits clients. If a signal arrives or a listener fails
// before that, start stops what it has started; the exchange is nil and the error ends the program.
func (p *program) start(o exchange.Options, a announcement, signals <-chan os.Signal) (*served, *exchange.Running,
	error,
) {
	opened, err := exchange.Open(o)
	if err != nil {
		return nil, nil, addressRemedy(err)
	}
	a.addresses(opened, o.Certificates.Public != nil)
	a.listening()
	s := &served{p: p, log: o.Log, launch: opened.Launch(), signals: signals}
	select {
	case <-s.launch.Done():
		x, err := s.launch.Running()
		if err == nil {
			err = a.makeKey(x)
		}
		if err == nil && a.prepare != nil {
			err = a.prepare(x)
		}
		if err != nil {
			s.launch.Stop(context.Background())
			return nil, nil, err
		}
		x.Admit()
		a.ready()
		if a.led != nil {
			*a.led = true
		}
		return s, x, nil
	case err := <-opened.Failed():
		s.launch.Stop(context.Background())
		return nil, nil, err
	case sig := <-signals:
		if err := s.stop(sig); err != nil {
			return nil, nil, err
		}
		if _, err := s.launch.Running(); !errors.Is(err, context.Canceled) {
			return nil, nil, err // the start itself failed, before a signal canceled it
		}
		return nil, nil, nil
	}
}

// interruptsToExit is the number of interrupts that end the process at once, as in Docker's daemon. Two would
// be too few: a wrapper that forwards a signal delivers it twice, and a person may press Ctrl-C again.
const interruptsToExit = 3

// stop stops the exchange in order. A further SIGTERM is only logged, because a supervisor that does not want
// to wait can send SIGKILL. Interrupts come from a person: interruptsToExit of them end the process at once.
// first is the signal that caused the stop, nil if there was none.
func (s *served) stop(first os.Signal) error {
	if first != nil {
		s.log.Info("stopping", "signal", first.String())
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	done := make(chan struct{})
	go func() {
		s.launch.Stop(ctx)
		close(done)
	}()
	interrupts := 0
	for sig := first; ; {
		if sig == os.Interrupt {
			interrupts++
		}
		if interrupts >= interruptsToExit {
			fmt.Fprintf(s.p.err, "tickhive: interrupted %d times: exiting immediately\n", interrupts)
			return exitError(1)
		}
		select {
		case <-done:
			s.log.Info("stopped")
			return nil
		case sig = <-s.signals:
			s.log.Warn("already stopping; signal ignored", "signal", sig.String(),
				"interrupts_to_exit_immediately", interruptsToExit)
		}
	}
}

// showDemoKey prints the API key of the demo on the terminal. The page's form takes the pair: an
// address that carried it would stay in the browser's history.
func (p *program) showDemoKey(public string, private auth.Secret, page string) error {
	_, err := fmt.Fprintf(p.out,
		"\ndemo key of user demo-1 (shown only once)\n  public   %s\n  private  %s\n  page     %s\n\n",
		public, private.Reveal(), page)
	return err
}

// addressRemedy adds the flag that chooses another address to the error of a listener whose address is in use.
func addressRemedy(err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	key, _, _ := strings.Cut(err.Error(), ": ")
	remedy := "--set " + key + "=HOST:PORT"
	if flag := flagOf(key); flag != "" {
		remedy = flag + " HOST:PORT"
	}
	return fmt.Errorf("%w: stop the process that uses the address, or choose another one with %s", err, remedy)
}
