package accounts

import (
	"cmp"
	"slices"
	"strings"

	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// ReasonType says why a staking bonus changed (docs/contract/accounts.md#accruals); the values are
// the wire's.
type ReasonType uint8

// The reasons.
const (
	ReferralStopped   ReasonType = 10
	ReferralReduced   ReasonType = 20
	ReferralIncreased ReasonType = 30
	ReferralAdded     ReasonType = 40
	LevelChanged      ReasonType = 50
)

// ExplainReason is one reason. Members that do not apply are nil.
type ExplainReason struct {
	Type              ReasonType
	FromUserID        *string
	FromUserNickname  *string
	CurrencyCode      *string
	AmountDelta       fixed.I192
	OldLevel          *string // R0..R8
	NewLevel          *string
	TriggeredByUserID *string // nil: levels are set by the exchange
	DateNs            *int64  // LevelChanged
}

// Explain compares a period with the period of equal length before it.
type Explain struct {
	CurrentFromNs, CurrentToNs   int64
	PreviousFromNs, PreviousToNs int64
	CurrentTotalsByCurrency      []CurrencyAmount
	PreviousTotalsByCurrency     []CurrencyAmount
	DeltaByCurrency              []CurrencyAmount
	Reasons                      []ExplainReason // never nil
}

type referralKey struct{ from, currency uint32 }

// Explain returns the reasons why the staking bonus of user n in [fromNs, toNs), Unix ns, differs
// from the bonus in the equally long period before it, in one currency or, with an empty
// currencyCode, in all. The deltas of the reasons sum to DeltaByCurrency.
// Reasons of referrals are first, by id and currency, then changes of the user's staking level by time.
func (v *View) Explain(n uint32, fromNs, toNs int64, currencyCode string) (Explain, *refuse.Refusal) {
	if reject := checkPeriod(fromNs, toNs); reject != nil {
		return Explain{}, reject
	}
	before := fromNs - (toNs - fromNs)
	set := v.accruals(n)
	type pair struct{ previous, current fixed.I192 }
	referrals := map[referralKey]pair{}
	previous, current, delta := sums{}, sums{}, sums{}
	for a := range set.stakeIn(before, toNs, currencyCode) {
		k := referralKey{a.from, a.currency}
		p := referrals[k]
		if printedNs(a.timeNs) < fromNs {
			p.previous = p.previous.Plus(a.amount)
			previous.add(a.currency, a.amount.Wide())
			delta.add(a.currency, a.amount.Wide().Neg())
		} else {
			p.current = p.current.Plus(a.amount)
			current.add(a.currency, a.amount.Wide())
			delta.add(a.currency, a.amount.Wide())
		}
		referrals[k] = p
	}
	out := Explain{
		CurrentFromNs: fromNs, CurrentToNs: toNs, PreviousFromNs: before, PreviousToNs: fromNs,
		CurrentTotalsByCurrency: current.list(set.currencies), PreviousTotalsByCurrency: previous.list(set.currencies),
		DeltaByCurrency: delta.list(set.currencies), Reasons: []ExplainReason{},
	}
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	for k, p := range referrals {
		if typ := reasonOf(p.previous, p.current); typ != 0 {
			id, code := UserID(k.from).String(), set.currencies[k.currency]
			name := v.s.dir.mustFind(k.from).profile.Nickname
			out.Reasons = append(out.Reasons, ExplainReason{
				Type: typ, FromUserID: &id, FromUserNickname: &name, CurrencyCode: &code,
				AmountDelta: p.current.Sub(p.previous),
			})
		}
	}
	slices.SortFunc(out.Reasons, func(a, b ExplainReason) int {
		return cmp.Or(strings.Compare(*a.FromUserID, *b.FromUserID), strings.Compare(*a.CurrencyCode, *b.CurrencyCode))
	})
	if u := v.s.dir.user(n); u != nil {
		out.Reasons = append(out.Reasons, u.levelReasons(before, toNs)...)
	}
	return out, nil
}

// reasonOf returns the reason of a referral's change, 0 where nothing changed.
func reasonOf(previous, current fixed.I192) ReasonType {
	switch c := current.Cmp(previous); {
	case c == 0:
		return 0
	case current.Sign() == 0:
		return ReferralStopped
	case previous.Sign() == 0:
		return ReferralAdded
	case c < 0:
		return ReferralReduced
	}
	return ReferralIncreased
}

func (u *user) levelReasons(fromNs, toNs int64) (out []ExplainReason) {
	for _, c := range u.levelChanges {
		if t := printedNs(c.atNs); t >= fromNs && t < toNs {
			from, to, at := stakingName(c.old), stakingName(c.new), c.atNs
			out = append(out, ExplainReason{Type: LevelChanged, OldLevel: &from, NewLevel: &to, DateNs: &at})
		}
	}
	return out
}
