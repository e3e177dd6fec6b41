package replay

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// transcript is order entry that writes down every command and what became of it, for a
// reader: times of day, prices and amounts in decimals, orders numbered in order of entry.
type transcript struct {
	Entry
	text   strings.Builder
	digits [2]int // of price and amount
	taker  engine.AccountID
	orders map[engine.OrderID]int
	seen   map[*sequencer.Batch]bool // their Collect writes down too
}

func (t *transcript) Offer(b *sequencer.Batch) error {
	if collect := b.Collect; !t.seen[b] {
		t.seen[b] = true
		b.Collect = func(i int, cmd *engine.Command, events []engine.Event) {
			t.command(cmd, events)
			collect(i, cmd, events)
		}
	}
	return t.Entry.Offer(b)
}

func (t *transcript) price(v int64) string  { return amountText(v, t.digits[0]) }
func (t *transcript) amount(v int64) string { return amountText(v, t.digits[1]) }

func (t *transcript) level(price, amount int64) string {
	return t.amount(amount) + " @ " + t.price(price)
}

func (t *transcript) command(c *engine.Command, events []engine.Event) {
	what := ""
	switch c.Kind {
	case engine.Place:
		who := "maker"
		if c.Account == t.taker {
			who = "taker"
		}
		what = fmt.Sprintf("%s %s %s %s", who, c.Side, t.level(c.Price, c.Amount), c.TIF)
		if c.Flags&engine.FlagPostOnly != 0 {
			what += " post"
		}
	case engine.Cancel:
		what = fmt.Sprintf("cancel #%d", t.orders[c.Order])
	case engine.Replace:
		what = fmt.Sprintf("replace #%d with %s", t.orders[c.Order], t.amount(c.Amount))
		if c.Flags&engine.FlagHasPrice != 0 {
			what += " @ " + t.price(c.Price)
		}
	default:
		what = fmt.Sprintf("command %d", c.Kind)
	}
	fmt.Fprintf(&t.text, "%s %s", format.NsText(c.TimeNs)[11:23], what)
	for k := range events {
		switch e := &events[k]; e.Kind {
		case engine.EventAccepted:
			t.orders[e.Order] = len(t.orders) + 1
			fmt.Fprintf(&t.text, " = #%d", t.orders[e.Order])
		case engine.EventTrade:
			fmt.Fprintf(&t.text, ", trade %s with #%d", t.level(e.Price, e.Amount), t.orders[e.Maker])
		case engine.EventRejected:
			fmt.Fprintf(&t.text, ", refused: %s", e.Reason)
		default:
		}
	}
	t.text.WriteByte('\n')
}

// play feeds files with their checks and returns the commands with their outcomes, the
// pair, the book that is left, the checks and the notes.
func play(t *testing.T, o Options) string {
	t.Helper()
	return playWith(t, o, func(*Replay) {})
}

func playWith(t *testing.T, o Options, change func(*Replay)) string {
	t.Helper()
	o.Check = true
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	change(r)
	m := newTestMarket(t, r)
	spec := r.PairSpec()
	s := &transcript{
		Entry: m.loop, digits: [2]int{spec.DigitsPrice, spec.DigitsAmount}, taker: r.opts.Taker,
		orders: map[engine.OrderID]int{}, seen: map[*sequencer.Batch]bool{},
	}
	fmt.Fprintf(&s.text, "pair %s %d,%d from %s\n", spec.Code, spec.DigitsPrice, spec.DigitsAmount,
		format.NsText(r.StartNs()))
	report, err := r.Run(context.Background(), s, m.pair, &m.board)
	if err != nil {
		t.Fatal(err)
	}
	bids, asks, err := m.board.Book(100, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&s.text, "book %s| %s\n", s.side(bids), s.side(asks))
	for _, line := range append(report.Lines(), report.Notes()...) {
		s.text.WriteString(line + "\n")
	}
	return s.text.String()
}

func (t *transcript) side(levels []marketdata.Level) (text string) {
	for _, l := range levels {
		text += t.level(l.Price, l.Amount) + " "
	}
	return text
}

// squeeze drops blanks at the ends of lines.
func squeeze(s string) string {
	var out []string
	for line := range strings.Lines(s) {
		out = append(out, strings.TrimRight(line, " \n"))
	}
	return strings.Join(out, "\n")
}
