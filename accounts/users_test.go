package accounts

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/internal/refuse"
)

func TestUserDefaultsAndIdentity(t *testing.T) {
	r := newRig(t)
	a := r.do(Command{Kind: CreateUser}).User
	b := r.do(Command{Kind: CreateUser, Profile: ProfilePatch{Nickname: ptr("ann"), Unlimited: ptr(true)}}).User
	if a.Number != 1 || a.Nickname != "user-1" || a.Level != 0 || a.StakingLevel != "R0" || a.AvatarID != "simple" ||
		a.Unlimited || a.InviterID != nil || a.Name != nil || a.CreatedNs != t0 {
		t.Fatalf("defaults: %+v", a)
	}
	if b.Number != 2 || !b.Unlimited || b.Nickname != "ann" {
		t.Fatalf("second: %+v", b)
	}
	id, err := uuid.Parse(a.ID)
	if err != nil || id.Version() != 5 || id != UserID(1) || a.ID == b.ID {
		t.Fatalf("id %s: %v", a.ID, err)
	}
	if n, ok := r.s.View().NumberOf(id); !ok || n != 1 {
		t.Fatal("the id does not find its user")
	}
	if _, ok := r.s.View().User(0); ok {
		t.Fatal("the built-in account is shown as a user")
	}
	again := newRig(t)
	if c := again.do(Command{Kind: CreateUser}).User; c.ID != a.ID || c.Address != a.Address ||
		c.InviteCode != a.InviteCode || c.PublicID != a.PublicID {
		t.Fatal("identities are not functions of the number")
	}
}

func TestInviteCodesAreUniqueAndTurnBack(t *testing.T) {
	seen := map[string]bool{}
	for n := range uint64(50_000) {
		for _, v := range []uint64{n, n | codeLink} {
			c := codeOfNumber(v)
			if back, ok := numberOfCode(c); !ok || back != v || seen[c] || len(c) != 8 {
				t.Fatalf("code %s of %d: back %d, seen %v", c, v, back, seen[c])
			}
			if strings.ContainsAny(c, "IO01") {
				t.Fatalf("code %s has look-alikes", c)
			}
			seen[c] = true
		}
	}
	ids := map[string]bool{}
	for n := range uint32(50_000) {
		if id := publicID(n + 1); ids[id] || len(id) != 10 {
			t.Fatalf("public id %s is not unique", id)
		} else {
			ids[id] = true
		}
	}
}

func TestUserBoundsNameTheField(t *testing.T) {
	long := strings.Repeat("ж", 33)
	for _, c := range []struct {
		p     ProfilePatch
		code  refuse.Code
		field string
	}{
		{ProfilePatch{Nickname: ptr("a")}, "INVALID_PARAM", "nickname"},
		{ProfilePatch{Nickname: &long}, "INVALID_PARAM", "nickname"},
		{ProfilePatch{Nickname: ptr("a\nb")}, "INVALID_PARAM", "nickname"},
		{ProfilePatch{Nickname: ptr("a\xffb")}, "INVALID_PARAM", "nickname"},
		{ProfilePatch{Nickname: ptr("taken")}, "CONFLICT", "nickname"},
		{ProfilePatch{Name: OptionalName{true, ptr("")}}, "INVALID_PARAM", "name"},
		{ProfilePatch{SecondName: OptionalName{true, ptr(strings.Repeat("x", 65))}}, "INVALID_PARAM", "secondName"},
		{ProfilePatch{Level: ptr(int64(31))}, "INVALID_PARAM", "level"},
		{ProfilePatch{Level: ptr(int64(-1))}, "INVALID_PARAM", "level"},
		{ProfilePatch{StakingLevel: ptr("R9")}, "INVALID_PARAM", "stakingLevel"},
		{ProfilePatch{StakingLevel: ptr("r1")}, "INVALID_PARAM", "stakingLevel"},
		{ProfilePatch{SecondLevelPercent: decp("20.000001")}, "INVALID_PARAM", "secondLevelPercent"},
		{ProfilePatch{SecondLevelPercent: decp("-1")}, "INVALID_PARAM", "secondLevelPercent"},
		{ProfilePatch{SecondLevelPercent: decp("1.0000001")}, "INVALID_PARAM", "secondLevelPercent"},
		{ProfilePatch{Nickname: ptr("taken"), Level: ptr(int64(31))}, "INVALID_PARAM", "level"},
	} {
		r := newRig(t)
		r.user(ProfilePatch{Nickname: ptr("taken")})
		r.refused(Command{Kind: CreateUser, Profile: c.p}, c.code, c.field)
		u := r.user(ProfilePatch{})
		r.refused(Command{Kind: PatchUser, User: u, Profile: c.p}, c.code, c.field)
	}
	r := newRig(t)
	u := r.user(ProfilePatch{})
	for field, p := range map[string]ProfilePatch{
		"avatarId":                {AvatarID: ptr("no\nbody")},
		"dealBidDiscountFraction": {DealBidDiscount: decp("0.50000001")},
		"dealAskDiscountFraction": {DealAskDiscount: decp("0.000000001")},
	} {
		r.refused(Command{Kind: PatchUser, User: u, Profile: p}, "INVALID_PARAM", field)
	}
	// That the catalogue has the avatar is for the handler to check.
	r.do(Command{Kind: PatchUser, User: u, Profile: ProfilePatch{AvatarID: ptr("nobody")}})
	c := r.s.View().Catalogue()
	if reject := c.Check("nobody"); reject == nil || reject.Code != "INVALID_PARAM" || reject.Field != "avatarId" {
		t.Errorf("%+v", reject)
	}
	for _, id := range c.IDs() {
		if c.Check(id) != nil || (&Command{Kind: PatchUser, Profile: ProfilePatch{AvatarID: &id}}).Check() != nil {
			t.Errorf("the avatar %q is refused", id)
		}
	}
	r.refused(Command{Kind: PatchUser, User: 99}, "NOT_FOUND", "id")
	r.refused(Command{Kind: PatchUser, User: 0}, "NOT_FOUND", "id")
}

func TestPatchChangesOnlyWhatWasSent(t *testing.T) {
	r := newRig(t)
	u := r.user(ProfilePatch{Nickname: ptr("ann"), Name: OptionalName{true, ptr("Ann")}, Level: ptr(int64(30))})
	got := r.do(Command{Kind: PatchUser, User: u, Profile: ProfilePatch{
		Nickname: ptr("bee"), SecondName: OptionalName{
			true,
			ptr("B"),
		}, StakingLevel: ptr("R8"), IsAmbassador: ptr(true),
		SecondLevelPercent: decp("12.5"), AvatarID: ptr("comet"), NoTradeCommissions: ptr(true),
		DealBidDiscount: decp("0.5"), DealAskDiscount: decp("0.12345678"), Unlimited: ptr(true),
	}}).User
	if got.Nickname != "bee" || *got.Name != "Ann" || *got.SecondName != "B" || got.Level != 30 ||
		got.StakingLevel != "R8" ||
		!got.IsAmbassador || text(got.SecondLevelPercent) != "12.5" || got.AvatarID != "comet" ||
		!got.NoTradeCommissions ||
		text(got.DealBidDiscount) != "0.5" || text(got.DealAskDiscount) != "0.12345678" || got.Unlimited {
		t.Fatalf("patched: %+v", got)
	}
	if v := r.s.View().Avatar(u); v.ID != "comet" || v.URL != "/api/users/avatars/comet.svg" {
		t.Fatalf("avatar %+v", v)
	}
	if got := r.do(Command{
		Kind: PatchUser, User: u,
		Profile: ProfilePatch{Name: OptionalName{Set: true}},
	}).User; got.Name != nil {
		t.Fatal("a name set to null stays")
	}
	r.user(ProfilePatch{Nickname: ptr("ann")}) // free again
	r.do(Command{Kind: PatchUser, User: u, Profile: ProfilePatch{Nickname: ptr("bee")}})
	r.restart()
	if v, _ := r.s.View().User(u); v.Nickname != "bee" {
		t.Fatal("lost by the restart")
	}
}

func TestDefaultNicknameGivesWay(t *testing.T) {
	r := newRig(t)
	r.user(ProfilePatch{Nickname: ptr("user-2")})
	if v := r.do(Command{Kind: CreateUser}).User; v.Nickname != "user-2-2" {
		t.Fatalf("nickname %s", v.Nickname)
	}
}

func TestAvatarCatalogue(t *testing.T) {
	r := newRig(t)
	list := r.s.View().Avatars()
	if len(list) < 8 {
		t.Fatalf("%d avatars", len(list))
	}
	simple := false
	for _, a := range list {
		b, ok := r.s.View().Catalogue().SVG(a.ID)
		if !ok || !strings.HasPrefix(string(b), "<svg ") || strings.Contains(string(b), "script") ||
			strings.Contains(string(b), "href") {
			t.Fatalf("avatar %s is no plain SVG", a.ID)
		}
		simple = simple || a.ID == DefaultAvatar
	}
	if _, ok := r.s.View().Catalogue().SVG("../catalogue/simple"); ok || !simple {
		t.Fatal("catalogue: no simple, or a path was taken for an id")
	}
}

func TestSearchFindsByPrefixInOrderOfNicknames(t *testing.T) {
	r := newRig(t)
	for i := range 6 * pageAccounts {
		p := ProfilePatch{}
		if i%100 == 7 {
			p.Nickname = ptr("zed-" + publicID(uint32(i))[5:])
		}
		r.user(p)
	}
	got, reject := r.s.View().SearchInviters("zed-")
	if reject != nil || len(got) != MaxSearchResults {
		t.Fatalf("%d found, %v", len(got), reject)
	}
	for i := 1; i < len(got); i++ {
		if got[i-1].Nickname >= got[i].Nickname {
			t.Fatal("not in order of nicknames")
		}
	}
	last := uint32(6*pageAccounts - 3)
	for _, q := range []string{
		publicID(last), InviteCode(last), InviteCode(last)[:6],
		r.s.dir.users[last].profile.Nickname,
	} {
		found, _ := r.s.View().SearchInviters(q)
		if len(found) == 0 || found[0].PublicID != publicID(last) && len(found) == 1 {
			t.Fatalf("%s: %+v", q, found)
		}
	}
	for _, q := range []string{"", strings.Repeat("q", 65)} {
		if _, reject := r.s.View().SearchInviters(q); reject == nil || reject.Field != "query" {
			t.Fatalf("query of %d characters: %v", len(q), reject)
		}
	}
	if found, _ := r.s.View().SearchInviters("exchange"); len(found) != 0 {
		t.Fatal("the built-in account is found")
	}
}

func TestNamesThatLookAlikeAreRefused(t *testing.T) {
	r := newRig(t)
	r.user(ProfilePatch{Nickname: ptr("demo-1")})
	second := r.user(ProfilePatch{Nickname: ptr("Émile")})
	for _, name := range []string{"DEMO-1", "Demo-1", "éMILE"} {
		r.refused(Command{Kind: CreateUser, Profile: ProfilePatch{Nickname: ptr(name)}}, "CONFLICT", "nickname")
	}
	rename := func(name string) Command {
		return Command{Kind: PatchUser, User: second, Profile: ProfilePatch{Nickname: &name}}
	}
	r.refused(rename("dEMO-1"), "CONFLICT", "nickname")
	for _, name := range []string{"demo-1 ", " demo-1", "demo\u200b-1", "\u202edemo", "demo\u2028", "de\u00admo"} {
		r.refused(Command{Kind: CreateUser, Profile: ProfilePatch{Nickname: &name}}, "INVALID_PARAM", "nickname")
		r.refused(rename(name), "INVALID_PARAM", "nickname")
	}
	// The own name in another case is free, and a name that its user gave up.
	r.do(rename("ÉMILE"))
	r.do(rename("other"))
	r.restart()
	r.user(ProfilePatch{Nickname: ptr("émile")})
	r.refused(Command{Kind: CreateUser, Profile: ProfilePatch{Nickname: ptr("OTHER")}}, "CONFLICT", "nickname")
}
