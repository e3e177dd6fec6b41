package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"tickhive/internal/datadir"
	"tickhive/internal/exchange"
	"tickhive/internal/listen"
	"tickhive/internal/mirror"
	"tickhive/internal/node"
	"tickhive/internal/stream/jet"
)

// fencedTime is the time that requests under way have when another node has become the writer. Those that wait for the
// stream are answered at once.
const fencedTime = 300 * time.Millisecond

// replaceable reports whether another node can take over from this one: it has acknowledged nothing that the stream
// lacks, and the stream outlives this process.
func (c *Config) replaceable() bool {
	return c.Journal.Ack == ackQuorum && c.Journal.Stream != "" && c.Journal.Stream != streamEmbedded
}

// trustLazySync is the setting of --trust-lazy-sync.
const trustLazySync = "stream.trust_lazy_sync=true"

// checkReplaceable refuses --promote and --trust-lazy-sync where they can have no effect.
func (s *serveCmd) checkReplaceable(c *Config) error {
	switch {
	case s.TrustLazySync && !c.replaceable():
		return usage("--trust-lazy-sync: only a writer that waits for a stream on servers of its own asks them: set " +
			"--journal nats://HOST:PORT,... and --ack quorum")
	case !s.Promote:
		return nil
	case !c.replaceable():
		return usage("--promote: only a writer that waits for a stream on servers of its own can be replaced: set " +
			"--journal nats://HOST:PORT,... and --ack quorum")
	case c.Binance.Listen != "":
		return usage("--promote: a standby has no Binance-compatible listener: leave out binance.listen")
	}
	return nil
}

// write serves as a writer until the process ends or another node becomes the writer. Then it goes on as a replica of
// the new writer, on the same sockets. With --promote it goes on as a standby, also if another node was the writer
// before this start already.
func (s *serveCmd) write(p *program, cfg *Config, o exchange.Options, a announcement, signals processSignals) error {
	kept := &listen.Kept{Open: listen.At}
	defer kept.Close()
	o.Hooks.Listen = kept.Listen
	switch led, err := s.lead(p, cfg, o, a, signals); {
	case !errors.Is(err, mirror.ErrFenced) || !led && !s.Promote:
		return err
	case s.Promote:
		o.Log.Warn("another node is the writer: this one follows as a standby")
	default:
		o.Log.Warn("another node is the writer: this one follows as a replica until it is stopped; its data " +
			"directory stays unchanged, and does not start as the writer again")
	}
	return s.follow(p, cfg, kept, signals)
}

// lead serves as the writer. led reports that it was the writer, so clients know its addresses.
func (s *serveCmd) lead(p *program, cfg *Config, o exchange.Options, a announcement, signals processSignals,
) (led bool, err error) {
	if s.Promote {
		if follows, err := wasStandby(cfg.Data.Dir); follows || err != nil {
			return false, errors.Join(err, mirror.ErrFenced)
		}
	}
	a.led = &led
	err = serve(p, o, a, signals)
	return led, err
}

// follow goes on as a replica, once the stream can be read.
func (s *serveCmd) follow(p *program, cfg *Config, kept *listen.Kept, signals processSignals) error {
	r, flags, err := s.replica(cfg)
	if err != nil {
		return err
	}
	for {
		if again, err := p.awaitStream(r.run(p, flags, kept, signals), signals); !again {
			return err
		}
	}
}

// awaitStream reports whether a node that was the writer, and cannot follow for the reason err, tries again: the stream
// could not be read. It waits for a second. When the process is stopped meanwhile, err is nil.
func (p *program) awaitStream(err error, signals processSignals) (again bool, _ error) {
	if !errors.Is(err, jet.ErrUnavailable) {
		return false, err
	}
	fmt.Fprintf(p.err, "tickhive: the stream cannot be read now: %v\n", err)
	select {
	case <-signals.stop:
		return false, nil
	case <-time.After(time.Second):
		return true, nil
	}
}

// replica returns the replica as which a writer with this configuration goes on, and its flags.
func (s *serveCmd) replica(cfg *Config) (r *replicaCmd, flags serveFlags, err error) {
	r = &replicaCmd{
		From: cfg.Journal.Stream, ConfigFile: s.ConfigFile, Set: append([]string(nil), s.Set...), Promote: s.Promote,
		Quiet: s.Quiet,
	}
	epoch, err := formerEpoch(cfg.Data.Dir)
	if err != nil {
		return r, flags, err
	}
	if epoch != "" {
		r.Set = append(r.Set, "replica.epoch="+epoch)
	}
	if s.Promote {
		r.DataDir = cfg.Data.Dir
	}
	// A path in a writer's settings is relative to its data directory, but in a replica's settings to the working
	// directory.
	for key, path := range map[string]string{
		"cluster.key_file": cfg.Cluster.KeyFile, "internal.token_file": cfg.Internal.TokenFile,
	} {
		if path != "" && !filepath.IsAbs(path) {
			r.Set = append(r.Set, key+"="+filepath.Join(cfg.Data.Dir, path))
			r.keep = append(r.keep, path)
		}
	}
	flags = serveFlags{
		Listen: s.Listen, InternalListen: s.InternalListen, InternalToken: s.InternalToken,
		InternalHosts: s.InternalHosts, LogLevel: s.LogLevel, Sim: s.Sim, Quiet: s.Quiet,
	}
	return r, flags, nil
}

// openCopy opens the copy of a node. A data directory of the same exchange, which the node left as the writer,
// is put aside: the stream has everything that was acknowledged. The files keep of it, which are secrets that the node
// shares with others, come along.
func openCopy(dir string, g node.Genesis, keep []string, log *slog.Logger) (*node.Copy, error) {
	meta, err := datadir.ReadMeta(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case meta.Epoch != g.Epoch:
		return nil, fmt.Errorf("%s is the data directory of another exchange or epoch: name another directory", dir)
	default:
		if err := putAside(dir); err != nil {
			return nil, err
		}
		log.Info("the former data directory is kept until this happens again; remove it when it is not needed",
			"dir", before(dir))
	}
	if err := takeAlong(dir, keep); err != nil {
		return nil, err
	}
	return node.OpenCopy(dir, node.CopyOptions{
		Log: exchange.EngineLogOptions(), Genesis: g, Other: keep,
		Aside: func(to string, why error) {
			log.Warn("the copy of this node cannot be continued: it is kept, and a new one begins; remove it when it "+
				"is not needed", "dir", to, "reason", why)
		},
	})
}

// putAside renames a data directory that no process uses, and deletes the directory that an earlier call has renamed.
func putAside(dir string) error {
	idle, err := datadir.OpenIdle(dir) // refused while a process uses it
	if err != nil {
		return err
	}
	return errors.Join(idle.Unlock(), os.RemoveAll(before(dir)), os.Rename(dir, before(dir)))
}

// before returns the place of a former data directory.
func before(dir string) string { return filepath.Clean(dir) + ".before" }

// takeAlong copies the files of keep that a directory lacks from the directory that putAside has renamed.
func takeAlong(dir string, keep []string) error {
	for _, name := range keep {
		to := filepath.Join(dir, name)
		if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(before(dir), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o700)
		}
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wasStandby reports whether the last process of a directory was a standby, or had begun to become one.
func wasStandby(dir string) (bool, error) {
	switch _, err := datadir.ReadMeta(dir); {
	case err == nil:
		return false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	epoch, err := formerEpoch(dir)
	return node.IsCopy(dir) || epoch != "", err
}

// formerEpoch returns the epoch of a data directory, else of the directory that putAside has renamed; empty: neither
// exists.
func formerEpoch(dir string) (string, error) {
	for _, d := range []string{dir, before(dir)} {
		meta, err := datadir.ReadMeta(d)
		if !errors.Is(err, fs.ErrNotExist) {
			return meta.Epoch, err
		}
	}
	return "", nil
}

// stopContext limits how long a failed exchange waits for the requests under way.
func stopContext(err error) (context.Context, context.CancelFunc) {
	if errors.Is(err, mirror.ErrFenced) {
		return context.WithTimeout(context.Background(), fencedTime)
	}
	return context.WithCancel(context.Background())
}
