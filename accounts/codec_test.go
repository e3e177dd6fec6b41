package accounts

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/wire"
)

// sampleCommands returns commands that together set every member.
func sampleCommands() []Command {
	public, other := strings.Repeat("p", auth.PublicKeyLength), strings.Repeat("q", auth.PublicKeyLength)
	return []Command{
		{Kind: CreateUser},
		{Kind: CreateUser, Profile: ProfilePatch{
			Nickname: ptr("ann"), Name: OptionalName{true, ptr("Ann")}, SecondName: OptionalName{true, ptr("Lee")},
			Level: ptr(int64(30)), StakingLevel: ptr("R8"), IsAmbassador: ptr(true), SecondLevelPercent: decp("20"),
			Unlimited: ptr(true),
		}},
		{Kind: PatchUser, User: 2},
		{Kind: PatchUser, User: 2, Profile: ProfilePatch{
			Nickname: ptr("bob"), Name: OptionalName{Set: true}, SecondName: OptionalName{true, ptr("Lee")},
			Level: ptr(int64(0)), StakingLevel: ptr("R0"), IsAmbassador: ptr(false), SecondLevelPercent: decp("0"),
			AvatarID: ptr("simple"), NoTradeCommissions: ptr(true), DealBidDiscount: decp("0.00000001"),
			DealAskDiscount: decp("0.5"),
		}},
		{Kind: CreateKey, User: 3, SignedBy: other, Key: auth.NewKey{
			PublicKey: public, Secret: auth.NewSecret(strings.Repeat("s", auth.PrivateKeyLength)),
			KeyRequest: auth.KeyRequest{
				Name: "k", CanTrade: true, CanWithdraw: true, CanManageKeys: true,
				IPWhitelist: []string{"10.0.0.1", "2001:db8::/32"}, ExpiresNs: t0 + 1,
			},
		}},
		{Kind: CreateKey, User: 3, Key: auth.NewKey{
			PublicKey: public, KeyRequest: auth.KeyRequest{Name: "e", Ed25519: bytes.Repeat([]byte{7}, 32)},
		}},
		{Kind: CreateKey, User: 3, Key: auth.NewKey{
			PublicKey: public, KeyRequest: auth.KeyRequest{Name: "r", RSA: rsaPublic()},
		}},
		{Kind: DeleteKey, User: 3, PublicKey: public, SignedBy: other},
		{Kind: Deposit, User: 4, Currency: "BTC", Amount: dec("1.5")},
		{Kind: Withdraw, User: 1<<32 - 1, Currency: "A", Amount: MaxMoney},
		{Kind: AddProfit, User: 4, Currency: "BTC", Amount: fixed.FromI64(1), Profit: accrual.StakeAccrual},
		{Kind: SetInviter, User: 4, Code: "ABCDEFGH"},
		{Kind: CreateLink, User: 4, DiscountPercent: dec("12.5")},
		{Kind: SetHalt, User: 4, Halted: true},
		{Kind: SetSwitch, User: 4, Timeout: MinSwitch, FiredNs: t0 + 7},
		{Kind: SetSwitch, User: 4},
		{Kind: Reseal, Reseal: []Resealed{
			{User: 4, Field: FieldKeyName, PublicKey: public, Was: TextSum{1, 1 << 63}, Text: "\x00k"},
			{User: 5, Field: FieldName, Was: TextSum{3, 4}, Text: "\x00n"},
		}},
	}
}

// A command comes back with every member, and its bytes are the only ones that decode to it.
func TestCommandsDecodeToWhatTheyWere(t *testing.T) {
	set := map[string]bool{}
	for _, cmd := range sampleCommands() {
		b := AppendCommand([]byte("x"), &cmd)[1:]
		if b[0] != byte(cmd.Kind) || b[0] == 0 {
			t.Errorf("kind %d: the first byte is %d", cmd.Kind, b[0])
		}
		got, err := DecodeCommand(b)
		if err != nil {
			t.Fatalf("kind %d: %v", cmd.Kind, err)
		}
		if again := AppendCommand(nil, &got); !bytes.Equal(again, b) {
			t.Fatalf("kind %d: %x became %x", cmd.Kind, b, again)
		}
		if d := differ.Diff(cmd, got); d != "" {
			t.Fatalf("kind %d: %s", cmd.Kind, d)
		}
		for _, l := range leaves(&cmd) {
			set[l.path] = set[l.path] || !l.value.IsZero()
		}
		for cut := range len(b) {
			if _, err := DecodeCommand(b[:cut]); err == nil {
				t.Fatalf("kind %d: %d bytes of %d decode", cmd.Kind, cut, len(b))
			}
		}
		if _, err := DecodeCommand(append(b, 0)); err == nil {
			t.Fatalf("kind %d: a byte more still decodes", cmd.Kind)
		}
	}
	for path, is := range set {
		below := func(p string) bool { return strings.HasPrefix(p, path+".") }
		if !is && !strings.HasSuffix(path, ".Hi") && !slices.ContainsFunc(slices.Collect(maps.Keys(set)), below) {
			t.Errorf("no sample sets %s", path)
		}
	}
}

// Each byte of a command counts: with another one it is refused, or is another command.
func TestNoTwoEncodingsAreOneCommand(t *testing.T) {
	for _, cmd := range sampleCommands() {
		b := AppendCommand(nil, &cmd)
		for at := range b {
			for bit := range 8 {
				b[at] ^= 1 << bit
				if got, err := DecodeCommand(b); err == nil && !bytes.Equal(AppendCommand(nil, &got), b) {
					t.Errorf("kind %d: byte %d, bit %d: %+v has other bytes", cmd.Kind, at, bit, got)
				}
				b[at] ^= 1 << bit
			}
		}
	}
}

func FuzzDecodeCommand(f *testing.F) {
	for _, cmd := range sampleCommands() {
		f.Add(AppendCommand(nil, &cmd))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if cmd, err := DecodeCommand(b); err == nil && !bytes.Equal(AppendCommand(nil, &cmd), b) {
			t.Fatalf("%+v has other bytes than %x", cmd, b)
		}
	})
}

// A command out of bounds is refused by Check and by Do, and its record is refused, too. None is encoded.
func TestCommandsHaveBounds(t *testing.T) {
	public := strings.Repeat("p", auth.PublicKeyLength)
	key := func(change func(*auth.NewKey)) auth.NewKey {
		k := auth.NewKey{
			PublicKey: public, Secret: auth.NewSecret(strings.Repeat("s", auth.PrivateKeyLength)),
			KeyRequest: auth.KeyRequest{Name: "k"},
		}
		change(&k)
		return k
	}
	patch := func(p ProfilePatch) Command { return Command{Kind: PatchUser, User: 1, Profile: p} }
	for name, cmd := range map[string]Command{
		"level":            patch(ProfilePatch{Level: ptr(int64(31))}),
		"staking level":    patch(ProfilePatch{StakingLevel: ptr("R9")}),
		"nickname":         {Kind: CreateUser, Profile: ProfilePatch{Nickname: ptr("a")}},
		"long nickname":    patch(ProfilePatch{Nickname: ptr(strings.Repeat("a", 5000))}),
		"name":             patch(ProfilePatch{Name: OptionalName{true, ptr(" a")}}),
		"second level":     patch(ProfilePatch{SecondLevelPercent: decp("20.1")}),
		"avatar":           patch(ProfilePatch{AvatarID: ptr(strings.Repeat("a", MaxAvatarID+1))}),
		"no avatar":        patch(ProfilePatch{AvatarID: ptr("")}),
		"bid discount":     patch(ProfilePatch{DealBidDiscount: decp("0.6")}),
		"ask discount":     patch(ProfilePatch{DealAskDiscount: decp("0.000000001")}),
		"name of a key":    {Kind: CreateKey, User: 1, Key: key(func(k *auth.NewKey) { k.Name = "" })},
		"public key":       {Kind: CreateKey, User: 1, Key: key(func(k *auth.NewKey) { k.PublicKey = "p" })},
		"secret":           {Kind: CreateKey, User: 1, Key: key(func(k *auth.NewKey) { k.Secret = auth.Secret{} })},
		"withdraws":        {Kind: CreateKey, User: 1, Key: key(func(k *auth.NewKey) { k.CanWithdraw = true })},
		"signed by":        {Kind: CreateKey, User: 1, SignedBy: "p", Key: key(func(*auth.NewKey) {})},
		"deletes signed":   {Kind: DeleteKey, User: 1, SignedBy: "p", PublicKey: public},
		"deletes none":     {Kind: DeleteKey, User: 1},
		"amount":           {Kind: Deposit, User: 1, Currency: "AA"},
		"amount below 0":   {Kind: Withdraw, User: 1, Currency: "AA", Amount: dec("-1")},
		"amount above":     {Kind: Deposit, User: 1, Currency: "AA", Amount: MaxMoney.Add(fixed.FromI64(1))},
		"currency":         {Kind: Withdraw, User: 1, Currency: "aa", Amount: dec("1")},
		"profit":           {Kind: AddProfit, User: 1, Currency: "A", Amount: dec("1"), Profit: accrual.DealCommission},
		"amount of profit": {Kind: AddProfit, User: 1, Currency: "AA", Profit: accrual.StakeAccrual},
		"no code":          {Kind: SetInviter, User: 1},
		"code":             {Kind: SetInviter, User: 1, Code: strings.Repeat("é", MaxSearchQuery+1)},
		"discount":         {Kind: CreateLink, User: 1, DiscountPercent: dec("0.99")},
		"discount above":   {Kind: CreateLink, User: 1, DiscountPercent: dec("50.000001")},
		"timeout":          {Kind: SetSwitch, User: 1, Timeout: MaxSwitch + 1},
		"timeout below":    {Kind: SetSwitch, User: 1, Timeout: -1},
	} {
		r := newRig(t)
		r.user(ProfilePatch{})
		if cmd.Check() == nil {
			t.Errorf("%s: Check passes it", name)
			continue
		}
		r.refused(cmd, cmd.Check().Code, cmd.Check().Field)
		w := walker{wire.Writer(nil)}
		copied := cmd
		w.command(&copied)
		if _, err := DecodeCommand(w.Bytes()); err == nil {
			t.Errorf("%s: its record decodes", name)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it is encoded", name)
				}
			}()
			AppendCommand(nil, &cmd)
		}()
	}
	for _, kind := range []byte{0, byte(len(kinds)), 255} {
		if _, err := DecodeCommand([]byte{kind, 1, 1}); err == nil ||
			!strings.Contains(err.Error(), fmt.Sprint("there is no kind ", kind)) {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
	ed := Command{Kind: CreateKey, User: 1, Key: auth.NewKey{
		PublicKey: public, KeyRequest: auth.KeyRequest{Name: "e", Ed25519: make([]byte, 32)},
	}}
	b := AppendCommand(nil, &ed)
	b[bytes.Index(b, []byte(public))+len(public)] = schemeRSA + 1
	if _, err := DecodeCommand(b); err == nil || !strings.Contains(err.Error(), "3 is above 2") {
		t.Errorf("an unknown scheme: %v", err)
	}
	b[bytes.Index(b, []byte(public))+len(public)] = schemeRSA
	if _, err := DecodeCommand(b); err == nil || !strings.Contains(err.Error(), "must be an RSA public key") {
		t.Errorf("32 bytes as an RSA key: %v", err)
	}
}

// rsaPublic returns the public key of an RSA key, as a record has it.
func rsaPublic() []byte {
	der, err := auth.ParseRSA(`-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAkM+uKzaGdKMJ2SRBcEn3
tfkOS+UqHpQKxf6VFVbIgGCM03Vi7wAkKD1ny5gg6go0PaHQ4oKU2R7Gl1tJfhDs
fsBn8lEgmbcDPEF2wnAyI8TMqT+rxfCNSkmYqMtWIKcqUoIbNI6EPOJ6g9m+1hbO
ZOH+cEKb0/s4Ww51RbTZ8kj78mfM8DyIscmm7Ko3E03877+QTdKklQrsDDg+S2QF
HOGWmQnfBjA8K/MwpmL//yTx5k4UGlEHy+tfGHbORJO5GmmdhLd9XIfhQFrG03uT
+bz1dV30q032J0+/LRHw817hs++Ga3Jt0LHGet/Skw8ZIUWvKuVwXlsdk6mLk4HF
FwIDAQAB
-----END PUBLIC KEY-----
`)
	if err != nil {
		panic(err)
	}
	return der
}

// richSnapshot returns the snapshot of a state with entries in every section.
func richSnapshot(t testing.TB) []byte {
	r := history(t, 77, 200)
	settings := testSettings()
	settings.Commissions = []Commission{
		{Currency: "EUR", Adapter: "sepa"},
		{
			Withdrawal: true, Currency: "EUR", Adapter: "sepa",
			CommissionRule: CommissionRule{Percent: 3, Minimum: dec("0.5")},
		},
		{Withdrawal: true, Currency: "XYZ"},
	}
	r.s.SetSettings(settings)
	r.s.referral.maxDealAccruals = 4
	r.fill(4, 1000, r.now)
	r.do(Command{Kind: CreateKey, User: 1, Key: asked(auth.KeyRequest{Name: "k", IPWhitelist: []string{"10.0.0.1"}})})
	r.do(Command{Kind: PatchUser, User: 1, Profile: ProfilePatch{
		IsAmbassador: ptr(true), Name: OptionalName{true, ptr("Ann")}, StakingLevel: ptr("R7"),
	}})
	r.do(Command{Kind: CreateLink, User: 1, DiscountPercent: dec("10")})
	r.do(Command{Kind: SetSwitch, User: 1, Timeout: time.Hour})
	r.do(Command{Kind: SetHalt, User: 2, Halted: true})
	r.fold(engine.Event{
		Kind: engine.EventAccepted, Order: 7, Account: 1, Side: engine.Sell, Price: 10_000, Amount: 1_000_000,
	})
	return r.s.AppendSnapshot(nil)
}

// changeKey replaces the first key of the first user.
func changeKey(s *State, change func(*auth.KeyRecord)) {
	u := s.dir.users[1]
	rec := u.keys[0].Record()
	change(&rec)
	u.keys[0] = s.keys.Add(u.n, u.id, rec)
}

// leaf is a number, a text or a truth in a value.
type leaf struct {
	path  string
	value reflect.Value
}

// change gives a leaf another value.
func (l leaf) change() {
	switch v := l.value; v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		if v.SetString(v.String() + "x"); strings.HasSuffix(l.path, "IPWhitelist") {
			v.SetString("10.0.0.2")
		}
	case reflect.Pointer: // to a text, nil
		v.Set(reflect.ValueOf(ptr("x")))
	case reflect.Slice: // of bytes, empty
		v.SetBytes(make([]byte, 32))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() - min(v.Uint(), 1) + 1 - min(v.Uint(), 1))
	default:
		v.SetInt(v.Int() + 1)
	}
}

// leaves returns all of the value that to points to, but those whose path begins with one of less. Of a list it has the
// first item.
func leaves(to any, less ...string) (all []leaf) {
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		if slices.ContainsFunc(less, func(p string) bool { return strings.HasPrefix(path, "."+p) }) {
			return
		}
		switch {
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				f := v.Field(i)
				walk(path+"."+v.Type().Field(i).Name, reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem())
			}
		case v.Kind() == reflect.Array:
			for i := range v.Len() {
				walk(fmt.Sprint(path, ".", i), v.Index(i))
			}
		case v.Kind() == reflect.Slice && v.Len() > 0:
			walk(path, v.Index(0))
		case v.Kind() == reflect.Pointer && !v.IsNil():
			another := reflect.New(v.Type().Elem()) // others have the value, too
			another.Elem().Set(v.Elem())
			v.Set(another)
			walk(path, v.Elem())
		default:
			all = append(all, leaf{strings.TrimPrefix(path, "."), v})
		}
	}
	walk("", reflect.ValueOf(to).Elem())
	return all
}

// stake returns the first accrual from staking.
func stake(s *State) *accrual.Accrual {
	for _, u := range s.dir.users {
		for i := range u.received.Others.Len() {
			if a := u.received.Others.At(i); a.Type == accrual.StakeAccrual {
				return a
			}
		}
	}
	panic("no accrual from staking")
}

// archived is an entry of an archive.
type archived struct {
	accrual.ArchiveKey
	amount fixed.I192
}

// Every field of the state counts: with another value the snapshot has other bytes. Of what is left out, some follows
// from other fields (sums, counts of the tree), and the rest belongs to this process.
func TestEveryFieldCountsInTheSnapshot(t *testing.T) {
	base := richSnapshot(t)
	rich := func() *State {
		s, err := DecodeSnapshot(base)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if !bytes.Equal(rich().AppendSnapshot(nil), base) {
		t.Fatal("a decoded snapshot has other bytes")
	}
	for name, x := range map[string]struct {
		of   func(s *State) any          // pointer to the value, or to a copy of it
		put  func(s *State, changed any) // nil: it is no copy
		less []string
	}{
		"settings":   {func(s *State) any { return &s.settings }, nil, []string{"Commissions"}},
		"commission": {func(s *State) any { return &s.settings.Commissions[1] }, nil, nil},
		"sums": {
			func(s *State) any { return &s.balances.sums[0].totals }, nil, []string{"held"},
		},
		"currency": {func(s *State) any { return &s.balances.currencies[0] }, nil, nil},
		"pair": {func(s *State) any { return &s.balances.pairs[0] }, nil, []string{
			"in.ID", "in.Code", "in.Base", "in.Quote", "in.Max", "in.Min", "in.Has", "in.Band", "in.State", "in.Maker",
			"in.Taker", "in.Created", "in.BaseDigits", "in.QuoteDigits", // the digits are those of the currencies
		}},
		"person": {
			func(s *State) any { return s.dir.users[1].person }, nil, []string{"n", "id", "descendants", "keys"},
		},
		"inviter": {func(s *State) any { return &s.dir.users[2].inviter }, nil, nil},
		"key": {
			func(s *State) any { return ptr(s.dir.users[1].keys[0].Record()) },
			func(s *State, changed any) {
				changeKey(s, func(k *auth.KeyRecord) { *k = *changed.(*auth.KeyRecord) })
			}, nil,
		},
		"balance": {func(s *State) any { return &s.dir.users[1].rows[0] }, nil, []string{"reported"}},
		"orders":  {func(s *State) any { return &s.dir.users[1].orders }, nil, nil},
		"deal": {
			func(s *State) any { return s.dir.users[3].received.Deals.At(0) }, nil,
			[]string{"Source", "Applied", "Received", "Bonus"}, // of an income
		},
		"income": {func(s *State) any { return stake(s) }, nil, nil},
		"queue":  {func(s *State) any { return s.referral.dealQueue.At(0) }, nil, nil},
		"archive": {func(s *State) any {
			for k, amount := range s.dir.users[3].received.Archive.All() {
				return &archived{k, amount}
			}
			panic("no archive")
		}, func(s *State, changed any) {
			a := changed.(*archived)
			s.dir.users[3].received.Archive = accrual.Archive{}
			s.dir.users[3].received.Archive.Add(a.ArchiveKey, a.amount)
		}, nil},
	} {
		one := rich() // of an archive of one entry
		put := x.put
		if put == nil {
			put = func(*State, any) {}
		}
		put(one, x.of(one))
		want := one.AppendSnapshot(nil)
		all := leaves(x.of(one), x.less...)
		for i, l := range all {
			s := rich()
			value := x.of(s)
			if name == "archive" {
				value = x.of(one)
			}
			leaves(value, x.less...)[i].change()
			if put(s, value); bytes.Equal(s.AppendSnapshot(nil), want) {
				t.Errorf("%s: %s is not in the snapshot", name, l.path)
			}
		}
		if len(all) == 0 {
			t.Errorf("%s has no fields", name)
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
		if s, err := DecodeSnapshot(b[:len(b)-rng.IntN(2)*rng.IntN(len(b))]); err != nil {
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
	f.Add(New(testSettings()).AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSnapshot(b)
		if err != nil {
			return
		}
		if _, err := DecodeSnapshot(s.AppendSnapshot(nil)); err != nil {
			t.Fatalf("a state that decoded does not come back: %v", err)
		}
	})
}
