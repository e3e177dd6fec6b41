package accounts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tickhive/accounts/accrual"
)

// directory finds users by number, id, nickname, address and code, and holds the tree of inviters.
// It owns the slice of users, not their balances and keys.
//
// Owner: State's mu.
type directory struct {
	users     []*user // by number; 0 is the built-in unlimited account
	byID      map[[16]byte]uint32
	byName    map[string]uint32
	byFolded  map[string]uint32 // by folded nickname
	linkOwner []linkRef         // by link number - 1
}

type linkRef struct {
	owner uint32
	index int // index in the owner's list of links
}

func newDirectory() *directory {
	d := &directory{byID: map[[16]byte]uint32{}, byName: map[string]uint32{}, byFolded: map[string]uint32{}}
	builtin := Profile{Nickname: "exchange", Unlimited: true, AvatarID: DefaultAvatar}
	d.users = append(d.users, &user{profile: builtin})
	return d
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

// register adds a user to the directory; the user's number must be the next one.
func (d *directory) register(u *user) {
	d.users = append(d.users, u)
	d.byID[UserID(u.n)] = u.n
	d.byName[u.profile.Nickname] = u.n
	d.byFolded[folded(u.profile.Nickname)] = u.n
}

// rename changes the nickname under which the directory finds a user.
func (d *directory) rename(u *user, nickname string) {
	delete(d.byName, u.profile.Nickname)
	d.byName[nickname] = u.n
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

// freeNickname returns user-{n}, or user-{n}-2, user-{n}-3 and so on where it is taken.
func (d *directory) freeNickname(n uint32) string {
	base := "user-" + strconv.FormatUint(uint64(n), 10)
	name := base
	for i := 2; ; i++ {
		if !d.taken(name, nil) {
			return name
		}
		name = base + "-" + strconv.Itoa(i)
	}
}

// resolveCode returns the owner of an invite code. For the code of a link it also returns the link's discount.
func (d *directory) resolveCode(code string) (owner uint32, rate uint32, byLink, ok bool) {
	v, ok := numberOfCode(code)
	if !ok {
		return 0, 0, false, false
	}
	if v&codeLink == 0 {
		return uint32(v), 0, false, v > 0 && v < uint64(len(d.users))
	}
	m := v &^ codeLink
	if m < 1 || m > uint64(len(d.linkOwner)) {
		return 0, 0, false, false
	}
	ref := d.linkOwner[m-1]
	return ref.owner, d.mustFind(ref.owner).links[ref.index].rate, true, true
}

// attach makes inviter the inviter of user n, and updates the counts of all users above.
func (d *directory) attach(n, inviter uint32) {
	d.mustFind(n).inviter = inviter
	d.countBelow(n)
}

// countBelow adds n and the users below it to the counts of the users above it.
func (d *directory) countBelow(n uint32) {
	u := d.mustFind(n)
	up := u
	for level := 0; level < accrual.MaxLevels && up.inviter != 0; level++ {
		up = d.mustFind(up.inviter)
		up.descendants[level]++
		for below := 0; level+1+below < accrual.MaxLevels; below++ {
			up.descendants[level+1+below] += u.descendants[below]
		}
	}
}

// countTree counts the users below each user and refuses a cycle.
func (d *directory) countTree() error {
	seen := make([]uint32, len(d.users)) // for each user, the walk that passed the user
	done := make([]bool, len(d.users))   // the user's chain of inviters ends, so it contains no cycle
	for n := range d.users {
		for up := uint32(n); up != 0 && !done[up]; up = d.users[up].inviter {
			if seen[up] == uint32(n)+1 {
				return errors.New("the inviter relation has a cycle")
			}
			seen[up] = uint32(n) + 1
		}
		for up := uint32(n); up != 0 && !done[up]; up = d.users[up].inviter {
			done[up] = true
		}
	}
	for n := range d.users {
		up := d.users[n]
		for level := 0; level < accrual.MaxLevels && up.inviter != 0; level++ {
			up = d.users[up.inviter]
			up.descendants[level]++
		}
	}
	return nil
}
