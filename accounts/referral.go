package accounts

import (
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/internal/fifo"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

// link is an ambassador's referral link. Its code and id are functions of its number.
type link struct {
	number    uint64
	rate      uint32 // discount of the users who join by it, 10^-8
	createdNs int64
}

func (cmd *Command) checkCode() *refuse.Refusal {
	if c := utf8.RuneCountInString(cmd.Code); c < 1 || c > MaxSearchQuery {
		return invalid("inviteCode", "inviteCode must be 1 to %d characters.", MaxSearchQuery)
	}
	return nil
}

// setInviter sets the inviter of a user. For the code of a link, it also gives the user the link's discount.
func (s *State) setInviter(_ int64, cmd *Command, res *Result) *refuse.Refusal {
	u := s.dir.mustFind(cmd.User)
	if u.inviter != 0 {
		return conflict("", "An inviter is set already; it cannot be changed.")
	}
	of, byLink, ok := resolveCode(cmd.Code, len(s.dir.users), &s.dir.linkOwner)
	if !ok {
		return notFound("inviteCode", "There is no such invite code.")
	}
	if of.owner == cmd.User {
		return invalid("inviteCode", "A user cannot be their own inviter.")
	}
	if s.dir.tree(of.owner) == s.dir.tree(cmd.User) { // a user without an inviter is the top of their tree
		return invalid("inviteCode", "The inviter is among those whom the user invited.")
	}
	p := s.dir.edit(u)
	s.dir.attach(p, of.owner)
	inviter := s.dir.mustFind(of.owner)
	if byLink {
		rate := inviter.links[of.index].rate
		p.profile.BidDiscount, p.profile.AskDiscount = rate, rate
	}
	res.Inviter = inviter.inviterView()
	return nil
}

func (cmd *Command) checkDiscount() *refuse.Refusal {
	if cmd.linkRate() < RateOne/100 {
		return invalid("discountPercent", "discountPercent must be 1 to 50 with at most 6 fractional digits.")
	}
	return nil
}

// linkRate returns the discount of a link, 0 for one that is out of range.
func (cmd *Command) linkRate() uint32 {
	rate, _ := percentRate(cmd.DiscountPercent, maxDiscount)
	return rate
}

func (s *State) createLink(nowNs int64, cmd *Command, res *Result) *refuse.Refusal {
	u := s.dir.mustFind(cmd.User)
	if !u.profile.IsAmbassador {
		return forbidden("", "Only ambassadors make referral links.")
	}
	if len(u.links) >= MaxLinksPerUser {
		return conflict("", "An ambassador may have at most %d links.", MaxLinksPerUser)
	}
	p := s.dir.edit(u)
	s.dir.linkOwner.Push(linkRef{owner: p.n, index: len(p.links)})
	l := link{number: uint64(s.dir.linkOwner.Len()), rate: cmd.linkRate(), createdNs: nowNs}
	p.links = append(p.links, l)
	if s.shown != nil {
		links := s.dir.linkOwner.Copy()
		s.report.links = &links
	}
	res.Link = l.view(p.n)
	return nil
}

// InviterView holds the properties of a user that other users see.
type InviterView struct {
	UserID       string
	PublicID     string
	Nickname     string
	AvatarID     string
	InviteCode   string
	IsAmbassador bool
}

func (u *person) inviterView() InviterView {
	return InviterView{
		UserID: u.id.String(), PublicID: publicID(u.n), Nickname: u.profile.Nickname,
		AvatarID: u.profile.AvatarID, InviteCode: InviteCode(u.n), IsAmbassador: u.profile.IsAmbassador,
	}
}

// AmbassadorLink is a referral link.
type AmbassadorLink struct {
	ID              string
	OwnerUserID     string
	Code            string
	DiscountPercent fixed.I128 // human percent
	CreatedNs       int64      // dateCreated
	IsActive        bool
}

func (l link) view(owner uint32) AmbassadorLink {
	return AmbassadorLink{
		ID: linkID(l.number).String(), OwnerUserID: UserID(owner).String(), Code: linkCode(l.number),
		DiscountPercent: percentOf(l.rate), CreatedNs: l.createdNs, IsActive: true,
	}
}

// AmbassadorView is the answer of ambassadors/info.
type AmbassadorView struct {
	IsAmbassador       bool
	SecondLevelPercent fixed.I128       // human percent
	Links              []AmbassadorLink // oldest first, never nil
}

// Ambassador returns the ambassador properties of user n.
func (v *Shown) Ambassador(n uint32) AmbassadorView {
	out := AmbassadorView{Links: []AmbassadorLink{}}
	if u := v.account(n); u != nil {
		out.IsAmbassador, out.SecondLevelPercent = u.profile.IsAmbassador, percentOf(u.profile.SecondLevel)
		for _, l := range u.links {
			out.Links = append(out.Links, l.view(n))
		}
	}
	return out
}

// Inviter returns the inviter of user n, nil without one.
func (v *Shown) Inviter(n uint32) *InviterView {
	u := v.account(n)
	if u == nil || u.inviter == 0 {
		return nil
	}
	by := v.account(u.inviter)
	if by == nil { // the same publication is about to show the inviter
		return nil
	}
	view := by.inviterView()
	return &view
}

// FindInviter returns the user of an id (a UUID), else of an invite code, either the user's own
// code or the code of one of the user's links.
func (v *Shown) FindInviter(idOrCode string) (InviterView, bool) {
	var n uint32
	if id, err := uuid.Parse(idOrCode); err == nil && len(idOrCode) == 36 {
		n, _ = v.NumberOf(id)
	} else if of, _, ok := resolveCode(idOrCode, int(v.accounts.Load()), v.links.Load()); ok {
		n = of.owner
	}
	if n == 0 {
		return InviterView{}, false
	}
	return v.account(n).inviterView(), true
}

// referral pays shares of fees and incomes to the users above a user in the tree of inviters (uplines).
//
// Owner: State's.
type referral struct {
	dir      *directory
	balances *balances

	config          Config
	dealQueue       fifo.Queue[uint32] // receivers of the retained deal accruals, oldest first
	maxDealAccruals int
	commandAccruals int
}

func newReferral(dir *directory, b *balances) *referral {
	return &referral{dir: dir, balances: b, maxDealAccruals: MaxDealAccruals}
}

// PaidAccrual is one accrual in the answer of a profit.
type PaidAccrual struct {
	UserID       string
	Level        int
	Amount       fixed.I192 // 10^-18
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
	typ      accrual.Type
	currency uint32
	of       fixed.I128 // units
	timeNs   int64
	from     moneySource
}

// payUplines pays the shares of a fee by level (docs/contract/accounts.md#accruals), rounded down to a unit.
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
		r.accrue(up, accrual.Accrual{
			TimeNs: pay.timeNs, Amount: share(pay.of, rate), From: u.n, Currency: pay.currency,
			Level: uint32(i) + 1, Type: pay.typ,
		}, pay, paid)
	}
}

// share returns n x rate, rounded down to a unit; rate is in 10^-8.
func share(n fixed.I128, rate uint32) fixed.I128 { return amountOf(fixed.ShareFloor(n.Abs(), rate)) }

// payStaking pays shares of a staking income upwards from its earner: each upline gets their rate minus the
// highest rate paid below them. It ends MaxStakingUplines above the earner: a chain of inviters may hold all users.
func (r *referral) payStaking(u *user, pay payment, paid *[]PaidAccrual) {
	given, most := uint32(0), r.config.Staking[StakingLevels-1]
	up := u
	for level := uint32(1); up.inviter != 0 && given < most && level <= MaxStakingUplines; level++ {
		up = r.dir.users[up.inviter]
		rate := r.config.Staking[up.profile.Staking]
		if rate <= given {
			continue
		}
		a := accrual.Accrual{
			TimeNs: pay.timeNs, Source: pay.of, From: u.n, Currency: pay.currency, Level: level,
			Applied: rate - given, Type: accrual.StakeAccrual, Received: up.profile.Staking,
		}
		given = rate
		all := share(pay.of, a.Applied)
		part := share(all, r.config.BonusShare)
		if a.Amount = all.Sub(part); a.Amount.Sign() > 0 {
			r.accrue(up, a, pay, paid)
			a.Source = fixed.I128{} // the income is recorded only once
		}
		a.Amount, a.Bonus = part, true
		r.accrue(up, a, pay, paid)
	}
}

// accrue pays and records one accrual; it ignores an amount of zero.
func (r *referral) accrue(to *user, a accrual.Accrual, pay payment, paid *[]PaidAccrual) {
	if a.Amount.Sign() <= 0 {
		return
	}
	if pay.from == newMoney {
		r.balances.deposit(to, a.Currency, a.Amount)
	} else {
		t := r.balances.use(a.Currency)
		t.fees = t.fees.SubWrap(a.Amount)
		r.balances.move(to, a.Currency, a.Amount, fixed.I128{})
	}
	if paid != nil {
		c := r.balances.currencies[a.Currency]
		*paid = append(*paid, PaidAccrual{
			UserID: UserID(to.n).String(), Level: int(a.Level), Amount: c.Money(a.Amount.Wide()), CurrencyCode: c.Code,
		})
	}
	to.received.Add(a)
	r.balances.digest.received += a.Amount.Lo * mixReceived(to.n, a.From, r.balances.codes[a.Currency], a.Level, a.Type)
	r.report(to)
	if a.Type != accrual.DealCommission {
		r.commandAccruals++
		return
	}
	r.dealQueue.Push(to.n)
	for r.dealQueue.Len() > r.maxDealAccruals {
		oldest := r.dir.users[r.dealQueue.Pop()]
		oldest.received.ArchiveOldest()
		r.report(oldest)
	}
}

// report reports what a user has received.
func (r *referral) report(u *user) {
	if to := r.balances.report; to != nil {
		to.receive(u)
	}
}

func (cmd *Command) checkProfit() *refuse.Refusal {
	if cmd.Profit.String() == "" || cmd.Profit == accrual.DealCommission {
		return invalid("profitType",
			"profitType must be WithdrawalCommission, CurrencyListing, ApiTradeProfitPayment or StakeAccrual.")
	}
	return cmd.checkAmount()
}

// addProfit credits an income and pays the uplines. Both are new money.
func (s *State) addProfit(nowNs int64, cmd *Command, res *Result) *refuse.Refusal {
	u := s.dir.mustFind(cmd.User)
	amount, reject := s.balances.admit(cmd)
	if reject != nil {
		return reject
	}
	if s.referral.commandAccruals >= MaxCommandAccruals {
		return conflict("", "There are %d accruals of this kind, the most there can be.", MaxCommandAccruals)
	}
	n := s.balances.currency(cmd.Currency)
	paid := []PaidAccrual{}
	s.balances.deposit(u, n, amount)
	s.transferred(cmd, cmd.Amount)
	pay := payment{typ: cmd.Profit, currency: n, of: amount, timeNs: nowNs, from: newMoney}
	if cmd.Profit == accrual.StakeAccrual {
		s.referral.payStaking(u, pay, &paid)
	} else {
		s.referral.payUplines(u, pay, &paid)
	}
	res.Accruals = paid
	return nil
}

// Accruals returns what user n has received.
func (v *Shown) Accruals(n uint32) *accrual.Set {
	set := &accrual.Set{Person: v.person}
	if u := v.account(n); u != nil {
		set.Staking, set.Changes = u.profile.Staking, u.levelChanges
		if u.received != nil {
			set.Received = *u.received
		}
	}
	set.Currencies = v.currenciesShown() // behind the accruals: it has the currency of each
	return set
}

// person returns the properties of user n that the figures of other users show.
func (v *Shown) person(n uint32) accrual.Person {
	u := v.account(n)
	if u == nil { // the same publication is about to show the user
		return accrual.Person{ID: UserID(n).String()}
	}
	p := &u.profile
	return accrual.Person{
		ID: u.id.String(), Nickname: p.Nickname, Name: openName(v.ring, p.Name, seal.UserName),
		SecondName: openName(v.ring, p.SecondName, seal.UserSecond),
	}
}
