package exchange

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"tickhive/accounts"
	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/hive"
	"tickhive/internal/clock"
	"tickhive/internal/fault"
	"tickhive/internal/listen"
	"tickhive/internal/machine"
	"tickhive/internal/node"
	"tickhive/internal/step"
	"tickhive/internal/vfs"
	"tickhive/launchpad"
	"tickhive/marketdata"
	"tickhive/server/conn"
	"tickhive/sim"
)

// Options configures an exchange. The comment of a member says what its zero value means. The packages
// accounts, launchpad and hive define their own defaults.
type Options struct {
	Log      *slog.Logger   // nil: slog.Default
	LogLevel *slog.LevelVar // level of Log, which an internal route reads and sets; nil: no route
	// Progress starts to report long work, "recovery" or "backfill"; nil: no reports.
	Progress func(name string) Progress
	// DemoKey receives the key of the first demo user, once for each directory, with the page that
	// it opens; nil: the key is not created.
	DemoKey func(public string, private auth.Secret, page string) error

	Faults   []fault.Rule // faults on demand, in force from the start
	Public   PublicOptions
	Internal InternalOptions
	Files    uint64 // file descriptors that the process may have; 0: unknown

	// Dir is the data directory; empty: nothing outlives the process.
	Dir string
	// SecretKeyFile has the key that seals the secrets in Dir; it is outside Dir and made if absent; empty: the
	// secrets are plain.
	SecretKeyFile string
	// AcceptDataLoss lets a start go on without records that logs are known to have had.
	AcceptDataLoss bool

	Journal JournalOptions
	Stream  StreamOptions
	Follow  *FollowOptions // nil: the exchange executes what clients ask for
	Cluster ClusterOptions
	Clock   ClockOptions

	Engine engine.Options     // limits of the core
	Market marketdata.Options // retained history
	// Assets and Pairs are added to a market that does not have them. Existing ones keep their
	// settings.
	Assets    []*engine.Asset
	Pairs     []*engine.Instrument
	Accounts  accounts.Settings
	Sim       SimOptions
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
}

// node returns the machine on which a node of a cluster runs.
func (o *Options) node() node.Machine {
	return node.Machine{FS: o.Machine.FS, Clock: o.Machine.Clock, Driver: o.Machine.Driver}
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

// PublicOptions configures the public listener and its routes.
type PublicOptions struct {
	Listen string // HOST:PORT; port 0 picks a free port
	// AggregatorListen serves the aggregator namespace on a separate address; empty: the public
	// listener serves it, to requests with Host AggregatorHost if that is not empty.
	AggregatorListen, AggregatorHost string
	// BinanceListen is the address of the Binance-compatible facade; empty: none.
	BinanceListen string

	TrustedProxies   []string // IPs and CIDRs whose X-Forwarded-For is trusted
	ConnectionsPerIP int      // 0: 1,000; -1: unlimited
	Connections      int      // 0: 16,384; lowered if Files is too small

	Certificate *conn.Certificate // nil: plain text

	ReadTimeout  time.Duration // whole request; 0: 10 s
	WriteTimeout time.Duration // whole response; 0: 30 s
	IdleTimeout  time.Duration // between two requests; 0: 75 s

	Rate RateOptions

	Legacy    bool   // accept the legacy signature, which has no replay protection
	PublicURL string // scheme and host that legacy signatures cover; Legacy needs it
}

// RateOptions limits the requests of one client.
type RateOptions struct {
	PerMinute       int      // in any 60 s; 0: 60
	PerSecond       int      // in any 1 s; 0: 10
	VotesPerMinute  int      // votes of one user in any 60 s; 0: 10
	Clients         int      // tracked clients; 0: 100,000
	Allow           []string // IPs, CIDRs and public keys without limits
	Market, Account bool     // limit these classes of routes too
}

// InternalOptions configures the internal listener.
type InternalOptions struct {
	Listen string // HOST:PORT, port 0 picks a free port; or unix:PATH, which needs no token
	Token  string // bearer token; needed on an address that is not loopback
	// TokenFile has the token; relative to the data directory; made with a random one if absent.
	TokenFile string
	// Certificate is for an address that is not loopback; nil: the cluster's key makes one.
	Certificate *conn.Certificate
	Hosts       []string // additional names and IPs that requests without a token may address
}

// JournalOptions configures the logs in the data directory.
type JournalOptions struct {
	Sync          sequencer.SyncPolicy
	KeepAll       bool          // keep segments that snapshots cover
	SegmentBytes  int64         // size of a segment file; 0: 64 MiB
	SnapshotBytes int64         // log after which a snapshot is taken; 0: 48 MiB
	ScrubEvery    time.Duration // time between two scrubs of all files; 0: none
	SnapshotEvery time.Duration // time after which a snapshot of 100,000 commands or more is taken; 0: never by time
	// FS is the file system of the market's log; nil: Machine.FS.
	FS vfs.FS
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
}

// SimOptions configures the simulated market and its demo data.
type SimOptions struct {
	Enabled   bool
	Pairs     []sim.Pair
	Seed      uint64
	SeedGiven bool          // the seed was configured: a directory with another seed is refused
	Backfill  time.Duration // simulated time before the start; fills an empty directory only
	Intensity int64         // activity in per cent; 0: 100
	Scenario  sim.Scenario
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
	if o.Public.Legacy && o.Public.PublicURL == "" {
		errs = append(errs, errors.New("the legacy scheme signs the URL that clients use: set PublicURL"))
	}
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
		so := sim.Options{
			Core: new(engine.Core), Pairs: o.Sim.Pairs, Intensity: o.Sim.Intensity, Scenario: o.Sim.Scenario,
		}
		ask("sim", so.Validate())
	} else if o.Sim.Backfill != 0 {
		ask("sim", errors.New("a backfill needs the simulated market, which is disabled"))
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
	// Set explicitly: in a data directory, 0 means a program without this limit.
	o.Engine.AccountStops = cmp.Or(o.Engine.AccountStops, engine.DefaultAccountStops)
	return o, o.Validate()
}

// settings returns the settings that are a part of the state.
func (o *Options) settings() machine.Settings {
	return machine.Settings{
		Engine: o.Engine.Limits(), Market: o.Market.Retention.WithDefaults(),
		Accounts: o.Accounts, Launchpad: o.Launchpad, Hive: o.Hive,
	}
}

// silent is a Progress that reports nothing.
type silent struct{}

func (silent) Set(int64, int64) {}
func (silent) Leave()           {}
func (silent) Done()            {}
