package accounts_test

import (
	"fmt"
	"math/big"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// ledger is a naive model of money: what each account owns of a currency, free and held together, in units of any size.
// It knows trades, deposits and withdrawals, and no orders.
type ledger struct {
	owns    map[string]map[uint32]*big.Int
	fees    map[string]*big.Int
	inviter map[uint32]uint32
	boss    map[uint32]uint32 // an ambassador's second level, 10^-8
	rounded int               // fees that are no whole number of units
	wrong   error             // the first broken rule
}

func newLedger() *ledger {
	return &ledger{
		owns: map[string]map[uint32]*big.Int{}, fees: map[string]*big.Int{}, inviter: map[uint32]uint32{},
		boss: map[uint32]uint32{},
	}
}

func (l *ledger) add(currency string, account uint32, v *big.Int) {
	if l.owns[currency] == nil {
		l.owns[currency], l.fees[currency] = map[uint32]*big.Int{}, new(big.Int)
	}
	if l.owns[currency][account] == nil {
		l.owns[currency][account] = new(big.Int)
	}
	l.owns[currency][account].Add(l.owns[currency][account], v)
}

// trade books both sides of a trade.
func (l *ledger) trade(in *engine.Instrument, e *engine.Event) {
	goods := new(big.Int).Mul(big.NewInt(e.Amount), pow10(in.BaseDigits-in.DigitsAmount))
	worth := new(big.Int).Mul(big.NewInt(e.Price), big.NewInt(e.Amount))
	worth.Mul(worth, pow10(in.QuoteDigits-in.DigitsPrice-in.DigitsAmount))
	taker, maker := uint32(e.Account), uint32(e.MakerAccount)
	buyer, seller := taker, maker
	buyerFee, sellerFee := [2]uint32{e.TakerFee, e.TakerDiscount}, [2]uint32{e.MakerFee, e.MakerDiscount}
	if e.Side == engine.Sell {
		buyer, seller, buyerFee, sellerFee = maker, taker, sellerFee, buyerFee
	}
	l.add(in.Base, seller, new(big.Int).Neg(goods))
	l.add(in.Quote, buyer, new(big.Int).Neg(worth))
	l.receive(in.Base, buyer, goods, buyerFee)
	l.receive(in.Quote, seller, worth, sellerFee)
}

// receive books what a fill brings. The fee is rounded half even to a unit.
func (l *ledger) receive(currency string, account uint32, v *big.Int, rates [2]uint32) {
	l.add(currency, account, v)
	if account == 0 {
		return
	}
	one := big.NewInt(accounts.RateOne)
	exact := new(big.Rat).SetFrac(
		new(big.Int).Mul(v, big.NewInt(int64(rates[0])*int64(accounts.RateOne-rates[1]))), new(big.Int).Mul(one, one),
	)
	fee, rest := new(big.Int).QuoRem(exact.Num(), exact.Denom(), new(big.Int))
	if rest.Sign() != 0 {
		l.rounded++
	}
	half := new(big.Rat).Sub(exact, new(big.Rat).SetInt(fee)).Cmp(big.NewRat(1, 2))
	if half > 0 || half == 0 && fee.Bit(0) == 1 {
		fee.Add(fee, big.NewInt(1))
	}
	if off := new(big.Rat).Sub(exact, new(big.Rat).SetInt(fee)); off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
		l.wrong = fmt.Errorf("a fee of %s, exactly %s", fee, exact)
	}
	l.fee(currency, account, fee)
}

// fee books a fee and pays the five levels above the account, each rounded down to a unit.
func (l *ledger) fee(currency string, account uint32, v *big.Int) {
	l.add(currency, account, new(big.Int).Neg(v))
	l.fees[currency].Add(l.fees[currency], v)
	paid, up := new(big.Int), account
	for i, percent := range []int64{20, 10, 5, 3, 2} {
		if up = l.inviter[up]; up == 0 {
			break
		}
		share := new(big.Int).Mul(v, big.NewInt(percent))
		share.Quo(share, big.NewInt(100))
		if rate, is := l.boss[up]; is && i == 1 {
			share.Mul(v, big.NewInt(int64(rate))).Quo(share, pow10(8))
		}
		l.add(currency, up, share)
		l.fees[currency].Sub(l.fees[currency], share)
		paid.Add(paid, share)
	}
	if paid.Cmp(v) > 0 {
		l.wrong = fmt.Errorf("shares of %s of a fee of %s", paid, v)
	}
}

// differs compares the state with the model.
func (l *ledger) differs(s *accounts.State) error {
	v := s.View()
	digits := map[string]int{}
	for _, t := range v.Totals() {
		digits[t.CurrencyCode] = t.Digits
		want := new(big.Int)
		if l.fees[t.CurrencyCode] != nil {
			want.Mul(l.fees[t.CurrencyCode], pow10(fixed.Scale-t.Digits))
		}
		if got := toBig(t.Fees); got.Cmp(want) != 0 {
			return fmt.Errorf("fees of %s are %s, in the model %s", t.CurrencyCode, got, want)
		}
	}
	for currency, owners := range l.owns {
		for account, units := range owners {
			want := new(big.Int).Mul(units, pow10(fixed.Scale-digits[currency]))
			b := v.Balance(account, currency)
			if toBig(b.Total).Cmp(want) != 0 || b.Total != b.Free.Add(b.Held) || b.Digits != digits[currency] {
				return fmt.Errorf("account %d has %s %s, in the model %s", account, toBig(b.Total), currency, want)
			}
		}
	}
	return l.wrong
}
