package accounts

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/fifo"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

const (
	maxSecondLevelPercent = 20
	maxSecondLevel        = maxSecondLevelPercent * RateOne / 100
	maxDiscount           = RateOne / 2
)

// user is one account.
type user struct {
	*person
	rows     []row // sorted by currency number
	orders   int   // number of open orders
	lists    []heldList
	received accrual.Received
	reported uint32 // place of its last change of received in the report
	tree     uint32 // next user towards the one who names the tree (directory.tree); n: this one
	treeSize uint32 // number of users in the tree, for the user who names it
}

// person is what commands say of an account. Its publicId, address and codes are functions of its number. A person is
// immutable for all but the command that makes it: a change makes another one (directory.edit), and the lists only grow
// at their ends or are replaced.
type person struct {
	n         uint32
	id        uuid.UUID
	profile   Profile
	createdNs int64

	inviter      uint32                    // 0: none
	descendants  [accrual.MaxLevels]uint32 // number of users below, by level - 1
	links        []link
	keys         []*auth.Key
	levelChanges []accrual.LevelChange

	halted     bool
	deadlineNs int64 // when the dead man's switch fires; 0: it is off
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

func (cmd *Command) checkCreateUser() *refuse.Refusal {
	_, reject := newProfile(cmd)
	return reject
}

// newProfile returns the profile of a new user, without a nickname where the command has none.
func newProfile(cmd *Command) (Profile, *refuse.Refusal) {
	p, patch := Profile{AvatarID: DefaultAvatar}, cmd.Profile
	patch.AvatarID, patch.NoTradeCommissions, patch.DealBidDiscount, patch.DealAskDiscount = nil, nil, nil, nil
	if patch.Unlimited != nil {
		p.Unlimited = *patch.Unlimited
	}
	return p, patchProfile(&p, &patch)
}

func (s *State) createUser(nowNs int64, cmd *Command, res *Result) *refuse.Refusal {
	if len(s.dir.users) > MaxUsers {
		return conflict("", "There are %d users, the most there can be.", MaxUsers)
	}
	n := uint32(len(s.dir.users))
	p, reject := newProfile(cmd)
	switch {
	case reject != nil:
		return reject
	case cmd.Profile.Nickname == nil:
		name, free := s.dir.freeNickname(n)
		if !free {
			return conflict("nickname", "The nicknames of user %d are taken: choose one.", n)
		}
		p.Nickname = name
	case s.dir.taken(p.Nickname, nil):
		return nicknameTaken()
	}
	u := &user{person: &person{n: n, id: UserID(n), profile: p, createdNs: nowNs}}
	s.dir.register(u)
	s.dir.changed(u.person)
	res.User = u.view()
	return nil
}

func nicknameTaken() *refuse.Refusal { return conflict("nickname", "The nickname is taken.") }

func (cmd *Command) checkPatchUser() *refuse.Refusal { return patchProfile(&Profile{}, &cmd.Profile) }

func (s *State) patchUser(nowNs int64, cmd *Command, res *Result) *refuse.Refusal {
	u := s.dir.mustFind(cmd.User)
	next := u.profile
	if reject := patchProfile(&next, &cmd.Profile); reject != nil {
		return reject
	}
	renamed, levelled := next.Nickname != u.profile.Nickname, next.Staking != u.profile.Staking
	if renamed && s.dir.taken(next.Nickname, u) {
		return nicknameTaken()
	}
	if levelled && len(u.levelChanges) >= MaxLevelChanges {
		return conflict("stakingLevel", "The staking level changed %d times, the most there can be.", MaxLevelChanges)
	}
	if renamed {
		s.dir.rename(u, next.Nickname)
	}
	p := s.dir.edit(u)
	if levelled {
		change := accrual.LevelChange{AtNs: nowNs, Old: p.profile.Staking, New: next.Staking}
		p.levelChanges = append(p.levelChanges, change)
	}
	p.profile = next
	res.User = p.view()
	return nil
}

// patchProfile checks and sets the members that were sent, in the order of
// docs/contract/internal.md#users-and-money.
func patchProfile(p *Profile, patch *ProfilePatch) *refuse.Refusal {
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
		if !plainText(*v, 1, MaxAvatarID) {
			return noAvatar()
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
		if v := f.in.Value; v != nil && !seal.Sealed(*v) && !plainText(*v, 1, MaxRealName) {
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

func (u *person) view() UserView {
	p := &u.profile
	return UserView{
		Number: u.n, Nickname: p.Nickname, Name: p.Name, SecondName: p.SecondName, Level: int(p.Level),
		StakingLevel: accrual.StakingName(p.Staking), IsAmbassador: p.IsAmbassador,
		SecondLevelPercent: percentOf(p.SecondLevel),
		Unlimited:          p.Unlimited, ID: u.id.String(), PublicID: publicID(u.n), Address: addressText(u.n),
		InviteCode: InviteCode(u.n), InviterID: userIDOrNil(u.inviter), AvatarID: p.AvatarID,
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

// directory finds users by number, nickname and code, and holds the tree of inviters.
// It owns the slice of users, not their balances and keys.
//
// Owner: State's.
type directory struct {
	users     []*user             // by number; 0 is the built-in unlimited account
	byFolded  map[string]uint32   // by folded nickname
	linkOwner fifo.Queue[linkRef] // by link number - 1
	report    *Report             // receives what changes; nil: nothing is shown yet
	mixed     []uint64            // part of the digest of each user
	stale     []uint32            // users whose part is not computed
}

type linkRef struct {
	owner uint32
	index int // index in the owner's list of links
}

func newDirectory() *directory {
	d := &directory{byFolded: map[string]uint32{}}
	builtin := Profile{Nickname: "exchange", Unlimited: true, AvatarID: DefaultAvatar}
	d.users = append(d.users, &user{person: &person{profile: builtin}})
	d.stale = append(d.stale, 0)
	return d
}

// edit returns another person for a user, with the same properties. The caller changes it within the same command.
func (d *directory) edit(u *user) *person {
	p := *u.person
	u.person = &p
	d.changed(&p)
	return &p
}

// changed reports a person.
func (d *directory) changed(p *person) {
	d.stale = append(d.stale, p.n)
	if d.report != nil {
		d.report.users = append(d.report.users, p)
	}
}

// user returns the user with this number, nil for an unknown one.
func (d *directory) user(n uint32) *user {
	if int(n) >= len(d.users) {
		return nil
	}
	return d.users[n]
}

// mustFind returns the user with this number, which the caller has checked. It panics for an unknown one.
func (d *directory) mustFind(n uint32) *user {
	u := d.user(n)
	if u == nil {
		panic(fmt.Sprintf("BUG: accounts: no account %d of %d", n, len(d.users)))
	}
	return u
}

// manyUsers is the number of users from which the directory has room for all: 8 MB, which take 2 ms to copy.
const manyUsers = 1 << 16

// register adds a user to the directory; the user's number must be the next one.
func (d *directory) register(u *user) {
	u.tree, u.treeSize = u.n, 1
	if len(d.users) == manyUsers { // from here on no append copies the users again
		d.users = append(make([]*user, 0, MaxUsers+1), d.users...)
	}
	d.users = append(d.users, u)
	d.byFolded[folded(u.profile.Nickname)] = u.n
}

// rename changes the nickname under which the directory finds a user.
func (d *directory) rename(u *user, nickname string) {
	delete(d.byFolded, folded(u.profile.Nickname))
	d.byFolded[folded(nickname)] = u.n
}

// taken reports whether a user other than self has a nickname that differs from this one in case only. A nil
// self is a new user.
func (d *directory) taken(nickname string, self *user) bool {
	owner, found := d.byFolded[folded(nickname)]
	return found && (self == nil || owner != self.n)
}

// folded returns the same text for all texts that differ in case only.
func folded(text string) string { return strings.ToLower(strings.ToUpper(text)) }

// freeNickname returns user-{n}, or user-{n}-2, user-{n}-3 and so on where it is taken; free is false when all of
// maxNicknameTries are.
func (d *directory) freeNickname(n uint32) (name string, free bool) {
	base := "user-" + strconv.FormatUint(uint64(n), 10)
	name = base
	for i := 2; d.taken(name, nil); i++ {
		if i > maxNicknameTries {
			return "", false
		}
		name = base + "-" + strconv.Itoa(i)
	}
	return name, true
}

// resolveCode returns the owner of an invite code, one of accounts many. For the code of a link it also returns the
// place of the link.
func resolveCode(code string, accounts int, links *fifo.Queue[linkRef]) (of linkRef, byLink, ok bool) {
	v, ok := numberOfCode(code)
	if !ok {
		return of, false, false
	}
	if v&codeLink == 0 {
		return linkRef{owner: uint32(v)}, false, v > 0 && v < uint64(accounts)
	}
	m := v &^ codeLink
	if m < 1 || m > uint64(links.Len()) {
		return of, false, false
	}
	return *links.At(int(m) - 1), true, true
}

// attach makes inviter the inviter of a person, and updates the counts of all users above.
func (d *directory) attach(p *person, inviter uint32) {
	p.inviter = inviter
	d.join(p.n, inviter)
	d.countBelow(p)
}

// tree returns the user who names the tree of inviters to which user n belongs: two users are in one tree when the
// answer is the same. It takes at most 20 steps, because join puts a tree below a larger one and so doubles what the
// step leads out of. A walk along the inviters could take a step for each user.
func (d *directory) tree(n uint32) uint32 {
	for d.mustFind(n).tree != n {
		n = d.users[n].tree
	}
	return n
}

// join makes one tree of the trees of two users.
func (d *directory) join(a, b uint32) {
	small, large := d.users[d.tree(a)], d.users[d.tree(b)]
	if small.treeSize > large.treeSize {
		small, large = large, small
	}
	small.tree = large.n
	large.treeSize += small.treeSize
}

// countBelow adds u and the users below it to the counts of the users above it.
func (d *directory) countBelow(u *person) {
	up := u
	for level := 0; level < accrual.MaxLevels && up.inviter != 0; level++ {
		up = d.edit(d.mustFind(up.inviter))
		up.descendants[level]++
		for below := 0; level+1+below < accrual.MaxLevels; below++ {
			up.descendants[level+1+below] += u.descendants[below]
		}
	}
}

// countTree joins the trees of inviters, refuses a cycle, and counts the users below each user.
func (d *directory) countTree() error {
	for _, u := range d.users {
		if u.inviter == 0 {
			continue
		}
		if d.tree(u.n) == d.tree(u.inviter) {
			return errors.New("the inviter relation has a cycle")
		}
		d.join(u.n, u.inviter)
	}
	for n := range d.users {
		up := d.users[n].person
		for level := 0; level < accrual.MaxLevels && up.inviter != 0; level++ {
			up = d.users[up.inviter].person
			up.descendants[level]++
		}
	}
	return nil
}

// SearchInviters returns the first 20 users, by nickname, whose nickname, publicId or invite
// code begins with query. It looks at every user.
func (v *Shown) SearchInviters(query string) ([]InviterView, *refuse.Refusal) {
	if c := utf8.RuneCountInString(query); c < 1 || c > MaxSearchQuery {
		return nil, invalid("query", "query must be 1 to %d characters.", MaxSearchQuery)
	}
	q := prefixOf(query)
	out := make([]InviterView, 0, MaxSearchResults+1)
	for n := range v.UserCount() {
		u := v.account(uint32(n) + 1)
		name := u.profile.Nickname
		if len(out) == MaxSearchResults && name >= out[len(out)-1].Nickname || !q.matches(u.person) {
			continue
		}
		at, _ := slices.BinarySearchFunc(out, name, func(i InviterView, name string) int {
			return strings.Compare(i.Nickname, name)
		})
		out = slices.Insert(out, at, u.inviterView())
		out = out[:min(len(out), MaxSearchResults)]
	}
	return out, nil
}

// prefix is the text of a search. id and code say whether a publicId or a code can begin with it; otherwise
// they need not be computed from each user's number.
type prefix struct {
	text     string
	id, code bool
}

// prefixOf returns the prefix of a search.
func prefixOf(query string) prefix {
	q := prefix{text: query, id: len(query) <= 10, code: len(query) <= inviteLength}
	for _, c := range []byte(query) {
		q.id = q.id && c >= '0' && c <= '9'
		q.code = q.code && strings.IndexByte(inviteAlphabet, c) >= 0
	}
	return q
}

func (q prefix) matches(u *person) bool {
	return strings.HasPrefix(u.profile.Nickname, q.text) ||
		(q.id && strings.HasPrefix(publicID(u.n), q.text)) ||
		(q.code && strings.HasPrefix(InviteCode(u.n), q.text))
}

// Search returns users, the newest first: those that SearchInviters finds, and those of whom the id, a name or the
// public key of a key begins with the query; the case of names and of the id does not matter. An empty query finds
// every user. before is the number of the user behind which the list begins (0: none). Search leaves out the first skip
// users, returns at most most, and reports whether there are more. It looks at every user.
func (v *Shown) Search(query string, before uint32, skip, most int) (found []UserView, more bool, no *refuse.Refusal) {
	if utf8.RuneCountInString(query) > MaxSearchQuery {
		return nil, false, invalid("search", "search must be at most %d characters.", MaxSearchQuery)
	}
	n := uint32(v.UserCount()) + 1
	if before != 0 {
		n = min(n, before)
	}
	q, lower := prefixOf(query), folded(query)
	for n--; n > 0; n-- {
		u := v.account(n).person
		switch {
		case query != "" && !q.matches(u) && !v.names(u, query, lower):
		case skip > 0:
			skip--
		case len(found) == most:
			return found, true, nil
		default:
			view := u.view()
			view.open(v.ring)
			found = append(found, view)
		}
	}
	return found, false, nil
}

// names reports whether a name, the id or a public key of a user begins with a text; lower is the folded text.
func (v *Shown) names(u *person, text, lower string) bool {
	begins := func(name *string) bool { return name != nil && strings.HasPrefix(folded(*name), lower) }
	return begins(&u.profile.Nickname) || strings.HasPrefix(u.id.String(), lower) ||
		begins(openName(v.ring, u.profile.Name, seal.UserName)) ||
		begins(openName(v.ring, u.profile.SecondName, seal.UserSecond)) ||
		slices.ContainsFunc(u.keys, func(k *auth.Key) bool { return strings.HasPrefix(k.Record().PublicKey, text) })
}

// All ids, addresses and codes of a user or link are functions of its number, so that runs are
// reproducible and codes need no table.

var (
	userSpace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("tickhive:user"))
	linkSpace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("tickhive:link"))
)

// UserID returns the id of user number n (docs/contract/internal.md#users-and-money). The built-in
// account 0 has the nil UUID.
func UserID(n uint32) uuid.UUID {
	if n == 0 {
		return uuid.Nil
	}
	return uuid.NewSHA1(userSpace, strconv.AppendUint(nil, uint64(n), 10))
}

func linkID(m uint64) uuid.UUID { return uuid.NewSHA1(linkSpace, strconv.AppendUint(nil, m, 10)) }

// publicID returns ten digits; the factor is coprime to 10^10, so no two users share them.
func publicID(n uint32) string {
	return fmt.Sprintf("%010d", uint64(n)*7_182_818_283%10_000_000_000)
}

// address returns the account's address on the launchpad's ledger.
func address(n uint32) (a [20]byte) {
	h := sha256.Sum256([]byte("tickhive:address:" + strconv.FormatUint(uint64(n), 10)))
	copy(a[:], h[:])
	return a
}

func addressText(n uint32) string {
	a := address(n)
	return "0x" + hex.EncodeToString(a[:])
}

// codeLink is set for links: users and links share one space of codes.
const codeLink = 1 << 39

func linkCode(m uint64) string { return codeOfNumber(codeLink | m) }

// inviteAlphabet holds the characters of a code. It leaves out I, O, 0 and 1, which readers confuse.
const inviteAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

// inviteLength is the length of a code.
const inviteLength = 8

const inviteMask = 1<<20 - 1

var inviteKeys = [4]uint64{0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93}

// codeOfNumber converts a number below 2^40 to an invite code. It is a Feistel permutation, so codes
// are unique, look random and numberOfCode inverts them.
func codeOfNumber(v uint64) string {
	l, r := v>>20, v&inviteMask
	for _, k := range inviteKeys {
		l, r = r, l^inviteMix(r, k)
	}
	v = l<<20 | r
	var b [inviteLength]byte
	for i := range b {
		b[i] = inviteAlphabet[v>>(5*(inviteLength-1-i))&31]
	}
	return string(b[:])
}

// numberOfCode returns the number of which codeOfNumber makes the code; ok is false for a text that is not a
// code.
func numberOfCode(code string) (v uint64, ok bool) {
	if len(code) != inviteLength {
		return 0, false
	}
	for i := range inviteLength {
		d := strings.IndexByte(inviteAlphabet, code[i])
		if d < 0 {
			return 0, false
		}
		v = v<<5 | uint64(d)
	}
	l, r := v>>20, v&inviteMask
	for i := len(inviteKeys) - 1; i >= 0; i-- {
		l, r = r^inviteMix(l, inviteKeys[i]), l
	}
	return l<<20 | r, true
}

func inviteMix(half, key uint64) uint64 {
	x := (half + key) * 0xff51afd7ed558ccd
	return (x ^ x>>29) >> 11 & inviteMask
}

// DefaultAvatar is the avatar of a user who chose none.
const DefaultAvatar = "simple"

// AvatarMediaType is the media type of the pictures.
const AvatarMediaType = "image/svg+xml"

//go:embed catalogue/*.svg
var catalogueFiles embed.FS

// Catalogue is a fixed set of pictures. Immutable.
type Catalogue struct {
	ids      []string
	pictures map[string][]byte
}

// builtinAvatars returns the catalogue that is embedded in the program.
func builtinAvatars() *Catalogue {
	c := &Catalogue{pictures: map[string][]byte{}}
	names, err := fs.Glob(catalogueFiles, "catalogue/*.svg")
	if err != nil {
		panic("BUG: accounts: catalogue: " + err.Error())
	}
	for _, name := range names {
		b, err := catalogueFiles.ReadFile(name)
		if err != nil {
			panic(fmt.Sprintf("BUG: accounts: catalogue %s: %v", name, err))
		}
		id := strings.TrimSuffix(path.Base(name), ".svg")
		c.ids = append(c.ids, id)
		c.pictures[id] = b
	}
	slices.Sort(c.ids)
	return c
}

// IDs returns the ids of the avatars, sorted; the caller must not change them.
func (c *Catalogue) IDs() []string { return c.ids }

// SVG returns the picture of an id; the caller must not change it.
func (c *Catalogue) SVG(id string) ([]byte, bool) {
	b, ok := c.pictures[id]
	return b, ok
}

// Check refuses an id that the catalogue does not have. The records of PatchUser keep the id alone.
func (c *Catalogue) Check(id string) *refuse.Refusal {
	if _, ok := c.pictures[id]; !ok {
		return noAvatar()
	}
	return nil
}

func noAvatar() *refuse.Refusal {
	return invalid("avatarId", "avatarId must name an avatar of the catalogue.")
}

func avatarURL(id string) string { return "/api/users/avatars/" + id + ".svg" }
