package accounts

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"tickhive/accounts/accrual"
	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/durable"
	"tickhive/internal/refuse"
	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

// exchange is a Store beside a recorded engine: pair 0, one batch of events per position.
type exchange struct {
	t       *testing.T
	fs      *vfstest.Mem
	clock   *clock.Manual
	store   *Store
	s       *State
	batches [][]engine.Event
	durable func(pos uint64) error
	waited  []uint64
}

func (x *exchange) open() {
	x.t.Helper()
	foldTo := func(s *State, pos uint64) error {
		for at := s.EnginePos(); at < pos && at < uint64(len(x.batches)); at++ {
			s.FoldEvents(x.batches[at], at+1)
		}
		return nil
	}
	r, err := Recover(StoreOptions{
		State: testOptions(), EngineLast: uint64(len(x.batches)),
		Config: durable.Config{
			FS: x.fs, Dir: "accounts", Clock: x.clock, SnapshotBytes: 4096, Log: wal.Options{PreallocBytes: -1},
		},
		EngineDurable: func(pos uint64) error {
			x.waited = append(x.waited, pos)
			if x.durable != nil {
				return x.durable(pos)
			}
			return nil
		},
	})
	if err != nil {
		x.t.Fatal(err)
	}
	x.s = r.State()
	x.store = mergeAll(x.t, r, foldTo)
}

func (x *exchange) fold(events ...engine.Event) {
	x.batches = append(x.batches, events)
	loop := Sink{x.s}
	loop.Fold(events, uint64(len(x.batches)))
	loop.Publish(0)
}

func (x *exchange) do(cmd Command) Result {
	x.t.Helper()
	x.clock.Set(x.clock.NowNs() + 1000)
	res, err := x.store.Do(cmd)
	if err != nil {
		x.t.Fatal(err)
	}
	return res
}

// trade records a trade of the taker against the built-in account; the fee is 10.
func (x *exchange) trade(seq uint64, taker uint32) {
	x.fold(engine.Event{
		Kind: engine.EventTrade, Seq: engine.Seq(seq), TimeNs: x.clock.NowNs(), Side: engine.Sell,
		Account: engine.AccountID(taker), Price: 1, Amount: 100_0000_0000, TakerFee: RateOne / 10,
	})
}

// Accruals depend on the inviters at the time of the fee, so after a kill recovery applies the
// records and the engine's events in their original order.
func TestStoreRecoversRecordsAndEventsInTheirOrder(t *testing.T) {
	x := &exchange{t: t, fs: vfstest.NewMem(), clock: clock.NewManual(t0)}
	x.open()
	x.fold(engine.Event{Kind: engine.EventPair, Seq: 1, Instrument: &engine.Instrument{
		Base: "BTC", Quote: "USDT",
		DigitsPrice: 2, DigitsAmount: 6,
	}})
	for range 3 {
		x.do(Command{Kind: CreateUser})
	}
	x.do(Command{Kind: Deposit, User: 3, Currency: "BTC", Amount: dec("10000000")})
	x.trade(2, 3) // no inviter yet: nothing accrues
	x.do(Command{Kind: SetInviter, User: 3, Code: InviteCode(2)})
	x.trade(3, 3) // 2 for user 2
	x.do(Command{Kind: SetInviter, User: 2, Code: InviteCode(1)})
	x.trade(4, 3) // 2 for user 2, 1 for user 1
	x.do(Command{Kind: PatchUser, User: 1, Profile: ProfilePatch{
		IsAmbassador:       ptr(true),
		SecondLevelPercent: decp("20"),
	}})
	x.trade(5, 3) // 2 and 2
	x.waited = nil
	x.do(Command{Kind: Withdraw, User: 2, Currency: "USDT", Amount: dec("5")})
	if !slices.Equal(x.waited, []uint64{5, 5}) {
		t.Fatalf("a withdrawal waits for the engine's journal before it is written: %v", x.waited)
	}
	x.do(Command{Kind: CreateKey, User: 1, Key: auth.KeyRequest{Name: "k"}})
	if !slices.Equal(x.waited, []uint64{5, 5, 5}) {
		t.Fatalf("a record waits for the engine's journal before it is synced: %v", x.waited)
	}
	want := x.s.AppendSnapshot(nil)
	for n, amount := range map[uint32]string{1: "3.001", 2: "6.0"} { // 0.001: 20 % of the withdrawal's 0.005
		if got := x.s.Shown().Accruals(n).Summary(accrual.Filter{}); text(got[0].Amount) != amount {
			t.Fatalf("user %d accrued %s", n, text(got[0].Amount))
		}
	}
	x.fs = x.fs.Kill()
	x.open()
	if !bytes.Equal(x.s.AppendSnapshot(nil), want) {
		t.Fatal("the state after a kill is another")
	}
	if err := x.store.Close(); err != nil {
		t.Fatal(err)
	}
	x.open() // from a snapshot
	if !bytes.Equal(x.s.AppendSnapshot(nil), want) || x.store.RetainFrom() == 0 {
		t.Fatal("the state after a clean stop is another")
	}
	if err := x.store.Close(); err != nil {
		t.Fatal(err)
	}
}

// A withdrawal whose fills cannot be made durable is refused and changes nothing.
func TestWithdrawalIsRefusedWhileTheEnginesJournalIsNotDurable(t *testing.T) {
	x := &exchange{t: t, fs: vfstest.NewMem(), clock: clock.NewManual(t0)}
	x.open()
	x.do(Command{Kind: CreateUser})
	x.do(Command{Kind: Deposit, User: 1, Currency: "BTC", Amount: dec("1")})
	x.durable = func(uint64) error { return errors.New("the disk is full") }
	if _, err := x.store.Do(Command{Kind: Withdraw, User: 1, Currency: "BTC", Amount: dec("0.5")}); !errors.Is(err,
		wal.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	if b := x.s.Shown().Balance(1, "BTC"); text(b.Free) != "1.0" {
		t.Fatalf("free %s", text(b.Free))
	}
	x.durable = nil
	if res := x.do(Command{
		Kind: Withdraw, User: 1, Currency: "BTC",
		Amount: dec("0.5"),
	}); text(res.Balance.Free) != "0.4995" {
		t.Fatalf("%+v", res)
	}
	var reject *refuse.Refusal
	if _, err := x.store.Do(Command{Kind: Withdraw, User: 1, Currency: "BTC", Amount: dec("5")}); !errors.As(err,
		&reject) || reject.Code != "INSUFFICIENT_FUNDS" {
		t.Fatalf("got %v", err)
	}
	if err := x.store.Close(); err != nil {
		t.Fatal(err)
	}
}

// A change of the tree is refused on a full disk, and Fold still accepts the engine's events.
func TestFullDiskLeavesTheGateOpen(t *testing.T) {
	x := &exchange{t: t, fs: vfstest.NewMem(), clock: clock.NewManual(t0)}
	x.open()
	x.fold(engine.Event{Kind: engine.EventPair, Seq: 1, Instrument: &engine.Instrument{
		Base: "BTC", Quote: "USDT",
		DigitsPrice: 2, DigitsAmount: 6,
	}})
	x.do(Command{Kind: CreateUser})
	x.do(Command{Kind: CreateUser})
	x.do(Command{Kind: Deposit, User: 2, Currency: "BTC", Amount: dec("10000000")})
	x.fs.SetCapacity(x.fs.Used())
	if _, err := x.store.Do(Command{Kind: SetInviter, User: 2, Code: InviteCode(1)}); !errors.Is(err,
		wal.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	x.trade(2, 2) // would wait for ever if foldLock were still held
	if v := x.s.Shown().Inviter(2); v != nil || len(x.s.Shown().Accruals(1).Summary(accrual.Filter{})) != 0 {
		t.Fatal("a refused change is in force")
	}
	x.fs.SetCapacity(0)
	x.do(Command{Kind: SetInviter, User: 2, Code: InviteCode(1)})
	x.trade(3, 2)
	if got := x.s.Shown().Accruals(1).Summary(accrual.Filter{}); len(got) != 1 || text(got[0].Amount) != "2.0" {
		t.Fatalf("%+v", got)
	}
	if err := x.store.Close(); err != nil {
		t.Fatal(err)
	}
}
