package engine

import (
	"errors"
	"fmt"
)

// Options limits what a Core may hold. A zero member means its default. The limits influence the state: a
// replay with other limits gives another state.
type Options struct {
	Limits
	// PairStops limits the waiting stops of all accounts of the pair together, the built-in one included. It
	// bounds the events of the command that triggers them all.
	PairStops int
	// ClientIDs limits the client order ids that one pair remembers, over all accounts.
	ClientIDs int
	// AccountClientIDs limits the newest client ids of one account that a pair remembers
	// beyond the end of their orders.
	AccountClientIDs int
	// IcebergSlices limits the slices of one iceberg: it bounds the events of the command
	// that sweeps it.
	IcebergSlices int64
	// PairSlices limits the slices in the reserves of all icebergs of a pair: it bounds the
	// events of the command that sweeps them all, two a slice.
	PairSlices int64
	// Pairs and Assets limit their numbers.
	Pairs, Assets int
	// PartEvents limits the events of one part of a command (continuation.go).
	PartEvents int
}

// The defaults. 8 Mi orders of a pair take 1 GiB. docs/contract/matching.md#client-order-ids promises 1,000,000
// client ids. Every limit is per pair: other pairs of the same loop must not have an effect on a pair's
// results.
const (
	DefaultOpenOrders       = 8 << 20
	DefaultAccountOrders    = 1 << 20
	DefaultAccountStops     = 200
	DefaultAccountLists     = 20
	DefaultPairStops        = 20_000
	DefaultClientIDs        = 1_000_000
	DefaultAccountClientIDs = 10_000
	DefaultIcebergSlices    = 10_000
	DefaultPairSlices       = 1 << 18 // 100 MB of events
	DefaultPairs            = 10_000
	DefaultAssets           = 10_000
	DefaultPartEvents       = 600
)

// limitSlots is the largest limit for which slot numbers fit into int32.
const limitSlots = 1 << 30

func (o Options) withDefaults() Options {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.OpenOrders, DefaultOpenOrders)
	set(&o.AccountOrders, DefaultAccountOrders)
	set(&o.AccountStops, DefaultAccountStops)
	set(&o.AccountLists, DefaultAccountLists)
	set(&o.PairStops, DefaultPairStops)
	set(&o.ClientIDs, DefaultClientIDs)
	set(&o.AccountClientIDs, DefaultAccountClientIDs)
	set(&o.Pairs, DefaultPairs)
	set(&o.Assets, DefaultAssets)
	set(&o.PartEvents, DefaultPartEvents)
	if o.IcebergSlices == 0 {
		o.IcebergSlices = DefaultIcebergSlices
	}
	if o.PairSlices == 0 {
		o.PairSlices = DefaultPairSlices
	}
	return o
}

// Limits are the options that an operator may change while a market lives, the section engine of the configuration.
// They are a part of the market's state; the other options are constants of the program. Waiting stops count as open
// orders. The built-in account has no limits of an account.
type Limits struct {
	OpenOrders    int `toml:"open_orders" default:"8388608" help:"maximum open orders per pair"`
	AccountOrders int `toml:"account_orders" default:"1048576" help:"maximum open orders per account and pair"`
	AccountStops  int `toml:"account_stops" default:"200" help:"maximum untriggered stops per account and pair"`
	AccountLists  int `toml:"account_lists" default:"20" help:"maximum open order lists per account and pair"`
}

// Check reports every limit that is out of range.
func (l *Limits) Check() error {
	var errs []error
	for _, k := range []struct {
		name  string
		limit Limits
	}{
		{"open_orders", Limits{OpenOrders: l.OpenOrders}},
		{"account_orders", Limits{AccountOrders: l.AccountOrders}},
		{"account_stops", Limits{AccountStops: l.AccountStops}},
		{"account_lists", Limits{AccountLists: l.AccountLists}},
	} {
		if err := (Options{Limits: k.limit}).Validate(); err != nil {
			errs = append(errs, fmt.Errorf("engine.%s: %w", k.name, err))
		}
	}
	return errors.Join(errs...)
}

// EffectiveLimits returns the limits of o with the default of each that is zero.
func (o Options) EffectiveLimits() Limits { return o.withDefaults().Limits }

// SetLimits sets the limits of all pairs for the commands from now on. Orders beyond lower limits stay. The limits must
// be valid.
func (c *Core) SetLimits(l Limits) {
	c.opts.Limits = l
}

// Validate reports the first member that is out of range. Zero members are valid.
func (o Options) Validate() error {
	for _, m := range []struct {
		name   string
		v, max int
	}{
		{"OpenOrders", o.OpenOrders, limitSlots},
		{"AccountOrders", o.AccountOrders, limitSlots},
		{"AccountStops", o.AccountStops, limitSlots},
		{"AccountLists", o.AccountLists, limitSlots},
		{"PairStops", o.PairStops, limitSlots},
		{"ClientIDs", o.ClientIDs, limitSlots},
		{"AccountClientIDs", o.AccountClientIDs, limitSlots},
		{"IcebergSlices", int(o.IcebergSlices), limitSlots},
		{"PairSlices", int(o.PairSlices), limitSlots},
		{"Pairs", o.Pairs, MaxPairs},
		{"Assets", o.Assets, limitSlots},
		{"PartEvents", o.PartEvents, limitSlots},
	} {
		if m.v < 0 || m.v > m.max {
			return fmt.Errorf("engine: option %s is %d, not 0 (default) to %d", m.name, m.v, m.max)
		}
	}
	if o.PartEvents != 0 && o.PartEvents < MinPartEvents {
		return fmt.Errorf("engine: option PartEvents is %d, not 0 (default) or at least %d", o.PartEvents,
			MinPartEvents)
	}
	return nil
}
