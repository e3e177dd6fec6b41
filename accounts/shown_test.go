package accounts

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"testing"

	"tickhive/accounts/accrual"
	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/fifo"
	"tickhive/internal/fixed"
	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

// readAll calls every reader about an account.
func readAll(v *Shown, n uint32) {
	v.UserCount()
	u, _ := v.User(n)
	v.NumberOf(UserID(n))
	v.Pos()
	v.Terms(n)
	v.Level(n)
	v.UserInfo(n)
	v.Avatar(n)
	v.Avatars()
	v.Balances(n)
	v.Rows(n)
	v.Balance(n, "USDT")
	v.Totals()
	v.Keys(n, t0)
	v.Ambassador(n)
	v.Inviter(n)
	v.FindInviter(u.ID)
	v.FindInviter(InviteCode(n))
	v.FindInviter(linkCode(1))
	_, _ = v.SearchInviters("user")
	v.Accruals(n).Totals()
	_, _ = v.Accruals(n).Page(accrual.Filter{}, accrual.Cursor{}, 1, 100)
	v.SwitchOf(n)
}

// No reader waits for State: all of them answer while somebody holds its lock.
func TestReadersTakeNoLock(t *testing.T) {
	r := newRig(t)
	one := r.user(ProfilePatch{IsAmbassador: ptr(true)})
	r.do(Command{Kind: CreateLink, User: one, DiscountPercent: dec("5")})
	v := r.s.View()
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	readAll(v, one)
	r.s.Counts()
}

// trades folds trades of 0.01 BTC at 100 USDT between two users, without fees.
func (r *rig) trades(buyer, seller uint32, n int) []engine.Event {
	events := make([]engine.Event, n)
	for i := range events {
		events[i] = engine.Event{
			Kind: engine.EventTrade, Seq: r.next(0),
			Account: engine.AccountID(buyer), MakerAccount: engine.AccountID(seller),
			Price: 10_000, Amount: 10_000, TimeNs: t0,
		}
	}
	return events
}

// tradersOf returns a rig with users of 1,000,000 USDT and 1,000 BTC each.
func tradersOf(t testing.TB, users int) (*rig, []uint32) {
	r := newRig(t)
	r.pair()
	var all []uint32
	for range users {
		u := r.user(ProfilePatch{})
		r.deposit(u, "USDT", "1000000")
		r.deposit(u, "BTC", "1000")
		all = append(all, u)
	}
	r.s.View()
	return r, all
}

// Readers, the loop and the store run at once. What a reader gets is of one instant: the worth of an account does not
// change by a trade, and each row of the totals adds up.
func TestReadersSeeWholeChanges(t *testing.T) {
	r, users := tradersOf(t, 3)
	one, two, other := users[0], users[1], users[2]
	v := r.s.Shown()
	worth := sum("1100000") // 1,000 BTC at 100
	var readers, writers sync.WaitGroup
	end := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				for _, u := range []uint32{one, two} {
					rows := v.Rows(u)
					got := rows[1].Total
					for range 100 {
						got = got.Add(rows[0].Total)
					}
					if got != worth || rows[1].CurrencyCode != "USDT" {
						t.Errorf("user %d is worth %s", u, text(got))
						return
					}
				}
				for _, sum := range v.Totals() {
					if sum.Free.Add(sum.Held).Add(sum.Fees) != sum.Deposited.Sub(sum.Withdrawn) {
						t.Errorf("%+v does not add up", sum)
						return
					}
				}
				readAll(v, other)
				runtime.Gosched()
			}
		})
	}
	writers.Go(func() { // the loop
		loop := Sink{r.s}
		for i := range 300 {
			for _, e := range r.trades(users[i%2], users[1-i%2], 3) {
				r.pos++
				loop.Fold([]engine.Event{e}, r.pos)
			}
			loop.Publish(0)
		}
	})
	writers.Go(func() { // the store
		for i := range 150 {
			name := fmt.Sprint("name-", i)
			u := r.user(ProfilePatch{})
			r.deposit(other, "USDT", "1")
			r.deposit(u, fmt.Sprint("C", i%40), "1")
			r.do(Command{Kind: PatchUser, User: other, Profile: ProfilePatch{Nickname: &name, IsAmbassador: ptr(true)}})
			if i < MaxLinksPerUser {
				r.do(Command{Kind: CreateLink, User: other, DiscountPercent: dec("5")})
			}
			r.invite(u, other)
			r.do(Command{Kind: AddProfit, User: u, Currency: "USDT", Amount: dec("1"), Profit: accrual.StakeAccrual})
			key := r.do(Command{Kind: CreateKey, User: other, Key: auth.KeyRequest{Name: "k"}}).Key.PublicKey
			if r.s.Publish(); i%10 != 0 {
				r.do(Command{Kind: DeleteKey, User: other, PublicKey: key})
			}
			if i%50 == 49 {
				r.s.AppendSnapshot(nil)
			}
		}
		r.s.Publish()
	})
	writers.Wait()
	close(end)
	readers.Wait()
	r.check()
	if v.UserCount() != 153 || v.Pos() != r.pos {
		t.Errorf("%d users at %d, want 153 at %d", v.UserCount(), v.Pos(), r.pos)
	}
}

// A value that a reader has does not change afterwards.
func TestWhatAReaderHasStays(t *testing.T) {
	r, users := tradersOf(t, 2)
	up := r.user(ProfilePatch{})
	r.invite(users[0], up)
	r.s.referral.maxDealAccruals = 3
	v := r.s.View()
	var before []*account
	var texts []string
	say := func(a *account) string {
		all := fmt.Sprint(*a.person, a.balances)
		if a.received != nil {
			for _, list := range []fifo.Queue[accrual.Accrual]{a.received.Deals, a.received.Others} {
				for i := range list.Len() {
					all += fmt.Sprint(*list.At(i))
				}
			}
			for k, sum := range a.received.Archive.All() {
				all += fmt.Sprint(k, sum)
			}
		}
		return all
	}
	for i := range 20 {
		for _, u := range append(users, up) {
			before = append(before, v.account(u))
			texts = append(texts, say(v.account(u)))
		}
		e := r.trades(users[0], users[1], 1)[0]
		e.TakerFee, e.TimeNs = RateOne/100, t0+int64(i)*dayNs/3
		r.fold(func(f fold) { f.event(&e) })
		r.do(Command{Kind: PatchUser, User: up, Profile: ProfilePatch{Level: ptr(int64(i)), StakingLevel: ptr("R" +
			fmt.Sprint(i%3))}})
		r.do(Command{Kind: AddProfit, User: users[0], Currency: "BTC", Amount: dec("1"), Profit: accrual.StakeAccrual})
		r.s.Publish()
	}
	for i, a := range before {
		if got := say(a); got != texts[i] {
			t.Fatalf("account %d was shown as\n%s and is now\n%s", a.n, texts[i], got)
		}
	}
}

// Fold allocates nothing. Publish allocates one value for each account and for each currency that has changed, however
// often.
func TestShownAllocates(t *testing.T) {
	r, users := tradersOf(t, 8)
	loop := Sink{r.s}
	for _, changed := range []int{2, 8} {
		slice := func() []engine.Event {
			var events []engine.Event
			for i := 0; i < changed; i += 2 {
				events = append(events, r.trades(users[i], users[i+1], 10)...)
			}
			return events
		}
		runs := make([][]engine.Event, 200)
		for i := range runs {
			runs[i] = slice()
		}
		next := 0
		fold := func() {
			r.pos++
			loop.Fold(runs[next], r.pos)
			next++
		}
		for range 10 { // buffers grow
			fold()
			loop.Publish(0)
		}
		if n := testing.AllocsPerRun(50, func() { fold() }); n > 0.1 {
			t.Errorf("%d accounts: a fold allocates %g times", changed, n)
		}
		loop.Publish(0)
		loop.Publish(0)
		if n := testing.AllocsPerRun(50, func() { fold(); loop.Publish(0) }); n > float64(changed+2) {
			t.Errorf("%d accounts: a publication allocates %g times", changed, n)
		}
	}
}

// A clock that advances far publishes once at its end. What waits for that is bounded by the balances, and the listener
// is told of each.
func TestWhatWaitsToBeShownIsBounded(t *testing.T) {
	r, users := tradersOf(t, 4)
	up := r.user(ProfilePatch{})
	for _, u := range users {
		r.invite(u, up)
	}
	l := map[balanceKey]bool{}
	v := r.s.View()
	v.Listen(&told{changed: func(account uint32, code string) {
		l[balanceKey{account, r.s.balances.currency(code)}] = true
	}})
	loop := Sink{r.s}
	for i := range 3 * maxFolded / 4 {
		events := r.trades(users[i%4], users[(i+1)%4], 1)
		events[0].TakerFee = RateOne / 100
		r.pos++
		loop.Fold(events, r.pos)
	}
	if n := len(v.next.balances) + len(v.next.received); n > maxFolded {
		t.Errorf("%d changes wait", n)
	}
	before := v.Balance(users[0], "USDT")
	if loop.Publish(0); v.Balance(users[0], "USDT") == before || len(l) != 9 {
		t.Errorf("the listener was told of %d balances", len(l))
	}
	r.check()
}

// A record's effect is shown once it is durable, and its key verifies nothing before; after a failed sync neither is.
func TestRecordsAreShownOnceTheyAreDurable(t *testing.T) {
	x := &exchange{t: t, fs: vfstest.NewMem(), clock: clock.NewManual(t0)}
	x.open()
	v := x.s.Shown()
	x.do(Command{Kind: CreateUser})
	verifier := auth.NewVerifier(v.Index(), auth.Options{})
	old := x.do(Command{Kind: CreateKey, User: 1, Key: auth.KeyRequest{Name: "old"}}).Key.PublicKey
	look := func() string {
		u, _ := v.User(1)
		_, unknown := verifier.Identify(t0, []byte(old), netip.MustParseAddr("127.0.0.1"))
		return fmt.Sprint(v.UserCount(), u.Nickname, len(v.Keys(1, t0)), len(v.Ambassador(1).Links), unknown)
	}
	for _, cmd := range []Command{
		{Kind: PatchUser, User: 1, Profile: ProfilePatch{Nickname: ptr("another"), IsAmbassador: ptr(true)}},
		{Kind: CreateLink, User: 1, DiscountPercent: dec("5")},
		{Kind: CreateUser},
		{Kind: CreateKey, User: 1, Key: auth.KeyRequest{Name: "new"}},
		{Kind: DeleteKey, User: 1, PublicKey: old},
	} {
		before, checked := look(), false
		once := sync.OnceFunc(func() {
			checked = true
			Sink{x.s}.Publish(0)
			if got := look(); got != before {
				t.Errorf("kind %d: %s is shown while the disk works, before %s", cmd.Kind, got, before)
			}
		})
		x.fs.Before(func(op vfstest.Op) vfstest.Fault {
			if op.Kind == vfstest.OpSync {
				once()
			}
			return vfstest.Fault{}
		})
		x.do(cmd)
		x.fs.Before(nil)
		if got := look(); got == before || !checked {
			t.Errorf("kind %d: %s is shown after the answer, as before", cmd.Kind, got)
		}
	}
	before := look()
	x.fs.Before(func(op vfstest.Op) vfstest.Fault {
		if op.Kind == vfstest.OpSync {
			return vfstest.Fault{Err: vfstest.ErrInjected}
		}
		return vfstest.Fault{}
	})
	_, err := x.store.Do(Command{Kind: CreateUser})
	loop := Sink{x.s}
	if loop.Publish(0); !errors.Is(err, wal.ErrOutcomeUnknown) || look() != before {
		t.Errorf("%v, %s is shown, before %s", err, look(), before)
	}
	_ = x.store.Close()
}

// A withdrawal that could not be written is not shown any more.
func TestAnAbandonedWithdrawalIsTakenBack(t *testing.T) {
	r, users := tradersOf(t, 1)
	v, want := r.s.View(), r.s.View().Balance(users[0], "USDT")
	total := v.Totals()
	withdraw := Command{Kind: Withdraw, User: users[0], Currency: "USDT", Amount: dec("10")}
	if _, err := r.s.Plan(r.now, withdraw); err != nil {
		t.Fatal(err)
	}
	Sink{r.s}.Publish(0)
	if got := v.Balance(users[0], "USDT"); got.Free != want.Free.Minus(dec("10.01")) {
		t.Errorf("%s is shown beside a planned withdrawal", text(got.Free))
	}
	r.s.Abandon()
	if got := v.Balance(users[0], "USDT"); got != want || !slices.Equal(v.Totals(), total) {
		t.Errorf("%+v is shown, want %+v; totals %+v", got, want, v.Totals())
	}
}

// Users are found by their ids, over many pages and before and behind a restart. No other id finds any.
func TestUsersAreFoundByID(t *testing.T) {
	r := newRig(t)
	const users = 3*pageAccounts + 7
	for n := range users {
		r.user(ProfilePatch{})
		if n%500 == 0 {
			r.s.Publish()
		}
	}
	for range 2 {
		v := r.s.View()
		for n := uint32(1); n <= users; n++ {
			if got, ok := v.NumberOf(UserID(n)); got != n || !ok {
				t.Fatalf("user %d is found as %d", n, got)
			}
		}
		for _, n := range []uint32{0, users + 1, 1 << 31} {
			if got, ok := v.NumberOf(UserID(n)); ok {
				t.Errorf("user %d is found as %d", n, got)
			}
		}
		r.restart()
	}
	if n, ok := New(testOptions()).Shown().NumberOf(UserID(1)); ok {
		t.Errorf("an empty state has user %d", n)
	}
}

// BenchmarkShown measures what one changed account costs: folding its balances and showing them.
func BenchmarkShown(b *testing.B) {
	for _, currencies := range []int{2, 5, 12} {
		b.Run(fmt.Sprint(currencies), func(b *testing.B) {
			const users = 1024
			s := New(testOptions())
			v, spare := s.Shown(), &Report{}
			r := &Report{}
			for c := range currencies {
				r.codes = append(r.codes, fmt.Sprint("C", c))
			}
			for u := range uint32(users) {
				r.users = append(r.users, &person{n: u, id: UserID(u)})
			}
			change := func(r *Report, u uint32) {
				for c := range uint32(2) {
					r.balances = append(r.balances, balanceChange{
						account: u, currency: c, free: fixed.FromI64(1).Wide(),
					})
				}
			}
			for u := range uint32(users) {
				for c := range uint32(currencies) {
					r.balances = append(r.balances, balanceChange{account: u, currency: c})
				}
			}
			v.Fold(r)
			spare = v.Publish(spare)
			spare.reset()
			b.ReportAllocs()
			n := uint32(0)
			for b.Loop() {
				r.reset()
				change(r, n%users)
				v.Fold(r)
				if n++; n%64 == 0 {
					spare = v.Publish(spare)
					spare.reset()
				}
			}
		})
	}
}
