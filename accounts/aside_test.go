package accounts

import (
	"testing"

	"tickhive/accounts/accrual"
	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/internal/refuse"
)

// The money of a withdrawal on its way is not there for orders and for other withdrawals, until it is released, once.
func TestAWithdrawalOnItsWayKeepsItsMoney(t *testing.T) {
	r := newRig(t)
	r.pair()
	u := r.user(ProfilePatch{})
	r.deposit(u, "USDT", "100.1")
	all := Command{Kind: Withdraw, User: u, Currency: "USDT", Amount: dec("100")} // and 0.1
	more := all
	more.Amount = dec("100.000001")
	if _, reject := r.s.SetAside(&more); reject == nil || reject.Code != refuse.InsufficientFunds {
		t.Fatalf("%v", reject)
	}
	aside, reject := r.s.SetAside(&all)
	if reject != nil {
		t.Fatal(reject)
	}
	order := OrderParams{Account: u, Side: engine.Buy, Price: 1, Amount: 1}
	kept := func(want bool) {
		t.Helper()
		held, reason := r.s.Reserve(order)
		if (reason == engine.InsufficientFunds) != want {
			t.Errorf("an order gets the money: %s", reason)
		}
		r.s.Release(held)
		again, reject := r.s.SetAside(&all)
		if (reject != nil) != want {
			t.Errorf("a withdrawal gets the money: %v", reject)
		}
		again.Release()
		r.check()
	}
	kept(true)
	other := aside // a copy is the same Aside
	other.Release()
	kept(false)
	aside.Release()
	kept(false)
	// Do takes the money although it is set aside, and the aside that is released late sets nothing free twice.
	aside, _ = r.s.SetAside(&all)
	r.do(all)
	kept(true)
	aside.Release()
	aside.Release()
	r.balance(u, "USDT", "0.0", "0.0")
	if len(r.s.holds.asides) != 0 {
		t.Errorf("%v are kept", r.s.holds.asides)
	}
	kept(true)
}

// Do decides by what is free, whatever orders and commands on their way have reserved of it.
func TestDoKnowsNoReservation(t *testing.T) {
	r := newRig(t)
	r.pair()
	u := r.user(ProfilePatch{})
	r.deposit(u, "USDT", "100.1")
	held := r.buys(u, 0) // 1
	deposit := Command{Kind: Deposit, User: u, Currency: "BTC", Amount: MaxMoney}
	if _, reject := r.s.SetAside(&deposit); reject == nil || reject.Field != "amount" {
		t.Errorf("the room of an order on its way is given away: %v", reject)
	}
	r.do(deposit)
	all := Command{Kind: Withdraw, User: u, Currency: "USDT", Amount: dec("100")}
	if _, reject := r.s.SetAside(&all); reject == nil || reject.Code != refuse.InsufficientFunds {
		t.Errorf("the money of an order on its way is given away: %v", reject)
	}
	r.do(all)
	r.s.Release(held)
	r.balance(u, "USDT", "0.0", "0.0")
	r.do(Command{Kind: Withdraw, User: u, Currency: "BTC", Amount: dec("50000000000000000000")})
	profit := Command{Kind: AddProfit, User: u, Currency: "EUR", Amount: dec("1"), Profit: accrual.CurrencyListing}
	r.do(profit)
	aside, reject := r.s.SetAside(&profit)
	if reject != nil || r.s.balances.coming[balanceKey{u, r.s.balances.currencyNo["EUR"]}].pending != sum("1") {
		t.Errorf("%v, %v", reject, r.s.balances.coming)
	}
	profit.Amount = dec("49999999999999999999.5")
	if _, reject := r.s.SetAside(&profit); reject == nil {
		t.Error("the room of a profit on its way is given away")
	}
	r.do(profit)
	aside.Release()
	r.check()
}

// Nothing is kept for other commands, for those that Do refuses for lack of the user, and in currencies without a
// balance; what Check refuses is refused. The number is bounded.
func TestWhatIsNotSetAside(t *testing.T) {
	r := newRig(t)
	r.pair()
	u, free := r.user(ProfilePatch{}), r.user(ProfilePatch{Unlimited: ptr(true)})
	r.deposit(u, "USDT", "100")
	Aside{}.Release()
	for name, cmd := range map[string]Command{
		"another kind":       {Kind: SetHalt, User: u},
		"no user":            {Kind: Deposit, User: 99, Currency: "USDT", Amount: dec("1")},
		"the built-in user":  {Kind: Withdraw, Currency: "USDT", Amount: dec("1")},
		"a new currency":     {Kind: Deposit, User: u, Currency: "NEW", Amount: MaxMoney},
		"below 0 of nothing": {Kind: Withdraw, User: free, Currency: "NEW", Amount: dec("1")},
		"a profit of nothing": {
			Kind: AddProfit, User: u, Currency: "NEW", Amount: dec("1"), Profit: accrual.StakeAccrual,
		},
	} {
		before := string(r.s.AppendSnapshot(nil))
		aside, reject := r.s.SetAside(&cmd)
		if reject != nil || len(r.s.holds.asides) != 0 || string(r.s.AppendSnapshot(nil)) != before {
			t.Errorf("%s: %v, %v", name, reject, r.s.holds.asides)
		}
		aside.Release()
	}
	for name, cmd := range map[string]Command{
		"no amount":       {Kind: Withdraw, User: u, Currency: "USDT"},
		"beyond the debt": {Kind: Withdraw, User: free, Currency: "NEW", Amount: MaxMoney},
		"beyond 10^20":    {Kind: AddProfit, User: u, Currency: "NEW", Amount: MaxMoney, Profit: accrual.StakeAccrual},
	} {
		if aside, reject := r.s.SetAside(&cmd); reject == nil || aside != (Aside{}) {
			t.Errorf("%s: %v", name, aside)
		}
	}
	last := Command{Kind: Withdraw, User: u, Currency: "USDT", Amount: dec("1")}
	for no := range uint64(MaxReservations) {
		r.s.holds.asides[1<<32|no] = aside{}
	}
	if _, reject := r.s.SetAside(&last); reject == nil || reject.Code != refuse.Unavailable {
		t.Errorf("%v", reject)
	}
}

// The fold gives the same state beside reservations and asides as a replay without them, also where they leave nothing:
// of orders that no process of the edge has reserved, of fills beyond a hold, and of accruals close to 10^20.
func TestTheFoldKnowsNoReservation(t *testing.T) {
	states := map[bool]string{}
	for _, busy := range []bool{false, true} {
		r := newRig(t)
		r.pair()
		u, below := r.user(ProfilePatch{}), r.user(ProfilePatch{})
		r.invite(below, u)
		r.deposit(u, "USDT", "100")
		r.deposit(u, "BTC", text(MaxMoney.Sub(dec("5"))))
		r.deposit(below, "USDT", "100")
		if busy {
			for _, cmd := range []Command{
				{Kind: Withdraw, User: u, Currency: "USDT", Amount: dec("90")},
				{Kind: Deposit, User: u, Currency: "BTC", Amount: dec("1")},
				{Kind: Deposit, User: u, Currency: "USDT", Amount: MaxMoney.Sub(dec("300"))},
				{Kind: Withdraw, User: below, Currency: "USDT", Amount: dec("99")},
			} {
				if _, reject := r.s.SetAside(&cmd); reject != nil {
					t.Fatal(reject)
				}
			}
			r.buys(u, 0)
		}
		for _, e := range []engine.Event{
			{
				Kind: engine.EventAccepted, Seq: r.next(0), Order: 1, Account: engine.AccountID(u), Price: 100_00,
				Amount: 500_000,
			},
			{Kind: engine.EventReplaced, Seq: r.next(0), Order: 1, Price: 160_00, Amount: 500_000, OpenAmount: 500_000},
			{ // a fill without a hold, and a fee of it for the inviter
				Kind: engine.EventTrade, Seq: r.next(0), TimeNs: t0, Order: 8, Account: engine.AccountID(below),
				Price: 90_00, Amount: 1_000_000, TakerFee: RateOne / 10,
			},
			{ // beyond the hold
				Kind: engine.EventTrade, Seq: r.next(0), TimeNs: t0, Side: engine.Sell, Order: 9, Maker: 1,
				MakerAccount: engine.AccountID(u), Price: 160_00, Amount: 500_000, MakerFee: RateOne / 5,
			},
		} {
			r.pos++
			r.s.FoldEvents([]engine.Event{e}, r.pos)
			states[busy] += string(r.s.AppendSnapshot(nil))
		}
		if c := r.s.Counts(); c.Overdrafts != 0 || c.Unreserved != 2 {
			t.Errorf("%+v", c)
		}
		// An accrual of a currency of which the receiver has almost 10^20.
		r.deposit(below, "BTC", "2")
		r.s.referral.config.Levels = []uint32{RateOne}
		r.s.referral.payUplines(r.s.dir.mustFind(below), payment{
			typ: accrual.CurrencyListing, currency: r.s.balances.currency("BTC"), of: dec("4.4"), timeNs: t0,
			from: newMoney,
		}, nil)
		states[busy] += string(r.s.AppendSnapshot(nil))
		r.check()
	}
	if states[true] != states[false] {
		t.Error("reservations have changed what the fold gives")
	}
}

// A command that Do refuses changes nothing: neither the state nor what is counted, shown or kept beside it.
func TestRefusedCommandsChangeNothing(t *testing.T) {
	r := newRig(t)
	u := r.user(ProfilePatch{Nickname: ptr("one")})
	other := r.user(ProfilePatch{Unlimited: ptr(true)})
	r.deposit(u, "USDT", "100")
	r.do(Command{Kind: AddProfit, User: u, Currency: "USDT", Amount: dec("1"), Profit: accrual.StakeAccrual})
	key := auth.KeyRequest{Name: "e", Ed25519: make([]byte, 32)}
	made := r.do(Command{Kind: CreateKey, User: u, Key: asked(key)}).Key.PublicKey
	r.invite(other, u)
	half := dec("50000000000000000000.1")
	for name, x := range map[string]struct {
		cmd  Command
		code refuse.Code
		of   string
	}{
		"nickname of a new user": {
			Command{Kind: CreateUser, Profile: ProfilePatch{Nickname: ptr("ONE")}}, refuse.Conflict, "nickname",
		},
		"nickname": {
			Command{Kind: PatchUser, User: other, Profile: ProfilePatch{Nickname: ptr("One"), StakingLevel: ptr("R2")}},
			refuse.Conflict, "nickname",
		},
		"key": {Command{Kind: CreateKey, User: other, Key: asked(key)}, refuse.Conflict, "ed25519PublicKey"},
		"expired key": {
			Command{Kind: CreateKey, User: u, Key: asked(auth.KeyRequest{Name: "k", ExpiresNs: 1})},
			refuse.InvalidParam, "expiresAt",
		},
		"end of a key": {
			Command{Kind: DeleteKey, User: other, PublicKey: made}, refuse.NotFound, "publicKey",
		},
		"deposit": {Command{Kind: Deposit, User: u, Currency: "USDT", Amount: MaxMoney}, refuse.InvalidParam, "amount"},
		"withdrawal": {
			Command{Kind: Withdraw, User: u, Currency: "USDT", Amount: dec("101")}, refuse.InsufficientFunds, "",
		},
		"withdrawal of nothing": {
			Command{Kind: Withdraw, User: u, Currency: "NEW", Amount: dec("1")}, refuse.InsufficientFunds, "",
		},
		"withdrawal beyond the debt": {
			Command{Kind: Withdraw, User: other, Currency: "NEW", Amount: MaxMoney}, refuse.InsufficientFunds, "",
		},
		"profit": {
			Command{Kind: AddProfit, User: u, Currency: "NEW", Amount: half, Profit: accrual.StakeAccrual},
			refuse.InvalidParam, "amount",
		},
		"second inviter": {Command{Kind: SetInviter, User: other, Code: InviteCode(u)}, refuse.Conflict, ""},
		"cycle": {
			Command{Kind: SetInviter, User: u, Code: InviteCode(other)}, refuse.InvalidParam, "inviteCode",
		},
		"no code": {Command{Kind: SetInviter, User: u, Code: "?"}, refuse.NotFound, "inviteCode"},
		"link":    {Command{Kind: CreateLink, User: u, DiscountPercent: dec("10")}, refuse.Forbidden, ""},
		"switch":  {Command{Kind: SetSwitch, User: u, Timeout: MinSwitch, FiredNs: 5}, refuse.Conflict, ""},
		"no user": {Command{Kind: SetHalt, User: 99, Halted: true}, refuse.NotFound, "id"},
	} {
		t.Log(name)
		r.refused(x.cmd, x.code, x.of)
	}
	r.check()
}
