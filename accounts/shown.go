package accounts

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/google/uuid"

	"tickhive/accounts/accrual"
	"tickhive/accounts/auth"
	"tickhive/internal/fifo"
	"tickhive/internal/fixed"
)

// Shown is what readers see of users, keys and money. State decides, and Shown follows: Fold notes what State has
// reported, and Publish shows it. A reader never waits for either: it loads pointers to values that never change.
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
// Owner: one goroutine at a time calls Fold and Publish (State's lock sees to it). Any goroutine reads.
type Shown struct {
	pages      atomic.Pointer[[]*page] // append-only
	accounts   atomic.Uint32           // number of accounts, the built-in one included
	byID       [idShards]atomic.Pointer[idShard]
	currencies atomic.Pointer[[]*currencyShown]    // by number; append-only
	codes      atomic.Pointer[[]string]            // by number; append-only
	links      atomic.Pointer[fifo.Queue[linkRef]] // by link number - 1
	config     atomic.Pointer[Config]
	pos        atomic.Uint64
	keys       *auth.Keys
	avatars    *Catalogue
	listener   Listener // nil: none

	next     *Report  // folded and not shown
	distinct int      // changes of next behind its last compact
	changed  []uint32 // accounts with a draft
}

// page holds accounts with consecutive numbers, and the values that the next publication shows of them.
type page struct {
	shown  [pageAccounts]atomic.Pointer[account]
	drafts [pageAccounts]*account // nil: unchanged; the owner's
}

const pageAccounts = 1024

// maxFolded is the number of folded changes beyond which Fold keeps the last one of each balance and receiver alone: a
// virtual clock that advances far publishes rarely.
const maxFolded = 1 << 16

// account is one account. It is immutable once it is shown.
type account struct {
	*person                    // nil: its record is not shown yet
	received *accrual.Received // nil: nothing
	balances []shownBalance    // by currency number
}

type shownBalance struct {
	currency   uint32
	free, held fixed.I192
}

// currencyShown is the row of a currency in the totals. Each value of sums adds up.
type currencyShown struct {
	code string
	sums atomic.Pointer[totals]
	next *totals // what the next publication shows; nil: unchanged
}

// newShown returns what is applied, without the money that is not durable. The caller holds mu.
func newShown(s *State) *Shown {
	v := &Shown{keys: auth.NewKeys(), avatars: s.opts.Avatars, next: &Report{}}
	v.pages.Store(&[]*page{})
	v.currencies.Store(&[]*currencyShown{})
	config, links := s.referral.config, s.dir.linkOwner.Copy()
	r := &Report{codes: s.balances.currencies, links: &links, config: &config, pos: s.enginePos}
	for n := range s.balances.sums {
		r.sums = append(r.sums, sumChange{uint32(n), s.balances.sums[n].visible()})
	}
	v.Fold(r)
	for _, u := range s.dir.users {
		a := v.draft(u.n)
		a.person = u.person
		if !u.received.Empty() {
			received := u.received.Copy()
			a.received = &received
		}
		for i := range u.rows {
			a.set(&balanceChange{u.n, u.rows[i].currency, s.balances.visible(u, &u.rows[i]), u.rows[i].held})
		}
	}
	v.Publish(&Report{})
	v.keys.AddAll(s.keys.All())
	return v
}

// Fold notes what State has reported. Readers see it after the next Publish.
func (v *Shown) Fold(r *Report) {
	v.next.add(r)
	if n := len(v.next.balances) + len(v.next.received); n > max(maxFolded, 2*v.distinct) {
		v.next.compact()
		v.distinct = len(v.next.balances) + len(v.next.received)
	}
}

// Publish shows what was folded, and returns it. The empty report next takes what is folded from now on.
func (v *Shown) Publish(next *Report) *Report {
	r := v.next
	v.settle()
	v.showCurrencies(r) // before the balances in them
	for _, n := range v.changed {
		p, i := v.slot(n)
		p.shown[i].Store(p.drafts[i])
		p.drafts[i] = nil
		v.count(n)
	}
	v.changed = v.changed[:0]
	v.showSums(r)
	for _, k := range r.keys {
		if k.deleted {
			v.keys.Remove(k.Record().PublicKey)
		} else {
			v.keys.Add(k.Key)
		}
	}
	if r.links != nil {
		v.links.Store(r.links)
	}
	if r.config != nil {
		v.config.Store(r.config)
	}
	v.pos.Store(max(v.pos.Load(), r.pos))
	v.next, v.distinct = next, 0
	return r
}

// settle carries the folded changes over to the drafts of their accounts.
func (v *Shown) settle() {
	for _, p := range v.next.users {
		v.draft(p.n).person = p
	}
	for i := range v.next.balances {
		v.draft(v.next.balances[i].account).set(&v.next.balances[i])
	}
	for i := range v.next.received {
		c := &v.next.received[i]
		a := v.draft(c.user)
		p, at := v.slot(c.user)
		if was := p.shown[at].Load(); a.received == nil || was != nil && was.received == a.received {
			a.received = &accrual.Received{}
		}
		*a.received = c.Received
	}
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

// showCurrencies makes new currencies known.
func (v *Shown) showCurrencies(r *Report) {
	rows := *v.currencies.Load()
	if len(r.codes) <= len(rows) {
		return
	}
	codes, longer := r.codes, rows
	for _, code := range codes[len(rows):] {
		longer = append(longer, &currencyShown{code: code})
	}
	v.codes.Store(&codes)
	v.currencies.Store(&longer)
}

// showSums replaces the sums of the currencies that have changed.
func (v *Shown) showSums(r *Report) {
	rows := *v.currencies.Load()
	for i := range r.sums {
		row := rows[r.sums[i].currency]
		if row.next == nil {
			row.next = new(totals)
		}
		*row.next = r.sums[i].totals
	}
	for i := range r.sums {
		if row := rows[r.sums[i].currency]; row.next != nil {
			row.sums.Store(row.next)
			row.next = nil
		}
	}
}

// account returns account n, nil for an unknown one.
func (v *Shown) account(n uint32) *account {
	pages := *v.pages.Load()
	if int(n/pageAccounts) >= len(pages) {
		return nil
	}
	if a := pages[n/pageAccounts].shown[n%pageAccounts].Load(); a != nil && a.person != nil {
		return a
	}
	return nil
}

// idShard holds the numbers of the users whose ids begin with the same bits. A user is at the first free place from the
// one that its id gives. At most half of the places are taken; 0 is free. A full shard is replaced by a longer one.
type idShard struct {
	places []atomic.Uint32
	users  int // the owner's
}

// idShards is the number of shards: one of a million users has 250, so that no record waits for the copy of
// a large one.
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

// Listener learns what a publication has shown. Its methods run on the goroutine that has published, under no lock of
// the accounts, and do not wait.
type Listener interface {
	// BalanceChanged is called for a balance that has changed, at least once.
	BalanceChanged(account uint32, currencyCode string)
	// Transferred is called for each deposit, profit and withdrawal, in the order of the records, behind
	// BalanceChanged of the same money. amount is the change of the balance.
	Transferred(account uint32, currencyCode string, amount fixed.I128)
	// KeyDeleted is called with the number (auth.Principal.Key) of each deleted key, which verifies nothing any more.
	KeyDeleted(key uint64)
}

// tell passes what a publication has shown to the listener.
func (v *Shown) tell(r *Report) {
	l := v.listener
	if l == nil {
		return
	}
	codes := v.codesShown()
	for i := range r.balances {
		l.BalanceChanged(r.balances[i].account, codes[r.balances[i].currency])
	}
	for _, t := range r.transfers {
		l.Transferred(t.user, t.currency, t.amount)
	}
	for _, k := range r.keys {
		if k.deleted {
			l.KeyDeleted(k.Number())
		}
	}
}

// differs compares what is shown with State, at a time when nothing waits to be shown. The caller holds mu.
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
			if a.balance(r.currency) != (shownBalance{r.currency, s.balances.visible(u, r), r.held}) {
				return fmt.Errorf("account %d: another balance of %s is shown", u.n, s.balances.currencies[r.currency])
			}
		}
		if got := v.Accruals(u.n); got.Deals.Len() != u.received.Deals.Len() ||
			got.Others.Len() != u.received.Others.Len() || got.Archive.Len() != u.received.Archive.Len() {
			return fmt.Errorf("account %d: other accruals are shown", u.n)
		}
	}
	for n := range s.balances.sums {
		if got := (*v.currencies.Load())[n].sums.Load(); *got != s.balances.sums[n].visible() {
			return fmt.Errorf("%s: other totals are shown", s.balances.currencies[n])
		}
	}
	return nil
}
