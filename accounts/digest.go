package accounts

import (
	"fmt"
	"math"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/internal/mix"
	"github.com/tickhive/tickhive/internal/wire"
)

// digest is the running sum of the accounts: what each thing in it adds is taken off when the thing changes and added
// again afterwards. So it is the same for equal states, however they came about, and can be computed from a state.
//
//	rows      each balance that is not zero: user, currency, free, held
//	orders    open orders, by user
//	lists     what is held of the open order lists, by user
//	received  amounts of accruals, by receiver, payer, currency, level and type, kept or in the archive
//	persons   each user: profile, inviter, links, keys, changes of level, halt, switch
//	sums      each currency: digits, fees, deposits, withdrawals
//
// Persons and sums change seldom, or several times in a command: they are noted, and their parts are computed when the
// digest is asked for.
type digest struct{ rows, orders, lists, received, persons, sums uint64 }

func (d *digest) word() uint64 { return d.rows + d.orders + d.lists + d.received + d.persons + d.sums }

// Kinds of what is mixed.
const (
	mixOrders = iota + 1
	mixPerson
	mixSums
	mixCurrency
	mixLists
)

// Digest returns the running sum of the whole state but its settings.
func (s *State) Digest() uint64 {
	s.settle()
	return s.digest.word()
}

// settle computes the parts of persons and sums that have changed.
func (s *State) settle() {
	d := s.dir
	for len(d.mixed) < len(d.users) {
		d.mixed = append(d.mixed, 0)
	}
	for _, n := range d.stale {
		part := mixOf(d.users[n].person)
		s.digest.persons += part - d.mixed[n]
		d.mixed[n] = part
	}
	d.stale = d.stale[:0]
	b := s.balances
	for _, n := range b.stale {
		t := &b.sums[n]
		part := b.mixSums(n)
		s.digest.sums += part - t.mixed
		t.mixed, t.stale = part, false
	}
	b.stale = b.stale[:0]
}

// maxStale bounds the persons that are noted between two calls of Digest.
const maxStale = 4096

// mixOf mixes a person.
func mixOf(p *person) uint64 {
	w := snapshot{walker: walker{wire.Writer(nil)}, users: math.MaxInt}
	c := *p // readers have the original
	w.person(&c)
	w.Bool(&c.halted)
	w.I64(&c.deadlineNs)
	return mix.Of(mix.Bytes(mixPerson, w.Bytes()), uint64(p.n))
}

// mix mixes a balance; a balance of zero is none.
func (r *row) mix(user uint32, code uint64) uint64 {
	if r.free.Lo|r.held.Lo|uint64(r.free.Hi)|uint64(r.held.Hi) == 0 {
		return 0
	}
	k := code + uint64(user)*0x9e3779b97f4a7c15
	return mix.Of4(r.free.Lo^k, uint64(r.free.Hi)+k, r.held.Lo+k, uint64(r.held.Hi)^k)
}

// mixOrder is what one open order of a user adds.
func mixOrder(user uint32) uint64 { return mix.Of(uint64(user), mixOrders) }

// mixSums mixes the sums of a currency.
func (b *balances) mixSums(n uint32) uint64 {
	t := &b.sums[n]
	h := mix.Of4(t.fees.Lo, uint64(t.fees.Hi), t.deposited.Lo, uint64(t.deposited.Hi))
	h = mix.Of4(h, t.withdrawn.Lo, uint64(t.withdrawn.Hi), uint64(b.currencies[n].Digits))
	return mix.Of4(h, b.codes[n], mixSums, 0)
}

// mixCode mixes the code of a currency: its number is another one after a snapshot.
func mixCode(code string) uint64 { return mix.Bytes(mixCurrency, []byte(code)) }

// mixReceived is the factor of the amounts that a user has received of a kind.
func mixReceived(to, from uint32, code uint64, level uint32, typ accrual.Type) uint64 {
	return mix.Of4(uint64(to)|uint64(from)<<32, code, uint64(level), uint64(typ)) | 1
}

// noteSums notes that the sums or the digits of a currency change.
func (b *balances) noteSums(n uint32) {
	if t := &b.sums[n]; !t.stale {
		t.stale = true
		b.stale = append(b.stale, n)
	}
}

// digestOf computes the digest of the state again.
func (s *State) digestOf() (d digest) {
	b := s.balances
	for _, u := range s.dir.users {
		d.persons += mixOf(u.person)
		d.orders += uint64(u.orders) * mixOrder(u.n)
		for i := range u.lists {
			d.lists += u.lists[i].mix(u.n)
		}
		for i := range u.rows {
			d.rows += u.rows[i].mix(u.n, b.codes[u.rows[i].currency])
		}
		for _, list := range []interface {
			Len() int
			At(i int) *accrual.Accrual
		}{&u.received.Deals, &u.received.Others} {
			for i := range list.Len() {
				a := list.At(i)
				d.received += a.Amount.Lo * mixReceived(u.n, a.From, b.codes[a.Currency], a.Level, a.Type)
			}
		}
		for k, sum := range u.received.Archive.All() {
			d.received += sum.W0 * mixReceived(u.n, k.From, b.codes[k.Currency], k.Level, k.Type)
		}
	}
	for n := range b.sums {
		d.sums += b.mixSums(uint32(n))
	}
	return d
}

// restoreDigest makes the digest of a state that was decoded.
func (s *State) restoreDigest() {
	*s.digest = s.digestOf()
	s.dir.stale, s.dir.mixed = s.dir.stale[:0], make([]uint64, len(s.dir.users))
	for n, u := range s.dir.users {
		s.dir.mixed[n] = mixOf(u.person)
	}
	s.balances.stale = s.balances.stale[:0]
	for n := range s.balances.sums {
		t := &s.balances.sums[n]
		t.mixed, t.stale = s.balances.mixSums(uint32(n)), false
	}
}

// CheckDigest compares the running digest with the one of the state.
func (s *State) CheckDigest() error {
	s.settle()
	if now := s.digestOf(); now != *s.digest {
		return fmt.Errorf("the running sums of the accounts are %+v, the state has %+v", *s.digest, now)
	}
	return nil
}
