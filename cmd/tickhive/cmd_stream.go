package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"tickhive/hive"
	"tickhive/internal/backup"
	"tickhive/internal/cmdline"
	"tickhive/internal/datadir"
	"tickhive/internal/exchange"
	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
	"tickhive/launchpad"
	"tickhive/marketdata/replica"
)

// streamCmd reads the stream of a writer. It changes nothing in it.
type streamCmd struct {
	Status streamStatusCmd `cmd:"" help:"Print the writer, the term and the end of each log in a stream."`
	Verify streamVerifyCmd `cmd:"" help:"Check every message of a stream, execute the market's records and print the state hash."`

	Restore streamRestoreCmd `cmd:"" help:"Make a data directory from a stream."`
}

// streamFlags name a stream.
type streamFlags struct {
	From       string   `placeholder:"nats://HOST:PORT,..." help:"Servers of the writer's stream (replica.from)."`
	ConfigFile string   `name:"config" placeholder:"FILE" help:"Configuration file (TOML)."`
	Set        []string `name:"set" sep:"none" placeholder:"KEY=VALUE" help:"Set a configuration key; may be repeated."`
	JSON       bool     `name:"json" help:"Print one JSON object."`
	Quiet      bool     `help:"Suppress progress output."`
}

// follower returns the configuration of a process that follows a stream, and opens the stream.
func (f *streamFlags) follower(
	ctx context.Context, p *program, s serveFlags,
) (cfg *Config, to exchange.FollowOptions, done func(), err error) {
	s.ConfigFile, s.Set = f.ConfigFile, append(s.Set, f.Set...)
	if f.From != "" {
		s.Set = append(s.Set, "replica.from="+f.From)
	}
	s.Set = append(s.Set, "data.dir=", "journal.stream=", "journal.ack=local", "sim.enabled=false", "sim.backfill=0",
		"clock.mode=real", "binance.listen=")
	if cfg, err = s.config(p); err != nil {
		return cfg, to, nil, err
	}
	if cfg.Replica.From == "" {
		return cfg, to, nil, usageError{Err: errors.New("which stream? Name its servers with --from nats://HOST:PORT")}
	}
	if to, done, err = cfg.followStream(ctx); err != nil {
		return cfg, to, nil, fmt.Errorf("--from (replica.from): %w", err)
	}
	if err = cfg.read("the stream's first message", []byte(to.Genesis.Settings)); err == nil {
		if err = cfg.validate(); err != nil {
			err = fmt.Errorf("the settings of the stream: %w", err)
		}
	}
	if err != nil {
		done()
	}
	return cfg, to, done, err
}

// streamRead holds the findings of a reading of a whole stream.
type streamRead struct {
	Epoch    string            `json:"epoch"`
	Messages uint64            `json:"messages"`
	Void     uint64            `json:"void"` // messages that do not count
	Term     uint64            `json:"term"`
	Writer   string            `json:"writer"` // address, empty: not known
	Logs     map[string]uint64 `json:"logs"`   // number of the last record
	SentMs   int64             `json:"lastMessageAt"`
	Digests  int               `json:"digests"` // that were compared
	Seq      uint64            `json:"seq,omitempty"`
	Hash     string            `json:"hash,omitempty"`
}

// read reads the messages that the stream has now and calls each for those that count.
func (s *streamRead) read(
	ctx context.Context, p *program, quiet bool, log jet.Log, each func(m *stream.Message) error,
) error {
	last, err := log.Last(ctx)
	if err != nil {
		return err
	}
	bar := newProgress(p.err, "read", quiet)
	defer bar.Done()
	r := stream.NewReader(stream.State{}, exchange.StreamRules)
	err = log.Follow(ctx, 1, func(seq uint64, data []byte) error {
		m, valid, err := r.Next(seq, data)
		switch {
		case err != nil:
			return cmdline.DamageError{Err: err}
		case !valid:
			s.Void++
		default:
			if err := each(&m); err != nil {
				return cmdline.DamageError{Err: fmt.Errorf("message %d: %w", seq, err)}
			}
		}
		bar.Set(int64(seq), int64(last))
		if s.Messages = seq; seq == last {
			return io.EOF
		}
		return nil
	})
	at := r.State()
	s.Term, s.SentMs = at.Term, at.SentNs/int64(time.Millisecond)
	s.Logs = map[string]uint64{
		"engine": at.Pos.Of(stream.Engine), "accounts": at.Pos.Of(stream.Accounts),
		"launchpad": at.Pos.Of(stream.Launchpad), "hive": at.Pos.Of(stream.Hive),
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// noteTerm keeps the address of the writer.
func (s *streamRead) noteTerm(m *stream.Message) error {
	if m.Kind != stream.Term {
		return nil
	}
	var info struct{ Address string }
	if json.Unmarshal(m.Info, &info) != nil {
		info.Address = "" // of an earlier program, which wrote its version alone
	}
	s.Writer = info.Address
	return nil
}

func (s *streamRead) print(out io.Writer, asJSON bool, nowMs int64) error {
	if asJSON {
		return json.NewEncoder(out).Encode(s)
	}
	writer := s.Writer
	if writer == "" {
		writer = "(it advertises no address)"
	}
	fmt.Fprintf(out, "epoch      %s\nterm       %d\nwriter     %s\nmessages   %d, void %d\n", s.Epoch, s.Term, writer,
		s.Messages, s.Void)
	for _, name := range []string{"engine", "accounts", "launchpad", "hive"} {
		fmt.Fprintf(out, "%-10s record %d\n", name, s.Logs[name])
	}
	fmt.Fprintf(out, "last       %s ago\n", time.Duration(max(nowMs-s.SentMs, 0))*time.Millisecond)
	if s.Hash != "" {
		fmt.Fprintf(out, "verified   %d digests equal\nseq %d\nhash %s\n", s.Digests, s.Seq, s.Hash)
	}
	return nil
}

type streamStatusCmd struct{ streamFlags }

// Run reads the stream and prints what it means.
func (c *streamStatusCmd) Run(p *program) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	_, to, done, err := c.follower(ctx, p, serveFlags{})
	if err != nil {
		return err
	}
	defer done()
	s := streamRead{Epoch: to.Genesis.Epoch}
	if err := s.read(ctx, p, c.Quiet, to.Log, s.noteTerm); err != nil {
		return err
	}
	return s.print(p.out, c.JSON, time.Now().UnixMilli())
}

type streamVerifyCmd struct{ streamFlags }

// Run reads the stream, executes the records of the market, decodes the others, and compares the digests.
func (c *streamVerifyCmd) Run(p *program) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, to, done, err := c.follower(ctx, p, serveFlags{})
	if err != nil {
		return err
	}
	defer done()
	o, err := cfg.exchangeOptions(p, true)
	if err != nil {
		return err
	}
	market := replica.New(replica.Options{Engine: o.Engine, Market: o.Market})
	s := streamRead{Epoch: to.Genesis.Epoch}
	compare := func(m *stream.Message) error {
		if m.DigestPos == 0 || m.DigestPos != market.Pos {
			return nil
		}
		if own := replica.Digest(market.Core); own != m.Digest {
			return fmt.Errorf("at record %d the state differs from the writer's: digest %016x, the writer had %016x",
				market.Pos, own, m.Digest)
		}
		s.Digests++
		return nil
	}
	err = s.read(ctx, p, c.Quiet, to.Log, func(m *stream.Message) error {
		if err := errors.Join(s.noteTerm(m), compare(m)); err != nil {
			return err
		}
		for at, record := range m.All() {
			if err := verifyRecord(market, at, record); err != nil {
				return fmt.Errorf("record %d of log %d: %w", at.Pos, at.Log, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	h := market.Hash()
	s.Seq, s.Hash = h.Seq, h.Hash
	return s.print(p.out, c.JSON, time.Now().UnixMilli())
}

// verifyRecord executes a record of the market, and decodes one of the agents. The accounts' may be sealed: the
// checksum of the message is their proof.
func verifyRecord(market *replica.Replica, at stream.Place, record []byte) (err error) {
	switch at.Log {
	case stream.Engine:
		return market.Apply(wal.Record{Seq: at.Pos, Payload: record, File: "the stream"})
	case stream.Launchpad:
		_, err = launchpad.DecodeRecord(record)
	case stream.Hive:
		_, err = hive.DecodeRecord(record)
	case stream.Accounts:
	}
	return err
}

// streamRestoreCmd makes a data directory from a stream.
type streamRestoreCmd struct {
	streamFlags
	Dir string `arg:"" help:"Data directory to make; it must be empty or absent."`
}

// Run writes the records of the stream into logs, and meta.json last: without it a start refuses the directory.
func (c *streamRestoreCmd) Run(p *program) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := backup.CheckEmpty(c.Dir); err != nil {
		return err
	}
	cfg, to, done, err := c.follower(ctx, p, serveFlags{})
	if err != nil {
		return err
	}
	defer done()
	o, err := cfg.exchangeOptions(p, true)
	if err != nil {
		return err
	}
	w := restoredLogs{dir: c.Dir}
	s := streamRead{Epoch: to.Genesis.Epoch}
	err = s.read(ctx, p, c.Quiet, to.Log, func(m *stream.Message) error {
		if m.Kind == stream.Base {
			return w.begin(m)
		}
		return w.take(m)
	})
	if err = errors.Join(err, w.close()); err != nil {
		return fmt.Errorf("%w; remove %s before another attempt", err, c.Dir)
	}
	meta := datadir.Rebuilt{
		Identity: w.identity, CreatedNs: to.Genesis.LedgerNs, Seed: to.Genesis.Seed, SealedWith: to.Genesis.SealedWith,
		Logs: w.ends, Engine: o.Engine, Market: o.Market,
	}
	text := ""
	for i, log := range storeLogs {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s record %d", log.name, w.ends[log.name].Seq)
	}
	err = meta.WriteMeta(c.Dir, time.Now(), "restored from the stream of the epoch "+s.Epoch+": "+text+"; new epoch")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s restored: %s\nstart it with --data-dir %s\n", c.Dir, text, c.Dir)
	return err
}

// restoredLogs are the logs of a directory that is written from a stream.
type restoredLogs struct {
	dir      string
	identity wal.Identity
	logs     [stream.Logs]*wal.Log
	ends     map[string]wal.Position
}

// begin makes the logs. The stream has every record from the first one on.
func (w *restoredLogs) begin(m *stream.Message) (err error) {
	if m.Start != (stream.Positions{}) {
		return errors.New("the stream does not begin with the first records")
	}
	w.identity.History = m.History
	if w.identity.Directory, err = wal.NewID(rand.Reader); err != nil {
		return err
	}
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return err
	}
	for i, log := range storeLogs {
		o := log.options
		o.NoLock, o.Name, o.Identity, o.MaxRecord = true, log.name, w.identity, stream.MaxRecord
		if w.logs[i], err = wal.Create(vfs.OS{}, filepath.Join(w.dir, log.name), o, 1); err != nil {
			return err
		}
	}
	return nil
}

// take appends the records of a message.
func (w *restoredLogs) take(m *stream.Message) error {
	var batches [stream.Logs][][]byte
	for at, record := range m.All() {
		batches[at.Log-1] = append(batches[at.Log-1], record)
	}
	for i, batch := range batches {
		if len(batch) == 0 {
			continue
		}
		if _, err := w.logs[i].Append(batch); err != nil {
			return err
		}
	}
	return nil
}

// close syncs and closes the logs.
func (w *restoredLogs) close() (err error) {
	w.ends = map[string]wal.Position{}
	for i, log := range w.logs {
		if log != nil {
			err = errors.Join(err, log.Close())
			w.ends[storeLogs[i].name] = log.Position()
		}
	}
	return err
}
