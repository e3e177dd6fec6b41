package exchange

import (
	"cmp"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/player"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/server/conn"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/sim"
)

// Options configures an exchange. A member whose type is a Config is a section of the configuration as it is written:
// its tags say what there is to know (package setting). The others hold what a section means (accounts, launchpad,
// hive), what was opened by it (certificates, streams), and what no user configures. The comment of a member says what
// its zero value means.
type Options struct {
	Server     ServerConfig
	Aggregator AggregatorConfig
	Binance    BinanceConfig
	Internal   InternalConfig
	Rate       edge.RateConfig
	Auth       AuthConfig
	Journal    JournalOptions
	Cluster    ClusterOptions
	Sim        SimOptions
	Clock      ClockOptions

	Log      *slog.Logger   // nil: slog.Default
	LogLevel *slog.LevelVar // level of Log, which an internal route reads and sets; nil: no route
	// Progress starts to report long work, "recovery" or "backfill"; nil: no reports.
	Progress func(name string) Progress
	// DemoKey receives the key of the first demo user, once for each directory, with the page that
	// it opens; nil: the key is not created.
	DemoKey func(public string, private auth.Secret, page string) error

	Faults []fault.Rule // faults on demand, in force from the start
	Files  uint64       // file descriptors that the process may have; 0: unknown
	// Certificates are of the public and the internal listener; nil: plain text. The cluster's key makes one for an
	// internal listener that other machines reach.
	Certificates struct{ Public, Internal *conn.Certificate }

	// Dir is the data directory; empty: nothing outlives the process.
	Dir string
	// AcceptDataLoss lets a start go on without records that logs are known to have had.
	AcceptDataLoss bool

	Stream StreamOptions
	Follow *FollowOptions // nil: the exchange executes what clients ask for

	Engine engine.Options     // limits of the core
	Market marketdata.Options // retained history
	// Assets and Pairs are added to a market that does not have them. Existing ones keep their
	// settings.
	Assets    []*engine.Asset
	Pairs     []*engine.Instrument
	Accounts  accounts.Settings
	Launchpad launchpad.Options // Seed is ignored
	Hive      hive.Options      // Seed and GenesisNs are ignored

	Machine Machine
	Hooks   Hooks // for tests
}

// Machine is the machine that the exchange runs on. A zero value means the real one; a simulation
// replaces all of it.
type Machine struct {
	FS     vfs.FS      // of the data directory
	Clock  clock.Clock // the process clock, unless it is virtual, and all measurements
	Boot   string      // identifies the time since the machine was switched on
	Random io.Reader   // makes epochs and keys
	// Driver steps every component: no goroutine is started, and no connection is served. The caller
	// calls the handlers. It excludes Sim.
	Driver step.Driver
	// Rules is what node.Machine says.
	Rules uint16
}

// node returns the machine on which a node of a cluster runs.
func (o *Options) node() node.Machine {
	return node.Machine{FS: o.Machine.FS, Clock: o.Machine.Clock, Driver: o.Machine.Driver, Rules: o.Machine.Rules}
}

// background returns what runs a component of a running exchange.
func (m *Machine) background() step.Background { return step.NewBackground(m.Driver, m.Clock.NowNs) }

// Progress reports one long piece of work to a person. One goroutine calls it.
type Progress interface {
	Set(done, total int64)
	// Leave ends the report of work that was cut short, Done of complete work.
	Leave()
	Done()
}

// ServerConfig is the section server of the configuration.
type ServerConfig struct {
	Listen string `toml:"listen" default:"127.0.0.1:8080" help:"address of the public listener; port 0 picks a free port"`
	// Console says whether the listener serves the internal API, too; empty: off.
	Console string `toml:"console" default:"off" oneof:"off, loopback, token" help:"also serve the internal API on the public listener: off, loopback: to this machine alone, or token: to those who know the internal token"`
	edge.ConnConfig
}

// ConsoleFits reports whether this machine alone would reach the console that server.console = loopback opens.
func (o Options) ConsoleFits() bool {
	o.Server.Console = admin.ConsoleLoopback
	return o.checkConsole() == nil
}

// checkConsole refuses a console that would open the internal API further than the internal listener is.
func (o *Options) checkConsole() error {
	host, _, _ := net.SplitHostPort(o.Server.Listen) // without a host it is on every address
	local := listen.Local(host)
	token := o.Internal.Token != "" || o.Internal.TokenFile != ""
	switch {
	case o.Server.Console == admin.ConsoleToken && !token:
		return errors.New("server.console: token needs the token of the internal API: set internal.token_file")
	case o.Server.Console == admin.ConsoleToken && !local && o.Certificates.Public == nil:
		return fmt.Errorf("server.console: server.listen %s is not a loopback address, so the token needs TLS: set "+
			"tls.cert and tls.key", o.Server.Listen)
	case o.Server.Console != admin.ConsoleLoopback:
		return nil
	case !local:
		return fmt.Errorf("server.console: loopback needs a loopback address, and server.listen is %s: use token, or "+
			"off", o.Server.Listen)
	case token:
		return errors.New("server.console: loopback asks for no token, and the internal API has one: use token, or off")
	case strings.HasPrefix(o.Internal.Listen, listen.Unix):
		return errors.New("server.console: loopback would admit every user of this machine, and the unix socket of " +
			"internal.listen admits one: use off")
	}
	return nil
}

// AggregatorConfig is the section aggregator: the public listener serves the namespace unless Listen is set.
type AggregatorConfig struct {
	Host   string `toml:"host" help:"serve the aggregator namespace only to requests with this Host"`
	Listen string `toml:"listen" help:"serve the aggregator namespace on a separate address"`
}

// BinanceConfig is the section binance.
type BinanceConfig struct {
	Listen []string `toml:"listen" help:"addresses of the Binance-compatible listener, at most 16; empty: none; port 0 picks a free port"`
}

// InternalConfig is the section internal. The caller of Open reads Cert and Key, into Certificates.
type InternalConfig struct {
	Listen    string   `toml:"listen" default:"127.0.0.1:8081" help:"address of the internal listener, or unix:PATH; port 0 picks a free port"`
	Token     string   `toml:"token" secret:"true" help:"bearer token of the internal API; required unless the address is loopback"`
	TokenFile string   `toml:"token_file" help:"file with the token, relative to the data directory; created with a random token if absent"`
	Cert      string   `toml:"cert" help:"PEM certificate chain of the internal listener; SIGHUP reads it again; empty: where other machines reach the listener, a certificate of the cluster's key"`
	Key       string   `toml:"key" help:"PEM key of internal.cert"`
	Hosts     []string `toml:"hosts" help:"additional host names and IPs (besides loopback) that requests without a token may address"`
}

// AuthConfig is the section auth.
type AuthConfig struct {
	Legacy    bool   `toml:"legacy" help:"accept the legacy signature, which has no replay protection"`
	PublicURL string `toml:"public_url" help:"scheme and host that legacy signatures cover"`
	SecretKey string `toml:"secret_key_file" help:"file with the key that seals private keys at rest, outside the data directory; created with a random key if absent"`
}

// Check refuses the legacy scheme without the URL that it covers.
func (c *AuthConfig) Check() error {
	if c.Legacy && c.PublicURL == "" {
		return errors.New("auth.legacy: the legacy scheme signs the URL that clients use; " +
			"set auth.public_url (https://api.example.com), or remove auth.legacy")
	}
	return nil
}

// The values of journal.keep and journal.ack that are not the default.
const (
	KeepAll   = "all"
	AckQuorum = "quorum"
)

// JournalConfig is the section journal: the log in the data directory. The caller of Open opens Stream, by
// StreamOptions.Open.
type JournalConfig struct {
	Sync sequencer.SyncPolicy `toml:"sync" default:"interval" oneof:"always, interval, off" help:"when the journal is synced to disk: always, interval or off"`
	Keep string               `toml:"keep" default:"covered" oneof:"covered, all" help:"covered: remove segments that snapshots cover; all: keep every segment"`
	// SegmentBytes and SnapshotBytes count bytes of the log; 0: the built-in value.
	SegmentBytes  int64            `toml:"segment_bytes" default:"67108864" range:"4096 4294967296" help:"size of a segment file"`
	SnapshotBytes int64            `toml:"snapshot_bytes" default:"50331648" range:"4096 1099511627776" help:"bytes of log after which a snapshot is taken"`
	SnapshotEvery setting.Duration `toml:"snapshot_every" default:"5m" help:"time after which a snapshot of 100,000 commands or more is taken; 0: snapshot_bytes alone decides"`
	ScrubEvery    setting.Duration `toml:"scrub_every" default:"24h" help:"time between two slow checks of every segment and snapshot; 0: none"`
	Stream        string           `toml:"stream" help:"stream that takes the records for replicas: embedded, or nats://HOST:PORT,...; empty: none"`
	Ack           string           `toml:"ack" default:"local" oneof:"local, quorum" help:"what a change waits for before its answer: local, or quorum: the stream, too"`
}

// minEvery is the smallest journal.snapshot_every and journal.scrub_every. It rejects a number without a unit, which
// would be read as nanoseconds.
const minEvery = setting.Duration(time.Second)

// Check refuses times that are too short.
func (c *JournalConfig) Check() error {
	var errs []error
	if d := c.SnapshotEvery; d > 0 && d < minEvery {
		errs = append(errs, fmt.Errorf("journal.snapshot_every: %v must be at least %v, or 0: then "+
			"journal.snapshot_bytes alone decides", d, minEvery))
	}
	if d := c.ScrubEvery; d < 0 || d > 0 && d < minEvery {
		errs = append(errs, fmt.Errorf("journal.scrub_every: %v must be at least %v, or 0: then the files are not "+
			"checked", d, minEvery))
	}
	return errors.Join(errs...)
}

// JournalOptions is the section journal, and the file system of the log.
type JournalOptions struct {
	JournalConfig
	FS vfs.FS // nil: Machine.FS
}

// ClusterConfig is the section cluster: how the nodes of a cluster reach each other.
type ClusterConfig struct {
	Advertise string `toml:"advertise" help:"HOST:PORT of the public listener for other nodes; empty: the listener's address, unless it is 0.0.0.0 or [::]"`
	KeyFile   string `toml:"key_file" help:"file with the keys of all nodes, one a line, of which the first one signs; relative to the data directory; serve creates it if absent"`
	CA        string `toml:"ca" help:"PEM certificates by which a replica verifies the writer's, beside the machine's"`
	// TakeoverAfter is compared with the time between two messages of a writer, which is at most 200 ms.
	TakeoverAfter setting.Duration `toml:"takeover_after" default:"1.5s" help:"silence of the writer after which a standby takes over; at least 1s"`
	Trim          bool             `toml:"trim" help:"a replica or standby with a directory removes the messages of the stream that its older snapshot and the writer's newest one have"`
}

// ClusterOptions is the section cluster, and what the caller of Open has read by it.
type ClusterOptions struct {
	ClusterConfig
	Key   *clusterkey.Ring // of a node that follows; nil: read KeyFile, if there is one
	Roots *x509.CertPool   // the certificates of CA; nil: those of the machine
}

// ClockOptions configures the process clock.
type ClockOptions struct {
	Virtual bool
	// StartNs is the start of a virtual clock, Unix nanoseconds, if StartGiven; otherwise it starts
	// now, in a used directory at the time that it had reached.
	StartNs    int64
	StartGiven bool
	// Recorded reports that recorded files drive the clock (replay).
	Recorded bool
	// Player plays the recording, for the routes that control it; nil: there are none.
	Player *player.Player
}

// SimConfig is the section sim: the simulated market and its demo data.
type SimConfig struct {
	Enabled  bool             `toml:"enabled" default:"true" help:"run the simulated market"`
	Seed     int64            `toml:"seed" default:"1" help:"seed of the simulated market"`
	Backfill setting.Duration `toml:"backfill" help:"simulated history before the start; for an empty data directory only"`
	Past     setting.Duration `toml:"past" default:"365d" help:"candles of the time before a simulated pair's first trade, without orders and trades; at most 366d; 0: none"`
	sim.Config
}

// SimOptions is the section sim, and what the pairs of the configuration say.
type SimOptions struct {
	SimConfig
	Pairs     []sim.Pair
	SeedGiven bool // the seed was configured: a directory with another seed is refused
}

// Validate asks each component about its options and reports every invalid one.
func (o *Options) Validate() error {
	var errs []error
	ask := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	ask("engine", o.Engine.Validate())
	ask("market", o.Market.Validate())
	errs = append(errs, o.Auth.Check(), o.checkConsole())
	ask("accounts", o.Accounts.Validate())
	ask("launchpad", o.Launchpad.Validate())
	ask("hive", o.Hive.Validate())
	digits := engine.AssetDigits{}
	for _, a := range o.Assets {
		digits[a.Symbol] = a.Digits
	}
	for _, p := range o.Pairs {
		pair := *p
		digits.Give(&pair)
		ask(p.Code, pair.Validate())
	}
	if o.Sim.Enabled && o.Machine.Driver != nil {
		ask("sim", errors.New("a driver has no simulated market"))
	}
	if o.Sim.Enabled {
		so := sim.Options{Core: new(engine.Core), Pairs: o.Sim.Pairs, Config: o.Sim.Config}
		ask("sim", so.Validate())
	} else if o.Sim.Backfill != 0 {
		ask("sim", errors.New("a backfill needs the simulated market, which is disabled"))
	}
	if o.Sim.Past < 0 || o.Sim.Past > setting.Duration(sim.MaxPast) {
		ask("sim.past", fmt.Errorf("%v is not from 0 to 366d", o.Sim.Past))
	}
	if o.Sim.Backfill < 0 || o.Journal.SnapshotEvery < 0 || o.Journal.ScrubEvery < 0 {
		ask("sim, journal", errors.New("a time span must not be negative"))
	}
	return errors.Join(errs...)
}

// withDefaults returns o with its defaults set, or what Validate reports.
func (o Options) withDefaults() (Options, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Progress == nil {
		o.Progress = func(string) Progress { return silent{} }
	}
	if o.Machine.FS == nil {
		o.Machine.FS = vfs.OS{}
	}
	if o.Machine.Random == nil {
		o.Machine.Random = rand.Reader
	}
	if o.Machine.Clock == nil {
		o.Machine.Clock = clock.NewSteady(nil)
	}
	if o.Journal.FS == nil {
		o.Journal.FS = o.Machine.FS
	}
	if o.Hooks.Listen == nil {
		o.Hooks.Listen = listen.At
	}
	setting.Fill(&o.Server.ConnConfig)
	setting.Fill(&o.Rate)
	// Set explicitly: in a data directory, 0 means a program without this limit.
	o.Engine.AccountLists = cmp.Or(o.Engine.AccountLists, engine.DefaultAccountLists)
	o.Engine.AccountStops = cmp.Or(o.Engine.AccountStops, engine.DefaultAccountStops)
	return o, o.Validate()
}

// settings returns the settings that are a part of the state.
func (o *Options) settings() machine.Settings {
	return machine.Settings{
		Engine: o.Engine.EffectiveLimits(), Market: o.Market.Retention.WithDefaults(),
		Accounts: o.Accounts, Launchpad: o.Launchpad, Hive: o.Hive,
	}
}

// silent is a Progress that reports nothing.
type silent struct{}

func (silent) Set(int64, int64) {}
func (silent) Leave()           {}
func (silent) Done()            {}
