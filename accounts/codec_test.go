package accounts

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tickhive/accounts/accrual"
	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/internal/differ"
	"tickhive/internal/fixed"
)

func sampleRecords() []Record {
	p := Profile{
		Nickname: "ann", Name: ptr("Ann"), Level: 30, Staking: 8, IsAmbassador: true, SecondLevel: 5, Unlimited: true,
		AvatarID: "simple", NoFees: true, BidDiscount: 1, AskDiscount: maxDiscount,
	}
	k := auth.KeyRecord{
		PublicKey: "pub", Secret: auth.NewSecret("private"), Name: "k", CanTrade: true, CanWithdraw: true,
		IPWhitelist: []string{"10.0.0.1", "2001:db8::/32"}, CreatedNs: t0, ExpiresNs: t0 + 1, CanManageKeys: true,
	}
	return []Record{
		{Kind: CreateUser, TimeNs: t0, EnginePos: 7, User: 1, Profile: p},
		{Kind: PatchUser, TimeNs: t0, User: 2, Profile: Profile{AvatarID: "x"}},
		{Kind: CreateKey, User: 3, Key: k},
		{Kind: CreateKey, User: 3, Key: auth.KeyRecord{PublicKey: "child", CreatedBy: "pub"}},
		{
			Kind: CreateKey, User: 3,
			Key: auth.KeyRecord{PublicKey: "ed", Ed25519: bytes.Repeat([]byte{7}, 32)},
		},
		{Kind: DeleteKey, User: 3, PublicKey: "pub"},
		{Kind: Deposit, User: 4, Currency: "BTC", Amount: dec("1.5")},
		{Kind: Withdraw, User: 4, EnginePos: 1 << 60, Currency: "BTC", Amount: dec("1.5"), Commission: dec("0.1")},
		{Kind: AddProfit, User: 4, Currency: "BTC", Amount: dec("1.5"), Profit: accrual.StakeAccrual},
		{Kind: SetInviter, User: 4, Inviter: 3, HasRate: true, Rate: maxDiscount},
		{Kind: CreateLink, User: 4, Rate: 9, LinkNumber: 77},
		{Kind: Configure, Config: DefaultConfig()},
		{Kind: SetHalt, User: 4, Halted: true},
		{Kind: SetSwitch, User: 4, DeadlineNs: t0 + 7},
	}
}

func TestRecordsDecodeToWhatTheyWere(t *testing.T) {
	for _, rec := range sampleRecords() {
		b := AppendRecord([]byte("x"), &rec)
		got, err := DecodeRecord(b[1:])
		if err != nil {
			t.Fatalf("kind %d: %v", rec.Kind, err)
		}
		if got.Key.Secret.Reveal() != rec.Key.Secret.Reveal() {
			t.Fatal("the secret is another")
		}
		got.Key.Secret, rec.Key.Secret = auth.Secret{}, auth.Secret{}
		if d := differ.Diff(rec, got); d != "" {
			t.Fatalf("kind %d: %s", rec.Kind, d)
		}
		for cut := 1; cut < len(b)-1; cut++ {
			if _, err := DecodeRecord(b[1 : len(b)-cut]); err == nil {
				t.Fatalf("kind %d: %d bytes less still decode", rec.Kind, cut)
			}
		}
		if _, err := DecodeRecord(append(b[1:], 0)); err == nil {
			t.Fatalf("kind %d: a byte more still decodes", rec.Kind)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, rec := range sampleRecords() {
		f.Add(AppendRecord(nil, &rec))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := DecodeRecord(b)
		if err != nil {
			return
		}
		again, err := DecodeRecord(AppendRecord(nil, &rec))
		if err != nil || AppendRecord(nil, &again) == nil {
			t.Fatalf("%+v does not come back: %v", rec, err)
		}
	})
}

// richSnapshot returns the snapshot of a state with entries in every section.
func richSnapshot(t testing.TB) []byte {
	r := history(t, 77, 200)
	r.s.referral.maxDealAccruals = 4
	r.fill(4, 1000, r.now)
	r.do(Command{Kind: CreateKey, User: 1, Key: auth.KeyRequest{Name: "k", IPWhitelist: []string{"10.0.0.1"}}})
	r.do(Command{Kind: PatchUser, User: 1, Profile: ProfilePatch{IsAmbassador: ptr(true)}})
	r.do(Command{Kind: CreateLink, User: 1, DiscountPercent: dec("10")})
	r.accept(7, OrderParams{Account: 1, Side: engine.Sell, Price: 10_000, Amount: 1_000_000})
	return r.s.AppendSnapshot(nil)
}

// stake returns the first accrual from staking.
func stake(s *State) *accrual.Accrual {
	for _, u := range s.dir.users {
		for i := range u.received.Others.Len() {
			if u.received.Others.At(i).Type == accrual.StakeAccrual {
				return u.received.Others.At(i)
			}
		}
	}
	panic("no accrual from staking")
}

// changeKey replaces the first key of the first user.
func changeKey(s *State, change func(*auth.KeyRecord)) {
	u := s.dir.users[1]
	rec := u.keys[0].Record()
	change(&rec)
	u.keys[0] = s.keys.Add(u.n, u.id, rec)
}

func otherSecret(s *State, k *auth.Key) *auth.Key {
	rec := k.Record()
	rec.Secret = auth.NewSecret("x")
	return s.keys.Add(k.User(), UserID(k.User()), rec)
}

func TestEachFieldOfTheStateIsInTheSnapshot(t *testing.T) {
	base := richSnapshot(t)
	for name, change := range map[string]func(*State){
		"position": func(s *State) { s.enginePos++ },
		"time":     func(s *State) { s.lastNs++ },
		"rates":    func(s *State) { s.referral.config.Levels[0]-- },
		"totals": func(s *State) {
			total := &s.balances.sums[0]
			total.withdrawn = total.withdrawn.Plus(fixed.FromI64(1))
		},
		"pair seq":  func(s *State) { s.holds.pairs[0].seq++ },
		"nickname":  func(s *State) { s.dir.users[1].profile.Nickname += "x" },
		"inviter":   func(s *State) { s.dir.users[12].inviter = 12 },
		"link":      func(s *State) { s.dir.users[1].links[0].rate++ },
		"key":       func(s *State) { s.dir.users[1].keys[0] = otherSecret(s, s.dir.users[1].keys[0]) },
		"key maker": func(s *State) { changeKey(s, func(k *auth.KeyRecord) { k.CreatedBy = "x" }) },
		"key scheme": func(s *State) {
			changeKey(s, func(k *auth.KeyRecord) { k.Secret, k.Ed25519 = auth.Secret{}, make([]byte, 32) })
		},
		"key manages": func(s *State) { changeKey(s, func(k *auth.KeyRecord) { k.CanManageKeys = true }) },
		"level": func(s *State) {
			s.dir.users[1].levelChanges = append(s.dir.users[1].levelChanges, accrual.LevelChange{})
		},
		"free":        func(s *State) { s.dir.users[1].rows[0].free = fixed.FromI64(3).Wide() },
		"hold":        func(s *State) { s.holds.orders[7].held = fixed.FromI64(3) },
		"open amount": func(s *State) { s.holds.orders[7].open++ },
		"source":      func(s *State) { stake(s).Source = fixed.FromI64(123) },
		"percentage":  func(s *State) { stake(s).Applied++ },
		"bonus":       func(s *State) { stake(s).Bonus = true },
		"accrual at":  func(s *State) { s.dir.users[1].received.Others.At(0).TimeNs++ },
		"archive": func(s *State) {
			s.dir.users[1].received.Archive.Add(accrual.ArchiveKey{Day: 1}, fixed.FromI64(1).Wide())
		},
		"halt":   func(s *State) { s.dir.users[1].halted = true },
		"switch": func(s *State) { s.deadlines.arm(s.dir.users[1].person, t0) },
		"queue":  func(s *State) { s.referral.dealQueue.Pop() },
	} {
		s, err := DecodeSnapshot(base, testOptions())
		if err != nil {
			t.Fatal(err)
		}
		before := string(s.AppendSnapshot(nil))
		if change(s); string(s.AppendSnapshot(nil)) == before {
			t.Errorf("%s is not in the snapshot", name)
		}
	}
}

// Checksums detect damage before the decoder runs. Damage that they miss is refused or decodes
// to a state that adds up, and never panics.
func TestDamagedSnapshotsAreRefusedOrAddUp(t *testing.T) {
	base := richSnapshot(t)
	rng := rand.New(rand.NewPCG(5, 6))
	refused := 0
	for range 3000 {
		b := append([]byte{}, base...)
		for range 1 + rng.IntN(3) {
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		}
		if s, err := DecodeSnapshot(b[:len(b)-rng.IntN(2)*rng.IntN(len(b))], testOptions()); err != nil {
			refused++
		} else if err := s.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if refused < 1000 {
		t.Fatalf("%d of 3000 refused", refused)
	}
}

func FuzzDecodeSnapshot(f *testing.F) {
	f.Add(richSnapshot(f))
	f.Add(New(testOptions()).AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSnapshot(b, testOptions())
		if err != nil {
			return
		}
		if _, err := DecodeSnapshot(s.AppendSnapshot(nil), testOptions()); err != nil {
			t.Fatalf("a state that decoded does not come back: %v", err)
		}
	})
}
