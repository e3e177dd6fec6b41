package accounts_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// world is an engine with the accounts as its money, and a naive model beside it. Its currencies and pairs have random
// digits. Every command is in its log.
type world struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand

	core  *engine.Core
	s     *accounts.State
	model *ledger
	log   []record
	now   int64

	pairs []*engine.Instrument
	users uint32
	open  []engine.OrderID // orders that were accepted, most of them open
	count map[string]int
}

// record is a command of the log: of the engine or of the accounts.
type record struct {
	nowNs   int64
	order   *engine.Command
	account []byte
}

var parts = engine.Options{PartEvents: engine.MinPartEvents}

func newWorld(t *testing.T, seed uint64, count map[string]int) *world {
	w := &world{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 41)), core: engine.NewCore(parts), model: newLedger(),
		now: 1_767_225_600_000_000_000, count: count,
	}
	w.s = accounts.New(worldSettings)
	w.core.SetFunds(w.s)
	w.currencies()
	for n := range uint32(9) {
		w.do(accounts.Command{Kind: accounts.CreateUser, Profile: accounts.ProfilePatch{Unlimited: ptr(n >= 7)}})
		w.users++
	}
	for n := uint32(2); n <= w.users; n++ {
		if by := w.rng.Uint32N(n); by > 0 {
			w.do(accounts.Command{Kind: accounts.SetInviter, User: n, Code: accounts.InviteCode(by)})
			w.model.inviter[n] = by
		}
	}
	boss := accounts.ProfilePatch{IsAmbassador: ptr(true), SecondLevelPercent: ptr(must("17.5"))}
	w.do(accounts.Command{Kind: accounts.PatchUser, User: 1, Profile: boss})
	w.model.boss[1] = accounts.RateOne * 175 / 1000
	for n := range w.users {
		w.do(accounts.Command{Kind: accounts.PatchUser, User: n + 1, Profile: w.discounts()})
	}
	return w
}

var worldSettings = accounts.Settings{
	Withdrawal: accounts.CommissionRule{Percent: accounts.RateOne / 333}, Referral: accounts.DefaultConfig(),
}

func ptr[T any](v T) *T { return &v }

func must(text string) fixed.I128 {
	v, err := fixed.Parse(text)
	if err != nil {
		panic(err)
	}
	return v
}

func (w *world) fatal(err error) {
	w.t.Helper()
	w.t.Fatalf("seed %d, record %d: %v", w.seed, len(w.log), err)
}

// currencies adds AA, BB and CC, and the pairs AA_BB, CC_BB and AA_CC, with random digits.
func (w *world) currencies() {
	digits := map[string]int{"AA": w.rng.IntN(19), "BB": w.rng.IntN(19), "CC": w.rng.IntN(19)}
	for _, code := range slices.Sorted(maps.Keys(digits)) {
		w.apply(engine.Command{
			Kind: engine.SetAsset, Pair: engine.ControlPair,
			Control: &engine.ControlRecord{Asset: &engine.Asset{Symbol: code, Digits: digits[code]}},
		})
	}
	for _, code := range []string{"AA_BB", "CC_BB", "AA_CC"} {
		in := engine.Instrument{Code: code, Base: code[:2], Quote: code[3:]}
		in.DigitsAmount = w.rng.IntN(min(digits[in.Base], digits[in.Quote]) + 1)
		in.DigitsPrice = w.rng.IntN(digits[in.Quote] - in.DigitsAmount + 1)
		in.MakerFee, in.TakerFee = w.rate(), w.rate()
		w.apply(engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &in})
		w.pairs = append(w.pairs, nil)
		w.look(engine.PairID(len(w.pairs) - 1))
	}
}

func (w *world) look(id engine.PairID) {
	in, known := w.core.Pair(id)
	if !known {
		w.fatal(fmt.Errorf("there is no pair %d", id))
	}
	w.pairs[id] = in
}

// rate returns a rate of fees: usual, tiny, large or none.
func (w *world) rate() uint32 {
	switch w.rng.IntN(5) {
	case 0:
		return 0
	case 1:
		return w.rng.Uint32N(accounts.RateOne + 1)
	case 2:
		return w.rng.Uint32N(1000)
	}
	return w.rng.Uint32N(accounts.RateOne / 100)
}

func (w *world) discounts() accounts.ProfilePatch {
	rate := func() *fixed.I128 {
		v := fixed.Mul64(w.rng.Uint64N(accounts.RateOne/2+1), fixed.Pow10[10]).ToI128()
		return &v
	}
	return accounts.ProfilePatch{
		NoTradeCommissions: ptr(w.rng.IntN(8) == 0), DealBidDiscount: rate(), DealAskDiscount: rate(),
	}
}

// apply carries out a command of the engine, or a part of it, and books its trades in the model.
func (w *world) apply(cmd engine.Command) []engine.Event {
	w.now++
	cmd.TimeNs, cmd.First = w.now, true
	w.log = append(w.log, record{nowNs: w.now, order: &cmd})
	events := w.core.Apply(&cmd, nil)
	w.s.Advance(uint64(len(w.log)))
	for i := range events {
		e := &events[i]
		w.count[fmt.Sprint("event ", e.Kind)]++
		switch e.Kind {
		case engine.EventAccepted:
			w.open = append(w.open, e.Order)
			w.count["accepted "+e.Type.String()]++
		case engine.EventList:
			w.count["list "+e.List.String()]++
		case engine.EventRejected:
			w.count["rejected "+e.Reason.String()]++
		case engine.EventCanceled:
			w.count[fmt.Sprint("cause ", e.Cause)]++
		case engine.EventTrade:
			w.model.trade(w.pairs[e.Pair], e)
		}
	}
	return events
}

// do carries out a command of the accounts.
func (w *world) do(cmd accounts.Command) bool {
	w.now++
	w.log = append(w.log, record{nowNs: w.now, account: accounts.AppendCommand(nil, &cmd)})
	res, err := w.s.Do(w.now, &cmd)
	w.s.Advance(uint64(len(w.log)))
	if err != nil {
		w.count["refused"]++
		return false
	}
	digits, _ := w.s.Digits(cmd.Currency)
	units := func(v fixed.I128) *big.Int { return new(big.Int).Quo(toBig(v.Wide()), pow10(fixed.Scale-digits)) }
	switch cmd.Kind {
	case accounts.Deposit:
		w.model.add(cmd.Currency, cmd.User, units(cmd.Amount))
	case accounts.Withdraw:
		w.model.add(cmd.Currency, cmd.User, new(big.Int).Neg(units(cmd.Amount)))
		w.model.fee(cmd.Currency, cmd.User, units(res.Commission))
	}
	return true
}

var lowWord = new(big.Int).SetUint64(1<<64 - 1)

func (w *world) someone() uint32 { return w.rng.Uint32N(w.users + 1) }

// step carries out one random command.
func (w *world) step() {
	switch n := w.rng.IntN(100); {
	case n < 45:
		w.apply(w.order())
	case n < 60:
		w.apply(w.list())
	case n < 70:
		w.change()
	case n < 72:
		cmd := engine.Command{Kind: engine.CancelAll, Pair: w.pair(), Account: engine.AccountID(w.someone())}
		w.apply(cmd)
	case n < 93:
		w.money()
	case n < 96:
		w.do(accounts.Command{Kind: accounts.SetHalt, User: w.rng.Uint32N(w.users) + 1, Halted: w.rng.IntN(5) == 0})
	case n < 98:
		w.do(accounts.Command{Kind: accounts.PatchUser, User: w.rng.Uint32N(w.users) + 1, Profile: w.discounts()})
	default:
		id := w.pair()
		in := *w.pairs[id]
		in.MakerFee, in.TakerFee = w.rate(), w.rate()
		w.apply(engine.Command{Kind: engine.SetPair, Pair: id, Instrument: &in})
		w.look(id)
	}
	for range 3 { // parts of a long command; other commands may come between them
		if id := w.pair(); w.core.Unfinished(id) {
			w.count["parts"]++
			w.apply(engine.Command{Kind: engine.Continue, Pair: id})
		}
	}
}

func (w *world) pair() engine.PairID { return engine.PairID(w.rng.IntN(len(w.pairs))) }

// order returns a random order.
func (w *world) order() engine.Command {
	cmd := engine.Command{
		Kind: engine.Place, Pair: w.pair(), Account: engine.AccountID(w.someone()), Side: engine.Side(w.rng.IntN(2)),
		Type: engine.OrderType(w.rng.IntN(4)), STP: engine.SelfTrade(w.rng.IntN(int(engine.Decrement) + 1)),
		Amount: w.lots(), TIF: engine.IOC,
	}
	if w.rng.IntN(2) == 0 {
		cmd.Type = engine.Limit
	}
	if cmd.Type == engine.Limit || cmd.Type == engine.StopLimit {
		cmd.Price, cmd.TIF = w.price(cmd.Side), engine.TimeInForce(w.rng.IntN(8)%3)
		if cmd.TIF == engine.GTC && w.rng.IntN(6) == 0 {
			cmd.Display = w.rng.Int64N(cmd.Amount) + 1
		} else if cmd.TIF == engine.GTC && w.rng.IntN(8) == 0 {
			cmd.Flags = engine.FlagPostOnly
		}
	} else if w.rng.IntN(2) == 0 {
		cmd.Flags, cmd.Amount = engine.FlagQuote, 0
		cmd.Quote = fixed.Mul64(uint64(w.lots()), uint64(w.price(engine.Sell))).Add(fixed.FromU64(w.rng.Uint64N(50)))
	}
	if cmd.Type >= engine.StopLimit {
		cmd.Stop = w.price(cmd.Side.Opposite())
	}
	if cmd.Type == engine.StopMarket && cmd.Amount > 0 && w.rng.IntN(2) == 0 { // all in, and it will cost more
		cmd.Stop -= w.rng.Int64N(50)
		each := w.pairs[cmd.Pair].QuoteUnits(fixed.FromU64(uint64(cmd.Stop)))
		all := new(big.Int).Quo(bigOf(w.s.Free(cmd.Account, cmd.Pair, cmd.Side)), bigOf(each))
		if all.IsInt64() && all.Sign() > 0 {
			cmd.Amount = min(all.Int64(), 200)
		}
	}
	return cmd
}

// list returns a random order list.
func (w *world) list() engine.Command {
	kind := engine.ListKind(1 + w.rng.IntN(int(engine.OPOCO)))
	last := func(p engine.PairID) int64 { _, last := w.core.LastTrade(p); return last }
	cmd := engine.Command{Kind: engine.PlaceList, Pair: w.pair(), Account: engine.AccountID(w.someone())}
	around := last(cmd.Pair)
	if around == 0 {
		around = 85
	}
	order := func(side engine.Side, typ engine.OrderType, amount int64) engine.Command {
		o := engine.Command{
			Kind: engine.Place, Pair: cmd.Pair, Account: cmd.Account, Side: side, Type: typ, Amount: amount,
			STP: engine.SelfTrade(w.rng.IntN(int(engine.Decrement) + 1)),
		}
		if typ.AtMarket() {
			o.TIF = engine.IOC
		} else {
			o.Price = w.price(side)
		}
		if typ.Waits() {
			o.Stop = w.price(side.Opposite())
		}
		return o
	}
	amount, side := w.lots(), engine.Side(w.rng.IntN(2))
	works := order(side.Opposite(), engine.Limit, w.lots())
	if works.TIF = engine.TimeInForce(w.rng.IntN(12) % 3); w.rng.IntN(8) == 0 {
		works.TIF, works.Flags = engine.GTC, engine.FlagPostOnly
	}
	if kind >= engine.OPO {
		works.Side, side, amount = engine.Buy, engine.Sell, 0
	}
	out := 1 - 2*int64(side) // a buy's stop is above
	stop := order(side, engine.StopLimit+engine.OrderType(w.rng.IntN(2)), amount)
	stop.Stop = around + out*(1+w.rng.Int64N(8))
	aim := order(side, engine.Limit, amount)
	if aim.Price = around - out*(1+w.rng.Int64N(12)); w.rng.IntN(3) == 0 {
		aim.Type, aim.Stop = engine.TakeLimit, aim.Price
	} else {
		aim.Flags = engine.FlagPostOnly
	}
	l := &engine.List{Kind: kind}
	switch kind {
	case engine.OCO:
		l.Orders = []engine.Command{aim, stop}
	case engine.OTO:
		l.Orders = []engine.Command{works, order(engine.Side(w.rng.IntN(2)), engine.OrderType(w.rng.IntN(6)), w.lots())}
	case engine.OPO:
		l.Orders = []engine.Command{works, order(side, engine.OrderType(w.rng.IntN(6)), 0)}
	default:
		l.Orders = []engine.Command{works, stop, aim}
	}
	cmd.List = l
	return cmd
}

// price returns a price at which an order of a side rests more often than it trades.
func (w *world) price(side engine.Side) int64 { return 60 + 35*int64(side) + w.rng.Int64N(46) }

func (w *world) lots() int64 { return w.rng.Int64N(40) + 1 }

// change cancels or replaces an order.
func (w *world) change() {
	if len(w.open) == 0 {
		return
	}
	i := len(w.open) - 1 - w.rng.IntN(min(len(w.open), 30))
	id := w.open[i]
	cmd := engine.Command{
		Kind: engine.Cancel, Pair: id.Pair(), Order: id, Flags: engine.FlagAllAccount,
	}
	if w.rng.IntN(3) > 0 {
		cmd.Kind = engine.Replace
		if w.rng.IntN(2) == 0 {
			cmd.Flags, cmd.Price = cmd.Flags|engine.FlagHasPrice, w.price(engine.Side(w.rng.IntN(2)))
		}
		if w.rng.IntN(2) == 0 {
			cmd.Flags, cmd.Amount = cmd.Flags|engine.FlagHasAmount, w.lots()
		}
	}
	w.apply(cmd)
}

// money deposits or withdraws about as much as an order moves, or withdraws all that is free.
func (w *world) money() {
	in := w.pairs[w.pair()]
	cmd := accounts.Command{Kind: accounts.Deposit, User: w.rng.Uint32N(w.users) + 1, Currency: in.Base}
	most := in.BaseUnits(100)
	if w.rng.IntN(2) == 0 {
		cmd.Currency, most = in.Quote, in.QuoteUnits(fixed.FromU64(10_000))
	}
	digits, _ := w.s.Digits(cmd.Currency)
	part := big.NewInt(w.rng.Int64N(1 << 32))
	units := part.Mul(part, bigOf(most)).Rsh(part, 32)
	if w.rng.IntN(3) == 0 {
		cmd.Kind = accounts.Withdraw
	}
	if cmd.Kind == accounts.Withdraw && w.rng.IntN(2) == 0 { // but for the commission
		units = toBig(w.s.View().Balance(cmd.User, cmd.Currency).Free)
		units.Quo(units.Mul(units, big.NewInt(995)), big.NewInt(1000)).Quo(units, pow10(fixed.Scale-digits))
	}
	units.Mul(units, pow10(fixed.Scale-digits)) // 10^-18
	if w.rng.IntN(20) == 0 {
		units.Add(units, big.NewInt(1)) // with more digits than the currency, unless it has 18
	}
	if units.Sign() <= 0 || units.Cmp(toBig(accounts.MaxMoney.Wide())) > 0 {
		return
	}
	cmd.Amount = fixed.I128{Hi: new(big.Int).Rsh(units, 64).Int64(), Lo: new(big.Int).And(units, lowWord).Uint64()}
	w.do(cmd)
}

// check checks every rule that holds between two parts of a command.
func (w *world) check() {
	w.t.Helper()
	err := w.s.Check()
	if !slices.ContainsFunc([]engine.PairID{0, 1, 2}, w.core.Unfinished) {
		err = cmp.Or(err, holdsDiffer(w.core, w.s))
	}
	if err != nil {
		w.fatal(err)
	}
}

// restart goes on with what a snapshot of the accounts has.
func (w *world) restart() {
	b := w.s.AppendSnapshot(nil)
	s, err := accounts.DecodeSnapshot(b)
	if err != nil || !bytes.Equal(s.AppendSnapshot(nil), b) {
		w.fatal(fmt.Errorf("the snapshot does not come back: %w", err))
	}
	w.s = s
	w.core.SetFunds(s)
}

// replay applies the log to an empty exchange, which then has the same accounts.
func (w *world) replay() {
	core, s := engine.NewCore(parts), accounts.New(worldSettings)
	core.SetFunds(s)
	for i := range w.log {
		if r := &w.log[i]; r.order != nil {
			core.Apply(r.order, nil)
		} else if cmd, err := accounts.DecodeCommand(r.account); err != nil {
			w.fatal(err)
		} else {
			_, _ = s.Do(r.nowNs, &cmd) // refused commands are records, too
		}
	}
	if !bytes.Equal(s.AppendSnapshot(nil), w.s.AppendSnapshot(nil)) {
		w.fatal(fmt.Errorf("a replay of the log has other accounts"))
	}
}

// Whatever the digits of currencies and pairs: what accounts hold is what their open orders need, free + held + fees =
// deposited - withdrawn to the unit, only accounts without a limit are below zero, each fee is within half a unit of
// the exact one, and the shares of it are not more than it. A replay and a snapshot in the middle give the same.
func TestRandomCommandsAgreeWithANaiveLedger(t *testing.T) {
	seeds, steps := uint64(40), 1200
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		seeds, steps = 1000, 4000
	}
	count := map[string]int{}
	for seed := range seeds {
		w := newWorld(t, seed, count)
		restart := w.rng.IntN(steps)
		for i := range steps {
			w.step()
			w.check()
			if i == restart {
				w.restart()
			}
			if i%100 == 0 || i == steps-1 {
				if err := w.model.differs(w.s); err != nil {
					w.fatal(err)
				}
			}
		}
		w.replay()
		count["rounded fees"] += w.model.rounded
	}
	t.Logf("%v", count)
	for _, name := range []string{
		"rounded fees", "parts", "refused", "rejected account_halted", "rejected insufficient_funds",
		"accepted stop_market", "accepted market", "accepted stop_limit", "accepted limit",
		fmt.Sprint("event ", engine.EventTrade), fmt.Sprint("event ", engine.EventReduced),
		fmt.Sprint("event ", engine.EventTriggered), fmt.Sprint("event ", engine.EventReplaced),
		fmt.Sprint("cause ", engine.CauseFunds), fmt.Sprint("cause ", engine.CauseSelfTrade),
		fmt.Sprint("cause ", engine.CauseUnfillable), fmt.Sprint("event ", engine.EventReleased),
		fmt.Sprint("cause ", engine.CauseList), fmt.Sprint("cause ", engine.CauseWorking),
		"list oco", "list oto", "list otoco", "list opo", "list opoco",
	} {
		if count[name] < 10 {
			t.Errorf("%s: %d times only", name, count[name])
		}
	}
}
