package accrual

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

// BreakdownItem holds the bonus from one referral at one staking level of the receiver.
type BreakdownItem struct {
	FromUserID              string
	FromUserNickname        string
	CurrencyCode            string
	Amount                  fixed.I192
	AmountToMainAccount     fixed.I192 // sum of the accruals without isToUserBonuses
	SourceStakeProfitAmount fixed.I192 // the referral's own income
	ReceiverLevel           string     // R0 to R8, at the time of the accrual
	AppliedPercentage       fixed.I128 // fraction of the income
}

// Breakdown is the receiver's staking bonus of a period, by referral.
type Breakdown struct {
	FromNs, ToNs     int64
	CurrentLevel     string          // R0 to R8, now
	Items            []BreakdownItem // never nil
	TotalsByCurrency []CurrencyAmount
}

// checkPeriod refuses a period (Unix ns, to exclusive) that is empty or above MaxPeriodNs.
func checkPeriod(fromNs, toNs int64) *refuse.Refusal {
	if fromNs >= toNs {
		return refuse.Param("from", "from must be before to.")
	}
	if uint64(toNs)-uint64(fromNs) > MaxPeriodNs {
		return refuse.Param("to", "The span between from and to may be at most 366 days.")
	}
	return nil
}

// stakeIn yields the staking accruals printed in [from, to) of one currency (empty: all).
func (s *Set) stakeIn(fromNs, toNs int64, currencyCode string) func(func(*Accrual) bool) {
	return func(yield func(*Accrual) bool) {
		for i := range s.Others.Len() {
			a := s.Others.At(i)
			t := printedNs(a.TimeNs)
			if a.Type != StakeAccrual || t < fromNs || t >= toNs {
				continue
			}
			if currencyCode != "" && s.Currencies[a.Currency].Code != currencyCode {
				continue
			}
			if !yield(a) {
				return
			}
		}
	}
}

type breakdownKey struct {
	from, currency, applied uint32
	received                uint8
}

// Breakdown returns the staking bonus in [from, to), Unix ns, by referral, currency
// and level; currencyCode empty: every currency. Items are sorted by the referral's id, then
// currency, level and percentage.
func (s *Set) Breakdown(fromNs, toNs int64, currencyCode string) (Breakdown, *refuse.Refusal) {
	if reject := checkPeriod(fromNs, toNs); reject != nil {
		return Breakdown{}, reject
	}
	items, total := map[breakdownKey]*BreakdownItem{}, sums{}
	for a := range s.stakeIn(fromNs, toNs, currencyCode) {
		k := breakdownKey{a.From, a.Currency, a.Applied, a.Received}
		if items[k] == nil {
			items[k] = &BreakdownItem{
				CurrencyCode: s.Currencies[a.Currency].Code, ReceiverLevel: StakingName(a.Received),
				AppliedPercentage: fixed.Mul64(uint64(a.Applied), fixed.Pow10[10]).ToI128(),
			}
		}
		item := items[k]
		item.Amount = item.Amount.Plus(a.Amount)
		if !a.Bonus {
			item.AmountToMainAccount = item.AmountToMainAccount.Plus(a.Amount)
		}
		item.SourceStakeProfitAmount = item.SourceStakeProfitAmount.Plus(a.Source)
		total.add(a.Currency, a.Amount.Wide())
	}
	out := Breakdown{
		FromNs: fromNs, ToNs: toNs, Items: []BreakdownItem{},
		TotalsByCurrency: total.list(s.Currencies), CurrentLevel: StakingName(s.Staking),
	}
	for k, item := range items {
		who, c := s.Person(k.from), s.Currencies[k.currency]
		item.Amount, item.AmountToMainAccount = c.Money(item.Amount), c.Money(item.AmountToMainAccount)
		item.SourceStakeProfitAmount = c.Money(item.SourceStakeProfitAmount)
		item.FromUserID, item.FromUserNickname = who.ID, who.Nickname
		out.Items = append(out.Items, *item)
	}
	slices.SortFunc(out.Items, func(a, b BreakdownItem) int {
		return cmp.Or(
			strings.Compare(a.FromUserID, b.FromUserID), strings.Compare(a.CurrencyCode, b.CurrencyCode),
			strings.Compare(a.ReceiverLevel, b.ReceiverLevel), a.AppliedPercentage.Cmp(b.AppliedPercentage),
		)
	})
	return out, nil
}
