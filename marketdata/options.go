package marketdata

import (
	"errors"
	"fmt"
)

// Default and largest limits of the retained data.
const (
	// trades retained per pair at any age (docs/contract/listing.md#historical-trades)
	DefaultTradesMin = 10_000
	// trades retained per pair at most (docs/contract/listing.md#historical-trades)
	DefaultTradesMax          = 2_000_000
	DefaultClosedOrders       = 100_000     // orders.closed_kept (docs/contract/commands.md#orders)
	DefaultFills              = 1_000_000   // fills of all orders together (docs/contract/commands.md#orders)
	DefaultClientIDs          = 1_000_000   // retained first answers (docs/contract/matching.md#client-order-ids)
	DefaultChunkText          = 64 << 20    // bytes of rendered trade text, over all pairs
	maxTradesMax              = 100_000_000 // 40 bytes each, 4 GB a pair; a larger setting is a mistake
	maxFills                  = 500_000_000 // links between fills are 32-bit distances
	maxOrdersKept             = 500_000_000 // a location of a retained order has 30 bits
	maxCandlesKept            = 10_000_000  // 120 bytes each
	maxChunkTextBytes         = 64 << 30
	fillsPerOrder             = 1_000 // most fills in one OrderRecord (docs/contract/internal.md#orders)
	secondsOfDay              = 86_400
	nanosecond          int64 = 1_000_000_000
)

// DefaultCandles returns the number of closed candles that each interval retains. 1m: two weeks; 3m: three
// weeks; 5m, 15m, 30m: 30, 90 and 180 days; 1h: a year; 4h: three years; 1d: twenty years; months and years:
// more than any history has. Intervals without trades use no memory. All full: 79,830 x 120 bytes = 9.6 MB a
// pair.
func DefaultCandles() [Intervals]int {
	return [Intervals]int{20_160, 10_080, 8_640, 8_640, 8_640, 8_760, 6_570, 7_300, 1_200, 1_000}
}

// Options sets the limits of the retained data. The zero value of a member selects its default.
type Options struct {
	TradesMin    int            // trades per pair that are retained at any age
	TradesMax    int            // trades per pair at most, even when younger than 24 h
	Candles      [Intervals]int // closed candles per pair and interval
	ClosedOrders int            // closed orders of all pairs together; the most recently ended ones are retained
	Fills        int            // fills of all orders together; a trade is two
	ClientIDs    int            // closed orders beyond ClosedOrders whose first answer is retained
	ChunkText    int64          // bytes of cached text of closed trade chunks
	// NoOrders leaves the order history empty: for replicas and measurements that need only
	// books, trades, candles and windows.
	NoOrders bool
	// Checksums stores a checksum of the book in each View, so that a test's readers can verify that they see
	// what the writer published. Each publish then walks over the whole book.
	Checksums bool
}

func (o Options) withDefaults() Options {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.TradesMin, DefaultTradesMin)
	def(&o.TradesMax, DefaultTradesMax)
	for i, n := range DefaultCandles() {
		def(&o.Candles[i], n)
	}
	def(&o.ClosedOrders, DefaultClosedOrders)
	def(&o.Fills, DefaultFills)
	def(&o.ClientIDs, DefaultClientIDs)
	if o.ChunkText == 0 {
		o.ChunkText = DefaultChunkText
	}
	return o
}

// Validate reports the first member that is out of range.
func (o Options) Validate() error {
	o = o.withDefaults()
	if o.TradesMin < 1 || o.TradesMax > maxTradesMax || o.TradesMin > o.TradesMax {
		return fmt.Errorf("trades kept: want 1 <= trades_min (%d) <= trades_max (%d) <= %d",
			o.TradesMin, o.TradesMax, maxTradesMax)
	}
	for i, n := range o.Candles {
		if n < 1 || n > maxCandlesKept {
			return fmt.Errorf("candles kept of %s: %d is not in 1..%d", Interval(i), n, maxCandlesKept)
		}
	}
	if o.ClosedOrders < 1 || o.ClosedOrders > maxOrdersKept {
		return fmt.Errorf("closed orders kept: %d is not in 1..%d", o.ClosedOrders, maxOrdersKept)
	}
	if o.ClientIDs < 1 || o.ClientIDs > maxOrdersKept {
		return fmt.Errorf("client ids kept: %d is not in 1..%d", o.ClientIDs, maxOrdersKept)
	}
	if o.Fills < 2 || o.Fills > maxFills {
		return fmt.Errorf("fills kept: %d is not in 2..%d", o.Fills, maxFills)
	}
	if o.ChunkText < 0 || o.ChunkText > maxChunkTextBytes {
		return errors.New("kept text of trades: out of range")
	}
	return nil
}
