package engine_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
)

// mix counts what a random run was made of.
type mix struct {
	commands, accepted, trading int
	kinds                       [4]int
	placed                      map[engine.OrderID]combo
	tracks                      map[engine.OrderID]bool
	filled                      map[combo]int
	reasons                     map[engine.Reason]int
	events                      [20]int
	short                       int // triggered market buys whose money ended
	covered                     int // market buys by amount that held what they cost
	sold                        int // market sells by quote that held what they sold
	fewer                       int // triggered ones of those whose account had less
	amended, renamed            int
	causes                      [engine.CauseOperator + 1]int
	trailed                     int // orders that the market has triggered behind their extreme
	waited                      int // replaces of waiting orders
	taken                       int // reusable client ids of ended orders that a new order has taken over
	ids                         map[[2]uint64]bool
}

type combo struct {
	t engine.OrderType
	f engine.TimeInForce
	s engine.SelfTrade
}

func newMix() *mix {
	return &mix{
		placed: map[engine.OrderID]combo{}, filled: map[combo]int{},
		tracks: map[engine.OrderID]bool{}, reasons: map[engine.Reason]int{}, ids: map[[2]uint64]bool{},
	}
}

func (m *mix) count(cmd *engine.Command, events []engine.Event) {
	m.commands++
	trades := 0
	for i := range events {
		e := &events[i]
		m.events[e.Kind]++
		switch e.Kind {
		case engine.EventAccepted:
			m.placed[e.Order] = combo{e.Type, e.TIF, e.STP}
			if e.Type == engine.Market && e.Amount > 0 && !e.Quote.IsZero() {
				m.covered++
			}
			if e.Amount == 0 && e.OpenAmount > 0 {
				m.sold++
			}
			if e.Client != nil {
				if m.ids[e.Client.Hash] {
					m.taken++
				}
				m.ids[e.Client.Hash] = true
			}
		case engine.EventTrade:
			trades++
			for _, id := range []engine.OrderID{e.Order, e.Maker} {
				if c, ok := m.placed[id]; ok {
					m.filled[c]++
					delete(m.placed, id)
				}
			}
		case engine.EventCanceled:
			if m.causes[e.Cause]++; e.Cause == engine.CauseFunds {
				if m.short++; e.Side == engine.Sell {
					m.fewer++
				}
			}
			delete(m.placed, e.Order)
		case engine.EventActivated:
			m.tracks[e.Order] = true
		case engine.EventTriggered:
			if m.tracks[e.Order] {
				m.trailed++
			}
		case engine.EventReplaced:
			if e.Type.Waits() {
				m.waited++
			}
			if e.Flags&engine.FlagSmallerOnly != 0 {
				m.amended++
			}
			if e.Client != nil {
				m.renamed++
			}
		case engine.EventRejected:
			m.reasons[e.Reason]++
		}
	}
	if events[0].Kind != engine.EventRejected || events[0].Reason == engine.NotRejected {
		m.accepted++
		if trades > 0 {
			m.trading++
		}
	}
	if int(cmd.Kind) < len(m.kinds) {
		m.kinds[cmd.Kind]++
	}
}

func (m *mix) String() string {
	var s strings.Builder
	fmt.Fprintf(&s,
		"%d commands (place %d, cancel %d, replace %d, cancel all %d), accepted %.1f %%, of those trade %.1f %%\n",
		m.commands, m.kinds[0], m.kinds[1], m.kinds[2], m.kinds[3],
		100*float64(m.accepted)/float64(m.commands), 100*float64(m.trading)/float64(m.accepted))
	fmt.Fprintf(&s, "%d market buys were covered, of %d triggered ones the money ended\n", m.covered, m.short)
	fmt.Fprintf(&s, "trades %d, canceled %d, replaced %d, triggered %d, refilled %d, reduced %d\n",
		m.events[engine.EventTrade], m.events[engine.EventCanceled], m.events[engine.EventReplaced],
		m.events[engine.EventTriggered], m.events[engine.EventRefilled], m.events[engine.EventReduced])
	for _, c := range combos() {
		fmt.Fprintf(&s, "%s %s %s: %d filled\n", c.t, c.f, c.s, m.filled[c])
	}
	fmt.Fprintf(&s, "%d sells by quote held, of %d triggered ones the account had less; %d amended, %d renamed\n",
		m.sold, m.fewer, m.amended, m.renamed)
	for c, n := range m.causes {
		fmt.Fprintf(&s, "ended by %q: %d\n", engine.CancelCause(c), n)
	}
	for r := engine.Reason(0); r <= engine.CancelFailed; r++ {
		fmt.Fprintf(&s, "refused %q: %d\n", r, m.reasons[r])
	}
	return s.String()
}

func combos() (all []combo) {
	for s := engine.SelfTradeNone; s <= engine.Decrement; s++ {
		for _, f := range []engine.TimeInForce{engine.GTC, engine.IOC, engine.FOK} {
			all = append(all, combo{engine.Limit, f, s}, combo{engine.StopLimit, f, s}, combo{engine.TakeLimit, f, s})
		}
		all = append(all, combo{engine.Market, engine.IOC, s}, combo{engine.StopMarket, engine.IOC, s},
			combo{engine.TakeMarket, engine.IOC, s})
	}
	return all
}

// soak reports whether the long runs are asked for.
func soak() bool { return os.Getenv("TICKHIVE_SOAK") == "1" }

func TestRandomCommandsAgreeWithTheModel(t *testing.T) {
	seeds, n, each := []uint64{1}, 100_000, 25
	if soak() {
		seeds, n, each = []uint64{1, 2, 3, 4, 5}, 1_000_000, 250
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			runRandom(t, seed, n, each, each/25)
		})
	}
}

func runRandom(t *testing.T, seed uint64, n, least, walkEvery int) {
	m := newPairOfMarkets(t, seed, enginetest.RandomOptions())
	f := &enginetest.Flow{R: enginetest.NewRand(seed), Reader: m.reader, Limits: true}
	f.Init()
	counts := newMix()
	for i := range n {
		if i > 0 && i%100_000 == 0 { // fees have taken much of the money, and the built-in account much of the lots
			m.purse.endow()
			m.naive.purse.endow()
		}
		m.events(f.R)
		cmd := f.Next()
		got := m.run(cmd)
		f.Last = m.core.LastOrderID(0)
		counts.count(&cmd, got)
		if walkEvery <= 1 || i%walkEvery == 0 {
			m.check()
		}
	}
	m.check()
	t.Logf("seed %d: %s", seed, counts)
	if counts.accepted*10 < counts.commands*6 || counts.trading*100 < counts.accepted*15 {
		t.Error("the mix does not try the core hard enough")
	}
	if counts.taken < n/1000 || counts.reasons[engine.DuplicateClientOrderID] < n/1000 {
		t.Errorf("%d client ids were used again, %d repeats refused", counts.taken,
			counts.reasons[engine.DuplicateClientOrderID])
	}
	if counts.covered < n/200 || counts.short < n/20_000 {
		t.Errorf("%d market buys were covered, the money of %d ended", counts.covered, counts.short)
	}
	if counts.sold < n/500 || counts.fewer < n/20_000 || counts.amended < n/200 || counts.renamed < n/500 {
		t.Errorf("%d sells by quote held, of %d the account had less; %d orders were amended, %d renamed", counts.sold,
			counts.fewer, counts.amended, counts.renamed)
	}
	if counts.trailed < n/200 || counts.waited < n/200 {
		t.Errorf("%d trailing orders were triggered, %d waiting ones replaced", counts.trailed, counts.waited)
	}
	for _, c := range []engine.CancelCause{engine.CauseFOK, engine.CauseNoLiquidity, engine.CauseOperator} {
		if counts.causes[c] < least/5 {
			t.Errorf("%d orders ended with %s", counts.causes[c], c)
		}
	}
	for _, r := range []engine.Reason{
		engine.AboveMaxQuoteAmount, engine.InsufficientFunds, engine.AccountHalted, engine.PriceOutOfBand,
		engine.PriceOutOfRange, engine.AmountOutOfRange, engine.WouldTrigger, engine.AmendNotSmaller,
		engine.CancelRestricted, engine.TooManyStops, engine.TrailOutOfRange,
	} {
		if counts.reasons[r] < 2*least {
			t.Errorf("%d orders were refused with %s", counts.reasons[r], r)
		}
	}
	for _, c := range combos() {
		if counts.filled[c] < least {
			t.Errorf("%s %s %s was filled %d times only", c.t, c.f, c.s, counts.filled[c])
		}
	}
}
