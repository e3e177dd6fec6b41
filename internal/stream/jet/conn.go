package jet

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tickhive/tickhive/internal/stream"
)

const (
	// maxPayload is the limit of a message with its headers, the default of a server.
	maxPayload = 1 << 20
	// dialWithin bounds one attempt to connect.
	dialWithin = 2 * time.Second
	// redialAfter is the time between two attempts.
	redialAfter = 100 * time.Millisecond
	// requestWithin bounds a request: the connection may end while its answer is on the way.
	requestWithin = time.Second
	// openWithin bounds the requests that open a log.
	openWithin = 5 * requestWithin
	// formWithin bounds the opening of a log. Servers that have just started need some seconds to elect a leader.
	formWithin = 30 * time.Second
	// pingEvery finds a dead connection after two unanswered pings.
	pingEvery = 2 * time.Second
)

// refusedRemedy says what to do when servers let nobody in without credentials, or with other ones.
const refusedRemedy = "the servers ask for credentials: name the file that has them with --credentials FILE " +
	"(stream.credentials). The writer of `serve --journal embedded` keeps it as stream.nk in its data directory"

// Remote names the servers and what a connection needs. Exactly one of Embedded and URLs is set.
type Remote struct {
	Embedded *Server
	URLs     []string // nats://host:port, without a password
	CA       string   // file with the certificates that the servers' certificates are verified by
	Seed     string   // file with the seed of an nkey, or with NATS credentials (.creds)
}

// Conn is a connection that is made again whenever it ends.
type Conn struct {
	nc *nats.Conn
	js jetstream.JetStream

	staleFor time.Duration // as the constant; tests are shorter
}

// Connect connects to the first server that answers.
//
// Errors: ErrSettings.
func Connect(r Remote) (*Conn, error) {
	o := []nats.Option{
		nats.Name("tickhive"), nats.Timeout(dialWithin), nats.MaxReconnects(-1), nats.ReconnectWait(redialAfter),
		nats.ReconnectJitter(redialAfter, redialAfter), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2),
		nats.ReconnectBufSize(-1), // a publication is sent now or not at all
	}
	switch {
	case (r.Embedded == nil) == (len(r.URLs) == 0):
		return nil, fmt.Errorf("%w: name either servers or the embedded one", ErrSettings)
	case r.Embedded != nil:
		o = append(o, nats.InProcessServer(r.Embedded.s))
		if user := r.Embedded.user; user != nil {
			public, err := user.PublicKey()
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrSettings, err)
			}
			o = append(o, nats.Nkey(public, user.Sign))
		}
	default:
		more, err := secure(r)
		if err != nil {
			return nil, err
		}
		o = append(o, more...)
	}
	nc, err := nats.Connect(strings.Join(r.URLs, ","), o...)
	if errors.Is(err, nats.ErrAuthorization) {
		return nil, fmt.Errorf("%w: %w: %s", ErrUnavailable, err, refusedRemedy)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("jet: %w", err)
	}
	return &Conn{nc, js, staleFor}, nil
}

// Check returns an error for servers that Connect would refuse. It connects to nothing and reads no file.
//
// Errors: ErrSettings.
func Check(r Remote) error {
	remote := false
	for _, text := range r.URLs {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || u.User != nil {
			return fmt.Errorf("%w: a server is nats://HOST:PORT, without a password", ErrSettings)
		}
		remote = remote || !loopback(u.Hostname())
	}
	if remote && (r.CA == "" || r.Seed == "") {
		return fmt.Errorf("%w: servers that are not on this machine need a CA and a seed file", ErrSettings)
	}
	return nil
}

// secure returns the options for TLS and credentials, and refuses what Check does.
func secure(r Remote) (o []nats.Option, err error) {
	if err := Check(r); err != nil {
		return nil, err
	}
	if r.CA != "" {
		o = append(o, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}), nats.RootCAs(r.CA))
	}
	if strings.HasSuffix(r.Seed, ".creds") {
		o = append(o, nats.UserCredentials(r.Seed))
	} else if r.Seed != "" {
		seed, err := nats.NkeyOptionFromSeed(r.Seed)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrSettings, r.Seed, err)
		}
		o = append(o, seed)
	}
	return o, nil
}

// Close ends the connection and all logs of it.
func (c *Conn) Close() { c.nc.Close() }

// streamPrefix begins the name of every stream of this program.
const streamPrefix = "TICKHIVE_"

// settings returns the settings of the stream of an epoch.
func settings(epoch string, replicas int) (jetstream.StreamConfig, error) {
	for _, c := range epoch {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-') {
			return jetstream.StreamConfig{}, fmt.Errorf("%w: epoch %q has other signs than letters, digits and '-'",
				ErrSettings, epoch)
		}
	}
	if epoch == "" || len(epoch) > 64 || replicas < 1 || replicas > 5 {
		return jetstream.StreamConfig{}, fmt.Errorf("%w: epoch %q, %d replicas", ErrSettings, epoch, replicas)
	}
	return jetstream.StreamConfig{
		Name: streamPrefix + epoch, Subjects: []string{"tickhive." + epoch + ".log"}, Storage: jetstream.FileStorage,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Replicas: replicas, DenyDelete: true,
		MaxMsgSize: stream.MaxMessage + 1<<10, MaxMsgs: -1, MaxBytes: -1, MaxConsumers: -1, MaxMsgsPerSubject: -1,
	}, nil
}

// check refuses an existing stream that may lose, change or reorder messages by itself.
func check(got, want jetstream.StreamConfig) error {
	for _, c := range []struct {
		what string
		bad  bool
	}{
		{"other subjects", len(got.Subjects) != 1 || got.Subjects[0] != want.Subjects[0]},
		{"storage in memory", got.Storage != want.Storage},
		{"another retention", got.Retention != want.Retention},
		{"a limit of age, size or number", got.MaxAge != 0 || got.MaxBytes != -1 || got.MaxMsgs != -1 ||
			got.MaxMsgsPerSubject != -1},
		{"deletion of single messages", !got.DenyDelete},
		{"reads that bypass the leader", got.AllowDirect},
		{"messages below the limit of size", got.MaxMsgSize != -1 && got.MaxMsgSize < want.MaxMsgSize},
		{"another source", got.Mirror != nil || len(got.Sources) > 0 || got.SubjectTransform != nil},
		{"a limit of time for messages", got.AllowMsgTTL},
		{"a seal", got.Sealed},
	} {
		if c.bad {
			return fmt.Errorf("%w: the stream %s has %s", ErrSettings, got.Name, c.what)
		}
	}
	return nil
}
