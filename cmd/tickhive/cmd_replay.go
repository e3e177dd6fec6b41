package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"tickhive/engine"
	"tickhive/sim/replay"
)

// replayCmd runs an exchange that a recorded market drives.
type replayCmd struct {
	serveFlags
	Format string   `required:"" placeholder:"NAME" help:"lobster, bitstamp, kraken, binance or trades."`
	Pair   string   `placeholder:"CODE" help:"Pair code; derived from the files when they tell it."`
	Digits string   `placeholder:"P,A" sep:"none" help:"Digits of price and amount; derived from the files. lobster has 4,0."`
	Speed  string   `default:"max" placeholder:"N|max" help:"How many times faster than recorded."`
	From   string   `placeholder:"TIME" help:"Where to start."`
	Loop   bool     `help:"Start over at the end."`
	Check  bool     `help:"Compare with what the files recorded."`
	Hold   bool     `help:"Stay up at the end."`
	Files  []string `arg:"" name:"file" type:"existingfile" help:"Plain or gzip, of one symbol; lobster: message file, orderbook file; binance: with a depth snapshot. What would be read wrongly is refused before the start."`
}

// Run feeds the files once the server is ready, and says on standard output how the
// comparisons came out.
func (c *replayCmd) Run(p *program) error {
	g := newProgress(p.err, "replay", 1, c.Quiet)
	r, err := replay.New(replay.Options{
		Format: c.Format, Files: c.Files, Pair: c.Pair, Digits: c.Digits, Speed: c.Speed, From: c.From,
		Loop: c.Loop, Check: c.Check,
		Progress: func(q replay.Progress) {
			g.total = int64(max(q.Total, 1))
			g.set(int64(q.Done))
		},
	})
	if err != nil {
		return err
	}
	c.Sim, c.Pairs, c.Clock = "off", pairsNone, clockVirtual
	c.ClockStart = time.Unix(0, r.StartNs()).UTC().Format(time.RFC3339Nano)
	cfg, err := c.config(p)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	x, err := newExchange(p, cfg, c.Quiet)
	if err != nil {
		return err
	}
	if up, err := x.startBefore(signals); !up {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	finished := make(chan error, 1)
	go func() { finished <- c.feed(ctx, x, r, g) }()
	select {
	case err = <-finished:
		if err == nil && c.Hold {
			<-signals
		}
	case <-signals:
		cancel()
		<-finished
	}
	return errors.Join(err, x.stopBefore(signals))
}

// feed adds the pair, runs the files and reports.
func (c *replayCmd) feed(ctx context.Context, x *exchange, r *replay.Replay, g *progress) error {
	spec := r.PairSpec()
	id, err := x.addReplayPair(&spec)
	if err != nil {
		return err
	}
	taker, err := x.accounts.stranger("replay")
	if err != nil {
		return err
	}
	r.UseTaker(taker)
	report, err := r.Run(ctx, &x.gate, id, &replay.HTTP{
		Context: ctx, BaseURL: "http://" + x.publicLn.Addr().String(), Pair: spec.Code,
		DigitsPrice: spec.DigitsPrice, DigitsAmount: spec.DigitsAmount,
	})
	g.end()
	for _, line := range report.Lines() {
		fmt.Fprintln(x.p.out, line)
	}
	for _, note := range report.Notes() {
		x.log.Info("replay", "note", note)
	}
	x.log.Info("replay", "records", report.Records, "orders", report.Placed, "trades", report.Trades, "refused", report.Refused)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// addReplayPair adds the recorded pair and its currencies; one that a data directory
// already has is used again.
func (x *exchange) addReplayPair(spec *engine.Instrument) (engine.PairID, error) {
	if v := x.feed.Board().Load().Lookup(spec.Code); v != nil {
		return v.Instrument.ID, nil
	}
	var b engine.Batch
	for _, symbol := range []string{spec.Base, spec.Quote} {
		if x.feed.Board().Load().Asset(symbol) == nil {
			a := AssetConfig{Symbol: symbol}
			b.Commands = append(b.Commands, engine.Command{Kind: engine.SetAsset, Pair: engine.ControlPair, Asset: a.asset()})
		}
	}
	b.Commands = append(b.Commands, engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: spec})
	var id engine.PairID
	refused := engine.NotRejected
	b.Collect = func(_ int, _ *engine.Command, events []engine.Event) {
		switch e := &events[0]; e.Kind {
		case engine.EventPair:
			id = e.Pair
		case engine.EventRejected:
			refused = e.Reason
		}
	}
	if err := x.gate.Submit(&b); err != nil {
		return 0, fmt.Errorf("replay: pair %s: %w", spec.Code, err)
	}
	if refused != engine.NotRejected {
		return 0, fmt.Errorf("replay: pair %s: %s", spec.Code, refused)
	}
	return id, nil
}
