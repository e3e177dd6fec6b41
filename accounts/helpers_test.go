package accounts

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

const (
	// t0 is 2026-01-01T00:00:00Z.
	t0    = int64(1_767_225_600_000_000_000)
	dayNs = 86_400_000_000_000
	msNs  = 1_000_000
)

// seededBytes is a source of bytes that are the same in each run.
type seededBytes struct{ r *rand.ChaCha8 }

func (s seededBytes) Read(p []byte) (int, error) { return s.r.Read(p) }

func testRandom() seededBytes { return seededBytes{rand.NewChaCha8([32]byte{7})} }

// testSettings returns settings that charge 0.1 % for withdrawals.
func testSettings() Settings {
	return Settings{Withdrawal: CommissionRule{Percent: RateOne / 1000}, Referral: DefaultConfig()}
}

// asked returns a key for which the rig draws what is random.
func asked(q auth.KeyRequest) auth.NewKey { return auth.NewKey{KeyRequest: q} }

func dec(text string) fixed.I128 {
	v, err := fixed.Parse(text)
	if err != nil {
		panic(text + ": " + err.Error())
	}
	return v
}

func decp(text string) *fixed.I128 { v := dec(text); return &v }

func text[M amount](v M) string { return string(fixed.AppendShortest192(nil, v.Wide(), fixed.Scale)) }

// amount is money, or a sum of it.
type amount interface{ Wide() fixed.I192 }

func sum(text string) fixed.I192 { return dec(text).Wide() }

func ptr[T any](v T) *T { return &v }

// rig is a state with a clock, driven as the loop drives it.
type rig struct {
	t      testing.TB
	s      *State
	now    int64
	pos    uint64
	random io.Reader
}

func newRig(t testing.TB) *rig {
	return &rig{t: t, s: New(testSettings()), now: t0, random: testRandom()}
}

// try carries out a command as its record has it.
func (r *rig) try(cmd Command) (Result, *refuse.Refusal) {
	r.t.Helper()
	if cmd.Kind == CreateKey && cmd.Key.PublicKey == "" {
		key, err := auth.Draw(r.random, cmd.Key.KeyRequest)
		if err != nil {
			r.t.Fatal(err)
		}
		cmd.Key = key
	}
	if cmd.Check() == nil {
		back, err := DecodeCommand(AppendCommand(nil, &cmd))
		if err != nil {
			r.t.Fatalf("kind %d: a command does not decode: %v", cmd.Kind, err)
		}
		cmd = back
	}
	res, err := r.s.Do(r.now, &cmd)
	var reject *refuse.Refusal
	if err != nil && !errors.As(err, &reject) {
		r.t.Fatalf("refusal is a %T", err)
	}
	return res, reject
}

func (r *rig) do(cmd Command) Result {
	r.t.Helper()
	res, reject := r.try(cmd)
	if reject != nil {
		r.t.Fatalf("kind %d refused: %v", cmd.Kind, reject)
	}
	return res
}

// refused requires that cmd is refused with a code and a field.
func (r *rig) refused(cmd Command, code refuse.Code, field string) {
	r.t.Helper()
	r.s.View()
	before, also := string(r.s.AppendSnapshot(nil)), r.s.beside()
	_, reject := r.try(cmd)
	if reject == nil || reject.Code != code || reject.Field != field || reject.Message == "" {
		r.t.Fatalf("kind %d: got %+v, want %s %q", cmd.Kind, reject, code, field)
	}
	if string(r.s.AppendSnapshot(nil)) != before || r.s.beside() != also || r.s.Take() != nil {
		r.t.Fatalf("kind %d: a refusal changed the state", cmd.Kind)
	}
	if len(r.s.dir.users) < 1000 {
		r.follows()
	}
}

// beside returns the counts that are in no snapshot.
func (s *State) beside() string {
	return fmt.Sprint(s.keys.Made(), len(s.balances.currencies), s.takes)
}

// follows requires that what a snapshot leaves out, because it follows from the rest, is what a decoded one has.
func (r *rig) follows() {
	r.t.Helper()
	s, err := DecodeSnapshot(r.s.AppendSnapshot(nil))
	if err != nil {
		r.t.Fatal(err)
	}
	all := func(s *State) []any {
		all := []any{
			s.referral.commandAccruals, s.dir.byFolded, s.deadlines.Len(), s.dir.linkOwner.Len(), s.referral.config,
		}
		for _, u := range s.dir.users {
			all = append(all, u.descendants, s.dir.users[s.dir.tree(u.n)].treeSize)
		}
		for i := range s.dir.linkOwner.Len() {
			all = append(all, *s.dir.linkOwner.At(i))
		}
		for _, code := range slices.Sorted(maps.Keys(s.balances.currencyNo)) {
			n := s.balances.currencyNo[code]
			t := &s.balances.sums[n]
			all = append(all, s.balances.currencies[n], t.totals, t.debt, t.used)
		}
		return all
	}
	if d := differ.Diff(all(s), all(r.s)); d != "" {
		r.t.Fatalf("what follows from the state differs: %s", d)
	}
}

func (r *rig) user(p ProfilePatch) uint32 {
	r.t.Helper()
	return r.do(Command{Kind: CreateUser, Profile: p}).User.Number
}

func (r *rig) deposit(user uint32, currency, amount string) {
	r.t.Helper()
	r.do(Command{Kind: Deposit, User: user, Currency: currency, Amount: dec(amount)})
}

// rates sets the referral rates.
func (r *rig) rates(c Config) {
	settings := testSettings()
	settings.Referral = c
	r.s.SetSettings(settings)
}

func (r *rig) invite(user, by uint32) {
	r.t.Helper()
	r.do(Command{Kind: SetInviter, User: user, Code: InviteCode(by)})
}

// fold folds the events of one record and checks every invariant after it.
func (r *rig) fold(events ...engine.Event) {
	r.t.Helper()
	r.folds(events...)
	r.check()
}

// folds folds the events of one record.
func (r *rig) folds(events ...engine.Event) {
	r.pos++
	r.s.Fold(events)
	r.s.Advance(r.pos)
}

func (r *rig) check() {
	r.t.Helper()
	r.s.View() // compares what is shown, too
	if err := r.s.Check(); err != nil {
		r.t.Fatal(err)
	}
}

// asset sets the digits of a currency.
func (r *rig) asset(code string, digits int) {
	r.t.Helper()
	r.fold(engine.Event{
		Kind: engine.EventAsset, Pair: engine.ControlPair,
		Control: &engine.ControlRecord{Asset: &engine.Asset{Symbol: code, Digits: digits}},
	})
}

// pair adds BTC_USDT, prices of 2 digits and amounts of 6, of assets with 18.
func (r *rig) pair() {
	r.t.Helper()
	r.addPair(engine.Instrument{
		Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 6, BaseDigits: 18, QuoteDigits: 18,
	})
}

// addPair adds pair 0.
func (r *rig) addPair(in engine.Instrument) {
	r.t.Helper()
	r.fold(engine.Event{Kind: engine.EventPair, Instrument: &in})
}

// buys lets an order of a user rest: 0.01 BTC at 100 USDT.
func (r *rig) buys(user uint32, order engine.OrderID) {
	r.t.Helper()
	r.fold(engine.Event{
		Kind: engine.EventAccepted, Order: order, Account: engine.AccountID(user), Price: 10_000, Amount: 10_000,
		OpenAmount: 10_000,
	})
}

// canceled ends an order of buys.
func (r *rig) canceled(user uint32, order engine.OrderID) {
	r.t.Helper()
	r.fold(engine.Event{
		Kind: engine.EventCanceled, Order: order, Account: engine.AccountID(user), Price: 10_000, Amount: 10_000,
	})
}

// traded returns the events of two limit orders that fill each other: t says who takes what from whom.
func traded(t engine.Event) []engine.Event {
	t.Kind, t.Order, t.Maker, t.Display = engine.EventTrade, 2, 1, t.Price
	maker := engine.Event{
		Kind: engine.EventAccepted, Order: t.Maker, Account: t.MakerAccount, Side: t.Side.Opposite(), Price: t.Price,
		Amount: t.Amount, OpenAmount: t.Amount,
	}
	taker := maker
	taker.Order, taker.Account, taker.Side = t.Order, t.Account, t.Side
	return []engine.Event{maker, taker, t}
}

func (r *rig) balance(user uint32, currency, free, held string) {
	r.t.Helper()
	b := r.s.View().Balance(user, currency)
	if text(b.Free) != free || text(b.Held) != held {
		r.t.Fatalf("user %d %s: free %s held %s, want %s %s", user, currency, text(b.Free), text(b.Held), free, held)
	}
}

// restart replaces the state with the decoded form of its snapshot.
func (r *rig) restart() {
	r.t.Helper()
	b := r.s.AppendSnapshot(nil)
	s, err := DecodeSnapshot(b)
	if err != nil {
		r.t.Fatalf("snapshot does not decode: %v", err)
	}
	if string(s.AppendSnapshot(nil)) != string(b) {
		r.t.Fatal("a decoded snapshot gives other bytes")
	}
	r.follows()
	s.Advance(r.pos)
	s.referral.maxDealAccruals = r.s.referral.maxDealAccruals
	r.s = s
	r.check()
}
