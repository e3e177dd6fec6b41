package accounts

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/internal/refuse"
)

// No command may take longer because the state is large. These tests build a state at its bounds and count the steps
// and the allocations of a command.

// chained returns a state in which each of n users invited the next one. It leaves out what no command of these tests
// reads: a million users take seconds otherwise.
func chained(tb testing.TB, n int) *rig {
	r := newRig(tb)
	r.user(ProfilePatch{})
	for i := uint32(2); i <= uint32(n); i++ {
		u := &user{person: &person{n: i}, tree: i, treeSize: 1}
		r.s.dir.users = append(r.s.dir.users, u)
		r.s.dir.attach(u.person, i-1)
	}
	r.user(ProfilePatch{}) // has no inviter
	return r
}

// bounds returns the number of users of a test: a million with TICKHIVE_SOAK=1.
func bounds() int {
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		return MaxUsers - 1
	}
	return 1 << 16
}

func TestStakingPassesAtMost64Inviters(t *testing.T) {
	r := newRig(t)
	r.chain(MaxStakingUplines + 2)
	const earner, last, beyond = MaxStakingUplines + 2, 2, 1
	pay := func() []PaidAccrual {
		return r.do(Command{
			Kind: AddProfit, User: earner, Profit: accrual.StakeAccrual, Currency: "USDT", Amount: dec("100"),
		}).Accruals
	}
	level := func(u uint32, name string) {
		r.do(Command{Kind: PatchUser, User: u, Profile: ProfilePatch{StakingLevel: &name}})
	}
	level(beyond, "R8")
	if got := pay(); len(got) != 0 {
		t.Errorf("65 levels above the earner: %+v", got)
	}
	level(last, "R1")
	want := PaidAccrual{UserID(last).String(), MaxStakingUplines, sum("5"), "USDT"}
	if got := pay(); len(got) != 1 || got[0] != want {
		t.Errorf("64 levels above the earner: %+v", got)
	}
	r.check()
}

func TestAnInviterIsFoundInATreeOfAllUsersInFewSteps(t *testing.T) {
	n := bounds()
	r := chained(t, n)
	single, rng := uint32(n+1), rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		steps := 0
		for u := rng.Uint32N(uint32(n)) + 1; r.s.dir.users[u].tree != u; u = r.s.dir.users[u].tree {
			steps++
		}
		if steps > 20 {
			t.Fatalf("%d steps to the name of a tree of %d users", steps, n)
		}
	}
	r.refused(Command{Kind: SetInviter, User: 1, Code: InviteCode(uint32(n))}, refuse.InvalidParam, "inviteCode")
	r.do(Command{Kind: SetInviter, User: 1, Code: InviteCode(single)})
	r.refused(Command{Kind: SetInviter, User: single, Code: InviteCode(uint32(n))}, refuse.InvalidParam, "inviteCode")
}

// Trees that join in any order are told apart as a walk along the inviters tells them apart.
func TestCyclesAreFoundAsAWalkFindsThem(t *testing.T) {
	const n = 60
	for seed := range uint64(20) {
		rng, r := rand.New(rand.NewPCG(seed, 5)), newRig(t)
		for range n {
			r.user(ProfilePatch{})
		}
		for range 400 {
			u, by := rng.Uint32N(n)+1, rng.Uint32N(n)+1
			cycle, taken := u == by, r.s.dir.users[u].inviter != 0
			for up := by; up != 0; up = r.s.dir.users[up].inviter {
				cycle = cycle || up == u
			}
			_, rej := r.try(Command{Kind: SetInviter, User: u, Code: InviteCode(by)})
			if got := rej != nil; got != (cycle || taken) {
				t.Fatalf("seed %d: %d invited by %d: %v, a cycle %v, taken %v", seed, u, by, rej, cycle, taken)
			}
		}
		r.restart()
	}
}

func TestTheDirectoryOfAllUsersIsCopiedOnce(t *testing.T) {
	d := newDirectory()
	for n := uint32(1); n < manyUsers; n++ {
		d.users = append(d.users, &user{person: &person{n: n}})
	}
	for n := uint32(manyUsers); n < manyUsers+2; n++ {
		d.register(&user{person: &person{n: n, profile: Profile{Nickname: InviteCode(n)}}})
	}
	if cap(d.users) != MaxUsers+1 || d.user(manyUsers+1).n != manyUsers+1 || d.user(7).n != 7 {
		t.Errorf("room for %d users", cap(d.users))
	}
}

func TestANicknameIsTriedAHundredTimes(t *testing.T) {
	r := newRig(t)
	taken := func(i int) string {
		if i == 1 {
			return fmt.Sprintf("user-%d", maxNicknameTries+1)
		}
		return fmt.Sprintf("user-%d-%d", maxNicknameTries+1, i)
	}
	for i := 1; i < maxNicknameTries; i++ {
		r.user(ProfilePatch{Nickname: ptr(taken(i))})
	}
	last := r.user(ProfilePatch{Nickname: ptr("other")})
	next := r.user(ProfilePatch{})
	if v, _ := r.s.View().User(next); v.Nickname != taken(maxNicknameTries) {
		t.Fatalf("user %d after %d: %q", next, last, v.Nickname)
	}
	r = newRig(t)
	for i := 1; i <= maxNicknameTries; i++ {
		r.user(ProfilePatch{Nickname: ptr(taken(i))})
	}
	r.refused(Command{Kind: CreateUser}, refuse.Conflict, "nickname")
	r.user(ProfilePatch{Nickname: ptr("free")})
}

// chains are the lengths of the benchmarks' chains of inviters.
var chains = []int{10, 100_000}

func BenchmarkStaking(b *testing.B) {
	for _, n := range chains {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := chained(b, n)
			cmd := Command{
				Kind: AddProfit, User: uint32(n), Profit: accrual.StakeAccrual, Currency: "USDT", Amount: dec("0.01"),
			}
			for b.Loop() {
				if _, err := r.s.Do(r.now, &cmd); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSetInviter(b *testing.B) {
	for _, n := range chains {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := chained(b, n)
			cmd := Command{Kind: SetInviter, User: 1, Code: InviteCode(uint32(n))} // refused: it would be a cycle
			for b.Loop() {
				if _, err := r.s.Do(r.now, &cmd); err == nil {
					b.Fatal("a cycle")
				}
			}
		})
	}
}

// A list that is full must not copy itself: the accruals of an ambassador take hundreds of megabytes.
func TestAnAccrualCostsTheSameHoweverManyThereAre(t *testing.T) {
	r := newRig(t)
	r.chain(2)
	const n, each = 1 << 17, 1 << 10
	r.s.referral.maxDealAccruals = n / 2
	u, pay := r.s.dir.mustFind(2), payment{typ: accrual.DealCommission, of: dec("0.001"), timeNs: r.now}
	r.s.balances.currency("USDT")
	most := uint64(0)
	for range n / each {
		before := allocated()
		for range each {
			r.s.referral.payUplines(u, pay, nil)
		}
		most = max(most, allocated()-before)
	}
	if got := r.s.dir.mustFind(1).received.Deals.Len(); got != n/2 {
		t.Fatalf("%d accruals are kept", got)
	}
	if most > each*500 {
		t.Errorf("%d accruals allocated %d bytes", each, most)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
