package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/player"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/sim/replay"
	"github.com/tickhive/tickhive/sim/replay/format"
	"github.com/tickhive/tickhive/sim/replay/sample"
)

// replayCmd runs an exchange whose market is driven by recorded files.
type replayCmd struct {
	serveFlags   `embed:"" group:"Configuration, as for serve:"`
	Format       string        `placeholder:"NAME" help:"lobster, bitstamp, kraken, binance, bybit, tardis, databento or trades; needed where the files leave it open."`
	Detect       bool          `help:"Say which format the files have, and why; start nothing."`
	Pair         string        `placeholder:"CODE" help:"Pair code, or the symbol of the files; taken from the files when they name it."`
	Digits       string        `placeholder:"P,A" sep:"none" help:"Fractional digits of price and amount; derived from the files (lobster: 4,0). Of trades and bars, values with more are rounded and counted."`
	Speed        string        `placeholder:"N|max" help:"Speed relative to the recording; max runs as fast as possible (max; 1 with --sample, unless it compares)."`
	From         string        `placeholder:"TIME" help:"Start at this time of the recording."`
	ExchangeTime bool          `help:"Take the exchange's times, not those of receipt (binance, tardis)."`
	Passive      bool          `help:"Fill the orders that the file names, also where the engine would choose others (lobster, databento)."`
	Quotes       string        `placeholder:"AMOUNT" help:"Keep a bid and an ask of this amount of the base currency around the last trade, so that orders of users trade at the market (recordings without a book)."`
	Loop         bool          `help:"Start again at the end."`
	Check        bool          `help:"Compare the results with the recording."`
	CheckMin     string        `placeholder:"PERCENT" help:"Compare, and exit with 4 when fewer comparisons of a kind agree."`
	JSON         bool          `help:"Print the results of the comparisons as one JSON object."`
	Hold         bool          `help:"Keep serving after the end."`
	Sample       bool          `help:"Play an hour of a simulated market that is part of the program, instead of files: like --speed 1 --hold, unless --speed max or a comparison is asked for."`
	LayoutFile   string        `name:"layout" placeholder:"FILE" type:"existingfile" help:"Layout of tables (trades), a TOML file with the keys columns to skip-bad; flags come before it."`
	Table        format.Layout `embed:"" group:"Layout of tables (trades):"`
	Files        []string      `arg:"" optional:"" name:"file" type:"existingfile" help:"Files of one symbol, plain, gzip, zstd or zip; lobster: message file, orderbook file; binance: one or more, with a depth snapshot. Unreadable lines are reported before the replay starts."`

	least int64 // CheckMin in thousandths
	plays bool  // the sample, for a person who looks at it
}

// replayGCPercent lets the heap grow by half between two collections. Of two million trades 190 MiB are resident
// instead of 240 to 266, and the CPU time is the same: most of the heap is trades, which the collector does not scan.
const replayGCPercent = 50

// Run feeds the files once the server is ready, and prints the results of the comparisons on standard output.
// Without a configured data directory it writes nothing to disk.
func (c *replayCmd) Run(p *program) error {
	if c.Sample {
		drop, err := c.useSample()
		if err != nil {
			return err
		}
		defer drop()
	}
	if len(c.Files) == 0 {
		return usage("replay: name a file, or try --sample, an hour of a simulated market that is part of the program")
	}
	if err := c.readLayout(); err != nil {
		return usageError{Err: err}
	}
	if c.Detect {
		return c.detect(p.out)
	}
	if c.Format == "" {
		var err error
		if c.Format, err = format.Sure(c.Files, c.Pair, c.Table); err != nil {
			return usage("replay: %w", err)
		}
	}
	least, err := replay.ParsePercent(c.CheckMin)
	if err != nil {
		return usage("%w", err)
	}
	c.least = least
	c.Check = c.Check || least > 0 || c.JSON
	speed, err := c.speed()
	if err != nil {
		return usage("replay: %w", err)
	}
	g := newProgress(p.err, "replay", "records", c.Quiet || speed != player.Max)
	r, err := replay.New(replay.Options{
		Format: c.Format, Files: c.Files, Pair: c.Pair, Digits: c.Digits, From: c.From,
		Loop: c.Loop, Check: c.Check, ExchangeTime: c.ExchangeTime, Passive: c.Passive,
		Quotes: c.Quotes, Layout: c.Table,
		Progress: func(q replay.Progress) { g.Set(int64(q.Done), int64(q.Total)) },
	})
	if errors.As(err, new(*replay.OptionError)) {
		return usageError{Err: err}
	}
	if err != nil {
		return err
	}
	cfg, err := c.replayConfig(p, r.StartNs())
	if err != nil {
		return err
	}
	if !cfg.Given("data.dir") {
		cfg.Data.Dir = ""
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(replayGCPercent)
	}
	what := r.Recording()
	what.Kept = cfg.Data.Dir != ""
	history := r.History()
	run := &replayRun{
		replayCmd: c, p: p, replay: r, player: player.New(what, speed, true, nil), progress: g,
		dropped: history.Keep(&cfg.Market.TradesConfig, cfg.Given),
	}
	r.Play(run.player)
	return run.drive(cfg, takeSignals(p))
}

// speed returns the speed at which the recording begins. The sample is played for a person unless it is compared.
func (c *replayCmd) speed() (player.Speed, error) {
	if c.plays = c.Sample && !c.Check && c.Speed != player.Max.String(); c.plays {
		c.Speed, c.Hold = cmp.Or(c.Speed, "1"), true
	}
	return player.ParseSpeed(cmp.Or(c.Speed, player.Max.String()))
}

// useSample makes the recording that is part of the program the files of the replay. drop removes them.
func (c *replayCmd) useSample() (drop func(), err error) {
	if len(c.Files) > 0 || c.Format != "" {
		return nil, usage("replay: --sample takes neither files nor --format")
	}
	dir, err := os.MkdirTemp("", "tickhive-sample-")
	if err != nil {
		return nil, fmt.Errorf("replay: the sample: %w", err)
	}
	drop = func() { _ = os.RemoveAll(dir) }
	if c.Files, err = sample.Write(dir); err != nil {
		drop()
		return nil, err
	}
	c.Format, c.Pair = sample.Format, cmp.Or(c.Pair, sample.Pair)
	return drop, nil
}

// readLayout puts the layout file under the flags.
func (c *replayCmd) readLayout() error {
	if c.LayoutFile != "" {
		kept, err := format.ReadLayout(c.LayoutFile)
		if err != nil {
			return err
		}
		c.Table = c.Table.Over(kept)
	}
	return c.Table.Check()
}

// detect prints what the first rows of each file look like. The exit code is 4 when a file cannot be replayed.
func (c *replayCmd) detect(w io.Writer) error {
	all, bad := []*format.Detection(nil), false
	for _, file := range c.Files {
		d := format.Detect(file, c.Pair, c.Table)
		all = append(all, d)
		bad = bad || d.Problem != nil
		fmt.Fprint(w, d)
	}
	if !format.Together(all) {
		fmt.Fprintln(w, "the files have several formats; one replay takes one")
	}
	if bad {
		return exitError(exitThreshold)
	}
	return nil
}

// replayRun is a replay with its player.
type replayRun struct {
	*replayCmd
	p        *program
	replay   *replay.Replay
	player   *player.Player
	progress *progress
	dropped  []string // what the exchange will not keep of the recording
	options  exchange.Options
	carry    exchange.Carry
	pair     engine.PairID // in the present exchange
	told     bool
}

// drive starts the exchange, feeds the files and stops the exchange. Each time that somebody seeks back it begins
// again, with another exchange on the same sockets.
func (r *replayRun) drive(cfg *config.Config, signals processSignals) error {
	var err error
	if r.options, err = exchangeOptions(cfg, r.p, r.Quiet); err != nil {
		return err
	}
	kept := &listen.Kept{Open: listen.At}
	defer kept.Close()
	r.options.Hooks.Listen = kept.Listen
	r.options.Clock.Recorded, r.options.Clock.Player = true, r.player
	if !cfg.Given("server.console") && r.options.ConsoleFits() {
		r.options.Server.Console = admin.ConsoleLoopback
	}
	defer newReloads(&r.options).follow(signals)()
	say := announcement{out: r.p.out, prepare: r.join}
	if r.JSON {
		say.out = r.p.err // standard output is one object
	}
	for {
		err := r.once(say, signals)
		if !errors.Is(err, player.ErrBack) {
			return err
		}
		say.out = io.Discard // the addresses are the same
		s := r.player.State()
		r.options.Log.Info("replay", "note", "the recording begins again, in a new epoch", "to",
			format.NsText(s.TargetNs))
	}
}

// once runs one exchange until the end, a signal, or player.ErrBack.
func (r *replayRun) once(say announcement, signals processSignals) error {
	s, x, err := r.p.start(r.options, say, signals.stop)
	if x == nil {
		return err
	}
	if r.plays {
		fmt.Fprintf(say.out, "page http://%s/\n", x.PublicAddr())
		fmt.Fprintf(say.out, "or   tickhive player play|pause|step|speed|seek|leave --internal %s\n", x.InternalAddr())
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	finished := make(chan error, 1)
	go func() { finished <- r.feed(ctx, x) }()
	var sig os.Signal // nil: the replay ended by itself
	select {
	case err = <-finished:
	case sig = <-signals.stop:
		cancel()
		err = <-finished
	case <-r.player.Left():
		r.options.Log.Info("replay", "note", "somebody has left the replay: the program ends")
		cancel()
		err = <-finished
	}
	if errors.Is(err, player.ErrBack) {
		brief, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond) // for requests under way
		defer cancel()
		s.launch.Stop(brief)
		r.carry.KeepFees(x)
		return err
	}
	return errors.Join(err, s.stop(sig))
}

// replayKeys lists the keys that a replay sets itself, with their values and the reason.
var replayKeys = []struct{ key, value, why string }{
	{"sim.enabled", "off", "the recording is the market"},
	{"sim.backfill", "0s", "the recording is the market"},
	{"sim.past", "0s", "the recording is the market"},
	{"market.pairs", config.PairsNone, "the pair comes from the files"},
	{"clock.mode", config.ClockVirtual, "the recorded times drive the clock"},
	{"clock.start", "", "the clock starts with the recording; use --from to start later"},
}

// replayConfig returns the configuration with the keys that a replay sets. It refuses a command line that sets
// one of them to another value. It overrides a value in a file or in the environment without an error, because
// serve may use the same file and environment.
func (c *replayCmd) replayConfig(p *program, startNs int64) (*config.Config, error) {
	for _, s := range append(append([]string(nil), c.Set...), c.settings()...) {
		name, value, _ := strings.Cut(s, "=")
		for _, k := range replayKeys {
			if strings.TrimSpace(name) == k.key && value != k.value {
				return nil, usage("replay: %s=%s: %s; remove the setting", k.key, value, k.why)
			}
		}
	}
	for _, k := range replayKeys {
		c.Set = append(c.Set, k.key+"="+k.value)
	}
	c.Set = append(c.Set, "clock.start="+time.Unix(0, startNs).UTC().Format(time.RFC3339Nano))
	cfg, err := c.config(p)
	if err != nil {
		return nil, err
	}
	return cfg, nil
}

// join adds the pair, and the users of the exchange before.
func (r *replayRun) join(x *exchange.Running) (err error) {
	log := r.options.Log
	if !r.told {
		r.tell(log)
	}
	if r.pair, err = r.replay.Join(x); err != nil {
		return err
	}
	refused, err := x.CarryOver(&r.carry)
	if refused > 0 {
		log.Warn("replay", "note", "withdrawals of money that came from trades are gone, as the trades are",
			"withdrawals",
			refused)
	}
	return err
}

// tell says once what was taken from the files.
func (r *replayRun) tell(log *slog.Logger) {
	r.told = true
	if r.Sample {
		log.Info("replay", "note", "the sample is generated: an hour of a simulated market, not a recorded one")
	}
	if r.replay.Unnamed() {
		log.Warn("replay", "pair", r.replay.PairSpec().Code, "note",
			"the files do not name their pair; name it with --pair")
	}
	if other := r.replay.Renamed(); other != "" {
		log.Info("replay", "pair", r.replay.PairSpec().Code, "note",
			"the files name the pair "+other+"; --pair comes before them")
	}
	if !r.replay.Recording().Book {
		log.Info("replay", "note", "the recording has no order book, trades or candles only: a market order of yours "+
			"meets nobody, and a limit order trades at its own price when a recorded trade reaches it; --quotes "+
			"AMOUNT lets both trade at the market")
	}
	for _, taken := range r.replay.Takings() {
		log.Info("replay", "taken", taken.String())
	}
	for _, note := range r.dropped {
		log.Warn("replay", "note", note)
	}
}

// feed runs the files and prints the report. With Hold it ends with the context, or when the recording begins again.
func (r *replayRun) feed(ctx context.Context, x *exchange.Running) error {
	spec := r.replay.PairSpec()
	report, err := r.replay.Run(ctx, x, r.pair, &replay.HTTP{
		Context: ctx, BaseURL: "http://" + x.PublicAddr(), Pair: spec.Code,
		DigitsPrice: spec.DigitsPrice, DigitsAmount: spec.DigitsAmount,
	})
	if errors.Is(err, player.ErrBack) {
		return err
	}
	r.progress.Done()
	if r.JSON {
		err = errors.Join(err, r.writeJSON(r.p.out, &report, r.replay.Takings(), errors.Is(err, context.Canceled)))
	} else {
		for _, line := range report.Lines() {
			fmt.Fprintln(r.p.out, line)
		}
	}
	log := r.options.Log
	for _, note := range report.Notes() {
		log.Info("replay", "note", note)
	}
	log.Info("replay", "records", report.Records, "orders", report.Placed, "trades", report.Trades, "refused",
		report.Refused)
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case errors.Is(err, sequencer.ErrTimeBack):
		return fmt.Errorf("replay: the recording starts before the last record of the data directory %s; "+
			"use an empty --data-dir (%w)", r.options.Dir, err)
	case err != nil:
		return err
	}
	if r.Hold {
		if err := r.player.AwaitBack(ctx); errors.Is(err, player.ErrBack) {
			return err
		}
	}
	if r.least > 0 && !report.Agrees(r.least) {
		return exitError(exitThreshold)
	}
	return nil
}

// writeJSON writes the results of the comparisons as one line.
func (c *replayCmd) writeJSON(w io.Writer, r *replay.Report, taken []format.Taken, interrupted bool) error {
	type check struct {
		Kind  string `json:"kind"`
		Good  int    `json:"good"`
		All   int    `json:"all"`
		Given bool   `json:"given"`
	}
	out := struct {
		Records  uint64         `json:"records"`
		Orders   uint64         `json:"orders"`
		Trades   uint64         `json:"trades"`
		Refused  uint64         `json:"refused"`
		Stopped  bool           `json:"interrupted"`
		Agrees   bool           `json:"agrees"`
		Checks   []check        `json:"checks"`
		Misses   []replay.Miss  `json:"misses"`
		Notes    []string       `json:"notes"`
		Compares string         `json:"compares"`
		Taken    []format.Taken `json:"taken"`
	}{
		Records: r.Records, Orders: r.Placed, Trades: r.Trades, Refused: r.Refused,
		Stopped: interrupted, Agrees: !interrupted && r.Agrees(cmp.Or(c.least, replay.Whole)),
		Checks: []check{}, Misses: append([]replay.Miss{}, r.Misses...), Notes: append([]string{}, r.Notes()...),
		Compares: "as read", Taken: append([]format.Taken{}, taken...),
	}
	for i := range r.Checks {
		k := &r.Checks[i]
		out.Checks = append(out.Checks, check{k.Kind, k.Good, k.All, k.Given})
	}
	return json.NewEncoder(w).Encode(out)
}
