package launchpad

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"testing"

	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

const start = 1_767_225_600 * secondNs // 2026-01-01T00:00:00Z

// rig drives a State as the exchange does: what is due comes first, by Ticks, and every command goes through its
// journal form. It keeps the records, so that a replay can be compared.
type rig struct {
	t       testing.TB
	s       *State
	first   Options // at the beginning
	now     int64
	ticks   int
	lazy    bool // nothing ticks: a command finds what is due
	records []record
}

// record is a record of the journal: a command, a tick without a command, or a change that no command makes.
type record struct {
	ns      int64
	command []byte
	refusal string
	other   func(*State)
}

func newRig(t testing.TB, change ...func(*Options)) *rig {
	opt := DefaultOptions()
	for _, f := range change {
		f(&opt)
	}
	if err := opt.Validate(); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, s: New(opt), first: opt, now: start}
	r.must(Begin{Seed: 1})
	return r
}

func (r *rig) advance(sec int64) {
	r.now += sec * secondNs
	r.due()
}

func (r *rig) due() {
	if r.lazy {
		return
	}
	for next := r.s.NextNs(); next != 0 && next <= r.now; next = r.s.NextNs() {
		r.records = append(r.records, record{ns: r.now})
		r.s.Tick(r.now)
		r.ticks++
	}
}

// do carries out a command as the machine does. Do must refuse what the codec refuses.
func (r *rig) do(cmd Command) (Result, *refuse.Refusal) {
	r.due()
	raw := AppendCommand(nil, cmd)
	back, bad := DecodeCommand(raw)
	if bad != nil {
		back = cmd
	} else if d := differ.Diff(cmd, back); d != "" {
		r.t.Fatalf("a command came back as another one: %s", d)
	}
	res, err := r.s.Do(r.now, back)
	var rej *refuse.Refusal
	if err != nil && !errors.As(err, &rej) {
		r.t.Fatalf("%T: %v is no *refuse.Refusal", cmd, err)
	}
	if bad != nil && rej == nil {
		r.t.Fatalf("%T %+v is carried out, but: %v", cmd, cmd, bad)
	}
	if bad == nil {
		r.records = append(r.records, record{ns: r.now, command: raw, refusal: fmt.Sprint(rej)})
	}
	return res, cmp.Or(rej, res.Refused)
}

// checkpoint makes a checkpoint as the hive does, and returns its name.
func (r *rig) checkpoint(token uint32) uint64 {
	r.t.Helper()
	r.due()
	now := r.now
	r.records = append(r.records, record{other: func(s *State) { s.Checkpoint(now, token) }})
	name, rej := r.s.Checkpoint(now, token)
	if rej != nil {
		r.t.Fatal(rej)
	}
	return name
}

func (r *rig) set(opt Options) {
	r.records = append(r.records, record{other: func(s *State) { s.SetOptions(opt) }})
	r.s.SetOptions(opt)
}

// replay returns the state after all records, which must refuse what was refused.
func (r *rig) replay() *State {
	r.t.Helper()
	s := New(r.first)
	for i, rec := range r.records {
		switch {
		case rec.other != nil:
			rec.other(s)
		case rec.command == nil:
			s.Tick(rec.ns)
		default:
			cmd, err := DecodeCommand(rec.command)
			if err != nil {
				r.t.Fatal(err)
			}
			var rej *refuse.Refusal
			if _, err = s.Do(rec.ns, cmd); err != nil {
				errors.As(err, &rej)
			}
			if got := fmt.Sprint(rej); got != rec.refusal {
				r.t.Fatalf("record %d, %T: the replay says %s, before %s", i, cmd, got, rec.refusal)
			}
		}
	}
	return s
}

func (r *rig) must(cmd Command) Result {
	r.t.Helper()
	res, rej := r.do(cmd)
	if rej != nil {
		r.t.Fatalf("%T %+v: %v", cmd, cmd, rej)
	}
	return res
}

// refused expects a code and a field.
func (r *rig) refused(cmd Command, code refuse.Code, field string) {
	r.t.Helper()
	hash := hashOf(r.s)
	_, rej := r.do(cmd)
	if rej == nil || rej.Code != code || rej.Field != field {
		r.t.Fatalf("%T %+v: got %+v, want %s %q", cmd, cmd, rej, code, field)
	}
	if code != refuse.SpawnerFailed && hashOf(r.s) != hash {
		r.t.Fatalf("%T: a refusal changed the state", cmd)
	}
}

// allocated returns the bytes that were allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func user(n int) (a Address) {
	a[0], a[18], a[19] = 0xaa, byte(n>>8), byte(n)
	return a
}

func units(s string) Amount {
	a, err := ParseAmount(s)
	if err != nil {
		panic(err)
	}
	return a
}

// spawn gives the owner the fee and spawns.
func (r *rig) spawn(owner Address, symbol string) *Token {
	r.t.Helper()
	r.must(Deposit{To: owner, Amount: r.s.opt.Fee.Add(One)})
	r.must(Spawn{Owner: owner, Name: "Token " + symbol, Symbol: symbol})
	return r.token(symbol)
}

func (r *rig) token(symbol string) *Token {
	r.t.Helper()
	t, ok := r.s.tokens.Get(r.s.symbols[symbol])
	if !ok {
		r.t.Fatalf("no token %s", symbol)
	}
	return t
}

// pooled returns a token with a pool of 1,000,000 tokens and the given quote.
func (r *rig) pooled(owner Address, symbol, quote string) *Token {
	r.t.Helper()
	t := r.spawn(owner, symbol)
	r.must(Deposit{To: owner, Currency: USBICoin, Amount: units(quote)})
	r.must(AddLiquidity{Token: t.No, From: owner, TokenAmount: AmountOf(1_000_000), QuoteAmount: units(quote)})
	return r.token(symbol)
}

// symbolOf returns the n-th symbol of five letters.
func symbolOf(n int) string {
	var b [5]byte
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('A' + n%26)
		n /= 26
	}
	return string(b[:])
}

// hashOf returns the SHA-256 of a state's canonical bytes.
func hashOf(s *State) [32]byte { return sha256.Sum256(s.AppendSnapshot(nil)) }

func (r *rig) check() {
	r.t.Helper()
	if err := r.s.Check(); err != nil {
		r.t.Fatal(err)
	}
	again, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt)
	if err != nil {
		r.t.Fatal(err)
	}
	if hashOf(again) != hashOf(r.s) {
		r.t.Fatal("the state from the snapshot has another hash")
	}
	if a, b := fmt.Sprint(listing(r.s.View())), fmt.Sprint(listing(again.View())); a != b {
		r.t.Fatalf("the state from the snapshot lists %s, not %s", b, a)
	}
	if len(r.records) < 5_000 && hashOf(r.replay()) != hashOf(r.s) {
		r.t.Fatal("the state of a replay has another hash")
	}
	if again.NextNs() != r.s.NextNs() {
		r.t.Fatalf("next %d after the snapshot, %d before", again.NextNs(), r.s.NextNs())
	}
}

// listing returns the rows of the token list without their places in memory.
func listing(v *View) (rows []string) {
	for _, t := range v.Tokens(v.nowNs, ListQuery{Page: 1, PageSize: 100, Sort: Volume}).Items {
		rows = append(rows, rowText(t))
	}
	return rows
}

// rowText returns every member that a token's row prints.
func rowText(t *Token) string {
	return fmt.Sprint(t.Address, t.Symbol, t.Name, t.SpawnedSec, usdText(t.TVL), usdText(t.Volume), t.Holders,
		t.Boosted)
}

// usdText prints hundredths with two digits.
func usdText(c cents) string { return string(fixed.AppendU128(nil, c, 2)) }

func TestAmountsReadAndPrintExactly(t *testing.T) {
	for _, tc := range []struct{ in, out string }{
		{"0", "0.0"},
		{"10", "10.0"},
		{"0.001", "0.001"},
		{"0.000000000000000001", "0.000000000000000001"},
		{"1.10", "1.1"},
		{"1000000000000000000000000000000", "1000000000000000000000000000000.0"},
		{"9999999999999999999999999999999.999999999999999999", "9999999999999999999999999999999.999999999999999999"},
	} {
		a, err := ParseAmount(tc.in)
		if err != nil || a.String() != tc.out {
			t.Errorf("%s: %s, %v, want %s", tc.in, a, err, tc.out)
		}
	}
	for _, bad := range []string{
		"", ".", "1.", ".5", "-1", "+1", "1e3", " 1", "0.0000000000000000001",
		"10000000000000000000000000000000",
	} {
		if _, err := ParseAmount(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestAmountArithmeticAgreesWithBigIntegers(t *testing.T) {
	values := []Amount{
		{},
		One, units("0.000000000000000001"), units("1000000000000000000000000000000"),
		{w: [4]uint64{1<<64 - 1, 1<<64 - 1, 5}},
	}
	for _, a := range values {
		for _, b := range values {
			if got, want := a.Add(b).Big(), new(big.Int).Add(a.Big(), b.Big()); got.Cmp(want) != 0 {
				t.Errorf("%s + %s = %s", a, b, got)
			}
			if got, want := a.Cmp(b), a.Big().Cmp(b.Big()); got != want {
				t.Errorf("cmp %s %s = %d", a, b, got)
			}
			if !a.Less(b) && a.Sub(b).Add(b) != a {
				t.Errorf("%s - %s", a, b)
			}
		}
	}
}

func TestAddressesAndHashesAreFunctionsOfSeedAndPosition(t *testing.T) {
	a, b := newRig(t), newRig(t)
	c := newRig(t)
	c.s.seed = 2
	for _, r := range []*rig{a, b, c} {
		r.spawn(user(1), "ALPHA")
		r.spawn(user(2), "BETA")
	}
	if *a.token("BETA").Ident != *b.token("BETA").Ident {
		t.Error("the same seed and position give other addresses")
	}
	if a.token("BETA").Address == c.token("BETA").Address || a.token("ALPHA").Address == a.token("BETA").Address ||
		a.token("BETA").Address == a.token("BETA").Pool {
		t.Error("seed, position or purpose makes no difference")
	}
	if got, ok := ParseAddress("0X" + a.token("BETA").Address.String()[2:]); !ok || got != a.token("BETA").Address {
		t.Error("an address does not read back")
	}
}

func TestBlocksAreTwoSecondsFromGenesis(t *testing.T) {
	for _, tc := range []struct{ after, want int64 }{
		{0, 1},
		{1_999_999_999, 1},
		{2_000_000_000, 2},
		{86400 * secondNs, 43201},
		{-1, 1},
	} {
		if got := blockAt(start, start+tc.after); got != tc.want {
			t.Errorf("%d ns after genesis: block %d, want %d", tc.after, got, tc.want)
		}
	}
}
