package engine

import "fmt"

// Options bounds what a Core may hold. Zero members mean the defaults below. The limits
// belong to the state's meaning: replaying a journal with others gives another state.
type Options struct {
	// OpenOrders limits the open orders of one pair, waiting stops included.
	OpenOrders int
	// AccountOrders is the same for one account in one pair; the built-in account is exempt.
	AccountOrders int
	// AccountStops limits the stops of one account that wait in one pair; the built-in
	// account is exempt. PairStops is the same for all accounts of the pair, the built-in one
	// included: they bound the events of the command that triggers them all. Commands of rules
	// version 0 keep neither.
	AccountStops, PairStops int
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
	// Pairs, Assets and Accounts bound the registers of the control stream.
	Pairs, Assets, Accounts int
	// PartEvents limits the events of one part of a command (parts.go).
	PartEvents int
}

// The defaults. 8 Mi orders of a pair take 1 GiB; 1,000,000 client ids are the bound of
// docs/contract/matching.md#client-order-ids, taken per pair because the pair is the unit of order:
// what one loop's other pairs do must not be visible in this one.
const (
	DefaultOpenOrders       = 8 << 20
	DefaultAccountOrders    = 1 << 20
	DefaultAccountStops     = 200
	DefaultPairStops        = 20_000
	DefaultClientIDs        = 1_000_000
	DefaultAccountClientIDs = 10_000
	DefaultIcebergSlices    = 10_000
	DefaultPairSlices       = 1 << 18 // 100 MB of events
	DefaultPairs            = 10_000
	DefaultAssets           = 10_000
	DefaultAccounts         = 16 << 20
	DefaultPartEvents       = 1000
)

// limitSlots keeps every slot number inside int32.
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
	set(&o.PairStops, DefaultPairStops)
	set(&o.ClientIDs, DefaultClientIDs)
	set(&o.AccountClientIDs, DefaultAccountClientIDs)
	set(&o.Pairs, DefaultPairs)
	set(&o.Assets, DefaultAssets)
	set(&o.Accounts, DefaultAccounts)
	set(&o.PartEvents, DefaultPartEvents)
	if o.IcebergSlices == 0 {
		o.IcebergSlices = DefaultIcebergSlices
	}
	if o.PairSlices == 0 {
		o.PairSlices = DefaultPairSlices
	}
	return o
}

// Same reports whether o and p, their defaults filled in, are the same limits.
func (o Options) Same(p Options) bool { return o.withDefaults() == p.withDefaults() }

// Validate reports the first member that is outside its range; zero is fine (default).
func (o Options) Validate() error {
	for _, m := range []struct {
		name   string
		v, max int
	}{
		{"OpenOrders", o.OpenOrders, limitSlots},
		{"AccountOrders", o.AccountOrders, limitSlots},
		{"AccountStops", o.AccountStops, limitSlots},
		{"PairStops", o.PairStops, limitSlots},
		{"ClientIDs", o.ClientIDs, limitSlots},
		{"AccountClientIDs", o.AccountClientIDs, limitSlots},
		{"IcebergSlices", int(o.IcebergSlices), limitSlots},
		{"PairSlices", int(o.PairSlices), limitSlots},
		{"Pairs", o.Pairs, MaxPairs},
		{"Assets", o.Assets, limitSlots},
		{"Accounts", o.Accounts, limitSlots},
		{"PartEvents", o.PartEvents, limitSlots},
	} {
		if m.v < 0 || m.v > m.max {
			return fmt.Errorf("engine: option %s is %d, not 0 (default) to %d", m.name, m.v, m.max)
		}
	}
	if o.PartEvents != 0 && o.PartEvents < MinPartEvents {
		return fmt.Errorf("engine: option PartEvents is %d, not 0 (default) or at least %d", o.PartEvents, MinPartEvents)
	}
	return nil
}
