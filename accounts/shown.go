package accounts

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/fifo"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/seal"
)

// Shown is what readers see of users, keys and money. State decides, and Shown follows: Fold notes a report of State,
// and Publish shows what was noted. A reader never waits for either: it loads pointers to values that never change.
//
//	table of pages ─> page of 1,024 ─> account: person ─> profile, links, keys ...
//	                                             balances by currency
//	                                             received
//	rows of currencies ─> sums of a currency
//	index of keys
//
// Publish replaces each value that has changed, once, however often it has changed. One account is therefore always of
// one instant, and the sums of one currency add up; two accounts, or two currencies, may be of different publications.
//
// Owner: the goroutine that applies the log calls Take, Fold and Publish. Any goroutine reads.
type Shown struct {
	pages      atomic.Pointer[[]*page] // append-only
	accounts   atomic.Uint32           // number of accounts, the built-in one included
	byID       [idShards]atomic.Pointer[idShard]
	sums       atomic.Pointer[[]*sumsShown]        // by number; append-only
	currencies atomic.Pointer[[]accrual.Currency]  // by number
	links      atomic.Pointer[fifo.Queue[linkRef]] // by link number - 1
	settings   atomic.Pointer[Settings]
	set        atomic.Uint64 // counts the settings
	pos        atomic.Uint64
	published  atomic.Uint64 // number of the last report that is shown
	keys       *auth.Keys
	ring       *seal.Key // opens the names of users
	missing    error     // see Missing
	avatars    *Catalogue
	listener   Listener // nil: none

	empty   []*Report    // see emptyReport
	next    Report       // folded and not shown: keys, transfers, links, settings and position alone
	changed []uint32     // accounts with a draft
	summed  []*sumsShown // those with next sums
	told    []balanceKey // balances that a publication has changed
}

// balanceKey names a balance.
type balanceKey struct{ account, currency uint32 }

// page holds accounts with consecutive numbers, and the values that the next publication shows of them.
type page struct {
	shown  [pageAccounts]atomic.Pointer[account]
	drafts [pageAccounts]*account // nil: unchanged; the owner's
}

const pageAccounts = 1024

// account is one account. It is immutable once it is shown.
type account struct {
	*person
	received *accrual.Received // nil: nothing
	balances []shownBalance    // by currency number
}

type shownBalance struct {
	currency   uint32
	free, held fixed.I128 // units
}

// sumsShown is the row of a currency in the totals. Each value that is shown adds up.
type sumsShown struct {
	shown atomic.Pointer[totals] // nil: in no list
	next  *totals                // what the next publication shows; nil: unchanged
}

// newShown returns what is applied.
func newShown(s *State, ring *seal.Key) *Shown {
	v := &Shown{keys: auth.NewKeys(ring), ring: ring, avatars: builtinAvatars()}
	v.pages.Store(&[]*page{})
	v.sums.Store(&[]*sumsShown{})
	settings, links := s.settings, s.dir.linkOwner.Copy()
	r := &Report{currencies: s.balances.currencies, links: &links, settings: &settings, pos: s.report.pos}
	for n := range s.balances.sums {
		if s.balances.sums[n].used {
			r.sums = append(r.sums, sumChange{uint32(n), s.balances.sums[n].totals})
		}
	}
	for _, u := range s.dir.users {
		a := v.draft(u.n)
		a.person = u.person
		if !u.received.Empty() {
			received := u.received.Copy()
			a.received = &received
		}
		for i := range u.rows {
			a.set(&balanceChange{u.n, u.rows[i].currency, u.rows[i].free, u.rows[i].held})
		}
	}
	v.Fold(r)
	v.Publish()
	v.keys.AddAll(s.keys.All())
	v.missing = s.Missing(ring)
	s.report.pos = 0
	return v
}

// emptyReport returns a report whose buffers one that was folded has left.
func (v *Shown) emptyReport() *Report {
	last := len(v.empty) - 1
	if last < 0 {
		return &Report{}
	}
	r := v.empty[last]
	v.empty = v.empty[:last]
	return r
}

// maxEmpty bounds the reports whose buffers wait for Take: as many as are under way between Take and Fold.
const maxEmpty = 64

// Fold notes a report of State, and takes it over. Readers see it after the next Publish.
func (v *Shown) Fold(r *Report) {
	for _, p := range r.users {
		v.draft(p.n).person = p
	}
	for i := range r.balances {
		v.draft(r.balances[i].account).set(&r.balances[i])
	}
	for i := range r.received {
		c := &r.received[i]
		a := v.draft(c.user)
		p, at := v.slot(c.user)
		if was := p.shown[at].Load(); a.received == nil || was != nil && was.received == a.received {
			a.received = &accrual.Received{}
		}
		*a.received = c.Received
	}
	v.foldSums(r)
	for i := range r.keys { // before a list of keys shows them
		if !r.keys[i].deleted {
			v.keys.Open(r.keys[i].Key)
		}
	}
	n := &v.next
	n.keys, n.transfers = append(n.keys, r.keys...), append(n.transfers, r.transfers...)
	if r.links != nil {
		n.links = r.links
	}
	if r.settings != nil {
		n.settings = r.settings
	}
	n.pos, n.no = max(n.pos, r.pos), max(n.no, r.no)
	if r.reset(); len(v.empty) < maxEmpty {
		v.empty = append(v.empty, r)
	}
}

// foldSums notes the sums of currencies, and makes new currencies known: without sums they are in no list.
func (v *Shown) foldSums(r *Report) {
	rows := *v.sums.Load()
	if len(r.currencies) > len(rows) {
		longer := rows
		for range r.currencies[len(rows):] {
			longer = append(longer, &sumsShown{})
		}
		v.sums.Store(&longer)
		rows = longer
	}
	if len(r.currencies) > 0 && !sameList(r.currencies, v.currenciesShown()) {
		all := r.currencies
		v.currencies.Store(&all)
	}
	for i := range r.sums {
		row := rows[r.sums[i].currency]
		if row.next == nil {
			row.next = new(totals)
			v.summed = append(v.summed, row)
		}
		*row.next = r.sums[i].totals
	}
}

// sameList reports whether two lists that are not empty are the same memory.
func sameList[T any](a, b []T) bool { return len(a) == len(b) && &a[0] == &b[0] }

// Publish shows what was folded, and tells the listener.
func (v *Shown) Publish() {
	for _, n := range v.changed {
		p, i := v.slot(n)
		was, is := p.shown[i].Load(), p.drafts[i]
		p.shown[i].Store(is)
		p.drafts[i] = nil
		v.count(n)
		if v.listener != nil {
			v.compare(was, is)
		}
	}
	v.changed = v.changed[:0]
	for _, row := range v.summed {
		row.shown.Store(row.next)
		row.next = nil
	}
	v.summed = v.summed[:0]
	for _, k := range v.next.keys {
		if k.deleted {
			v.keys.Remove(k.Record().PublicKey)
		} else {
			v.keys.Add(k.Key)
		}
	}
	if v.next.links != nil {
		v.links.Store(v.next.links)
	}
	if v.next.settings != nil {
		v.settings.Store(v.next.settings)
		v.set.Add(1)
	}
	v.pos.Store(max(v.pos.Load(), v.next.pos))
	v.published.Store(max(v.published.Load(), v.next.no))
	v.tell()
	v.next.reset()
}

// slot returns the page of account n, which it creates if need be, and the place in it.
func (v *Shown) slot(n uint32) (*page, uint32) {
	pages := *v.pages.Load()
	for int(n/pageAccounts) >= len(pages) {
		longer := append(pages, &page{}) // another variable: readers have the one before
		pages = longer
		v.pages.Store(&longer)
	}
	return pages[n/pageAccounts], n % pageAccounts
}

// compare notes the balances of an account that a publication has changed.
func (v *Shown) compare(was, is *account) {
	i := 0
	for k := range is.balances {
		b := &is.balances[k]
		if was != nil && i < len(was.balances) && was.balances[i].currency == b.currency {
			if i++; was.balances[i-1] == *b {
				continue
			}
		}
		v.told = append(v.told, balanceKey{is.n, b.currency})
	}
}

// draft returns the value of account n that the next publication shows.
func (v *Shown) draft(n uint32) *account {
	p, i := v.slot(n)
	if p.drafts[i] == nil {
		p.drafts[i] = p.shown[i].Load().clone()
		v.changed = append(v.changed, n)
	}
	return p.drafts[i]
}

// clone returns a copy that may change, with room for its balances in the same allocation.
func (a *account) clone() *account {
	if a == nil {
		return &account{}
	}
	var c *account
	var room []shownBalance
	switch n := len(a.balances); {
	case n <= 2:
		x := &struct {
			account
			room [2]shownBalance
		}{}
		c, room = &x.account, x.room[:0]
	case n <= 4:
		x := &struct {
			account
			room [4]shownBalance
		}{}
		c, room = &x.account, x.room[:0]
	case n <= 8:
		x := &struct {
			account
			room [8]shownBalance
		}{}
		c, room = &x.account, x.room[:0]
	default:
		c, room = &account{}, make([]shownBalance, 0, n+1)
	}
	*c = *a
	c.balances = append(room, a.balances...)
	return c
}

// find returns the place of a balance, or of the one that is missing.
func (a *account) find(currency uint32) (int, bool) {
	return slices.BinarySearchFunc(a.balances, currency, func(b shownBalance, currency uint32) int {
		return cmp.Compare(b.currency, currency)
	})
}

// balance returns a balance, zeros where there is none.
func (a *account) balance(currency uint32) shownBalance {
	if i, known := a.find(currency); known {
		return a.balances[i]
	}
	return shownBalance{currency: currency}
}

// set changes a balance.
func (a *account) set(c *balanceChange) {
	i, known := a.find(c.currency)
	if !known {
		a.balances = slices.Insert(a.balances, i, shownBalance{currency: c.currency})
	}
	a.balances[i].free, a.balances[i].held = c.free, c.held
}

// count makes a new account known.
func (v *Shown) count(n uint32) {
	a := v.account(n)
	if a == nil || n < v.accounts.Load() {
		return
	}
	v.accounts.Store(n + 1)
	if n != 0 {
		v.index(a)
	}
}

// account returns account n, nil for an unknown one.
func (v *Shown) account(n uint32) *account {
	pages := *v.pages.Load()
	if int(n/pageAccounts) >= len(pages) {
		return nil
	}
	return pages[n/pageAccounts].shown[n%pageAccounts].Load()
}

// idShard holds the numbers of the users whose ids begin with the same bits. A user is at the first free place from the
// one that its id gives. At most half of the places are taken; 0 is free. A full shard is replaced by a longer one.
type idShard struct {
	places []atomic.Uint32
	users  int // the owner's
}

// idShards is the number of shards: one of a million users has 250, so that no record waits for
// the copy of a large one.
const idShards = 4096

func shardOf(id uuid.UUID) uint32 { return binary.LittleEndian.Uint32(id[:]) % idShards }

// place returns the place of a user with an id, or the free one where such a user would be.
func (x *idShard) place(v *Shown, id uuid.UUID) *atomic.Uint32 {
	mask := uint32(len(x.places) - 1)
	for i := binary.LittleEndian.Uint32(id[:]) / idShards; ; i++ {
		at := &x.places[i&mask]
		if n := at.Load(); n == 0 || v.account(n).id == id {
			return at
		}
	}
}

// find returns the number of the user with an id, 0 for an unknown one.
func (v *Shown) find(id uuid.UUID) uint32 {
	x := v.byID[shardOf(id)].Load()
	if x == nil {
		return 0
	}
	return x.place(v, id).Load()
}

// index makes a user known by its id.
func (v *Shown) index(a *account) {
	shard := &v.byID[shardOf(a.id)]
	x := shard.Load()
	if x != nil && 2*x.users < len(x.places) {
		x.users++
		x.place(v, a.id).Store(a.n)
		return
	}
	longer := &idShard{places: make([]atomic.Uint32, 4)}
	if x != nil {
		longer = &idShard{places: make([]atomic.Uint32, 2*len(x.places)), users: x.users}
		for i := range x.places {
			if n := x.places[i].Load(); n != 0 {
				longer.place(v, v.account(n).id).Store(n)
			}
		}
	}
	longer.users++
	longer.place(v, a.id).Store(a.n)
	shard.Store(longer)
}

// Listen registers a listener. Call it once, before anything else runs.
func (v *Shown) Listen(l Listener) { v.listener = l }

// Listener learns what a publication has shown. Its methods run on the goroutine that has published, and do not wait.
type Listener interface {
	// BalanceChanged is called once for each balance that is shown with another value than before.
	BalanceChanged(account uint32, currencyCode string)
	// Transferred is called for each deposit, profit and withdrawal, in the order of the log, behind
	// BalanceChanged of the same money. amount is the change of the balance, in 10^-18.
	Transferred(account uint32, currencyCode string, amount fixed.I128)
	// KeyDeleted is called with the number (auth.Principal.Key) of each deleted key, which verifies nothing any more.
	KeyDeleted(key uint64)
}

// tell passes what a publication has shown to the listener.
func (v *Shown) tell() {
	l := v.listener
	if l == nil {
		return
	}
	currencies := v.currenciesShown()
	for _, b := range v.told {
		l.BalanceChanged(b.account, currencies[b.currency].Code)
	}
	v.told = spare(v.told)
	for _, t := range v.next.transfers {
		l.Transferred(t.user, t.currency, t.amount)
	}
	for _, k := range v.next.keys {
		if k.deleted {
			l.KeyDeleted(k.Number())
		}
	}
}

// differs compares what is shown with State, at a time when nothing waits to be shown.
func (v *Shown) differs(s *State) error {
	if got := int(v.accounts.Load()); got != len(s.dir.users) {
		return fmt.Errorf("%d accounts are shown, there are %d", got, len(s.dir.users))
	}
	for _, u := range s.dir.users {
		a := v.account(u.n)
		if a == nil || a.person != u.person || len(a.balances) > len(u.rows) {
			return fmt.Errorf("account %d is shown with another profile or more balances", u.n)
		}
		for i := range u.rows {
			r := &u.rows[i]
			if a.balance(r.currency) != (shownBalance{r.currency, r.free, r.held}) {
				return fmt.Errorf("account %d: another balance of %s is shown", u.n,
					s.balances.currencies[r.currency].Code)
			}
		}
		got, want := v.Accruals(u.n), &u.received
		if got.Deals.Len() != want.Deals.Len() || got.Others.Len() != want.Others.Len() ||
			got.Archive.Len() != want.Archive.Len() {
			return fmt.Errorf("account %d: other accruals are shown", u.n)
		}
	}
	for n := range s.balances.sums {
		c, t := s.balances.currencies[n], &s.balances.sums[n]
		if !t.used {
			continue
		}
		if got := (*v.sums.Load())[n].shown.Load(); *got != t.totals || v.currenciesShown()[n] != c {
			return fmt.Errorf("%s: other totals are shown", c.Code)
		}
	}
	return nil
}
