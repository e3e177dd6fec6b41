package accounts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/internal/fixed"
)

// found returns the nicknames that a search finds.
func (r *rig) found(query string) (names []string) {
	r.t.Helper()
	all, reject := r.s.View().SearchInviters(query)
	if reject != nil {
		r.t.Fatal(reject)
	}
	for _, i := range all {
		names = append(names, i.Nickname)
	}
	return names
}

// A search finds users by nickname, and by public id and invite code where the query can be the start of one. It
// returns the first 20 by nickname, whatever the order in which the users came.
func TestSearchAgreesWithAScan(t *testing.T) {
	r := newRig(t)
	const users = 4*pageAccounts + 3
	letters := func(i int) string { return string([]byte{byte('a' + i*7%26), byte('a' + i*11%26), byte('a' + i%26)}) }
	for i := range users {
		r.user(ProfilePatch{Nickname: ptr(fmt.Sprintf("%s%d", letters(i), i))})
	}
	scan := func(query string) (names []string) {
		for _, u := range r.s.dir.users[1:] {
			if strings.HasPrefix(u.profile.Nickname, query) || strings.HasPrefix(publicID(u.n), query) ||
				strings.HasPrefix(InviteCode(u.n), query) {
				names = append(names, u.profile.Nickname)
			}
		}
		slices.Sort(names)
		return names[:min(len(names), MaxSearchResults)]
	}
	first, last := InviteCode(1), InviteCode(users)
	queries := []string{
		"a", "h", "ha", "9", "0", "71", "zz", "A", first, first[:3], last, last[:2], first + "0", publicID(1),
		publicID(users),
		publicID(users)[:4], publicID(1) + "0", "a0", "9a", "9Z", "?", "é", letters(users-1) + fmt.Sprint(users-1),
		letters(0) + "0",
		letters(pageAccounts) + fmt.Sprint(pageAccounts), // the second user of the second page
		strings.Repeat("é", MaxSearchQuery),
	}
	for _, c := range inviteAlphabet {
		queries = append(queries, string(c), string(c)+"0", string(c)+"9")
	}
	for _, query := range queries {
		if got, want := r.found(query), scan(query); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
	for _, query := range []string{"", strings.Repeat("é", MaxSearchQuery+1)} {
		_, reject := r.s.View().SearchInviters(query)
		if reject == nil || reject.Message != "query must be 1 to 64 characters." {
			t.Errorf("%q: %v", query, reject)
		}
	}
}

// The directory knows a user by the newest name only, in any case, and by number up to the last one.
func TestDirectoryFollowsNames(t *testing.T) {
	r := newRig(t)
	one := r.user(ProfilePatch{Nickname: ptr("Ann")})
	d := r.s.dir
	rename := func(name string) {
		r.do(Command{Kind: PatchUser, User: one, Profile: ProfilePatch{Nickname: ptr(name)}})
	}
	check := func(name string, folded uint32) {
		t.Helper()
		if d.byFolded[strings.ToLower(name)] != folded {
			t.Errorf("%q is in any case user %d", name, d.byFolded[strings.ToLower(name)])
		}
	}
	check("Ann", one)
	rename("Bob")
	check("Ann", 0)
	check("Bob", one)
	rename("BOB")
	check("BOB", one)
	if len(d.byFolded) != 1 {
		t.Errorf("%v", d.byFolded)
	}
	two := r.user(ProfilePatch{Nickname: ptr("Ann")})
	rename("Cid")
	check("BOB", 0)
	if d.user(two) == nil || d.user(two+1) != nil || d.user(1<<31) != nil {
		t.Error("the directory knows other users than were created")
	}
	// The code of a user who is to come, of user 0, and of no link have no owner.
	for _, n := range []uint64{0, uint64(two) + 1, codeLink, codeLink | 1} {
		if of, _, ok := resolveCode(codeOfNumber(n), len(d.users), &d.linkOwner); ok {
			t.Errorf("code %d is of user %d", n, of.owner)
		}
	}
	if of, byLink, ok := resolveCode(InviteCode(two), len(d.users), &d.linkOwner); of.owner != two || byLink || !ok {
		t.Errorf("the code of user %d is of user %d", two, of.owner)
	}
}

// Users below a user are counted by level, ten levels deep, in whatever order they are invited; a restored tree has the
// same counts, and a cycle is refused.
func TestTreeOfInviters(t *testing.T) {
	r := newRig(t)
	const n = 14
	for range n {
		r.user(ProfilePatch{})
	}
	// 1 <- 2 <- ... <- 13, and 14 below 2. The middle is joined last.
	for _, user := range []uint32{3, 4, 5, 2, 9, 8, 10, 11, 12, 13, 6, 7} {
		r.invite(user, user-1)
	}
	r.invite(14, 2)
	want := func(user uint32) (counts [accrual.MaxLevels]uint32) {
		for below := user + 1; below <= 13 && below-user <= accrual.MaxLevels; below++ {
			counts[below-user-1]++
		}
		switch user {
		case 1:
			counts[1]++
		case 2:
			counts[0]++
		case 14:
			counts = [accrual.MaxLevels]uint32{}
		}
		return counts
	}
	check := func() {
		t.Helper()
		for user := uint32(1); user <= n; user++ {
			if got := r.s.dir.users[user].descendants; got != want(user) {
				t.Errorf("user %d: %v, want %v", user, got, want(user))
			}
		}
		if got := r.s.dir.users[0].descendants; got != [accrual.MaxLevels]uint32{} {
			t.Errorf("the built-in account has %v", got)
		}
	}
	check()
	r.restart()
	check()
	for name, cycle := range map[string]map[uint32]uint32{
		"of one": {14: 14}, "of two": {14: 2, 2: 14}, "of thirteen": {1: 13}, "of the last": {13: 14, 14: 13},
	} {
		was := map[uint32]uint32{}
		for user, by := range cycle {
			was[user], r.s.dir.users[user].inviter = r.s.dir.users[user].inviter, by
		}
		if err := r.s.dir.countTree(); err == nil || !strings.Contains(err.Error(), "cycle") {
			t.Errorf("a cycle %s: %v", name, err)
		}
		for user, by := range was {
			r.s.dir.users[user].inviter = by
		}
	}
}

// shownAs returns balances as text.
func shownAs(all []BalanceView) (out string) {
	for _, b := range all {
		out += fmt.Sprintf("%s %s+%s=%s ", b.CurrencyCode, text(b.Free), text(b.Held), text(b.Total))
	}
	return strings.TrimSpace(out)
}

// Balances are shown by currency code: Balances those that are not zero, Rows all.
func TestViewsOfBalances(t *testing.T) {
	r := newRig(t)
	r.pair()
	user, broke := r.user(ProfilePatch{}), r.user(ProfilePatch{})
	for _, code := range []string{"ZZ", "USDT", "AA", "MM"} {
		r.deposit(user, code, "100")
	}
	r.s.settings.Withdrawal = CommissionRule{}
	r.do(Command{Kind: Withdraw, User: user, Currency: "ZZ", Amount: dec("100")})
	r.fold(trades(user, 0, 1)...)
	r.fold(trades(0, user, 1)...)
	v := r.s.View()
	const rows = "AA 100.0+0.0=100.0 BTC 0.0+0.0=0.0 MM 100.0+0.0=100.0 USDT 100.0+0.0=100.0 ZZ 0.0+0.0=0.0"
	const some = "AA 100.0+0.0=100.0 MM 100.0+0.0=100.0 USDT 100.0+0.0=100.0"
	if got := shownAs(v.Balances(user)); got != some {
		t.Errorf("%s, want %s", got, some)
	}
	if got := shownAs(v.Rows(user)); got != rows {
		t.Errorf("%s, want %s", got, rows)
	}
	if v.Balances(99) == nil || len(v.Balances(99)) != 0 || len(v.Rows(99)) != 0 || len(v.Balances(broke)) != 0 {
		t.Error("an account without balances has some")
	}
	for name, x := range map[string]struct {
		user uint32
		code string
		want int // digits
	}{"unknown user": {99, "USDT", 18}, "unknown currency": {user, "QQ", 8}, "no row": {broke, "AA", 8}} {
		if b := v.Balance(x.user, x.code); b != (BalanceView{CurrencyCode: x.code, Digits: x.want}) {
			t.Errorf("%s: %+v", name, b)
		}
	}
	var codes []string
	for _, sum := range v.Totals() {
		codes = append(codes, sum.CurrencyCode)
	}
	if !slices.Equal(codes, []string{"AA", "BTC", "MM", "USDT", "ZZ"}) {
		t.Errorf("totals of %v", codes)
	}
	// One unit is a balance; so is one that is held alone.
	one := fixed.FromI64(1)
	u := r.s.dir.mustFind(broke)
	r.s.balances.deposit(u, r.s.balances.currency("MM"), one)
	r.s.balances.deposit(u, r.s.balances.currency("AA"), one)
	r.s.balances.hold(u, r.s.balances.currency("AA"), one)
	r.s.View()
	if all := v.Balances(broke); len(all) != 2 || all[0].Held != sum("0.00000001") || all[1].Free != sum("0.00000001") {
		t.Errorf("%+v", all)
	}
}
