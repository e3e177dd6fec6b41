package accounts_test

import (
	"fmt"
	"strings"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// place parses an order.
func (x *exchange) place(f []string) engine.Command {
	x.t.Helper()
	cmd := engine.Command{Kind: engine.Place, Account: engine.AccountID(x.number(f[1]))}
	if f[0] == "sell" {
		cmd.Side = engine.Sell
	}
	byQuote := f[2] == "for"
	if byQuote {
		f = append(f[:2:2], f[3:]...)
	}
	in := x.instrument(&cmd, f[3])
	if byQuote {
		cmd.Flags |= engine.FlagQuote
		units, _ := x.dec(f[2]).Abs().DivMod64(fixed.Pow10[fixed.Scale-in.DigitsTotal()])
		cmd.Quote = units
	} else {
		cmd.Amount, _, _ = fixed.Units(x.dec(f[2]), in.DigitsAmount)
	}
	words := f[5:]
	if f[4] == "@" {
		cmd.Price, _, _ = fixed.Units(x.dec(f[5]), in.DigitsPrice)
		words = f[6:]
	} else {
		cmd.Type, cmd.TIF = engine.Market, engine.IOC
	}
	for key, value := range options(words) {
		switch key {
		case "ioc":
			cmd.TIF = engine.IOC
		case "fok":
			cmd.TIF = engine.FOK
		case "expire":
			cmd.Flags |= engine.FlagExpire
		case "post-only":
			cmd.Flags |= engine.FlagPostOnly
		case "show":
			cmd.Display, _, _ = fixed.Units(x.dec(value), in.DigitsAmount)
		case "stop":
			cmd.Stop, _, _ = fixed.Units(x.dec(value), in.DigitsPrice)
			cmd.Type += engine.StopLimit // stop_limit of limit, stop_market of market
		case "stp":
			for m := engine.SelfTradeNone; m <= engine.Decrement; m++ {
				if m.String() == value {
					cmd.STP = m
				}
			}
		default:
			x.t.Fatalf("no such word: %q", key)
		}
	}
	return cmd
}

func (x *exchange) instrument(cmd *engine.Command, code string) *engine.Instrument {
	x.t.Helper()
	id, ok := x.core.PairByCode(code)
	if !ok {
		x.t.Fatalf("there is no pair %q", code)
	}
	cmd.Pair = id
	in, _ := x.core.Pair(id)
	return in
}

// order places an order.
func (x *exchange) order(f []string) {
	x.t.Helper()
	cmd := x.place(f)
	x.apply(&cmd)
}

func (x *exchange) replace(f []string) {
	x.t.Helper()
	id := x.id(f[1])
	cmd := engine.Command{Kind: engine.Replace, Order: id, Pair: id.Pair(), Flags: engine.FlagAllAccount}
	in, _ := x.core.Pair(cmd.Pair)
	for key, value := range options(f[2:]) {
		switch key {
		case "amount":
			cmd.Amount, _, _ = fixed.Units(x.dec(value), in.DigitsAmount)
			cmd.Flags |= engine.FlagHasAmount
		case "price":
			cmd.Price, _, _ = fixed.Units(x.dec(value), in.DigitsPrice)
			cmd.Flags |= engine.FlagHasPrice
		}
	}
	x.apply(&cmd)
}

// apply carries out a command of the engine and prints its events of orders.
func (x *exchange) apply(cmd *engine.Command) {
	x.t.Helper()
	cmd.TimeNs, cmd.First = x.now, true
	events := x.core.Apply(cmd, nil)
	x.pos++
	x.s.Advance(x.pos)
	for i := range events {
		in, _ := x.core.Pair(events[i].Pair)
		if text := describe(&events[i], in); text != "" {
			x.printf("%s", text)
		}
	}
}

func units(u fixed.U128, digits int) string {
	text := string(fixed.AppendU128(nil, u, digits))
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func describe(e *engine.Event, in *engine.Instrument) string {
	lots := func(v int64) string { return units(fixed.FromU64(uint64(v)), in.DigitsAmount) }
	price := func(v int64) string {
		return strings.TrimSuffix(string(fixed.AppendI64(nil, v, in.DigitsPrice)), ".0")
	}
	switch e.Kind {
	case engine.EventAccepted:
		return fmt.Sprintf("accepted %d", e.Order)
	case engine.EventRejected:
		return "rejected " + e.Reason.String()
	case engine.EventTrade:
		return fmt.Sprintf("trade: %d %ss %s @ %s from %d", e.Order, e.Side, lots(e.Amount), price(e.Price), e.Maker)
	case engine.EventCanceled:
		cause := [...]string{"request", "remainder", "self-trade", "replaced", "unfillable", "funds"}[e.Cause]
		if e.Amount == 0 && !e.Quote.IsZero() {
			return fmt.Sprintf("canceled %d, unspent %s (%s)", e.Order, units(e.Quote, in.DigitsTotal()), cause)
		}
		return fmt.Sprintf("canceled %d, open %s (%s)", e.Order, lots(e.Amount), cause)
	case engine.EventReplaced:
		return fmt.Sprintf("replaced %d: %s @ %s", e.Order, lots(e.Amount), price(e.Price))
	case engine.EventReduced:
		return fmt.Sprintf("reduced %d by %s", e.Order, lots(e.Amount))
	case engine.EventTriggered:
		return fmt.Sprintf("triggered %d at %s", e.Order, price(e.MakerOpen))
	default:
		return ""
	}
}
