package accounts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tickhive/accounts/accrual"
	"tickhive/accounts/auth"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

const (
	maxSecondLevelPercent = 20
	maxSecondLevel        = maxSecondLevelPercent * RateOne / 100
	maxDiscount           = RateOne / 2
)

// user is one account. Its id, publicId, address and codes are functions of its number.
type user struct {
	n         uint32
	profile   Profile
	createdNs int64

	inviter     uint32                    // 0: none
	descendants [accrual.MaxLevels]uint32 // number of users below, by level - 1
	links       []link
	keys        []*auth.Key

	rows         []row // sorted by currency number
	received     accrual.Received
	levelChanges []accrual.LevelChange

	halted     bool
	deadlineNs int64 // when the dead man's switch fires; 0: it is off
	orders     int   // number of open orders
	reserved   int   // number of orders and replaces on their way to the engine
}

// Profile holds the properties of a user that can be set.
type Profile struct {
	Nickname     string
	Name         *string
	SecondName   *string
	Level        uint8
	Staking      uint8 // 0 to 8 for R0 to R8
	IsAmbassador bool
	SecondLevel  uint32 // 10^-8
	Unlimited    bool
	AvatarID     string
	NoFees       bool   // noTradeCommissions
	BidDiscount  uint32 // 10^-8
	AskDiscount  uint32 // 10^-8
}

func parseStaking(s string) (uint8, bool) {
	if len(s) != 2 || s[0] != 'R' || s[1] < '0' || s[1] >= '0'+StakingLevels {
		return 0, false
	}
	return s[1] - '0', true
}

func (s *State) planCreateUser(cmd *Command, rec *Record) *refuse.Refusal {
	if len(s.dir.users) > MaxUsers {
		return conflict("", "There are %d users, the most there can be.", MaxUsers)
	}
	n := uint32(len(s.dir.users))
	rec.User = n
	rec.Profile = Profile{Nickname: s.dir.freeNickname(n), AvatarID: DefaultAvatar}
	patch := cmd.Profile
	patch.AvatarID, patch.NoTradeCommissions, patch.DealBidDiscount, patch.DealAskDiscount = nil, nil, nil, nil
	if reject := s.patchProfile(&rec.Profile, &patch); reject != nil {
		return reject
	}
	if patch.Unlimited != nil {
		rec.Profile.Unlimited = *patch.Unlimited
	}
	if s.dir.taken(rec.Profile.Nickname, nil) {
		return conflict("nickname", "The nickname is taken.")
	}
	return nil
}

func (s *State) planPatchUser(cmd *Command, rec *Record) *refuse.Refusal {
	u := s.dir.mustFind(cmd.User)
	rec.Profile = u.profile
	if reject := s.patchProfile(&rec.Profile, &cmd.Profile); reject != nil {
		return reject
	}
	if rec.Profile.Nickname != u.profile.Nickname && s.dir.taken(rec.Profile.Nickname, u) {
		return conflict("nickname", "The nickname is taken.")
	}
	if rec.Profile.Staking != u.profile.Staking && len(u.levelChanges) >= MaxLevelChanges {
		return conflict("stakingLevel", "The staking level changed %d times, the most there can be.", MaxLevelChanges)
	}
	return nil
}

// patchProfile checks and sets the members that were sent, in the order of
// docs/contract/internal.md#users-and-money.
func (s *State) patchProfile(p *Profile, patch *ProfilePatch) *refuse.Refusal {
	if reject := patchNames(p, patch); reject != nil {
		return reject
	}
	if v := patch.Level; v != nil {
		if *v < 0 || *v > MaxLevel {
			return invalid("level", "level must be 0 to %d.", MaxLevel)
		}
		p.Level = uint8(*v)
	}
	if v := patch.StakingLevel; v != nil {
		level, ok := parseStaking(*v)
		if !ok {
			return invalid("stakingLevel", "stakingLevel must be R0 to R%d.", StakingLevels-1)
		}
		p.Staking = level
	}
	if v := patch.IsAmbassador; v != nil {
		p.IsAmbassador = *v
	}
	if v := patch.SecondLevelPercent; v != nil {
		rate, ok := percentRate(*v, maxSecondLevel)
		if !ok {
			return invalid("secondLevelPercent",
				"secondLevelPercent must be 0 to %d with at most 6 fractional digits.", maxSecondLevelPercent)
		}
		p.SecondLevel = rate
	}
	if v := patch.AvatarID; v != nil {
		if _, ok := s.opts.Avatars.SVG(*v); !ok {
			return invalid("avatarId", "avatarId must name an avatar of the catalogue.")
		}
		p.AvatarID = *v
	}
	if v := patch.NoTradeCommissions; v != nil {
		p.NoFees = *v
	}
	if reject := patchDiscount(&p.BidDiscount, patch.DealBidDiscount, "dealBidDiscountFraction"); reject != nil {
		return reject
	}
	return patchDiscount(&p.AskDiscount, patch.DealAskDiscount, "dealAskDiscountFraction")
}

func patchNames(p *Profile, patch *ProfilePatch) *refuse.Refusal {
	if v := patch.Nickname; v != nil {
		if !plainText(*v, MinNickname, MaxNickname) {
			return invalid("nickname", "nickname must be %d to %d characters without control characters.",
				MinNickname, MaxNickname)
		}
		p.Nickname = *v
	}
	for _, f := range []struct {
		name string
		in   OptionalName
		out  **string
	}{{"name", patch.Name, &p.Name}, {"secondName", patch.SecondName, &p.SecondName}} {
		if !f.in.Set {
			continue
		}
		if f.in.Value != nil && !plainText(*f.in.Value, 1, MaxRealName) {
			return invalid(f.name, "%s must be 1 to %d characters without control characters.", f.name, MaxRealName)
		}
		*f.out = f.in.Value
	}
	return nil
}

func patchDiscount(to *uint32, v *fixed.I128, field string) *refuse.Refusal {
	if v == nil {
		return nil
	}
	rate, ok := rateOf(*v, maxDiscount)
	if !ok {
		return invalid(field, "%s must be 0 to 0.5 with at most 8 fractional digits.", field)
	}
	*to = rate
	return nil
}

// plainText reports whether s is valid text of least to most code points without
// control and format characters and without spaces at its ends: those make names that look alike.
func plainText(s string, least, most int) bool {
	if !utf8.ValidString(s) {
		return false
	}
	if c := utf8.RuneCountInString(s); c < least || c > most {
		return false
	}
	for _, r := range s {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return false
		}
	}
	return strings.TrimSpace(s) == s
}

func (s *State) applyCreateUser(rec *Record, res *Result) {
	if int(rec.User) != len(s.dir.users) {
		panic("BUG: accounts: user numbers are not dense")
	}
	u := &user{n: rec.User, profile: rec.Profile, createdNs: rec.TimeNs}
	s.dir.register(u)
	res.User = s.userView(u)
}

func (s *State) applyPatchUser(rec *Record, res *Result) {
	u := s.dir.mustFind(rec.User)
	if u.profile.Nickname != rec.Profile.Nickname {
		s.dir.rename(u, rec.Profile.Nickname)
	}
	if u.profile.Staking != rec.Profile.Staking {
		u.levelChanges = append(u.levelChanges, accrual.LevelChange{
			AtNs: rec.TimeNs, Old: u.profile.Staking, New: rec.Profile.Staking,
		})
	}
	u.profile = rec.Profile
	res.User = s.userView(u)
}

// UserView is a user as the internal API shows it (docs/contract/internal.md#users-and-money).
// It does not include nativeBalance, which belongs to the launchpad. Nil members are null.
type UserView struct {
	Number             uint32 // the engine's account number; not on the wire
	Nickname           string
	Name               *string
	SecondName         *string
	Level              int
	StakingLevel       string
	IsAmbassador       bool
	SecondLevelPercent fixed.I128 // human percent
	Unlimited          bool
	ID                 string
	PublicID           string
	Address            string
	InviteCode         string
	InviterID          *string
	AvatarID           string
	NoTradeCommissions bool
	DealBidDiscount    fixed.I128 // dealBidDiscountFraction
	DealAskDiscount    fixed.I128 // dealAskDiscountFraction
	CreatedNs          int64      // dateCreated
	Halted             bool
}

func (s *State) userView(u *user) UserView {
	p := &u.profile
	return UserView{
		Number: u.n, Nickname: p.Nickname, Name: p.Name, SecondName: p.SecondName, Level: int(p.Level),
		StakingLevel: accrual.StakingName(p.Staking), IsAmbassador: p.IsAmbassador,
		SecondLevelPercent: percentOf(p.SecondLevel),
		Unlimited:          p.Unlimited, ID: UserID(u.n).String(), PublicID: publicID(u.n), Address: addressText(u.n),
		InviteCode: inviteCode(u.n), InviterID: userIDOrNil(u.inviter), AvatarID: p.AvatarID,
		NoTradeCommissions: p.NoFees,
		DealBidDiscount:    decimalOf(p.BidDiscount), DealAskDiscount: decimalOf(p.AskDiscount),
		CreatedNs: u.createdNs, Halted: u.halted,
	}
}

func userIDOrNil(n uint32) *string {
	if n == 0 {
		return nil
	}
	id := UserID(n).String()
	return &id
}
