package marketdata

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/fixed"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests, 0: by the clock")

// newRand returns the test's random source and logs the seed that reproduces it.
func newRand(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// soak multiplies the size of random tests when TICKHIVE_SOAK=1.
func soak(n, factor int) int {
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		return n * factor
	}
	return n
}

// same fails the test with the difference when got is not want.
func same(t testing.TB, want, got any) {
	t.Helper()
	if d := differ.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

const rigStartNs = 1_767_225_600_000_000_000 // 2026-01-01T00:00:00Z

// rig drives a feed with an engine and records the engine's events.
type rig struct {
	core   *engine.Core
	feed   *Feed
	now    int64
	events []engine.Event // all of them, in order
	batch  []engine.Event // not yet folded
	mark   int            // first event of the last command in events
}

func newRig(opts Options, pairs int) *rig {
	r := &rig{core: engine.NewCore(engine.Options{}), feed: NewFeed(opts), now: rigStartNs}
	r.core.SetFunds(rich{})
	for i := range engine.PairID(pairs) {
		r.apply(engine.Command{Kind: engine.AddPair, Pair: i, Instrument: rigPair(i)})
	}
	return r
}

// rigPair returns a pair of the rig as the core makes it.
func rigPair(i engine.PairID) *engine.Instrument {
	base := fmt.Sprintf("B%02d", i)
	return &engine.Instrument{
		ID: i, Code: base + "_USDT", Base: base, Quote: "USDT", DigitsPrice: 2, DigitsAmount: 4,
		BaseDigits: 8, QuoteDigits: 8, MakerFee: 100_000, TakerFee: 200_000,
	}
}

// rich is the money of accounts that can pay for everything. Each has another discount.
type rich struct{}

func (rich) Fold([]engine.Event) {}

func (rich) Cover(engine.AccountID, engine.PairID, engine.Side, fixed.U128) engine.Reason {
	return engine.NotRejected
}

func (rich) Free(engine.AccountID, engine.PairID, engine.Side) fixed.U128 {
	return fixed.U128{Hi: 1 << 60}
}

func (rich) Discount(a engine.AccountID, s engine.Side) uint32 {
	return uint32(a)*7_000_000 + uint32(s)
}

func (rich) Digits(string) (digits int, used bool) { return 0, false }

// apply runs one command at the rig's time and returns its events.
func (r *rig) apply(c engine.Command) []engine.Event {
	c.TimeNs = r.now
	r.mark = len(r.events)
	c.First = true
	r.events = r.core.Apply(&c, r.events)
	for r.core.Unfinished(c.Pair) {
		rest := engine.Command{Kind: engine.Continue, Pair: c.Pair, TimeNs: r.now, First: true}
		r.events = r.core.Apply(&rest, r.events)
	}
	r.batch = append(r.batch, r.events[r.mark:]...)
	return r.events[r.mark:]
}

// fold hands the commands since the last fold to the feed.
func (r *rig) fold() {
	r.feed.Fold(r.batch)
	r.batch = r.batch[:0]
}

func (r *rig) publish() {
	r.fold()
	r.feed.Publish(r.now)
}

// place submits a limit order of an account.
func (r *rig) place(
	pair engine.PairID, account engine.AccountID, side engine.Side, price, amount int64,
) engine.OrderID {
	e := r.apply(engine.Command{
		Kind: engine.Place, Pair: pair, Account: account, Side: side, Price: price, Amount: amount,
	})[0]
	return e.Order
}

// trade makes one trade at the pair's current time, in a book that is otherwise empty.
func (r *rig) trade(pair engine.PairID, taker engine.Side, price, amount int64) {
	r.place(pair, 1, taker.Opposite(), price, amount)
	r.place(pair, 2, taker, price, amount)
}

// randomCommand returns a random command; most of them are valid.
func (r *rig) randomCommand(rnd *rand.Rand, pairs, accounts int, mid int64) engine.Command {
	pair := engine.PairID(rnd.IntN(pairs))
	c := engine.Command{
		Pair: pair, Account: engine.AccountID(rnd.IntN(accounts)), Side: engine.Side(rnd.IntN(2)),
		STP: engine.SelfTrade(rnd.IntN(5)),
	}
	last := r.core.LastOrderID(pair)
	some := func() engine.OrderID {
		back := rnd.Uint64N(60)
		return engine.MakeOrderID(pair, max(last.N(), back+1)-back)
	}
	switch n := rnd.IntN(100); {
	case n < 12 && last != 0:
		c.Kind, c.Order, c.Flags = engine.Cancel, some(), engine.FlagAllAccount
	case n < 24 && last != 0:
		c.Kind, c.Order, c.Flags = engine.Replace, some(), engine.FlagAllAccount|engine.FlagHasAmount
		c.Amount = 1 + rnd.Int64N(200)
		if rnd.IntN(2) == 0 {
			c.Flags |= engine.FlagHasPrice
			c.Price = mid + rnd.Int64N(61) - 30
		}
	case n < 25:
		c.Kind = engine.CancelAll
	case n < 26:
		c.Kind, c.Instrument = engine.SetPair, rigPair(pair)
		c.Instrument.MakerFee, c.Instrument.TakerFee = rnd.Uint32N(500_000), rnd.Uint32N(500_000)
	default:
		r.randomPlace(rnd, &c, mid)
	}
	return c
}

func (r *rig) randomPlace(rnd *rand.Rand, c *engine.Command, mid int64) {
	c.Kind = engine.Place
	c.Type = [...]engine.OrderType{
		engine.Limit, engine.Limit, engine.Limit, engine.Limit, engine.Limit, engine.Market, engine.StopLimit,
		engine.StopMarket,
	}[rnd.IntN(8)]
	c.Amount = 1 + rnd.Int64N(100)
	if c.Type == engine.Limit || c.Type == engine.StopLimit {
		c.Price = mid + rnd.Int64N(61) - 30
		c.TIF = [...]engine.TimeInForce{engine.GTC, engine.GTC, engine.GTC, engine.IOC, engine.FOK}[rnd.IntN(5)]
		if c.TIF == engine.GTC && rnd.IntN(5) == 0 {
			c.Flags |= engine.FlagPostOnly
		}
		if rnd.IntN(5) == 0 {
			c.Display = 1 + rnd.Int64N(c.Amount)
		}
	} else {
		c.TIF = engine.IOC
		if c.Side == engine.Buy && rnd.IntN(2) == 0 {
			c.Flags |= engine.FlagQuote
			c.Amount, c.Quote = 0, fixed.FromU64(uint64(rnd.Int64N(100*mid)))
		}
	}
	if c.Type >= engine.StopLimit {
		c.Stop = mid + rnd.Int64N(61) - 30
	}
	if rnd.IntN(4) == 0 {
		n := rnd.Uint64()
		c.Client = &engine.ClientID{
			Text: fmt.Sprintf("c-%x", n), Hash: [2]uint64{n, uint64(c.Account)}, Content: [2]uint64{n, n},
		}
	}
}

// texts collects what Side.Texts passes on.
type texts struct {
	parts [][]byte
	sum   uint64
}

func (t *texts) add(part []byte, sum uint64) {
	t.parts = append(t.parts, part)
	t.sum += sum
}

func (t *texts) joined() string { return string(bytes.Join(t.parts, nil)) }
