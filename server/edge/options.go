package edge

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/fault"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/forward"
)

// Limits of the listeners (docs/contract/limits.md#http). MaxHeadBytes is the size of the read
// buffer: fasthttp refuses a request head that does not fit into it.
const (
	MaxHeadBytes     = 16 << 10
	MaxTargetBytes   = 8 << 10
	MaxBodyBytes     = 64 << 10
	MaxInternalBody  = 4 << 20
	DefaultConnsIP   = 1000
	DefaultConns     = 16 << 10 // a 64 KiB write buffer each: 1 GiB at most
	DefaultPerMinute = 60
	DefaultPerSecond = 10
	DefaultClients   = 100_000 // remembered addresses; at most 1 KiB each
)

// Options configures a Server. Clock is required; the zero value of any other field means its
// default.
type Options struct {
	Clock clock.Clock // the process clock
	// MachineNs is the machine's clock in Unix ns, for rate limits
	// (docs/contract/market-data.md#times). Default clock.MachineNs.
	MachineNs func() int64

	// SplitAggregator serves the aggregator namespace only on ServeAggregator's listener.
	SplitAggregator bool
	// AggregatorHost, when set, limits the aggregator namespace to requests with this Host.
	AggregatorHost string

	Rate RateOptions
	// TrustedProxies are addresses and CIDRs whose X-Forwarded-For is trusted.
	TrustedProxies []string

	ConnectionsPerIP int // default 1000; -1: unlimited
	Connections      int // default 16,384

	Certificate *Certificate // nil: clients come in plain text

	ReadTimeout  time.Duration // default 10 s: the whole request
	WriteTimeout time.Duration // default 30 s: the whole answer
	IdleTimeout  time.Duration // default 75 s between two requests

	// WriteBufferSize in bytes for each connection; default 64 KiB (docs/internals/performance.md).
	WriteBufferSize int

	// Resources are the routes of the table: market data, accounts, launchpad, hive, streams, page.
	Resources []Resource

	// Facade has the routes of another exchange's interface, which ServeFacade serves; nil: none.
	Facade *Facade

	// Authenticate verifies a signed request. Nil: no credentials are valid.
	Authenticate func(c *Ctx) (*Principal, *refuse.Refusal)

	Replica *forward.Replica // nil: the exchange executes what clients ask for
	// Board has the seqs of the pairs, for requests with X-Min-Seq; nil: they are answered at any seq.
	Board *marketdata.Board
	// Peers is the key of the nodes that may name the client of a request; nil: none may.
	Peers *forward.Key
	// Settle waits until what a request has changed is safe elsewhere too. It runs behind each request of another
	// method than GET that was not refused; nil: nothing waits.
	Settle func() *refuse.Refusal

	// Faults holds the rules of faults on demand; nil: there are none.
	Faults *fault.Switch

	Log *slog.Logger // default slog.Default()
}

// Facade is the interface of another exchange on its own listener. Its listener shares the connections, the
// certificate and the client addresses of the public one. Limits of requests are its own.
type Facade struct {
	Routes []*Route
	Refuse refuseFunc
	Expose []string // headers that a page of another origin may read beside those of the other listeners
}

// Resource returns the routes of one resource. New calls it once.
type Resource func(s *Server) []*Route

// RateOptions are the limits of docs/contract/limits.md#rate-limits. Refused requests do not count.
type RateOptions struct {
	PerMinute int // in any 60 s; default 60
	PerSecond int // in any 1 s; default 10
	Clients   int // remembered addresses, evicted least recently used first; default 100,000
	// Allow lists the IPs, CIDRs and API public keys without a limit.
	Allow []string
	// Market and Account put these classes of routes under the same limit.
	Market, Account bool
}

// withDefaults sets the defaults of unset fields and checks the values.
func (o Options) withDefaults() (Options, error) {
	if o.Clock == nil {
		return o, fmt.Errorf("edge: Options need a clock")
	}
	if o.MachineNs == nil {
		o.MachineNs = clock.MachineNs
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.ConnectionsPerIP = cmp.Or(o.ConnectionsPerIP, DefaultConnsIP)
	o.Connections = cmp.Or(o.Connections, DefaultConns)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 10*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 75*time.Second)
	o.WriteBufferSize = cmp.Or(o.WriteBufferSize, 64<<10)
	o.Rate.PerMinute = cmp.Or(o.Rate.PerMinute, DefaultPerMinute)
	o.Rate.PerSecond = cmp.Or(o.Rate.PerSecond, DefaultPerSecond)
	o.Rate.Clients = cmp.Or(o.Rate.Clients, DefaultClients)
	if o.Rate.PerMinute < 1 || o.Rate.PerMinute > MaxPerMinute || o.Rate.PerSecond < 1 {
		return o, fmt.Errorf("edge: rate.per_minute must be 1 to %d and rate.per_second at least 1", MaxPerMinute)
	}
	if o.ReadTimeout < 0 || o.WriteTimeout < 0 || o.IdleTimeout < 0 {
		return o, fmt.Errorf("edge: timeouts must be positive")
	}
	return o, nil
}

// prefixes parses IPs and CIDRs; it returns the entries that are neither in rest.
func prefixes(list []string) (nets []netip.Prefix, rest []string) {
	for _, text := range list {
		if a, err := netip.ParseAddr(text); err == nil {
			a = a.Unmap()
			nets = append(nets, netip.PrefixFrom(a, a.BitLen()))
		} else if p, err := netip.ParsePrefix(text); err == nil {
			nets = append(nets, p.Masked())
		} else {
			rest = append(rest, text)
		}
	}
	return nets, rest
}

func contains(nets []netip.Prefix, a netip.Addr) bool {
	for _, p := range nets {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
