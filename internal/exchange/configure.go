package exchange

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/marketdata"
)

// configure adds the configured assets and pairs that do not exist yet. Existing ones keep their settings, and pairs
// that were delisted stay so. A node that has taken over adds none: it goes on with the market of its writer.
func (r *restored) configure(loop *sequencer.Loop) error {
	if r.o.Stream.Handover != nil {
		return nil
	}
	root := r.feed.Board().Load()
	var b sequencer.Batch
	added, differ := r.newPairs(root)
	for _, a := range r.o.Assets {
		if had := root.Asset(a.Symbol); had != nil && *had != *a {
			differ = append(differ, a.Symbol)
		} else if had == nil {
			b.Commands = append(b.Commands, engine.Command{
				Kind: engine.SetAsset, Pair: engine.ControlPair, Control: &engine.ControlRecord{Asset: a},
			})
		}
	}
	past, err := r.past(loop, root, added)
	if err != nil {
		return err
	}
	for _, ins := range added {
		cmd := engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: ins}
		if candles := past[ins.Code]; len(candles) > 0 {
			cmd.Control = &engine.ControlRecord{Past: candles}
		}
		b.Commands = append(b.Commands, cmd)
	}
	if len(differ) > 0 {
		r.log.Info("the data directory's settings of these pairs and assets differ from the configuration and take "+
			"precedence; change them with PATCH /internal/v1/pairs/CODE and /internal/v1/assets/CODE",
			"of", strings.Join(differ, " "))
	}
	refused := engine.NotRejected
	b.Collect = func(_ int, _ *engine.Command, events []engine.Event) {
		if events[0].Kind == engine.EventRejected {
			refused = events[0].Reason
		}
	}
	if err := loop.Submit(&b); err != nil {
		return fmt.Errorf("configured pairs: %w", err)
	}
	if refused != engine.NotRejected {
		return fmt.Errorf("configured pairs: the engine refused one: %s", refused)
	}
	if past != nil {
		b, past = sequencer.Batch{}, nil
		debug.FreeOSMemory() // what made the candles is larger than they are, and a backfill may follow
	}
	return nil
}

// newPairs returns the configured pairs that do not exist yet, and the codes of those whose settings differ. It logs
// which ones were delisted.
func (r *restored) newPairs(root *marketdata.Root) (added []*engine.Instrument, differ []string) {
	var delisted []string
	for _, ins := range r.o.Pairs {
		switch v := root.LookupAll(ins.Code); {
		case v == nil:
			added = append(added, ins)
		case v.Instrument.State == engine.Delisted:
			delisted = append(delisted, ins.Code)
		case !sameTerms(*v.Instrument, *ins):
			differ = append(differ, ins.Code)
		}
	}
	if len(delisted) > 0 {
		r.log.Info("these pairs of the configuration were delisted and stay so; take them out of the configuration",
			"of", strings.Join(delisted, " "))
	}
	return added, differ
}

// past returns the candles with which the simulated pairs among those that are added begin.
func (r *restored) past(
	loop *sequencer.Loop, root *marketdata.Root, added []*engine.Instrument,
) (past map[string][]engine.PastCandle, err error) {
	if r.sim == nil || r.o.Sim.Past == 0 || len(added) == 0 {
		return nil, nil
	}
	pairs := map[string]*engine.Instrument{}
	digits := engine.AssetDigits{}
	for _, list := range [][]*engine.Asset{r.o.Assets, root.Assets()} {
		for _, a := range list {
			digits[a.Symbol] = a.Digits
		}
	}
	for _, ins := range added {
		pair := *ins
		digits.Give(&pair)
		pairs[ins.Code] = &pair
	}
	err = loop.Query(func() {
		past = r.sim.Past(time.Duration(r.o.Sim.Past), func(code string) *engine.Instrument { return pairs[code] })
	})
	return past, err
}

// sameTerms reports whether a pair has the configured terms: every field except its state,
// which changes in operation, and the fields that the core assigns.
func sameTerms(had, want engine.Instrument) bool {
	want.ID, want.CreatedNs, want.State = had.ID, had.CreatedNs, had.State
	want.BaseDigits, want.QuoteDigits = had.BaseDigits, had.QuoteDigits
	return had == want
}

// AddPair adds a pair and its currencies, with the digits that the pair needs, or returns the pair that the data
// directory already has. One that was delisted is an error.
func (x *Running) AddPair(ins *engine.Instrument) (engine.PairID, error) {
	root := x.feed.Board().Load()
	if v := root.LookupAll(ins.Code); v != nil && v.Instrument.State == engine.Delisted {
		return 0, fmt.Errorf("pair %s: it was delisted, and its code is never used again", ins.Code)
	} else if v != nil {
		return v.Instrument.ID, nil
	}
	var b sequencer.Batch
	ins.TakeDigits(root.AssetDigits)
	digits := [...]int{ins.BaseDigits, ins.QuoteDigits}
	for i, symbol := range [...]string{ins.Base, ins.Quote} {
		if root.Asset(symbol) == nil {
			a := &engine.Asset{Symbol: symbol, Name: symbol, Digits: digits[i], CanWithdraw: true, CanDeposit: true}
			b.Commands = append(b.Commands, engine.Command{
				Kind: engine.SetAsset, Pair: engine.ControlPair, Control: &engine.ControlRecord{Asset: a},
			})
		}
	}
	b.Commands = append(b.Commands, engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: ins})
	var id engine.PairID
	refused := engine.NotRejected
	b.Collect = func(_ int, _ *engine.Command, events []engine.Event) {
		switch e := &events[0]; e.Kind {
		case engine.EventPair:
			id = e.Pair
		case engine.EventRejected:
			refused = e.Reason
		default:
		}
	}
	if err := x.Submit(&b); err != nil {
		return 0, fmt.Errorf("pair %s: %w", ins.Code, err)
	}
	if refused != engine.NotRejected {
		return 0, fmt.Errorf("pair %s: %s", ins.Code, refused)
	}
	return id, nil
}
