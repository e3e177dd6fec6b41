package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/internal/clusterdemo"
	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// streamCmd reads the stream of a writer. It changes nothing in it.
type streamCmd struct {
	Status streamStatusCmd `cmd:"" help:"Print the writer, the term and the end of the log in a stream."`
	Verify streamVerifyCmd `cmd:"" help:"Check every message of a stream, execute the records and print the state hash."`

	Restore streamRestoreCmd `cmd:"" help:"Make a data directory from a stream, or from the directory of any node."`
}

// clusterCmd runs whole clusters.
type clusterCmd struct {
	Certificate clusterCertificateCmd `cmd:"" help:"Print the certificate by which other programs trust the internal listeners of a cluster."`

	Demo clusterDemoCmd `cmd:"" help:"Run three servers of a stream, a writer, a standby, two replicas and a bot, with keys and a page that kill them."`
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
	From       string   `placeholder:"nats://HOST:PORT,..." group:"Stream:" help:"Servers of the writer's stream (replica.from)."`
	Seed       string   `name:"credentials" placeholder:"FILE" group:"Stream:" help:"Credentials of these servers (stream.credentials). The writer of 'serve --journal embedded' keeps them as stream.nk in its data directory."`
	ClusterKey string   `name:"cluster-key" placeholder:"FILE" group:"Stream:" help:"Key file of the cluster (cluster.key_file). The writer keeps it as cluster.key in its data directory; on one machine it is found beside the credentials."`
	ConfigFile string   `name:"config" placeholder:"FILE" group:"Stream:" help:"Configuration file (TOML)."`
	Set        []string `name:"set" sep:"none" placeholder:"KEY=VALUE" group:"Stream:" help:"Set a configuration key; may be repeated."`
	JSON       bool     `name:"json" help:"Print one JSON object."`
	Quiet      bool     `help:"Suppress progress output."`

	standby bool   // the process may become the writer
	dir     string // of its copy; empty: it has none
}

// follower returns the configuration of a process that follows a stream, and opens the stream.
func (f *streamFlags) follower(
	ctx context.Context, p *program, s serveFlags,
) (cfg *config.Config, to exchange.FollowOptions, done func(), err error) {
	s.ConfigFile, s.Set = f.ConfigFile, append(s.Set, f.Set...)
	if f.From != "" {
		s.Set = append(s.Set, "replica.from="+f.From)
	}
	if f.Seed != "" {
		s.Set = append(s.Set, "stream.credentials="+f.Seed)
	}
	if f.ClusterKey != "" {
		s.Set = append(s.Set, "cluster.key_file="+f.ClusterKey)
	}
	s.Set = append(s.Set, "data.dir=", "journal.stream=", "journal.ack=local", "sim.backfill=0", "clock.mode=real")
	if cfg, err = s.config(p); err != nil {
		return cfg, to, nil, err
	}
	if cfg.Replica.From == "" {
		return cfg, to, nil, usageError{Err: errors.New("which stream? Name its servers with --from nats://HOST:PORT")}
	}
	if err = cfg.ReadKeys(f.dir); err != nil {
		return cfg, to, nil, err
	}
	if to, done, err = cfg.FollowStream(ctx, f.standby); err != nil {
		return cfg, to, nil, fmt.Errorf("--from (replica.from): %w", err)
	}
	return cfg, to, done, nil
}

// snapshotFlags name the snapshot behind which a command reads a stream.
type snapshotFlags struct {
	Snapshot     string `placeholder:"FILE" help:"Begin with this snapshot (tickhive backup), not with the first message."`
	SnapshotFrom string `placeholder:"https://HOST:PORT" help:"Begin with the newest snapshot of the node with this internal listener, not with the first message."`
}

// reading is a stream that a command reads, and the snapshot behind which it does.
type reading struct {
	cfg   *config.Config
	to    exchange.FollowOptions
	from  *wal.SnapshotFile // nil: with the first message
	quiet bool
	done  func() // ends the use
}

// open opens the stream and the snapshot.
func (f *snapshotFlags) open(ctx context.Context, p *program, c *streamFlags) (r *reading, err error) {
	if f.Snapshot != "" && f.SnapshotFrom != "" {
		return nil, usage("--snapshot, --snapshot-from: a command begins with one snapshot: leave one out")
	}
	if f.SnapshotFrom != "" {
		if err := config.CheckAddresses("--snapshot-from", []string{f.SnapshotFrom}); err != nil {
			return nil, usageError{Err: err}
		}
	}
	r = &reading{quiet: c.Quiet}
	var done func()
	if r.cfg, r.to, done, err = c.follower(ctx, p, serveFlags{Sim: "off"}); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "tickhive-*")
	if err != nil {
		done()
		return nil, err
	}
	r.done = func() {
		if r.from != nil {
			_ = r.from.Close() // was only read
		}
		_ = os.RemoveAll(temp) // a download that nobody needs
		done()
	}
	if err := f.begin(ctx, r, filepath.Join(temp, "snapshot")); err != nil {
		r.done()
		return nil, err
	}
	return r, nil
}

// begin opens the snapshot. A stream without its first message needs one.
func (f *snapshotFlags) begin(ctx context.Context, r *reading, to string) (err error) {
	o := exchange.EngineLogOptions()
	switch {
	case f.Snapshot != "":
		r.from, err = node.OpenSnapshot(vfs.OS{}, f.Snapshot, o)
		err = explainSnapshot(err)
	case f.SnapshotFrom != "":
		fetch := node.Fetch{
			Machine: node.OwnMachine(), From: node.Peer{URL: f.SnapshotFrom, Client: r.cfg.Ring().Client()}, To: to,
			Options: o,
		}
		r.from, err = fetch.Run(ctx)
	case r.to.Genesis == node.Genesis{}:
		return errors.New("the first messages of the stream were removed (cluster.trim): begin with a snapshot: " +
			"--snapshot FILE (tickhive backup), or --snapshot-from https://HOST:PORT")
	}
	if err != nil || r.from == nil {
		return err
	}
	h, err := node.ParseHead(r.from.Meta)
	switch {
	case err != nil:
		return err
	case r.to.Genesis == node.Genesis{}:
		r.to.Genesis = h.Genesis
	case h.Genesis.Epoch != r.to.Genesis.Epoch:
		return fmt.Errorf("the snapshot is of the epoch %s, and the stream of %s: name the epoch's own snapshot",
			h.Genesis.Epoch,
			r.to.Genesis.Epoch)
	}
	return nil
}

// survey reads the stream to its present end with a progress bar.
func (r *reading) survey(ctx context.Context, p *program, each func(m *stream.Message, at stream.State) error,
) (s *node.Survey, err error) {
	bar := newProgress(p.err, "read", "messages", r.quiet)
	defer bar.Done()
	s = &node.Survey{Epoch: r.to.Genesis.Epoch}
	return s, s.Read(ctx, r.to.Log, r.to.Keys, r.from, bar.Set, each)
}

type streamStatusCmd struct {
	streamFlags
	snapshotFlags
}

// Run reads the stream and prints what it means.
func (c *streamStatusCmd) Run(p *program) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := c.open(ctx, p, &c.streamFlags)
	if err != nil {
		return err
	}
	defer r.done()
	s, err := r.survey(ctx, p, func(*stream.Message, stream.State) error { return nil })
	if err != nil {
		return err
	}
	return s.Print(p.out, c.JSON, time.Now().UnixMilli())
}

type streamVerifyCmd struct {
	streamFlags
	snapshotFlags
}

// Run reads the stream, executes its records, and compares the digests.
func (c *streamVerifyCmd) Run(p *program) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := c.open(ctx, p, &c.streamFlags)
	if err != nil {
		return err
	}
	defer r.done()
	o, err := exchangeOptions(r.cfg, p, true)
	if err != nil {
		return err
	}
	v := node.Verifier{State: machine.New(machine.Options{Engine: o.Engine})}
	if r.from != nil {
		if err := v.Begin(r.from); err != nil {
			return err
		}
	}
	s, err := r.survey(ctx, p, v.Take)
	if err != nil {
		return err
	}
	h := v.State.Hash()
	s.Digests, s.Seq, s.Parts, s.Hash = v.Digests, h.Market.Seq, partHashes(&h), h.Hash
	return s.Print(p.out, c.JSON, time.Now().UnixMilli())
}
