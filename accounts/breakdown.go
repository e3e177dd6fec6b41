package accounts

import (
	"cmp"
	"slices"
	"strings"

	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
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
		return invalid("from", "from must be before to.")
	}
	if uint64(toNs)-uint64(fromNs) > MaxPeriodNs {
		return invalid("to", "The span from from to to may be at most 366 days.")
	}
	return nil
}

// stakeIn yields the staking accruals printed in [from, to) of one currency (empty: all).
func (set *accrualSet) stakeIn(fromNs, toNs int64, currencyCode string) func(func(*accrual) bool) {
	return func(yield func(*accrual) bool) {
		for i := range set.others {
			a := &set.others[i]
			t := printedNs(a.timeNs)
			if a.typ != StakeAccrual || t < fromNs || t >= toNs {
				continue
			}
			if currencyCode != "" && set.currencies[a.currency] != currencyCode {
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

// Breakdown returns the staking bonus of user n in [from, to), Unix ns, by referral, currency
// and level; currencyCode empty: every currency. Items are sorted by the referral's id, then
// currency, level and percentage.
func (v *View) Breakdown(n uint32, fromNs, toNs int64, currencyCode string) (Breakdown, *refuse.Refusal) {
	if reject := checkPeriod(fromNs, toNs); reject != nil {
		return Breakdown{}, reject
	}
	set := v.accruals(n)
	items, total := map[breakdownKey]*BreakdownItem{}, sums{}
	for a := range set.stakeIn(fromNs, toNs, currencyCode) {
		k := breakdownKey{a.from, a.currency, a.applied, a.received}
		if items[k] == nil {
			items[k] = &BreakdownItem{
				CurrencyCode: set.currencies[a.currency], ReceiverLevel: stakingName(a.received),
				AppliedPercentage: decimalOf(a.applied),
			}
		}
		item := items[k]
		item.Amount = item.Amount.Plus(a.amount)
		if !a.bonus {
			item.AmountToMainAccount = item.AmountToMainAccount.Plus(a.amount)
		}
		item.SourceStakeProfitAmount = item.SourceStakeProfitAmount.Plus(a.source)
		total.add(a.currency, a.amount.Wide())
	}
	out := Breakdown{
		FromNs: fromNs, ToNs: toNs, Items: []BreakdownItem{},
		TotalsByCurrency: total.list(set.currencies), CurrentLevel: stakingName(0),
	}
	v.s.mu.RLock()
	if u := v.s.dir.user(n); u != nil {
		out.CurrentLevel = stakingName(u.profile.Staking)
	}
	for k, item := range items {
		item.FromUserID, item.FromUserNickname = UserID(k.from).String(), v.s.dir.mustFind(k.from).profile.Nickname
		out.Items = append(out.Items, *item)
	}
	v.s.mu.RUnlock()
	slices.SortFunc(out.Items, func(a, b BreakdownItem) int {
		return cmp.Or(
			strings.Compare(a.FromUserID, b.FromUserID), strings.Compare(a.CurrencyCode, b.CurrencyCode),
			strings.Compare(a.ReceiverLevel, b.ReceiverLevel), a.AppliedPercentage.Cmp(b.AppliedPercentage),
		)
	})
	return out, nil
}
