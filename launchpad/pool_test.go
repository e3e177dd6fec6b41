package launchpad

import (
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

func TestSwapsFollowTheFormulaExactly(t *testing.T) {
	r := newRig(t)
	tok := r.pooled(user(1), "ABC", "1000")
	r.must(Deposit{To: user(2), Currency: USBICoin, Amount: AmountOf(10)})
	// in' = 10 - 0.1 = 9.9; out = floor(1000000 x 9.9 / 1009.9)
	want := new(big.Int).Mul(AmountOf(1_000_000).Big(), units("9.9").Big())
	want.Quo(want, units("1009.9").Big())
	res := r.must(Swap{Token: tok.No, From: user(2), AmountIn: AmountOf(10)})
	out, _ := AmountFromBig(want)
	if res.Out != out || res.In != AmountOf(10) || res.Block != 1 || res.TxHash == (Hash{}) {
		t.Fatalf("%+v, want out %s", res, out)
	}
	if p := res.Token; p.ReserveQuote != AmountOf(1010) || p.ReserveToken != AmountOf(1_000_000).Sub(out) ||
		usdText(p.Volume) != "10.00" || usdText(p.TVL) != "2020.00" || p.LastTradeSec != start/secondNs {
		t.Fatalf("%+v", p)
	}
	if res.Price() != quotient(AmountOf(10), out) || !strings.HasPrefix(res.Price().String(), "0.0010") {
		t.Fatalf("price %s", res.Price())
	}
	r.check()
}

func TestTheFeeIsRoundedUp(t *testing.T) {
	reserve := AmountOf(1000)
	// 99 units: the fee is ceil(0.99) = 1, so 98 units trade.
	in, _ := AmountFromBig(big.NewInt(99))
	want := mulDiv(reserve, mustBig(98), reserve.Add(mustBig(98)))
	if got := swapOut(reserve, reserve, in); got != want {
		t.Fatalf("%v, want %v", got, want)
	}
	if got := swapOut(reserve, reserve, mustBig(1)); !got.IsZero() {
		t.Fatalf("one unit gives %v", got)
	}
}

func mustBig(n int64) Amount {
	a, _ := AmountFromBig(big.NewInt(n))
	return a
}

func TestSwapRefusals(t *testing.T) {
	r := newRig(t)
	empty := r.spawn(user(1), "EMPTY")
	tok := r.pooled(user(2), "ABC", "1000")
	r.refused(Swap{Token: tok.No, From: user(2)}, refuse.InvalidParam, "amountIn")
	r.refused(Swap{Token: 99, From: user(2), AmountIn: One}, refuse.NotFound, "id")
	r.refused(Swap{Token: empty.No, From: user(2), AmountIn: One}, refuse.Conflict, "")
	r.refused(Swap{Token: tok.No, From: user(3), AmountIn: One}, refuse.InsufficientFunds, "amountIn")
	r.refused(Swap{Token: tok.No, From: user(3), AmountIn: One, Sell: true}, refuse.InsufficientFunds, "amountIn")
	r.refused(Swap{Token: tok.No, From: user(2), AmountIn: mustBig(1), Sell: true}, refuse.InvalidParam, "amountIn")
	r.must(Deposit{To: user(3), Currency: USBICoin, Amount: One})
	out := swapOut(tok.ReserveQuote, tok.ReserveToken, One)
	r.refused(Swap{Token: tok.No, From: user(3), AmountIn: One, MinOut: out.Add(mustBig(1))}, refuse.Conflict, "minOut")
	r.must(Swap{Token: tok.No, From: user(3), AmountIn: One, MinOut: out})
}

func TestFirstLiquiditySetsThePriceAndLaterOnesFollowTheRatio(t *testing.T) {
	r := newRig(t)
	tok := r.spawn(user(1), "ABC")
	r.must(Deposit{To: user(1), Currency: USBICoin, Amount: AmountOf(1000)})
	r.refused(AddLiquidity{Token: tok.No, From: user(1), QuoteAmount: One}, refuse.InvalidParam, "tokenAmount")
	r.refused(AddLiquidity{Token: tok.No, From: user(1), TokenAmount: One}, refuse.InvalidParam, "quoteAmount")
	r.refused(AddLiquidity{Token: 7, From: user(1), TokenAmount: One, QuoteAmount: One}, refuse.NotFound, "id")
	r.refused(AddLiquidity{Token: tok.No, From: user(1), TokenAmount: AmountOf(1_000_000_001), QuoteAmount: One},
		refuse.InsufficientFunds, "tokenAmount")
	r.refused(AddLiquidity{Token: tok.No, From: user(1), TokenAmount: One, QuoteAmount: AmountOf(1001)},
		refuse.InsufficientFunds, "quoteAmount")
	p := r.must(AddLiquidity{
		Token: tok.No, From: user(1), TokenAmount: AmountOf(400),
		QuoteAmount: AmountOf(100),
	}).Token
	if price, _ := p.Price(); price != units("0.25") || usdText(p.TVL) != "200.00" {
		t.Fatalf("%+v", p)
	}
	// 80 tokens want 20 quote: the excess 30 stays.
	p = r.must(AddLiquidity{Token: tok.No, From: user(1), TokenAmount: AmountOf(80), QuoteAmount: AmountOf(50)}).Token
	if p.ReserveToken != AmountOf(480) || p.ReserveQuote != AmountOf(120) {
		t.Fatalf("%+v", p)
	}
	// 10 quote allow 40 tokens; the far larger token side stays unused.
	p = r.must(AddLiquidity{
		Token: tok.No, From: user(1), TokenAmount: units("9000000000000000000000000000000"),
		QuoteAmount: AmountOf(10),
	}).Token
	if price, _ := p.Price(); p.ReserveToken != AmountOf(520) || p.ReserveQuote != AmountOf(130) ||
		price != units("0.25") {
		t.Fatalf("%+v", p)
	}
	if got := r.s.View().Balance(user(1), USBICoin); got != AmountOf(870) {
		t.Fatalf("balance %s", got)
	}
	r.check()
}

func TestUSDFiguresHaveTwoDigitsHalfEven(t *testing.T) {
	opt := DefaultOptions()
	opt.NativeUSD = units("2.5")
	for _, tc := range []struct {
		quote string
		side  Side
		want  string
	}{
		{"0", USBI, "0.00"},
		{"0.005", USBI, "0.00"},
		{"0.015", USBI, "0.02"},
		{"0.025", USBI, "0.02"},
		{"0.025000000000000001", USBI, "0.03"},
		{"1234567.891", USBI, "1234567.89"},
		{"0.002", WNative, "0.00"}, // 0.005 USD
		{"0.006", WNative, "0.02"}, // 0.015 USD
		{"4", WNative, "10.00"},
	} {
		if got := usdText(opt.usdCents(units(tc.quote), tc.side, 1)); got != tc.want {
			t.Errorf("%s %s: %s USD, want %s", tc.quote, tc.side, got, tc.want)
		}
	}
}

func TestTransfersMoveHoldingsAndCountHolders(t *testing.T) {
	r := newRig(t)
	tok := r.spawn(user(1), "ABC")
	r.refused(Transfer{Token: tok.No, From: user(1), To: user(2)}, refuse.InvalidParam, "amount")
	r.refused(Transfer{Token: 5, From: user(1), To: user(2), Amount: One}, refuse.NotFound, "id")
	r.refused(Transfer{Token: tok.No, From: user(2), To: user(1), Amount: One}, refuse.InsufficientFunds, "amount")
	holders := func(want int64) {
		t.Helper()
		if got := r.token("ABC").Holders; got != want {
			t.Fatalf("%d holders, want %d", got, want)
		}
		r.check()
	}
	holders(1)
	r.must(Transfer{Token: tok.No, From: user(1), To: user(2), Amount: AmountOf(5)})
	holders(2)
	r.must(Transfer{Token: tok.No, From: user(2), To: user(2), Amount: AmountOf(5)})
	holders(2)
	r.must(Transfer{Token: tok.No, From: user(1), To: user(2), Amount: AmountOf(999_999_995)})
	holders(1)
	res := r.must(Transfer{Token: tok.No, From: user(2), To: user(3), Amount: One})
	if res.TxHash == (Hash{}) {
		t.Fatalf("hash %q", res.TxHash)
	}
	holders(2)
}

func TestDepositsAndWithdrawals(t *testing.T) {
	r := newRig(t)
	r.refused(Deposit{To: user(1)}, refuse.InvalidParam, "amount")
	r.refused(Deposit{To: user(1), Amount: units("100000000000000000000.1")}, refuse.InvalidParam, "amount")
	b := r.must(Deposit{To: user(1), Currency: USBICoin, Amount: units("1.5")}).Balance
	if b != units("1.5") {
		t.Fatalf("%s", b)
	}
	r.refused(Withdraw{From: user(1), Currency: USBICoin, Amount: AmountOf(2)}, refuse.InsufficientFunds, "amount")
	if b := r.must(Withdraw{From: user(1), Currency: USBICoin, Amount: One}).Balance; b != units("0.5") {
		t.Fatalf("%s", b)
	}
	tot := r.s.View().Totals()[USBICoin]
	if tot.Held != units("0.5") || tot.Deposited != units("1.5") || tot.Withdrawn != One {
		t.Fatalf("%+v", tot)
	}
	r.check()
}

// naiveSwap is one recorded answer of the random run.
type naiveSwap struct {
	sec   int64
	token uint32
	quote *big.Int
}

// naiveCents returns the fold of every recorded swap that counts at nowSec.
func naiveCents(all []naiveSwap, token uint32, nowSec int64) string {
	sum := new(big.Int)
	for _, s := range all {
		if s.token == token && nowSec-86400 < s.sec && s.sec <= nowSec {
			sum.Add(sum, s.quote)
		}
	}
	return bigCents(sum)
}

func bigCents(sum *big.Int) string {
	q, rest := new(big.Int).QuoRem(sum, pow10(16), new(big.Int))
	half := new(big.Int).Quo(pow10(16), big.NewInt(2))
	if c := rest.Cmp(half); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	s := q.String()
	for len(s) < 3 {
		s = "0" + s
	}
	return s[:len(s)-2] + "." + s[len(s)-2:]
}

// TestRandomSwaps: k never falls, supply is conserved exactly, volume24h and tvl equal a
// fold over the recorded answers.
func TestRandomSwaps(t *testing.T) {
	count := 100_000
	seed := rand.Uint64()
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		count = 1_000_000
	}
	t.Logf("seed %d, %d swaps", seed, count)
	rng := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t)
	const tokens, users = 5, 4
	for i := range tokens {
		r.must(Deposit{To: user(i), Amount: AmountOf(200)})
		r.must(Spawn{Owner: user(i), Name: "N", Symbol: symbolOf(i), TotalSupply: "1" + strings.Repeat("0", 6+6*i)})
		r.must(Deposit{To: user(i), Currency: USBICoin, Amount: AmountOf(10_000_000)})
		tok := r.token(symbolOf(i))
		half, _ := AmountFromBig(new(big.Int).Rsh(tok.Supply.Big(), 1))
		r.must(AddLiquidity{
			Token: tok.No, From: user(i), TokenAmount: half,
			QuoteAmount: AmountOf(uint64(1000 * (i + 1))),
		})
	}
	var all []naiveSwap
	done, refused := 0, map[refuse.Code]int{}
	for i := range count {
		if rng.IntN(4) == 0 {
			r.advance(int64(rng.IntN(40)))
		}
		no, who := uint32(rng.IntN(tokens))+1, user(rng.IntN(users))
		tok, _ := r.s.tokens.Get(no)
		cmd := Swap{Token: no, From: who, Sell: rng.IntN(2) == 0}
		have := r.s.balance(who, usbiAsset)
		if cmd.Sell {
			have = r.s.balance(who, tok.asset())
		}
		in := have.Big()
		in.Mul(in, big.NewInt(rng.Int64N(1100)+1)).Quo(in, pow10(int64(rng.IntN(12))+3))
		cmd.AmountIn, _ = AmountFromBig(in)
		k := new(big.Int).Mul(tok.ReserveToken.Big(), tok.ReserveQuote.Big())
		res, rej := r.do(cmd)
		if rej != nil {
			refused[rej.Code]++
			continue
		}
		done++
		after, _ := r.s.tokens.Get(no)
		if k.Cmp(new(big.Int).Mul(after.ReserveToken.Big(), after.ReserveQuote.Big())) > 0 {
			t.Fatalf("swap %d: k fell", i)
		}
		quote := res.In
		if cmd.Sell {
			quote = res.Out
		}
		all = append(all, naiveSwap{r.now / secondNs, no, quote.Big()})
		if i%(count/20) == 0 {
			checkFigures(t, r, all)
		}
	}
	t.Logf("%d swaps of %d, refused %v, %d ticks, %d days", done, count, refused, r.ticks, (r.now-start)/86400/secondNs)
	if done < count*6/10 {
		t.Fatal("fewer than 60 % were accepted")
	}
	r.check()
	for range 25 {
		r.advance(4 * 3600)
		checkFigures(t, r, all)
	}
	if got := r.s.View().Tokens(r.now, ListQuery{
		Page: 1, PageSize: 1,
		Sort: Volume,
	}).Items[0]; usdText(got.Volume) != "0.00" || r.s.NextNs() != 0 {
		t.Fatalf("after 100 idle hours: %+v, next %d", got, r.s.NextNs())
	}
}

func checkFigures(t *testing.T, r *rig, all []naiveSwap) {
	t.Helper()
	if err := r.s.Check(); err != nil {
		t.Fatal(err)
	}
	v := r.s.View()
	for i := range r.s.idents.n {
		id := r.s.idents.at(i)
		p, _ := v.Find(id.Address.String())
		if want, got := naiveCents(all, id.No, r.now/secondNs), usdText(p.Volume); got != want {
			t.Fatalf("token %d: volume24h %s, the fold says %s", id.No, got, want)
		}
		tvl := p.ReserveQuote.Big()
		if want, got := bigCents(tvl.Lsh(tvl, 1)), usdText(p.TVL); got != want {
			t.Fatalf("token %d: tvl %s, want %s", id.No, got, want)
		}
	}
}

func TestVolumeLeavesAtTheExactSecond(t *testing.T) {
	r := newRig(t)
	tok := r.pooled(user(1), "ABC", "1000")
	r.must(Deposit{To: user(1), Currency: USBICoin, Amount: AmountOf(100)})
	r.now += 900_000_000
	r.must(Swap{Token: tok.No, From: user(1), AmountIn: AmountOf(3)})
	r.now += 50_000_000 // the same second: one mark
	r.must(Swap{Token: tok.No, From: user(1), AmountIn: AmountOf(4)})
	r.advance(10)
	r.must(Swap{Token: tok.No, From: user(1), AmountIn: AmountOf(5)})
	volume := func(want string) {
		t.Helper()
		r.due()
		p, _ := r.s.View().Find("10001")
		if got := usdText(p.Volume); got != want {
			t.Fatalf("at +%d ns: %s, want %s", r.now-start, got, want)
		}
		r.check()
	}
	volume("12.00")
	r.now = start + 86400*secondNs - 1
	volume("12.00")
	r.now++
	volume("5.00")
	r.now = start + 86410*secondNs - 1
	volume("5.00")
	r.now++
	volume("0.00")
}
