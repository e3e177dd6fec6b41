package accounts

import (
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
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

// testOptions returns options that charge 0.1 % for withdrawals.
func testOptions() Options {
	o := Options{Random: testRandom()}
	o.Withdrawal.Percent = RateOne / 1000
	return o
}

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

// rig is a state with a clock, driven as the store drives it.
type rig struct {
	t   testing.TB
	s   *State
	now int64
	seq map[uint32]engine.Seq
	pos uint64
}

func newRig(t testing.TB) *rig {
	return &rig{t: t, s: New(testOptions()), now: t0, seq: map[uint32]engine.Seq{}}
}

func (r *rig) try(cmd Command) (Result, *refuse.Refusal) {
	r.t.Helper()
	rec, err := r.s.Plan(r.now, cmd)
	if err != nil {
		var reject *refuse.Refusal
		if !errors.As(err, &reject) {
			r.t.Fatalf("refusal is a %T", err)
		}
		return Result{}, reject
	}
	back, err := DecodeRecord(AppendRecord(nil, &rec))
	if err != nil {
		r.t.Fatalf("kind %d: a record does not decode: %v", cmd.Kind, err)
	}
	back.setAside = rec.setAside
	return r.s.Apply(&back), nil
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
	before := string(r.s.AppendSnapshot(nil))
	_, reject := r.try(cmd)
	if reject == nil || reject.Code != code || reject.Field != field || reject.Message == "" {
		r.t.Fatalf("kind %d: got %+v, want %s %q", cmd.Kind, reject, code, field)
	}
	if string(r.s.AppendSnapshot(nil)) != before {
		r.t.Fatalf("kind %d: a refusal changed the state", cmd.Kind)
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

func (r *rig) invite(user, by uint32) {
	r.t.Helper()
	r.do(Command{Kind: SetInviter, User: user, Code: InviteCode(by)})
}

// fold runs f as one batch and checks every invariant after it.
func (r *rig) fold(f func(fold)) {
	r.t.Helper()
	r.pos++
	fold := beginFold(r.s, r.pos)
	f(fold)
	fold.end()
	r.check()
}

func (r *rig) check() {
	r.t.Helper()
	r.s.View() // compares what is shown, too
	if err := r.s.Check(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) next(pair uint32) engine.Seq {
	r.seq[pair]++
	return r.seq[pair]
}

// pair adds BTC_USDT, prices of 2 digits and amounts of 6.
func (r *rig) pair() {
	r.fold(func(f fold) {
		f.pair(&engine.Event{
			Kind: engine.EventPair, Pair: 0, Seq: r.next(0),
			Instrument: &engine.Instrument{Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 6},
		})
	})
}

func (r *rig) balance(user uint32, currency, free, held string) {
	r.t.Helper()
	b := r.s.Usable(user, currency)
	if text(b.Free) != free || text(b.Held) != held {
		r.t.Fatalf("user %d %s: free %s held %s, want %s %s", user, currency, text(b.Free), text(b.Held), free, held)
	}
}

// restart replaces the state with the decoded form of its snapshot.
func (r *rig) restart() {
	r.t.Helper()
	b := r.s.AppendSnapshot(nil)
	s, err := DecodeSnapshot(b, testOptions())
	if err != nil {
		r.t.Fatalf("snapshot does not decode: %v", err)
	}
	if string(s.AppendSnapshot(nil)) != string(b) {
		r.t.Fatal("a decoded snapshot gives other bytes")
	}
	s.referral.maxDealAccruals = r.s.referral.maxDealAccruals
	r.s = s
	r.check()
}

// mergeAll applies the records of r, each after the events that it had seen, folds the rest of the
// events and starts the store.
func mergeAll(t testing.TB, r *Recovery, foldTo func(s *State, pos uint64) error) *Store {
	t.Helper()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = foldTo(r.State(), rec.EnginePos)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Apply(rec)
	}
	if err := foldTo(r.State(), 1<<62); err != nil {
		t.Fatal(err)
	}
	store, err := r.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// acceptedEvent returns the event of an accepted order with its reservation.
func acceptedEvent(seq engine.Seq, order uint64, p OrderParams, r Reservation) engine.Event {
	e := withEarn(engine.Event{
		Kind: engine.EventAccepted, Pair: engine.PairID(p.Pair), Seq: seq, Order: engine.OrderID(order),
		Account: engine.AccountID(p.Account), Side: p.Side, Type: p.Type, Price: p.Price, Amount: p.Amount,
		Quote:    p.Quote,
		MakerFee: p.Rates.Maker, TakerFee: p.Rates.Taker, TakerDiscount: p.Rates.Discount,
	}, r.EarnLimit)
	if p.ByQuote {
		e.Flags |= engine.FlagQuote
	}
	if r.Funded {
		e.Flags |= engine.FlagFunded
		e.Quote = r.SpendLimit
	}
	return e
}

// withEarn returns e with an earn limit.
func withEarn(e engine.Event, limit fixed.U128) engine.Event {
	e.Maker, e.Trade = engine.OrderID(limit.Hi), engine.TradeID(limit.Lo)
	return e
}
