package engine_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/fixed"
)

// A script holds commands in the words of a trader, one a line, in a `market` block. The expected
// text below the block lists every event. A line:
//
//	buy|sell AMOUNT @ PRICE [gtc|ioc|fok] [post-only] [expire] [follows] [show=N] [stop=P|take=P] [strict] [stp=MODE]
//		[acct=N] [client=ID [reusable]] [id=N]
//	buy|sell AMOUNT market [stop=P|take=P] [trail=BASIS POINTS] ...
//		without a stop price: trail after stop=0 or take=0
//	buy|sell quote=QUOTE market ...
//	oco|oto|otoco|opo|opoco [client=ID [reusable]]: ORDER; ORDER[; ORDER]
//	cancel list ID [acct=N]
//	cancel ID [acct=N] [client=ID] [new|partial] [operator] · cancel all [acct=N] [operator]
//	replace ID|last [amount=N] [price=P] [stop=P] [trail=N] [acct=N]
//	amend ID|last [amount=N] [acct=N] [client=ID [reusable]]
//	state online|post_only|cancel_only|halted|delisted · min QUOTE · fees MAKER TAKER · band DOWN UP
//	most PRICE AMOUNT
//	give ACCOUNT AMOUNT QUOTE: its balance; accounts without one are unlimited · halt|resume ACCOUNT
//	trade PRICE...: a trade of one lot at each, which nothing else in the book may take; prints what it sets off
//	book · orders (queue order) · stops · balances
//
// Prices have two fractional digits, amounts none. id=N says which id the order must get.
// Without acct the built-in account trades.
//
// Each script runs twice: whole commands, and commands in the smallest parts.
func runScript(t *testing.T, file string) {
	for _, parts := range []int{0, engine.MinPartEvents} {
		runScriptWith(t, file, engine.Options{PartEvents: parts})
	}
}

func runScriptWith(t *testing.T, file string, opts engine.Options) {
	m := newMarket(t, opts, enginetest.Instrument())
	datadriven.RunTest(t, "testdata/"+file, func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "market" {
			t.Fatalf("%s: unknown block %q", d.Pos, d.Cmd)
		}
		m.t = t
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSpace(line)
			fmt.Fprintf(&out, "> %s\n", line)
			m.line(&out, line)
		}
		return out.String()
	})
}

func (m *market) line(out *strings.Builder, line string) {
	m.t.Helper()
	f := strings.Fields(line)
	switch f[0] {
	case "book":
		m.printBook(out)
	case "orders":
		m.printOrders(out)
	case "give", "halt", "resume":
		m.account(f)
	case "balances":
		m.printBalances(out)
	case "trade":
		if m.before == 0 {
			m.before = m.core.LastOrderID(0)
		}
		for _, p := range f[1:] {
			m.trade(out, p)
		}
	case "stops":
		for s := range m.core.Stops(0) {
			word := "stop"
			if s.Type >= engine.TakeLimit {
				word = "take"
			}
			fmt.Fprintf(out, "  %d %s %s %s", s.ID, s.Side, word, px(s.Price))
			if s.Trail != 0 {
				fmt.Fprintf(out, " trail %d", s.Trail)
			}
			if s.Extreme != 0 {
				fmt.Fprintf(out, " since %s", px(s.Extreme))
			}
			out.WriteByte('\n')
		}
	case "lists":
		for l := range m.core.Lists(0) {
			fmt.Fprintf(out, "  %d %s: %v, brought %s\n", l.ID, l.Kind, l.Orders, qx(l.Brought))
		}
	default:
		cmd, id := m.parseAny(line)
		events := m.do(cmd)
		if events[0].Kind == engine.EventAccepted {
			m.before = 0
		}
		if id != 0 && events[0].Order != id {
			m.t.Fatalf("%q got order id %d", line, events[0].Order)
		}
		for i := range events {
			fmt.Fprintf(out, "  %s\n", describe(&events[i]))
		}
	}
}

// parseAny parses a command, also a list.
func (m *market) parseAny(line string) (cmd engine.Command, id engine.OrderID) {
	head, rest, ok := strings.Cut(line, ":")
	words := strings.Fields(head)
	kind := slices.Index(kindNames, words[0])
	if !ok || kind < 1 {
		return m.parse(strings.Fields(line))
	}
	cmd = engine.Command{Kind: engine.PlaceList, List: &engine.List{Kind: engine.ListKind(kind)}}
	for text := range strings.SplitSeq(rest, ";") {
		o, _ := m.parse(strings.Fields(text))
		cmd.Account = o.Account
		cmd.List.Orders = append(cmd.List.Orders, o)
	}
	for _, word := range words[1:] {
		if id, ok := strings.CutPrefix(word, "client="); ok {
			cmd.Client = enginetest.ClientID(cmd.Account, "list "+id, rest)
		}
		if word == "reusable" {
			cmd.Client.Reusable = true
		}
	}
	return cmd, 0
}

var kindNames = []string{"", "oco", "oto", "otoco", "opo", "opoco"}

// trade makes a trade between two orders of the built-in account and prints the events behind theirs.
func (m *market) trade(out *strings.Builder, price string) {
	m.t.Helper()
	m.do(place(engine.Sell, m.price(price), 1))
	events := m.do(place(engine.Buy, m.price(price), 1))
	if len(events) < 3 || events[1].Kind != engine.EventTrade || events[2].Kind != engine.EventLevel {
		m.t.Fatalf("no trade at %s alone", price)
	}
	for i := range events[3:] {
		fmt.Fprintf(out, "  %s: %s\n", price, describe(&events[3+i]))
	}
}

func (m *market) parse(f []string) (cmd engine.Command, id engine.OrderID) {
	m.t.Helper()
	client, reusable := "", false
	switch f[0] {
	case "buy", "sell":
		cmd.Kind = engine.Place
		if f[0] == "sell" {
			cmd.Side = engine.Sell
		}
		if strings.Trim(f[1], "0123456789-") == "" {
			cmd.Amount = m.integer(f[1])
			f = f[1:]
		}
	case "cancel", "replace", "amend":
		cmd.Kind = engine.Cancel
		if f[0] != "cancel" {
			cmd.Kind = engine.Replace
		}
		if f[0] == "amend" {
			cmd.Flags = engine.FlagSmallerOnly
		}
		switch f[1] {
		case "list":
			cmd.Flags |= engine.FlagList
			f = f[1:]
			cmd.Order = engine.OrderID(m.integer(f[1]))
		case "all":
			cmd.Kind = engine.CancelAll
			fallthrough
		case "last":
			if cmd.Order = m.core.LastOrderID(0); m.before != 0 && cmd.Kind != engine.CancelAll {
				cmd.Order = m.before
			}
		default:
			cmd.Order = engine.OrderID(m.integer(f[1]))
		}
		cmd.Flags |= engine.FlagAllAccount
		f = f[1:]
	case "state", "min", "band", "most", "fees":
		m.change(f)
		inst := m.inst
		return engine.Command{Kind: engine.SetPair, Instrument: &inst}, 0
	default:
		m.t.Fatalf("no such command: %v", f)
	}
	market, replaces := false, uint8(0)
	if cmd.Kind == engine.Replace {
		replaces = 1<<8 - 1
	}
	for i := 1; i < len(f); i++ {
		key, value, _ := strings.Cut(f[i], "=")
		switch key {
		case "@":
			i++
			cmd.Price = m.price(f[i])
		case "market":
			market = true
			cmd.TIF = engine.IOC
		case "gtc":
		case "ioc":
			cmd.TIF = engine.IOC
		case "fok":
			cmd.TIF = engine.FOK
		case "post-only":
			cmd.Flags |= engine.FlagPostOnly
		case "expire":
			cmd.Flags |= engine.FlagExpire
		case "follows":
			cmd.Flags |= engine.FlagFollows
		case "new":
			cmd.Flags |= engine.FlagOnlyNew
		case "partial":
			cmd.Flags |= engine.FlagOnlyPartial
		case "operator":
			cmd.Flags |= engine.FlagOperator
		case "show":
			cmd.Display = m.integer(value)
		case "stop":
			if cmd.Stop = m.price(value); replaces != 0 {
				cmd.Flags |= engine.FlagHasStop
				break
			}
			cmd.Type = engine.StopLimit
		case "take":
			cmd.Stop = m.price(value)
			cmd.Type = engine.TakeLimit
		case "trail":
			cmd.Trail = uint16(m.integer(value))
			cmd.Flags |= replaces & engine.FlagHasTrail
		case "strict":
			cmd.Flags |= engine.FlagStrict
		case "quote":
			cmd.Flags |= engine.FlagQuote
			cmd.Quote = fixed.FromU64(uint64(m.price(value)))
		case "stp":
			for s := engine.SelfTradeNone; s <= engine.Decrement; s++ {
				if s.String() == value {
					cmd.STP = s
				}
			}
		case "acct":
			cmd.Account = engine.AccountID(m.integer(value))
			if cmd.Kind != engine.Place { // of which the bit is FlagStrict
				cmd.Flags &^= engine.FlagAllAccount
			}
		case "client":
			client = value
		case "reusable":
			reusable = true
		case "id":
			id = engine.OrderID(m.integer(value))
		case "amount":
			cmd.Flags |= engine.FlagHasAmount
			cmd.Amount = m.integer(value)
		case "price":
			cmd.Flags |= engine.FlagHasPrice
			cmd.Price = m.price(value)
		default:
			m.t.Fatalf("no such word: %q", f[i])
		}
	}
	if market {
		cmd.Type |= engine.Market
	}
	if client != "" {
		cmd.Client = enginetest.ClientID(cmd.Account, client, content(f))
		cmd.Client.Reusable = reusable
	}
	return cmd, id
}

// content returns the words of an order that a repeat must have too.
func content(f []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(f), func(word string) bool {
		return word == "reusable" || strings.HasPrefix(word, "id=")
	}), " ")
}

// change sets members of the pair.
func (m *market) change(f []string) {
	switch f[0] {
	case "state":
		m.inst.State = map[string]engine.PairState{
			"online": engine.Online, "post_only": engine.PostOnlyState,
			"cancel_only": engine.CancelOnly, "halted": engine.Halted, "delisted": engine.Delisted,
		}[f[1]]
	case "fees":
		m.inst.MakerFee, m.inst.TakerFee = uint32(m.rate(f[1])), uint32(m.rate(f[2]))
	case "min":
		m.inst.HasMinQuote, m.inst.MinQuote = true, fixed.FromU64(uint64(m.price(f[1])))
	case "band":
		m.inst.BandDown, m.inst.BandUp = m.rate(f[1]), m.rate(f[2])
	case "most":
		m.inst.MaxPrice, m.inst.MaxAmount = m.price(f[1]), m.integer(f[2])
	}
}

// account sets what a purse knows of an account.
func (m *market) account(f []string) {
	if m.purse == nil {
		m.fund()
	}
	a := engine.AccountID(m.integer(f[1]))
	if m.purse.halted[a] = f[0] == "halt"; f[0] == "give" {
		m.purse.give(a, m.integer(f[2]), m.price(f[3]))
	}
}

func (m *market) printBalances(out *strings.Builder) {
	for _, a := range slices.Sorted(maps.Keys(m.purse.limited)) {
		text := func(of map[purseKey]*big.Int, s engine.Side, digits int) string {
			v, _ := new(big.Int).DivMod(m.purse.of(of, a, s), m.purse.units(s, big.NewInt(1)), new(big.Int))
			return string(fixed.AppendU128(nil, fromBig(v), digits))
		}
		fmt.Fprintf(out, "  account %d: %s free, %s held; %s quote free, %s held\n", a,
			text(m.purse.free, engine.Sell, 0), text(m.purse.held, engine.Sell, 0),
			text(m.purse.free, engine.Buy, 2), text(m.purse.held, engine.Buy, 2))
	}
}

func (m *market) rate(s string) uint64 {
	m.t.Helper()
	units, exact, fits, err := fixed.ParseUnits(s, engine.RateScale)
	if err != nil || !exact || !fits {
		m.t.Fatalf("%q is no factor: %v", s, err)
	}
	return uint64(units)
}

func (m *market) integer(s string) int64 {
	m.t.Helper()
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		m.t.Fatal(err)
	}
	return v
}

func (m *market) price(s string) int64 {
	m.t.Helper()
	v, err := fixed.Parse(s)
	if err != nil {
		m.t.Fatalf("%q: %v", s, err)
	}
	u, _, _ := fixed.Units(v, 2)
	return u
}

func (m *market) printBook(out *strings.Builder) {
	asks := m.core.AppendDepth(nil, 0, engine.Sell, 0)
	for i := len(asks) - 1; i >= 0; i-- {
		fmt.Fprintf(out, "  ask %s x %d (%d)\n", px(asks[i].Price), asks[i].Shown, asks[i].Orders)
	}
	bids := m.core.AppendDepth(nil, 0, engine.Buy, 0)
	for _, lv := range bids {
		fmt.Fprintf(out, "  bid %s x %d (%d)\n", px(lv.Price), lv.Shown, lv.Orders)
	}
	if len(asks)+len(bids) == 0 {
		fmt.Fprintf(out, "  empty\n")
	}
}

func (m *market) printOrders(out *strings.Builder) {
	for _, side := range []engine.Side{engine.Buy, engine.Sell} {
		for o := range m.core.Resting(0, side, 0) {
			fmt.Fprintf(out, "  %s %s: order %d shows %d hides %d\n", side, px(o.Price), o.ID, o.Shown, o.Hidden)
		}
	}
}

func px(ticks int64) string { return string(fixed.AppendI64(nil, ticks, 2)) }

func qx(u fixed.U128) string { return string(fixed.AppendU128(nil, u, 2)) }

var causes = [...]string{
	"request", "remainder", "self-trade", "replaced", "unfillable", "funds", "fok", "no liquidity", "list", "working",
	"operator",
}

func describe(e *engine.Event) string {
	switch e.Kind {
	case engine.EventAccepted:
		return describeAccepted(e)
	case engine.EventRejected:
		if e.Reason == engine.NotRejected {
			return fmt.Sprintf("repeat of order %d", e.Order)
		}
		if e.MakerOpen != 0 {
			return fmt.Sprintf("rejected %s, order %d", e.Reason, e.MakerOpen)
		}
		return "rejected " + e.Reason.String()
	case engine.EventTrade:
		return fmt.Sprintf("trade %d: %d %ss %d @ %s from %d, open %d / %d", e.Trade, e.Order, e.Side,
			e.Amount, px(e.Price), e.Maker, e.OpenAmount, e.MakerOpen)
	case engine.EventLevel:
		return fmt.Sprintf("level %s %s = %d", e.Side, px(e.Price), e.Amount)
	case engine.EventCanceled:
		s := fmt.Sprintf("canceled %d open %d, %s (%s)", e.Order, e.Amount, e.Status,
			causes[e.Cause])
		if e.Cause == engine.CauseReplace {
			s += fmt.Sprintf(", total %d", e.OpenAmount)
		}
		if !e.Quote.IsZero() {
			s += ", unspent " + qx(e.Quote)
		}
		if e.Client != nil {
			s += ", by " + e.Client.Text
		}
		return s
	case engine.EventPrevented:
		return fmt.Sprintf("prevented %d: %d %ss @ %s from %d by %s, lowers %d / %d", e.Trade, e.Order, e.Side,
			px(e.Price), e.Maker, e.STP, e.Amount, e.OpenAmount)
	case engine.EventReplaced:
		s := fmt.Sprintf("replaced %d: total %d @ %s, open %d", e.Order, e.Amount, px(e.Price), e.OpenAmount)
		if e.Type.Waits() {
			s += ", stop " + px(e.StopPrice())
		}
		if e.Trail != 0 {
			s += fmt.Sprintf(" trail %d", e.Trail)
		}
		if e.Client != nil {
			s += ", named " + e.Client.Text
		}
		return s
	case engine.EventActivated:
		return fmt.Sprintf("activated %d at %s", e.Order, px(e.Price))
	case engine.EventTriggered:
		s := fmt.Sprintf("triggered %d at stop %s", e.Order, px(e.MakerOpen))
		if e.Amount != 0 {
			s += fmt.Sprintf(", holds %d", e.Amount)
		}
		if !e.Quote.IsZero() {
			s += ", holds " + qx(e.Quote)
		}
		return s
	case engine.EventRefilled:
		return fmt.Sprintf("refilled %d: %d @ %s", e.Order, e.Amount, px(e.Price))
	case engine.EventReduced:
		return fmt.Sprintf("reduced %d by %d, open %d", e.Order, e.Amount, e.OpenAmount)
	case engine.EventPair:
		return "pair " + e.Instrument.State.String()
	case engine.EventNothing:
		return "nothing"
	case engine.EventList:
		return fmt.Sprintf("list %d: %s of %d orders", e.Order, e.List, e.Amount)
	case engine.EventListEnded:
		if e.Status == engine.Completed {
			return fmt.Sprintf("list %d ended, filled", e.Order)
		}
		return fmt.Sprintf("list %d ended, %s (%s)", e.Order, e.Status, causes[e.Cause])
	case engine.EventReleased:
		s := fmt.Sprintf("released %d of list %d: %s %s %d", e.Order, e.Maker, e.Side, e.Type, e.Amount)
		if !e.Quote.IsZero() {
			s += ", holds " + qx(e.Quote)
		}
		return s
	}
	return fmt.Sprintf("event %d", e.Kind)
}

func describeAccepted(e *engine.Event) string {
	var s strings.Builder
	fmt.Fprintf(&s, "accepted %d: %s %s %s", e.Order, e.Side, e.Type, e.TIF)
	if e.Flags&engine.FlagQuote != 0 {
		fmt.Fprintf(&s, " for %s", qx(e.Quote))
		if e.OpenAmount != 0 {
			fmt.Fprintf(&s, " holds %d", e.OpenAmount)
		}
	} else {
		fmt.Fprintf(&s, " %d", e.Amount)
		if !e.Quote.IsZero() {
			fmt.Fprintf(&s, " holds %s", qx(e.Quote))
		}
	}
	if e.Price != 0 {
		fmt.Fprintf(&s, " @ %s", px(e.Price))
	}
	if e.MakerOpen != 0 {
		fmt.Fprintf(&s, " stop %s", px(e.MakerOpen))
	}
	if e.Trail != 0 {
		fmt.Fprintf(&s, " trail %d", e.Trail)
	}
	if e.Display != 0 {
		fmt.Fprintf(&s, " show %d", e.Display)
	}
	if e.Maker != 0 {
		fmt.Fprintf(&s, " of list %d", e.Maker)
	}
	if e.Status == engine.Pending {
		fmt.Fprintf(&s, ", pending")
	}
	return s.String()
}
