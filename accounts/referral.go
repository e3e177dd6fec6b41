package accounts

import (
	"unicode/utf8"

	"github.com/google/uuid"

	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// link is an ambassador's referral link. Its code and id are functions of its number.
type link struct {
	number    uint64
	rate      uint32 // discount of the users who join by it, 10^-8
	createdNs int64
}

func (s *State) planSetInviter(cmd *Command, rec *Record) *refuse.Refusal {
	if c := utf8.RuneCountInString(cmd.Code); c < 1 || c > MaxSearchQuery {
		return invalid("inviteCode", "inviteCode must be 1 to %d characters.", MaxSearchQuery)
	}
	if s.dir.mustFind(cmd.User).inviter != 0 {
		return conflict("", "An inviter is set already; it cannot be changed.")
	}
	owner, rate, byLink, ok := s.dir.resolveCode(cmd.Code)
	if !ok {
		return notFound("inviteCode", "There is no such invite code.")
	}
	if owner == cmd.User {
		return invalid("inviteCode", "A user cannot be their own inviter.")
	}
	for up := owner; up != 0; up = s.dir.mustFind(up).inviter {
		if up == cmd.User {
			return invalid("inviteCode", "The inviter is among those whom the user invited.")
		}
	}
	rec.Inviter, rec.HasRate, rec.Rate = owner, byLink, rate
	return nil
}

// applySetInviter sets the inviter of a user. For the code of a link, it also gives the user the link's
// discount.
func (s *State) applySetInviter(rec *Record, res *Result) {
	s.dir.attach(rec.User, rec.Inviter)
	if rec.HasRate {
		p := &s.dir.mustFind(rec.User).profile
		p.BidDiscount, p.AskDiscount = rec.Rate, rec.Rate
	}
	res.Inviter = s.dir.mustFind(rec.Inviter).inviterView()
}

func (s *State) planCreateLink(cmd *Command, rec *Record) *refuse.Refusal {
	rate, _ := percentRate(cmd.DiscountPercent, maxDiscount) // 0 for one that is out of range
	if rate < RateOne/100 {
		return invalid("discountPercent", "discountPercent must be 1 to 50 with at most 6 fractional digits.")
	}
	u := s.dir.mustFind(cmd.User)
	if !u.profile.IsAmbassador {
		return forbidden("", "Only ambassadors make referral links.")
	}
	if len(u.links) >= MaxLinksPerUser {
		return conflict("", "An ambassador may have at most %d links.", MaxLinksPerUser)
	}
	rec.Rate, rec.LinkNumber = rate, uint64(len(s.dir.linkOwner))+1
	return nil
}

func (s *State) applyCreateLink(rec *Record, res *Result) {
	if rec.LinkNumber != uint64(len(s.dir.linkOwner))+1 {
		panic("BUG: accounts: link numbers are not dense")
	}
	u := s.dir.mustFind(rec.User)
	s.dir.linkOwner = append(s.dir.linkOwner, linkRef{owner: rec.User, index: len(u.links)})
	l := link{number: rec.LinkNumber, rate: rec.Rate, createdNs: rec.TimeNs}
	u.links = append(u.links, l)
	res.Link = l.view(rec.User)
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

func (u *user) inviterView() InviterView {
	return InviterView{
		UserID: UserID(u.n).String(), PublicID: publicID(u.n), Nickname: u.profile.Nickname,
		AvatarID: u.profile.AvatarID, InviteCode: inviteCode(u.n), IsAmbassador: u.profile.IsAmbassador,
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
func (v *View) Ambassador(n uint32) AmbassadorView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	out := AmbassadorView{Links: []AmbassadorLink{}}
	if u := v.s.dir.user(n); u != nil {
		out.IsAmbassador, out.SecondLevelPercent = u.profile.IsAmbassador, percentOf(u.profile.SecondLevel)
		for _, l := range u.links {
			out.Links = append(out.Links, l.view(n))
		}
	}
	return out
}

// Inviter returns the inviter of user n, nil without one.
func (v *View) Inviter(n uint32) *InviterView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	u := v.s.dir.user(n)
	if u == nil || u.inviter == 0 {
		return nil
	}
	view := v.s.dir.mustFind(u.inviter).inviterView()
	return &view
}

// FindInviter returns the user of an id (a UUID), else of an invite code, either the user's own
// code or the code of one of the user's links.
func (v *View) FindInviter(idOrCode string) (InviterView, bool) {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	var n uint32
	if id, err := uuid.Parse(idOrCode); err == nil && len(idOrCode) == 36 {
		n = v.s.dir.byID[id]
	} else if owner, _, _, ok := v.s.dir.resolveCode(idOrCode); ok {
		n = owner
	}
	if n == 0 {
		return InviterView{}, false
	}
	return v.s.dir.mustFind(n).inviterView(), true
}
