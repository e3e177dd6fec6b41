package accounts

import (
	"cmp"
	"maps"
	"slices"

	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// referral pays shares of fees and incomes to the users above a user in the tree of inviters (uplines).
//
// Owner: State's mu guards it.
type referral struct {
	dir      *directory
	balances *balances

	config          Config
	dealQueue       []uint32 // receivers of the retained deal accruals, oldest first
	maxDealAccruals int
	commandAccruals int
	archived        uint64 // accruals added to the archive of their day, since the start
}

func newReferral(dir *directory, b *balances) *referral {
	return &referral{dir: dir, balances: b, config: DefaultConfig(), maxDealAccruals: MaxDealAccruals}
}

// accrual is one payment to a receiver for a fee or an income of a user below the receiver.
type accrual struct {
	timeNs   int64
	amount   fixed.I128
	source   fixed.I128 // StakeAccrual: the income of which it is a share; set in only one record of each income
	from     uint32     // number of the user whose fee or income it is a share of
	currency uint32
	level    uint32 // 1: the receiver is the user's inviter
	applied  uint32 // StakeAccrual: the share of the income, in 10^-8
	typ      ProfitType
	received uint8 // StakeAccrual: the receiver's staking level at that time
	bonus    bool  // isToUserBonuses
}

// archiveKey names a sum of accruals that are no longer retained one by one.
type archiveKey struct {
	day      int64 // Unix days
	from     uint32
	currency uint32
	level    uint32
	typ      ProfitType
}

// PaidAccrual is one accrual in the answer of a profit.
type PaidAccrual struct {
	UserID       string
	Level        int
	Amount       fixed.I128
	CurrencyCode string
}

// moneySource is the source of the money of an accrual.
type moneySource uint8

const (
	fromFees moneySource = iota
	newMoney
)

// payment holds an amount of which shares are paid, and the way in which they are paid.
type payment struct {
	typ      ProfitType
	currency uint32
	of       fixed.I128
	timeNs   int64
	from     moneySource
	rules    uint8
}

// payUplines pays the shares of a fee by level (docs/contract/accounts.md#accruals), rounded down.
func (r *referral) payUplines(u *user, pay payment, paid *[]PaidAccrual) {
	if pay.of.Sign() <= 0 {
		return
	}
	up := u
	for i, rate := range r.config.Levels {
		if up.inviter == 0 {
			return
		}
		up = r.dir.users[up.inviter]
		if i == 1 && up.profile.IsAmbassador {
			rate = up.profile.SecondLevel
		}
		r.accrue(up, accrual{
			timeNs: pay.timeNs, amount: shareFloor(pay.of,
				rate), from: u.n, currency: pay.currency, level: uint32(i) + 1, typ: pay.typ,
		}, pay, paid)
	}
}

// payStaking pays shares of a staking income upwards from its earner: each upline gets their rate minus the
// highest rate paid below them.
func (r *referral) payStaking(u *user, pay payment, paid *[]PaidAccrual) {
	given, most := uint32(0), r.config.Staking[StakingLevels-1]
	up := u
	for level := uint32(1); up.inviter != 0 && given < most; level++ {
		up = r.dir.users[up.inviter]
		share := r.config.Staking[up.profile.Staking]
		if share <= given {
			continue
		}
		a := accrual{
			timeNs: pay.timeNs, source: pay.of, from: u.n, currency: pay.currency, level: level,
			applied: share - given, typ: StakeAccrual, received: up.profile.Staking,
		}
		given = share
		all := shareFloor(pay.of, a.applied)
		part := shareFloor(all, r.config.BonusShare)
		if a.amount = all.Sub(part); a.amount.Sign() > 0 {
			r.accrue(up, a, pay, paid)
			a.source = fixed.I128{} // the income is recorded only once
		}
		a.amount, a.bonus = part, true
		r.accrue(up, a, pay, paid)
	}
}

// accrue pays and records one accrual; it ignores an amount of zero. It pays as much as the receiver's balance
// has room for. The rest of a fee stays in the fee account; the rest of new money is not created. Room that
// orders have reserved does not count, because a recovery does not know it. An accrual may therefore take a
// receiver beyond 10^20, by at most its amount, while an order of the receiver is on its way to the engine.
func (r *referral) accrue(to *user, a accrual, pay payment, paid *[]PaidAccrual) {
	if pay.rules >= 1 {
		has := r.balances.coming[balanceKey{to.n, a.currency}].open.Add(to.row(a.currency).total())
		a.amount = least(a.amount, positive(MaxMoney.Wide().Sub(has)).Clamp())
	}
	if a.amount.Sign() <= 0 {
		return
	}
	if pay.from == newMoney {
		r.balances.deposit(to, a.currency, a.amount)
	} else {
		t := &r.balances.totals[a.currency]
		t.fees = t.fees.Minus(a.amount)
		r.balances.credit(to, a.currency, a.amount.Wide())
	}
	if paid != nil {
		*paid = append(*paid, PaidAccrual{
			UserID: UserID(to.n).String(), Level: int(a.level), Amount: a.amount,
			CurrencyCode: r.balances.currencies[a.currency],
		})
	}
	if a.typ != DealCommission {
		to.others = append(to.others, a)
		r.commandAccruals++
		return
	}
	if n := len(to.deals); n > 0 && to.deals[n-1].timeNs > a.timeNs {
		to.dealsMixed = true
	}
	to.deals = append(to.deals, a)
	r.dealQueue = append(r.dealQueue, to.n)
	for len(r.dealQueue) > r.maxDealAccruals {
		r.archiveOldest()
	}
}

// archiveOldest moves the oldest deal accrual to the archive of its day. It overwrites nothing, so readers that
// hold the slice still see the accrual.
func (r *referral) archiveOldest() {
	to := r.dir.users[r.dealQueue[0]]
	r.dealQueue = r.dealQueue[1:]
	a := &to.deals[0]
	to.deals = to.deals[1:]
	if to.archive == nil {
		to.archive = map[archiveKey]fixed.I192{}
	}
	k := archiveKey{day: a.timeNs / dayNs, from: a.from, currency: a.currency, level: a.level, typ: a.typ}
	to.archive[k] = to.archive[k].Plus(a.amount)
	r.archived++
}

func (s *State) planProfit(cmd *Command, rec *Record) *refuse.Refusal {
	if cmd.Profit.String() == "" || cmd.Profit == DealCommission {
		return invalid("profitType",
			"profitType must be WithdrawalCommission, CurrencyListing, ApiTradeProfitPayment or StakeAccrual.")
	}
	if reject := checkAmount(cmd, rec); reject != nil {
		return reject
	}
	// The income and the uplines' shares together are at most twice the income.
	if cmd.Amount.Cmp(MaxMoney.Sub(cmd.Amount)) > 0 || !s.balances.room(s.dir.mustFind(cmd.User), cmd.Currency,
		cmd.Amount.Add(cmd.Amount)) {
		return invalid("amount", "No balance and no sum of deposits may pass 10^20.")
	}
	if s.referral.commandAccruals >= MaxCommandAccruals {
		return conflict("", "There are %d accruals of this kind, the most there can be.", MaxCommandAccruals)
	}
	rec.Profit = cmd.Profit
	return nil
}

// applyProfit credits an income and pays the uplines. Both are new money.
func (s *State) applyProfit(rec *Record, res *Result) {
	if rec.staged {
		s.releaseRoom(rec)
	}
	u, n := s.dir.mustFind(rec.User), s.balances.currency(rec.Currency)
	paid := []PaidAccrual{}
	s.balances.deposit(u, n, rec.Amount)
	pay := payment{typ: rec.Profit, currency: n, of: rec.Amount, timeNs: rec.TimeNs, from: newMoney, rules: rec.Rules}
	if rec.Profit == StakeAccrual {
		s.referral.payStaking(u, pay, &paid)
	} else {
		s.referral.payUplines(u, pay, &paid)
	}
	res.Accruals = paid
}

// accrualSet holds the accruals of one receiver at one instant. The slices are append-only, so
// readers need no lock.
type accrualSet struct {
	deals, others []accrual
	archive       map[archiveKey]fixed.I192
	currencies    []string
}

func (v *View) accruals(n uint32) accrualSet {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	set := accrualSet{currencies: v.s.balances.currencies}
	u := v.s.dir.user(n)
	if u == nil {
		return set
	}
	set.deals, set.others, set.archive = u.deals, u.others, maps.Clone(u.archive)
	if u.dealsMixed {
		set.deals = slices.Clone(u.deals)
		slices.SortStableFunc(set.deals, func(a, b accrual) int { return cmp.Compare(a.timeNs, b.timeNs) })
	}
	return set
}

// newestFirst yields the retained accruals, newest first.
func (set *accrualSet) newestFirst(yield func(*accrual) bool) {
	i, j := len(set.deals)-1, len(set.others)-1
	for i >= 0 || j >= 0 {
		var a *accrual
		if j < 0 || (i >= 0 && set.deals[i].timeNs > set.others[j].timeNs) {
			a = &set.deals[i]
			i--
		} else {
			a = &set.others[j]
			j--
		}
		if !yield(a) {
			return
		}
	}
}

// printedNs returns a time as answers print it, in whole milliseconds (docs/contract/market-data.md#times).
func printedNs(ns int64) int64 { return ns - ns%msNs }
