package entry_test

import (
	"fmt"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
)

// newest returns the newest command that was submitted.
func (r *rig) newest() engine.Command {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent[len(r.sent)-1]
}

// Each rule that an order, a replace or a cancel may name reaches the engine, and no other does.
func TestRulesReachTheEngine(t *testing.T) {
	r := newRig(t)
	u := r.user("1000", "")
	for _, c := range []struct {
		name   string
		change func(p *entry.Place)
		flags  uint8
		trail  uint16
	}{
		{"plain", func(*entry.Place) {}, 0, 0},
		{"post only", func(p *entry.Place) { p.PostOnly = true }, engine.FlagPostOnly, 0},
		{"strict", func(p *entry.Place) { p.Strict = true }, engine.FlagStrict, 0},
		{"expire", func(p *entry.Place) { p.Expire = true }, engine.FlagExpire, 0},
		{"follows", func(p *entry.Place) { p.Follows = true }, engine.FlagFollows, 0},
		{"trail", func(p *entry.Place) { p.Trail = 65535 }, 0, 65535},
	} {
		p := limit(engine.Buy, "1", "1")
		c.change(&p)
		_, _ = r.one(u, place(p))
		if got := r.newest(); got.Flags != c.flags || got.Trail != c.trail || got.Client != nil {
			t.Errorf("%s: flags %b, trail %d, client %v", c.name, got.Flags, got.Trail, got.Client)
		}
	}
	id := r.placed(u, limit(engine.Buy, "1", "1"))
	for _, c := range []struct {
		name   string
		caller engine.AccountID
		cmd    entry.Command
		flags  uint8
	}{
		{"cancel", u, entry.Command{Kind: entry.CancelOrder}, 0},
		{"operator's", 0, entry.Command{Kind: entry.CancelOrder}, engine.FlagAllAccount | engine.FlagOperator},
		{"list", u, entry.Command{Kind: entry.CancelOrder, ByList: true}, engine.FlagList},
		{"only new", u, entry.Command{Kind: entry.CancelOrder, Only: entry.OnlyNew}, engine.FlagOnlyNew},
		{"only partial", u, entry.Command{Kind: entry.CancelOrder, Only: entry.OnlyPartial}, engine.FlagOnlyPartial},
		{"replace", 0, entry.Command{Kind: entry.ReplaceOrder}, engine.FlagAllAccount},
		{
			"stop", u,
			entry.Command{Kind: entry.ReplaceOrder, Replace: entry.Replace{Stop: []byte("1.5")}},
			engine.FlagHasStop,
		},
		{"trail", u, entry.Command{Kind: entry.ReplaceOrder, Replace: entry.Replace{Trail: 70}}, engine.FlagHasTrail},
		{
			"amend", u,
			entry.Command{Kind: entry.ReplaceOrder, Replace: entry.Replace{
				SmallerOnly: true, Client: []byte("n"), ClientReusable: true,
			}},
			engine.FlagSmallerOnly,
		},
	} {
		c.cmd.Order = id
		_, _ = r.one(c.caller, c.cmd)
		got := r.newest()
		if got.Flags != c.flags {
			t.Errorf("%s: flags %b, want %b", c.name, got.Flags, c.flags)
		}
		if c.cmd.Replace.Stop != nil && got.Stop != 150 || got.Trail != uint16(c.cmd.Replace.Trail) {
			t.Errorf("%s: stop %d, trail %d", c.name, got.Stop, got.Trail)
		}
		if named := got.Client != nil; named != (c.name == "amend") {
			t.Errorf("%s: client %v", c.name, got.Client)
		} else if named && (got.Client.Text != "n" || !got.Client.Reusable || got.Client.Hash == [2]uint64{}) {
			t.Errorf("%s: client %+v", c.name, got.Client)
		}
	}
}

// A trailingDelta beyond the type of its member is refused, behind the faults of price and amount.
func TestATrailBeyondItsRangeIsRefused(t *testing.T) {
	r := newRig(t)
	u := r.user("1000", "1")
	id := r.placed(u, limit(engine.Buy, "1", "1"))
	for _, trail := range []int64{-1, 65536, 1 << 40} {
		p := limit(engine.Sell, "1", "1")
		p.Type, p.Trail, p.Stop = engine.StopLimit, trail, []byte("1")
		if _, refusal := r.one(u, place(p)); refusal != "TRAIL_OUT_OF_RANGE trailingDelta" {
			t.Errorf("trail %d: %s", trail, refusal)
		}
		c := entry.Command{Kind: entry.ReplaceOrder, Order: id, Replace: entry.Replace{Trail: trail}}
		if _, refusal := r.one(u, c); refusal != "TRAIL_OUT_OF_RANGE trailingDelta" {
			t.Errorf("replace with trail %d: %s", trail, refusal)
		}
		p.Price = []byte("1.001")
		if _, refusal := r.one(u, place(p)); refusal != "PRICE_OFF_TICK price" {
			t.Errorf("trail %d and a price off tick: %s", trail, refusal)
		}
	}
}

// A repeat with another value of any member is another order: every member is part of the content.
func TestEveryMemberIsContent(t *testing.T) {
	r := newRig(t)
	u := r.user("1000", "")
	strategy := func(n int64) *int64 { return &n }
	seen := map[[2]uint64]string{}
	for name, change := range map[string]func(p *entry.Place){
		"plain":      func(*entry.Place) {},
		"sell":       func(p *entry.Place) { p.Side = engine.Sell },
		"type":       func(p *entry.Place) { p.Type = engine.StopLimit },
		"tif":        func(p *entry.Place) { p.TIF = engine.FOK },
		"stp":        func(p *entry.Place) { p.STP, p.STPGiven = engine.CancelBoth, true },
		"post only":  func(p *entry.Place) { p.PostOnly = true },
		"strict":     func(p *entry.Place) { p.Strict = true },
		"expire":     func(p *entry.Place) { p.Expire = true },
		"price":      func(p *entry.Place) { p.Price = []byte("2") },
		"amount":     func(p *entry.Place) { p.Amount = []byte("2") },
		"stop":       func(p *entry.Place) { p.Stop = []byte("2") },
		"display":    func(p *entry.Place) { p.Display = []byte("0.1") },
		"quote":      func(p *entry.Place) { p.Quote = []byte("2") },
		"trail":      func(p *entry.Place) { p.Trail = 10 },
		"far trail":  func(p *entry.Place) { p.Trail = 1 << 20 },
		"strategy":   func(p *entry.Place) { p.Strategy = strategy(1) },
		"strategy 0": func(p *entry.Place) { p.Strategy = strategy(0) },
		"its type":   func(p *entry.Place) { p.StrategyType = strategy(1) },
		"both":       func(p *entry.Place) { p.Strategy, p.StrategyType = strategy(1), strategy(1) },
	} {
		p := limit(engine.Buy, "1", "1")
		p.Client = []byte("c")
		change(&p)
		_, _ = r.one(u, place(p))
		id := r.newest().Client
		if other := seen[id.Content]; other != "" {
			t.Errorf("%s has the content of %s", name, other)
		}
		seen[id.Content] = name
	}
}

// An order keeps its labels with a client id and without one. Labels alone are no client id: two orders may have the
// same.
func TestLabelsAreNoClientID(t *testing.T) {
	r := newRig(t)
	u := r.user("1000", "")
	n, typ := int64(7), int64(-1)
	for i, client := range []string{"", "", "c"} {
		p := limit(engine.Buy, "1", "1")
		p.Strategy, p.StrategyType = &n, &typ
		if client != "" {
			p.Client = []byte(client)
		}
		if id := r.placed(u, p); id != engine.OrderID(i+1) {
			t.Errorf("order %d is number %d", id, i+1)
		}
		got := r.newest().Client
		if got.Named() != (client != "") || got.Text != client || *got.Strategy != 7 || *got.StrategyType != -1 {
			t.Errorf("%+v", got)
		}
	}
	if a, refusal := r.e.Order(u, "2"); refusal != nil || a.Record.Client != "" {
		t.Errorf("the order without a client id is shown with %q", a.Record.Client)
	}
}

func cancel(id engine.OrderID) entry.Command {
	return entry.Command{Kind: entry.CancelOrder, Order: id}
}

// Whoever ends an order is shown: its owner, or the exchange.
func TestTheCauseOfACancelTellsWhoAsked(t *testing.T) {
	r := newRig(t)
	u := r.user("1000", "")
	g := entry.NewCanceler(r.e)
	g.Attach(r.state, r.change)
	for name, c := range map[string]struct {
		end  func(id engine.OrderID)
		want engine.CancelCause
	}{
		"owner":    {func(id engine.OrderID) { r.one(u, cancel(id)) }, engine.CauseRequest},
		"owner's":  {func(engine.OrderID) { _, _ = r.e.CancelAll(entry.MassCancel{Caller: u}) }, engine.CauseRequest},
		"operator": {func(id engine.OrderID) { r.one(0, cancel(id)) }, engine.CauseOperator},
		"operator's": {
			func(engine.OrderID) { _, _ = r.e.CancelAll(entry.MassCancel{Account: u}) }, engine.CauseOperator,
		},
		"everyone's": {
			func(engine.OrderID) { _, _ = r.e.CancelAll(entry.MassCancel{Everyone: true}) }, engine.CauseOperator,
		},
		"halt": {func(engine.OrderID) {
			r.do(accounts.Command{Kind: accounts.SetHalt, User: uint32(u), Halted: true})
			g.Halt(u)
			r.do(accounts.Command{Kind: accounts.SetHalt, User: uint32(u)})
		}, engine.CauseOperator},
		"disconnect": {func(engine.OrderID) {
			g.Join(u)
			g.Leave(u, 0, false)
			for g.Step(r.Clock.NowNs()) {
			}
		}, engine.CauseOperator},
	} {
		id := r.placed(u, limit(engine.Buy, "1", "1"))
		c.end(id)
		a, refusal := r.e.Order(u, fmt.Sprint(uint64(id)))
		if refusal != nil || a.Record.Status != engine.Canceled || a.Record.Cause != c.want {
			t.Errorf("%s: %v, %v, %v", name, refusal, a.Record.Status, a.Record.Cause)
		}
	}
}

// A cancel and a new order that are together: what the cancel frees is there for the order, which is placed only where
// the cancel was carried out. Both are of one pair.
func TestACancelAndItsOrderAreTogether(t *testing.T) {
	r := newRig(t)
	r.pair("ETH_USDT", 2, 4)
	u := r.user("100", "")
	id := r.placed(u, limit(engine.Buy, "10", "10")) // all that there is
	together := func(id engine.OrderID, pair string, follows bool) (a [2]entry.Answer, refusal string) {
		req := r.e.Acquire(u)
		defer r.e.Release(req)
		p := limit(engine.Buy, "20", "5")
		p.Pair, p.Follows = []byte(pair), follows
		req.Together = true
		req.Commands = append(req.Commands, entry.Command{Kind: entry.CancelOrder, Order: id}, place(p))
		if refusal := req.Submit(); refusal != nil {
			return a, string(refusal.Code) + " " + refusal.Field
		}
		return [2]entry.Answer(req.Answers), ""
	}
	if _, refusal := together(id, "ETH_USDT", true); refusal != "INVALID_PARAM currencyPairCode" {
		t.Errorf("of two pairs: %s", refusal)
	}
	if _, refusal := r.one(u, place(limit(engine.Buy, "20", "5"))); refusal != "INSUFFICIENT_FUNDS " {
		t.Errorf("beside the first order: %s", refusal)
	}
	a, refusal := together(id, "BTC_USDT", true)
	if refusal != "" || a[0].Reason != 0 || a[1].Reason != 0 || a[1].Order != id+1 {
		t.Fatalf("%s, %v, %v", refusal, a[0].Reason, a[1].Reason)
	}
	if n := r.batches[len(r.batches)-1]; n != 2 {
		t.Errorf("%d commands in the batch", n)
	}
	r.deposit(u, "USDT", "100")
	if a, _ = together(id, "BTC_USDT", true); a[0].Reason != engine.OrderClosed || a[1].Reason != engine.CancelFailed {
		t.Errorf("behind a refused cancel: %v, %v", a[0].Reason, a[1].Reason)
	}
	if a, _ = together(id, "BTC_USDT", false); a[0].Reason != engine.OrderClosed || a[1].Reason != 0 {
		t.Errorf("whatever the cancel does: %v, %v", a[0].Reason, a[1].Reason)
	}
}

// An amendment by its owner or by an operator gives an order a client id of the order's own account.
func TestAnAmendmentRenamesAnOrder(t *testing.T) {
	r := newRig(t)
	u := r.user("1000", "")
	for i, caller := range []engine.AccountID{u, 0, u} {
		p := limit(engine.Buy, "1", "9")
		if old := []byte(fmt.Sprint("old", i)); i < 2 {
			p.Client = old
		}
		id := r.placed(u, p)
		amend := entry.Command{Kind: entry.ReplaceOrder, Order: id, Replace: entry.Replace{
			Amount: []byte("8"), SmallerOnly: true, Client: []byte(fmt.Sprint("new", i)),
		}}
		a, refusal := r.one(caller, amend)
		if refusal != "" || a.Record.Amount != 8_0000 || a.Record.Client != fmt.Sprint("new", i) {
			t.Errorf("%d: %s, %d lots, %q", i, refusal, a.Record.Amount, a.Record.Client)
		}
		if got, refusal := r.e.ClientOrder(u, "BTC_USDT", fmt.Sprint("new", i)); refusal != nil || got.Order != id {
			t.Errorf("%d: the new id finds order %d: %v", i, got.Order, refusal)
		}
		if got, _ := r.e.ClientOrder(u, "BTC_USDT", fmt.Sprint("old", i)); got.Order != 0 {
			t.Errorf("%d: the old id finds order %d", i, got.Order)
		}
		amend.Replace.Amount = []byte("8")
		want := "AMEND_NOT_SMALLER amount"
		if _, refusal := r.one(caller, amend); refusal != want {
			t.Errorf("%d, again: %s, want %s", i, refusal, want)
		}
	}
}
