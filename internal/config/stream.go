package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// streamEmbedded is the value of journal.stream for a server in this process.
const streamEmbedded = "embedded"

// maxAddresses is the largest number of addresses in a list.
const maxAddresses = 64

// simText describes the simulated market that a standby must have like its writer.
func (c *Config) simText() string {
	if !c.Simulated() {
		return exchange.SimOff
	}
	return fmt.Sprintf("intensity %d, scenario %s", c.Sim.Intensity, c.Sim.Scenario)
}

// validateStream checks the settings of the stream.
func (c *Config) validateStream() error {
	if d := time.Duration(c.Cluster.TakeoverAfter); d < time.Second || d > time.Hour {
		return errors.New("cluster.takeover_after: must be from 1s to 1h: the writer speaks every 200ms")
	}
	if c.Journal.Stream == "" && c.Replica.From == "" {
		if c.Journal.Ack == exchange.AckQuorum {
			return errors.New("journal.ack: quorum needs a stream: set journal.stream")
		}
		if c.Cluster.Advertise != "" || c.Cluster.KeyFile != "" && !c.exposed() || c.Cluster.CA != "" {
			return errors.New("cluster: an exchange without a stream is no node of a cluster: set journal.stream, " +
				"or leave out cluster.advertise, cluster.key_file and cluster.ca")
		}
		return nil
	}
	var errs []error
	if at := c.Cluster.Advertise; at != "" {
		if host, port, err := net.SplitHostPort(at); err != nil || host == "" || port == "" || port == "0" {
			errs = append(errs, fmt.Errorf("cluster.advertise: %q must have the form HOST:PORT, for example h4:8080",
				at))
		}
	}
	if c.Journal.Stream != "" && c.Data.Dir == "" {
		errs = append(errs, errors.New("journal.stream: a stream takes the records of a data directory: set data.dir"))
	}
	if c.Journal.Stream != "" && c.Clock.Mode == ClockVirtual {
		errs = append(errs, errors.New("journal.stream: the time of a virtual clock is not in the stream: "+
			"set clock.mode to real"))
	}
	for _, key := range []struct{ name, value string }{
		{"journal.stream", c.Journal.Stream}, {"replica.from", c.Replica.From},
	} {
		if key.value == "" || key.value == streamEmbedded && key.name == "journal.stream" {
			continue
		}
		if err := jet.Check(c.remote(key.value)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key.name, err))
		}
	}
	errs = append(errs, CheckAddresses("stream.monitor", c.Stream.Monitor),
		checkNodes("replica.snapshot_from", c.Replica.Peers))
	if c.Journal.Stream != "" && c.Stream.CA != "" && c.Auth.SecretKey == "" {
		errs = append(errs, errors.New("auth.secret_key_file: the keys of users would leave this machine unsealed: "+
			"set it here and at the replicas"))
	}
	if c.Journal.Stream == streamEmbedded {
		if _, _, err := net.SplitHostPort(c.Stream.Listen); err != nil {
			errs = append(errs, fmt.Errorf("stream.listen: %q must have the form HOST:PORT, for example 127.0.0.1:4222",
				c.Stream.Listen))
		}
	}
	return errors.Join(errs...)
}

// CheckAddresses checks a list of HTTP addresses.
func CheckAddresses(key string, list []string) error {
	if len(list) > maxAddresses {
		return fmt.Errorf("%s: %d addresses, at most %d", key, len(list), maxAddresses)
	}
	for _, at := range list {
		if u, err := url.Parse(at); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
			u.User != nil || strings.Trim(u.Path, "/") != "" {
			return fmt.Errorf("%s: %q must have the form http://HOST:PORT", key, at)
		}
	}
	return nil
}

// checkNodes checks a list of internal listeners: https://HOST:PORT, on this machine also http.
func checkNodes(key string, list []string) error {
	if err := CheckAddresses(key, list); err != nil {
		return err
	}
	for _, at := range list {
		if u, err := url.Parse(at); err == nil && u.Scheme == "http" && !listen.Local(u.Hostname()) {
			return fmt.Errorf("%s: %q would send a snapshot over the network in clear: name https://%s, for which the "+
				"internal listener there serves the certificate of the cluster's key", key, at, u.Host)
		}
	}
	return nil
}

// Replaceable reports whether another node can take over from this one: it has acknowledged nothing that the stream
// lacks, and the stream outlives this process.
func (c *Config) Replaceable() bool {
	return c.Journal.Ack == exchange.AckQuorum && c.Journal.Stream != "" && c.Journal.Stream != streamEmbedded
}

// remote returns the servers of a text nats://A,B,C.
func (c *Config) remote(text string) jet.Remote {
	r := jet.Remote{CA: c.Stream.CA, Seed: c.Stream.Credentials}
	for part := range strings.SplitSeq(text, ",") {
		if !strings.Contains(part, "://") {
			part = "nats://" + part
		}
		r.URLs = append(r.URLs, part)
	}
	return r
}

// openStream opens the stream of an epoch for the writer.
func (c *Config) openStream(ctx context.Context, epoch string) (log jet.Log, done func(), err error) {
	var server *jet.Server
	to, replicas := jet.Remote{}, 1
	if c.Journal.Stream == streamEmbedded {
		if server, err = c.startStream(); err != nil {
			return nil, nil, err
		}
		to.Embedded = server
	} else {
		if to = c.remote(c.Journal.Stream); len(to.URLs) >= 3 {
			replicas = 3 // two of them are a majority
		}
	}
	conn, err := jet.Connect(to)
	if err == nil {
		if log, err = conn.Log(ctx, epoch, replicas); err == nil && c.Replaceable() {
			err = c.checkSync(ctx, conn, log, to)
		}
		if err != nil {
			conn.Close()
		}
	}
	if err != nil {
		if server != nil {
			server.Stop()
		}
		return nil, nil, err
	}
	return log, func() {
		log.Close()
		conn.Close()
		if server != nil {
			server.Stop()
		}
	}, nil
}

// EmbeddedStream is the server of a stream in this process, for other ones.
type EmbeddedStream struct {
	Address     string // HOST:PORT; empty: there is no server
	Credentials string // file
}

// Embedded returns the server of a stream in this process. It has an address once the exchange has opened the stream.
func (c *Config) Embedded() *EmbeddedStream { return &c.embedded }

// seedFile is the file of a data directory with the credentials of the embedded server.
const seedFile = "stream.nk"

// startStream starts the embedded server. Its credentials outlast the process, so that the credentials of other nodes
// stay valid.
func (c *Config) startStream() (*jet.Server, error) {
	file := cmp.Or(c.Stream.Credentials, filepath.Join(c.Data.Dir, seedFile))
	seed, err := datadir.Secret(file, jet.NewSeed)
	if err != nil {
		return nil, err
	}
	o := jet.ServerOptions{Dir: filepath.Join(c.Data.Dir, "stream"), Listen: c.Stream.Listen, Seed: seed}
	server, err := jet.StartServer(o)
	switch {
	case errors.Is(err, jet.ErrSeed):
		return nil, fmt.Errorf("%s: %w: put the right file back, or remove it so that a new one is made, which the "+
			"other nodes need then", file, err)
	case err != nil:
		return nil, err
	}
	c.embedded = EmbeddedStream{strings.TrimPrefix(server.URL(), "nats://"), file}
	return server, nil
}

// checkSync refuses servers that acknowledge what a power cut may take from them.
func (c *Config) checkSync(ctx context.Context, conn *jet.Conn, log jet.Log, to jet.Remote) error {
	if c.Stream.TrustLazy {
		return nil
	}
	from := jet.SyncSources{Monitor: c.Stream.Monitor}
	if to.Seed = c.Stream.System; to.Seed != "" {
		from.System = &to
	}
	return conn.CheckSync(ctx, log, from)
}

// FollowStream opens the stream that a replica or a standby follows, and reads its first message.
func (c *Config) FollowStream(ctx context.Context, standby bool,
) (f exchange.FollowOptions, done func(), err error) {
	f.Keys = stream.KeysOf(c.ring)
	to := c.remote(c.Replica.From)
	conn, err := jet.Connect(to)
	if err != nil {
		return f, nil, err
	}
	epoch := c.Replica.Epoch
	if epoch == "" {
		epochs, err := conn.Epochs(ctx)
		if err == nil && len(epochs) != 1 {
			err = fmt.Errorf("the servers have %d streams of TickHive (epochs %s): start the writer first, or "+
				"choose one with --set replica.epoch=EPOCH", len(epochs), strings.Join(epochs, ", "))
		}
		if err != nil {
			conn.Close()
			return f, nil, err
		}
		epoch = epochs[0]
	}
	log, err := conn.Log(ctx, epoch, 0)
	if err == nil {
		if f.Genesis, err = node.ReadGenesis(ctx, log, f.Keys); errors.Is(err, jet.ErrTrimmed) {
			err = nil // a copy or a snapshot says it
		}
	}
	if err == nil && standby {
		err = c.checkSync(ctx, conn, log, to) // it acknowledges changes once it is the writer
	}
	if err == nil && c.Replica.Events > 0 {
		f.Events, err = conn.Events(ctx, epoch, c.Replica.Events)
	}
	if err != nil {
		conn.Close()
		return f, nil, err
	}
	f.Log = log
	return f, func() {
		log.Close()
		conn.Close()
	}, nil
}
