package accounts

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fifo"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/wire"
)

// SnapshotVersion is the version of a snapshot's body; a snapshot of another version is refused.
const SnapshotVersion = 9

// Format of a snapshot: the sections below, in this order, each list preceded by its length. Currencies are
// sorted by code and everything else by number, so that equal states have equal bytes.
//
//	version | settings | currencies (code, digits, totals) | pairs | users (profile, inviter, links, keys, level
//	changes, balances, number of open orders, open order lists, halt, switch) | receivers of the deal accruals kept,
//	oldest first | accruals and archive by receiver
//
// Money takes 16 bytes, and a sum of the archive 24, the least significant word first.
type snapshot struct {
	walker
	s     *State
	users int // number of users in the snapshot

	// A snapshot identifies a currency by its rank in the order of codes. Decoding numbers the currencies by
	// rank.
	byNo []uint32 // currency number of each rank
	rank []uint32 // rank of each currency number

	written []row // balances of the account that is being encoded
}

// AppendSnapshot appends the whole state, secrets included.
func (s *State) AppendSnapshot(dst []byte) []byte {
	w := snapshot{walker: walker{wire.Writer(dst)}, s: s}
	w.state()
	return w.Bytes()
}

// DecodeSnapshot decodes the bytes of AppendSnapshot. The state shares nothing with b.
func DecodeSnapshot(b []byte) (*State, error) {
	s := newState()
	w := snapshot{walker: walker{wire.Reader(b)}, s: s}
	w.state()
	err := w.End()
	if err == nil {
		err = s.complete()
	}
	if err != nil {
		return nil, fmt.Errorf("accounts: snapshot: %w", err)
	}
	return s, nil
}

func (w *snapshot) state() {
	version := uint8(SnapshotVersion)
	if w.U8(&version, 1<<8-1); version != SnapshotVersion {
		w.Fail("version %d, and this program reads %d alone", version, SnapshotVersion)
		return
	}
	settings := w.s.settings
	if settings.Code(w.Coder); w.Reading() {
		w.s.settings, w.s.referral.config = settings, settings.Referral
	}
	w.currencies()
	w.pairs()
	w.accounts()
	for i := range w.each(w.s.referral.dealQueue.Len()) {
		to := oldest(w.walker, &w.s.referral.dealQueue, i)
		w.user(&to)
		push(w.walker, &w.s.referral.dealQueue, to)
	}
	w.received()
}

func (w *snapshot) received() {
	var users []uint32
	for _, u := range w.s.dir.users {
		if !u.received.Empty() {
			users = append(users, u.n)
		}
	}
	for i := range w.each(len(users)) {
		to, r := at(w.walker, users, i), accrual.Received{}
		if !w.Reading() {
			r = w.s.dir.users[to].received.Copy()
		}
		w.user(&to)
		w.accruals(&r.Deals)
		w.accruals(&r.Others)
		if w.archive(&r.Archive); w.Reading() {
			w.addReceived(to, r)
		}
	}
}

func (w *snapshot) sum(v *fixed.I192) {
	w.Fixed64(&v.W0)
	w.Fixed64(&v.W1)
	w.Fixed64(&v.W2)
}

// currency encodes or decodes a currency number as its rank.
func (w *snapshot) currency(no *uint32) {
	if !w.Reading() {
		rank := w.rank[*no]
		w.U32(&rank)
		return
	}
	if w.U32(no); int(*no) >= len(w.s.balances.currencies) {
		w.Fail("currency %d of %d", *no, len(w.s.balances.currencies))
	}
}

// user encodes the number of a user in the snapshot.
func (w *snapshot) user(no *uint32) {
	if w.U32(no); int(*no) >= w.users {
		w.Fail("user %d of %d", *no, w.users)
		*no = 0
	}
}

func (w *snapshot) currencies() {
	s := w.s
	w.rank = make([]uint32, len(s.balances.currencies))
	for no := range s.balances.currencies {
		w.byNo = append(w.byNo, uint32(no))
	}
	slices.SortFunc(w.byNo, func(a, b uint32) int {
		return cmp.Compare(s.balances.currencies[a].Code, s.balances.currencies[b].Code)
	})
	for i := range w.each(len(w.byNo)) {
		var c accrual.Currency
		var t totals
		if !w.Reading() {
			w.rank[w.byNo[i]] = uint32(i)
			c, t = s.balances.currencies[w.byNo[i]], s.balances.sums[w.byNo[i]].totals
		}
		digits := uint8(c.Digits)
		w.text(&c.Code)
		w.U8(&digits, fixed.Scale)
		w.money(&t.fees)
		w.money(&t.deposited)
		w.money(&t.withdrawn)
		if !w.Reading() {
			continue
		}
		if _, twice := s.balances.currencyNo[c.Code]; twice {
			w.Fail("currency %q twice", c.Code)
		}
		if t.deposited.Sign() < 0 || t.deposited.Cmp(MaxUnits) > 0 || t.withdrawn.Sign() < 0 {
			w.Fail("the sums of currency %q are out of range", c.Code)
		}
		n := s.balances.currency(c.Code)
		s.balances.currencies[n].Digits = int(digits)
		s.balances.sums[n] = sums{totals: t, used: t != totals{}}
	}
}

func (w *snapshot) pairs() {
	b := w.s.balances
	var ids []uint32
	for id := range b.pairs {
		if b.pairs[id].in != nil {
			ids = append(ids, uint32(id))
		}
	}
	for i := range w.each(len(ids)) {
		id, p := at(w.walker, ids, i), pair{in: &engine.Instrument{}}
		if !w.Reading() {
			p = b.pairs[id]
		}
		price, amount := uint8(p.in.DigitsPrice), uint8(p.in.DigitsAmount)
		w.U32(&id)
		w.currency(&p.base)
		w.currency(&p.quote)
		w.U8(&price, fixed.Scale)
		w.U8(&amount, fixed.Scale)
		if !w.Reading() || w.Err() != nil {
			continue
		}
		in := engine.Instrument{
			DigitsPrice: int(price), DigitsAmount: int(amount),
			BaseDigits: b.currencies[p.base].Digits, QuoteDigits: b.currencies[p.quote].Digits,
		}
		if id >= engine.MaxPairs || in.DigitsAmount > in.BaseDigits || in.DigitsTotal() > in.QuoteDigits {
			w.Fail("pair %d has other digits than its currencies, or a number that no pair has", id)
			continue
		}
		b.setPair(engine.PairID(id), pair{p.base, p.quote, &in})
	}
}

func (w *snapshot) accounts() {
	if w.users = w.Len(len(w.s.dir.users)); w.users < 1 || w.users > MaxUsers+1 {
		w.Fail("%d users", w.users)
	}
	var written user
	for n := range w.users {
		u := &written
		if w.Reading() {
			u = &user{person: &person{n: uint32(n), id: UserID(uint32(n))}}
		} else {
			written = *w.s.dir.users[n]
			p := *written.person // readers have the original
			written.person = &p
		}
		w.account(u)
		if w.Err() != nil {
			return
		}
		if w.Reading() {
			w.addAccount(u)
		}
	}
}

func (w *snapshot) account(u *user) {
	w.person(u.person)
	w.rows(u)
	orders := uint64(u.orders)
	w.U64(&orders)
	u.orders = int(orders)
	w.lists(u)
	w.Bool(&u.halted)
	atNs := u.deadlineNs
	if w.I64(&atNs); w.Reading() {
		w.s.deadlines.arm(u.person, atNs)
	}
}

// lists encodes or decodes what is held of the open order lists.
func (w *snapshot) lists(u *user) {
	last := engine.OrderID(0)
	for i := range w.each(len(u.lists)) {
		l := at(w.walker, u.lists, i)
		w.U64((*uint64)(&l.id))
		w.U8((*uint8)(&l.kind), uint8(engine.OPOCO))
		w.Bool(&l.begun)
		w.Bool(&l.shared)
		w.money(&l.needs[0])
		w.money(&l.needs[1])
		w.money(&l.brought)
		if l.id <= last || l.kind == engine.NoList {
			w.Fail("account %d: list %d is out of order", u.n, l.id)
		}
		last = l.id
		put(w.walker, &u.lists, l)
	}
}

// person encodes or decodes what belongs to a person, but halt and switch.
func (w *snapshot) person(u *person) {
	w.profile(&u.profile)
	w.I64(&u.createdNs)
	w.user(&u.inviter)
	for i := range w.each(len(u.links)) {
		l := at(w.walker, u.links, i)
		w.U64(&l.number)
		w.rate(&l.rate)
		w.I64(&l.createdNs)
		put(w.walker, &u.links, l)
	}
	for i := range w.each(len(u.keys)) {
		var rec auth.KeyRecord
		if !w.Reading() {
			rec = u.keys[i].Record()
		}
		w.newKey(&rec.NewKey)
		w.I64(&rec.CreatedNs)
		if w.text(&rec.CreatedBy); w.Reading() && w.Err() == nil {
			u.keys = append(u.keys, w.s.keys.Add(u.n, u.id, rec))
		}
	}
	for i := range w.each(len(u.levelChanges)) {
		c := at(w.walker, u.levelChanges, i)
		w.I64(&c.AtNs)
		w.staking(&c.Old)
		w.staking(&c.New)
		put(w.walker, &u.levelChanges, c)
	}
}

// rows encodes the balances that are not zero.
func (w *snapshot) rows(u *user) {
	if !w.Reading() {
		w.written = slices.DeleteFunc(append(w.written[:0], u.rows...),
			func(r row) bool { return r.free.Sign() == 0 && r.held.Sign() == 0 })
		slices.SortFunc(w.written, func(x, y row) int { return cmp.Compare(w.rank[x.currency], w.rank[y.currency]) })
	}
	for i := range w.each(len(w.written)) {
		r := at(w.walker, w.written, i)
		w.currency(&r.currency)
		w.money(&r.free)
		w.money(&r.held)
		if !w.Reading() || w.Err() != nil {
			continue
		}
		if _, twice := u.place(r.currency); twice {
			w.Fail("account %d has two balances of a currency", u.n)
		}
		*u.row(r.currency) = r
	}
}

func (w *snapshot) accruals(list *fifo.Queue[accrual.Accrual]) {
	for i := range w.each(list.Len()) {
		a := oldest(w.walker, list, i)
		w.I64(&a.TimeNs)
		w.money(&a.Amount)
		w.user(&a.From)
		w.currency(&a.Currency)
		w.U32(&a.Level)
		if w.profit(&a.Type); a.Type == accrual.StakeAccrual {
			w.rate(&a.Applied)
			w.money(&a.Source)
			w.staking(&a.Received)
			w.Bool(&a.Bonus)
		}
		push(w.walker, list, a)
	}
}

func (w *snapshot) archive(archive *accrual.Archive) {
	sums := maps.Collect(archive.All())
	keys := slices.SortedFunc(maps.Keys(sums), func(x, y accrual.ArchiveKey) int {
		return cmp.Or(
			cmp.Compare(x.Day, y.Day), cmp.Compare(x.From, y.From), cmp.Compare(w.rank[x.Currency], w.rank[y.Currency]),
			cmp.Compare(x.Level, y.Level), cmp.Compare(x.Type, y.Type),
		)
	})
	for i := range w.each(len(keys)) {
		k := at(w.walker, keys, i)
		amount := sums[k]
		w.I64(&k.Day)
		w.user(&k.From)
		w.currency(&k.Currency)
		w.U32(&k.Level)
		w.profit(&k.Type)
		w.sum(&amount)
		if w.Reading() {
			archive.Add(k, amount)
		}
	}
}

// addAccount adds a decoded account.
func (w *snapshot) addAccount(u *user) {
	switch {
	case u.n == 0:
		w.s.dir.users[0] = u
	case w.s.dir.taken(u.profile.Nickname, nil):
		w.Fail("the nickname %q twice", u.profile.Nickname)
	default:
		w.s.dir.register(u)
	}
}

// addReceived adds the decoded accruals of a receiver.
func (w *snapshot) addReceived(to uint32, r accrual.Received) {
	u := w.s.dir.users[to]
	if !u.received.Empty() {
		w.Fail("the accruals of user %d twice", to)
	}
	u.received = r
	w.s.referral.commandAccruals += u.received.Others.Len()
}

// complete computes the state that snapshots do not contain: sums, counts of the tree, owners of links.
func (s *State) complete() error {
	links := 0
	for _, u := range s.dir.users {
		links += len(u.links)
	}
	for range links {
		s.dir.linkOwner.Push(linkRef{})
	}
	for _, u := range s.dir.users {
		for i, l := range u.links {
			if l.number < 1 || l.number > uint64(links) || s.dir.linkOwner.At(int(l.number)-1).owner != 0 || u.n == 0 {
				return errors.New("link numbers are not dense")
			}
			*s.dir.linkOwner.At(int(l.number) - 1) = linkRef{owner: u.n, index: i}
		}
	}
	for _, u := range s.dir.users {
		for i := range u.rows {
			r := &u.rows[i]
			t := &s.balances.sums[r.currency]
			if t.held = t.held.AddWrap(r.held); u.profile.Unlimited {
				t.debt = t.debt.AddWrap(debt(r.free))
			}
		}
	}
	if err := s.dir.countTree(); err != nil {
		return err
	}
	kept := make([]int, len(s.dir.users))
	for i := range s.referral.dealQueue.Len() {
		kept[*s.referral.dealQueue.At(i)]++
	}
	for _, u := range s.dir.users {
		if kept[u.n] != u.received.Deals.Len() {
			return errors.New("the queue of deal accruals does not match them")
		}
	}
	for _, u := range s.dir.users {
		if err := auth.CheckTree(u.keys); err != nil {
			return err
		}
	}
	s.restoreDigest()
	return s.check()
}
