package accrual

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
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

// Reason is one reason. Members that do not apply are nil.
type Reason struct {
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
	Reasons                      []Reason // never nil
}

type referralKey struct{ from, currency uint32 }

// Explain returns the reasons why the staking bonus in [fromNs, toNs), Unix ns, differs
// from the bonus in the equally long period before it, in one currency or, with an empty
// currencyCode, in all. The deltas of the reasons sum to DeltaByCurrency.
// Reasons of referrals are first, by id and currency, then changes of the user's staking level by time.
func (s *Set) Explain(fromNs, toNs int64, currencyCode string) (Explain, *refuse.Refusal) {
	if reject := checkPeriod(fromNs, toNs); reject != nil {
		return Explain{}, reject
	}
	before := fromNs - (toNs - fromNs)
	type pair struct{ previous, current fixed.I192 }
	referrals := map[referralKey]pair{}
	previous, current, delta := sums{}, sums{}, sums{}
	for a := range s.stakeIn(before, toNs, currencyCode) {
		k := referralKey{a.From, a.Currency}
		p := referrals[k]
		if printedNs(a.TimeNs) < fromNs {
			p.previous = p.previous.Plus(a.Amount)
			previous.add(a.Currency, a.Amount.Wide())
			delta.add(a.Currency, a.Amount.Wide().Neg())
		} else {
			p.current = p.current.Plus(a.Amount)
			current.add(a.Currency, a.Amount.Wide())
			delta.add(a.Currency, a.Amount.Wide())
		}
		referrals[k] = p
	}
	out := Explain{
		CurrentFromNs: fromNs, CurrentToNs: toNs, PreviousFromNs: before, PreviousToNs: fromNs,
		CurrentTotalsByCurrency: current.list(s.Currencies), PreviousTotalsByCurrency: previous.list(s.Currencies),
		DeltaByCurrency: delta.list(s.Currencies), Reasons: []Reason{},
	}
	for k, p := range referrals {
		if typ := reasonOf(p.previous, p.current); typ != 0 {
			who, c := s.Person(k.from), s.Currencies[k.currency]
			out.Reasons = append(out.Reasons, Reason{
				Type: typ, FromUserID: &who.ID, FromUserNickname: &who.Nickname, CurrencyCode: &c.Code,
				AmountDelta: c.Money(p.current.Sub(p.previous)),
			})
		}
	}
	slices.SortFunc(out.Reasons, func(a, b Reason) int {
		return cmp.Or(strings.Compare(*a.FromUserID, *b.FromUserID), strings.Compare(*a.CurrencyCode, *b.CurrencyCode))
	})
	out.Reasons = append(out.Reasons, s.levelReasons(before, toNs)...)
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

func (s *Set) levelReasons(fromNs, toNs int64) (out []Reason) {
	for _, c := range s.Changes {
		if t := printedNs(c.AtNs); t >= fromNs && t < toNs {
			from, to, at := StakingName(c.Old), StakingName(c.New), c.AtNs
			out = append(out, Reason{Type: LevelChanged, OldLevel: &from, NewLevel: &to, DateNs: &at})
		}
	}
	return out
}
