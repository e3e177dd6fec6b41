package accounts

import (
	"slices"
	"strings"
	"unicode/utf8"

	"tickhive/internal/refuse"
)

// SearchInviters returns the first 20 users, by nickname, whose nickname, publicId or invite
// code begins with query. It walks the directory in steps, so that it never holds the lock for
// longer than one step.
func (v *View) SearchInviters(query string) ([]InviterView, *refuse.Refusal) {
	if c := utf8.RuneCountInString(query); c < 1 || c > MaxSearchQuery {
		return nil, invalid("query", "query must be 1 to %d characters.", MaxSearchQuery)
	}
	q := prefix{text: query, id: len(query) <= 10, code: len(query) <= inviteLength}
	for _, c := range []byte(query) {
		q.id = q.id && c >= '0' && c <= '9'
		q.code = q.code && strings.IndexByte(inviteAlphabet, c) >= 0
	}
	out := make([]InviterView, 0, MaxSearchResults+1)
	for from, more := 1, true; more; from += searchStep {
		out, more = v.searchStep(out, from, q)
	}
	return out, nil
}

// prefix is the text of a search. id and code say whether a publicId or a code can begin with it; otherwise
// they need not be computed from each user's number.
type prefix struct {
	text     string
	id, code bool
}

func (q prefix) matches(u *user) bool {
	return strings.HasPrefix(u.profile.Nickname, q.text) ||
		(q.id && strings.HasPrefix(publicID(u.n), q.text)) ||
		(q.code && strings.HasPrefix(inviteCode(u.n), q.text))
}

func (v *View) searchStep(out []InviterView, from int, q prefix) ([]InviterView, bool) {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	to := min(from+searchStep, len(v.s.dir.users))
	for n := from; n < to; n++ {
		u := v.s.dir.users[n]
		name := u.profile.Nickname
		if len(out) == MaxSearchResults && name >= out[len(out)-1].Nickname {
			continue
		}
		if !q.matches(u) {
			continue
		}
		at, _ := slices.BinarySearchFunc(out, name, func(i InviterView,
			name string,
		) int {
			return strings.Compare(i.Nickname, name)
		})
		out = slices.Insert(out, at, u.inviterView())
		out = out[:min(len(out), MaxSearchResults)]
	}
	return out, to < len(v.s.dir.users)
}
