package accounts

import (
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fifo"
	"github.com/tickhive/tickhive/internal/fixed"
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

// trades returns n trades of 0.01 BTC at 100 USDT between two users, without fees.
func trades(buyer, seller uint32, n int) (events []engine.Event) {
	for range n {
		events = append(events, traded(engine.Event{
			Account: engine.AccountID(buyer), MakerAccount: engine.AccountID(seller), Price: 10_000, Amount: 10_000,
			TimeNs: t0,
		})...)
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

// Readers, handlers and the loop run at once. What a reader gets is of one instant: the worth of an account does not
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
		for i := range 150 {
			for range 2 {
				for range 3 {
					r.folds(trades(users[i%2], users[1-i%2], 1)...)
				}
				r.s.View()
			}
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
			key := r.do(Command{Kind: CreateKey, User: other, Key: asked(auth.KeyRequest{Name: "k"})}).Key.PublicKey
			if i%10 != 0 {
				r.do(Command{Kind: DeleteKey, User: other, PublicKey: key})
			}
			if i%50 == 49 {
				r.s.AppendSnapshot(nil)
			}
		}
		r.s.View()
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
		events := trades(users[0], users[1], 1)
		events[2].TakerFee, events[2].TimeNs = RateOne/100, t0+int64(i)*dayNs/3
		r.fold(events...)
		r.do(Command{Kind: PatchUser, User: up, Profile: ProfilePatch{Level: ptr(int64(i)), StakingLevel: ptr("R" +
			fmt.Sprint(i%3))}})
		r.do(Command{Kind: AddProfit, User: users[0], Currency: "BTC", Amount: dec("1"), Profit: accrual.StakeAccrual})
		r.s.View()
	}
	for i, a := range before {
		if got := say(a); got != texts[i] {
			t.Fatalf("account %d was shown as\n%s and is now\n%s", a.n, texts[i], got)
		}
	}
}

// Take and Fold allocate nothing beside one value for each account and for each currency that changes, however
// often, until the next publication. Publish shows these.
// Publish allocates one value for each account and for each currency that has changed, however
// often.
func TestShownAllocates(t *testing.T) {
	r, users := tradersOf(t, 8)
	v := r.s.Shown()
	for _, changed := range []int{2, 8} {
		slice := func() []engine.Event {
			var events []engine.Event
			for i := 0; i < changed; i += 2 {
				events = append(events, trades(users[i], users[i+1], 10)...)
			}
			return events
		}
		runs := make([][]engine.Event, 200)
		for i := range runs {
			runs[i] = slice()
		}
		next := 0
		fold := func() {
			r.folds(runs[next]...)
			v.Fold(r.s.Take())
			next++
		}
		for range 10 { // buffers grow
			fold()
			v.Publish()
		}
		if n := testing.AllocsPerRun(50, func() { fold() }); n > 0.1 {
			t.Errorf("%d accounts: a fold allocates %g times", changed, n)
		}
		v.Publish()
		v.Publish()
		if n := testing.AllocsPerRun(50, func() { fold(); v.Publish() }); n > float64(changed+2) {
			t.Errorf("%d accounts: a publication allocates %g times", changed, n)
		}
	}
}

// A clock that advances far publishes once at its end. What waits for that is bounded by the balances, and the listener
// is told of each, once.
func TestWhatWaitsToBeShownIsBounded(t *testing.T) {
	r, users := tradersOf(t, 4)
	up := r.user(ProfilePatch{})
	for _, u := range users {
		r.invite(u, up)
	}
	v := r.s.View()
	l := &told{}
	v.Listen(l)
	for i := range 50_001 {
		events := trades(users[i%4], users[(i+1)%4], 1)
		events[2].TakerFee = RateOne / 100
		r.folds(events...)
		v.Fold(r.s.Take())
	}
	if n := &v.next; len(n.balances)+len(n.received)+len(n.sums) != 0 || len(v.changed) != 5 || len(v.summed) != 1+1 {
		t.Errorf("%d accounts, %d currencies and %d changes wait", len(v.changed), len(v.summed), len(n.balances))
	}
	before := v.Balance(users[0], "USDT")
	if v.Publish(); v.Balance(users[0], "USDT") == before || l.balances != 7 {
		t.Errorf("the listener was told of %d balances", l.balances)
	}
	v.Publish()
	if r.check(); l.balances != 7 {
		t.Errorf("the listener was told of %d balances after a publication of nothing", l.balances)
	}
}

// What a command or an event changes is shown with the publication behind the Fold of its report, and not before: with
// its position, which moves also where a record has no event, and its key verifies nothing until then.
func TestReportsAreShownWhenTheyArePublished(t *testing.T) {
	r := newRig(t)
	r.pair()
	r.user(ProfilePatch{})
	v := r.s.View()
	old := r.do(Command{Kind: CreateKey, User: 1, Key: asked(auth.KeyRequest{Name: "old"})}).Key.PublicKey
	r.s.View()
	verifier := auth.NewVerifier(v.Index(), auth.Options{})
	look := func() string {
		u, _ := v.User(1)
		_, unknown := verifier.Identify(t0, []byte(old), netip.MustParseAddr("127.0.0.1"))
		return fmt.Sprint(v.UserCount(), u.Nickname, len(v.Keys(1, t0)), len(v.Ambassador(1).Links), unknown,
			v.Balances(1), v.Totals(), v.Pos(), v.UserInfo(1).ReferralsLevelInfos, v.SwitchOf(1))
	}
	command := func(cmd Command) func() { return func() { r.do(cmd) } }
	for name, step := range map[string]func(){
		"patch":    command(Command{Kind: PatchUser, User: 1, Profile: ProfilePatch{Nickname: ptr("xy")}}),
		"user":     command(Command{Kind: CreateUser}),
		"key":      command(Command{Kind: CreateKey, User: 1, Key: asked(auth.KeyRequest{Name: "new"})}),
		"old key":  command(Command{Kind: DeleteKey, User: 1, PublicKey: old}),
		"deposit":  command(Command{Kind: Deposit, User: 1, Currency: "AA", Amount: dec("1")}),
		"switch":   command(Command{Kind: SetSwitch, User: 1, Timeout: MinSwitch}),
		"settings": func() { r.rates(Config{Levels: []uint32{1}}) },
		"nothing":  func() { r.folds() },
	} {
		before := look()
		step()
		report := r.s.Take()
		if report == nil || r.s.Take() != nil {
			t.Fatalf("%s: it is reported %t", name, report != nil)
		}
		if v.Publish(); look() != before {
			t.Errorf("%s: it is shown before it is folded", name)
		}
		if v.Fold(report); look() != before {
			t.Errorf("%s: it is shown before it is published", name)
		}
		if v.Publish(); look() == before || v.Pos() != r.pos {
			t.Errorf("%s: %s is shown at %d, as before", name, look(), v.Pos())
		}
		r.check()
	}
}

// One report has the last of several changes of a balance, in the order of the log, whatever made them; so has each of
// several reports that wait for one publication.
func TestAReportHasTheLastChangeOfABalance(t *testing.T) {
	r, users := tradersOf(t, 2)
	v, l := r.s.View(), &told{}
	v.Listen(l)
	trade := func() { r.folds(trades(users[0], users[1], 1)...) }
	deposit := func() { r.deposit(users[0], "USDT", "5") }
	for _, steps := range [][]func(){{trade, deposit}, {deposit, trade}, {deposit, deposit}, {trade, trade, trade}} {
		for _, each := range []bool{false, true} { // a report for each step, or for all
			for _, step := range steps {
				if step(); each {
					v.Fold(r.s.Take())
				}
			}
			if report := r.s.Take(); report != nil {
				v.Fold(report)
			}
			v.Publish()
			for _, row := range r.s.dir.users[users[0]].rows {
				b := v.Balance(users[0], r.s.balances.currencies[row.currency].Code)
				if b.Digits != 18 || b.Free != row.free.Wide() || b.Held != row.held.Wide() {
					t.Errorf("%s is shown, want %s", text(b.Free), text(row.free))
				}
			}
			r.check()
		}
	}
	// A balance that is as it was is not told of.
	l.balances = 0
	trade()
	r.folds(trades(users[1], users[0], 1)...)
	if r.s.View(); l.balances != 0 {
		t.Errorf("the listener was told of %d balances that are as they were", l.balances)
	}
}

// A state that nobody reads reports nothing. What it has at the first Shown is shown, with the position.
func TestReportsBeginWithTheFirstShown(t *testing.T) {
	r := newRig(t)
	r.folds(engine.Event{Kind: engine.EventPair, Instrument: &engine.Instrument{
		Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 6, BaseDigits: 8, QuoteDigits: 8,
	}})
	r.deposit(r.do(Command{Kind: CreateUser}).User.Number, "USDT", "5")
	if r.s.Take() != nil || len(r.s.report.balances)+len(r.s.report.users)+len(r.s.report.transfers) != 0 {
		t.Errorf("%+v is reported", r.s.report)
	}
	if v := r.s.Shown(); text(v.Balance(1, "USDT").Free) != "5.0" || v.Pos() != 1 || r.s.Take() != nil {
		t.Errorf("%+v is shown at %d", v.Balance(1, "USDT"), v.Pos())
	}
	r.check()
}

// Users are found by their ids, over many pages and before and behind a restart. No other id finds any.
func TestUsersAreFoundByID(t *testing.T) {
	r := newRig(t)
	const users = 3*pageAccounts + 7
	for n := range users {
		r.user(ProfilePatch{})
		if n%500 == 0 {
			r.s.View()
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
	if n, ok := New(testSettings()).Shown().NumberOf(UserID(1)); ok {
		t.Errorf("an empty state has user %d", n)
	}
}

// BenchmarkShown measures what one changed account costs: folding its balances and showing them.
func BenchmarkShown(b *testing.B) {
	for _, currencies := range []int{2, 5, 12} {
		b.Run(fmt.Sprint(currencies), func(b *testing.B) {
			const users = 1024
			s := New(testSettings())
			v, r := s.Shown(), &Report{}
			for c := range currencies {
				r.currencies = append(r.currencies, accrual.Currency{Code: fmt.Sprint("C", c), Digits: 8})
			}
			for u := range uint32(users) {
				r.users = append(r.users, &person{n: u, id: UserID(u)})
			}
			change := func(r *Report, u uint32) {
				for c := range uint32(2) {
					r.balances = append(r.balances, balanceChange{
						account: u, currency: c, free: fixed.FromI64(1),
					})
				}
			}
			for u := range uint32(users) {
				for c := range uint32(currencies) {
					r.balances = append(r.balances, balanceChange{account: u, currency: c})
				}
			}
			v.Fold(r)
			v.Publish()
			b.ReportAllocs()
			n := uint32(0)
			for b.Loop() {
				r = v.emptyReport()
				change(r, n%users)
				v.Fold(r)
				if n++; n%64 == 0 {
					v.Publish()
				}
			}
		})
	}
}
