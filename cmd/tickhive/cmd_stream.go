package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"tickhive/internal/clusterdemo"
	"tickhive/internal/datadir"
	"tickhive/internal/exchange"
	"tickhive/internal/machine"
	"tickhive/internal/node"
	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
)

// streamCmd reads the stream of a writer. It changes nothing in it.
type streamCmd struct {
	Status streamStatusCmd `cmd:"" help:"Print the writer, the term and the end of the log in a stream."`
	Verify streamVerifyCmd `cmd:"" help:"Check every message of a stream, execute the records and print the state hash."`

	Restore streamRestoreCmd `cmd:"" help:"Make a data directory from a stream, or from the directory of any node."`
}

// clusterCmd runs whole clusters.
type clusterCmd struct {
	Demo clusterDemoCmd `cmd:"" help:"Run three servers of a stream, a writer, a standby and two replicas, with keys that kill them."`
}

type clusterDemoCmd struct{}

// Run shows the cluster until an interrupt, or the key q.
func (*clusterDemoCmd) Run(p *program) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return clusterdemo.Run(ctx, clusterdemo.Options{Program: self, In: os.Stdin, Out: p.out, Clear: isTerminal(p.out)})
}

// streamFlags name a stream.
type streamFlags struct {
	From       string   `placeholder:"nats://HOST:PORT,..." help:"Servers of the writer's stream (replica.from)."`
	Seed       string   `name:"credentials" placeholder:"FILE" help:"Credentials of these servers (stream.credentials). The writer of 'serve --journal embedded' keeps them as stream.nk in its data directory."`
	ConfigFile string   `name:"config" placeholder:"FILE" help:"Configuration file (TOML)."`
	Set        []string `name:"set" sep:"none" placeholder:"KEY=VALUE" help:"Set a configuration key; may be repeated."`
	JSON       bool     `name:"json" help:"Print one JSON object."`
	Quiet      bool     `help:"Suppress progress output."`

	standby bool // the process may become the writer
	// choose returns the snapshot behind which a survey begins; nil: node.Oldest.
	choose func(ctx context.Context, log jet.Log) (*node.Snapshot, error)
}

// follower returns the configuration of a process that follows a stream, and opens the stream.
func (f *streamFlags) follower(
	ctx context.Context, p *program, s serveFlags,
) (cfg *Config, to exchange.FollowOptions, done func(), err error) {
	s.ConfigFile, s.Set = f.ConfigFile, append(s.Set, f.Set...)
	if f.From != "" {
		s.Set = append(s.Set, "replica.from="+f.From)
	}
	if f.Seed != "" {
		s.Set = append(s.Set, "stream.credentials="+f.Seed)
	}
	s.Set = append(s.Set, "data.dir=", "journal.stream=", "journal.ack=local", "sim.backfill=0", "clock.mode=real",
		"binance.listen=")
	if cfg, err = s.config(p); err != nil {
		return cfg, to, nil, err
	}
	if cfg.Replica.From == "" {
		return cfg, to, nil, usageError{Err: errors.New("which stream? Name its servers with --from nats://HOST:PORT")}
	}
	if to, done, err = cfg.followStream(ctx, f.standby); err != nil {
		return cfg, to, nil, fmt.Errorf("--from (replica.from): %w", err)
	}
	return cfg, to, done, nil
}

// surveyor takes what a survey reads: the snapshot behind which it begins, if there is one, and the messages
// that count.
type surveyor struct {
	begin func(from *node.Snapshot) error
	each  func(m *stream.Message) error
}

// survey reads a stream to its present end with a progress bar. It calls fresh before each attempt.
func (c *streamFlags) survey(
	ctx context.Context, p *program, to exchange.FollowOptions, fresh func() (surveyor, error),
) (s *node.Survey, err error) {
	if c.choose == nil {
		c.choose = node.Oldest // a proof must not rest on a snapshot
	}
	bar := newProgress(p.err, "read", "messages", c.Quiet)
	defer bar.Done()
	err = untilUntrimmed(func() error {
		taker, err := fresh()
		if err != nil {
			return err
		}
		s = &node.Survey{Epoch: to.Genesis.Epoch}
		return s.Read(ctx, to.Log, c.choose, bar.Set, taker.begin, taker.each)
	})
	return s, err
}

// surveyAttempts bounds the attempts to read a stream, when nodes archive a snapshot and remove messages
// that are about to be read.
const surveyAttempts = 5

// untilUntrimmed calls read again while messages that it needs are removed: the next call begins with a later snapshot.
func untilUntrimmed(read func() error) error {
	err := read()
	for n := 1; n < surveyAttempts && errors.Is(err, jet.ErrTrimmed); n++ {
		err = read()
	}
	return err
}

type streamStatusCmd struct{ streamFlags }

// Run reads the stream and prints what it means.
func (c *streamStatusCmd) Run(p *program) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	_, to, done, err := c.follower(ctx, p, serveFlags{Sim: "off"})
	if err != nil {
		return err
	}
	defer done()
	s, err := c.survey(ctx, p, to, func() (surveyor, error) {
		return surveyor{
			func(*node.Snapshot) error { return nil },
			func(*stream.Message) error { return nil },
		}, nil
	})
	if err != nil {
		return err
	}
	return s.Print(p.out, c.JSON, time.Now().UnixMilli())
}

type streamVerifyCmd struct{ streamFlags }

// Run reads the stream, executes its records, and compares the digests.
func (c *streamVerifyCmd) Run(p *program) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, to, done, err := c.follower(ctx, p, serveFlags{Sim: "off"})
	if err != nil {
		return err
	}
	defer done()
	o, err := cfg.exchangeOptions(p, true)
	if err != nil {
		return err
	}
	secrets, err := datadir.FileKey(o.SecretKeyFile, to.Genesis.SealedWith)
	if err != nil {
		return err
	}
	var v node.Verifier
	s, err := c.survey(ctx, p, to, func() (surveyor, error) {
		v = node.Verifier{State: machine.New(machine.Options{Engine: o.Engine, Secrets: secrets})}
		return surveyor{v.Begin, v.Take}, nil
	})
	if err != nil {
		return err
	}
	h := v.State.Hash()
	s.Digests, s.Seq, s.Parts, s.Hash = v.Digests, h.Market.Seq, partHashes(&h), h.Hash
	return s.Print(p.out, c.JSON, time.Now().UnixMilli())
}
