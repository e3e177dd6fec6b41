package accounts

import (
	"reflect"
	"testing"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/internal/fixed"
)

// Each thing that a state holds is in its digest: a change of one unit, name or number changes it.
func TestTheDigestHasEverythingThatDecides(t *testing.T) {
	base := richSnapshot(t)
	read := func() *State {
		s, err := DecodeSnapshot(base)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.CheckDigest(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	was := read().Digest()
	changed := func(name string, change func(s *State)) {
		t.Helper()
		s := read()
		change(s)
		if now := s.digestOf(); now.word() == was {
			t.Errorf("%s is not in the digest", name)
		}
		if s.CheckDigest() == nil {
			t.Errorf("%s: the running sums are taken for those of the state", name)
		}
	}
	one := fixed.I128{Lo: 1}
	for n, u := range read().dir.users {
		for i := range u.rows {
			changed("free", func(s *State) { r := &s.dir.users[n].rows[i]; r.free = r.free.AddWrap(one) })
			changed("held", func(s *State) { r := &s.dir.users[n].rows[i]; r.held = r.held.AddWrap(one) })
			changed("a move from free to held", func(s *State) {
				r := &s.dir.users[n].rows[i]
				r.free, r.held = r.free.SubWrap(one), r.held.AddWrap(one)
			})
		}
		changed("open orders", func(s *State) { s.dir.users[n].orders++ })
		changed("a halt", func(s *State) { s.dir.users[n].halted = !s.dir.users[n].halted })
		changed("a switch", func(s *State) { s.dir.users[n].deadlineNs++ })
		changed("the time of a user", func(s *State) { s.dir.users[n].createdNs++ })
		for i := range u.links {
			changed("a link", func(s *State) { s.dir.users[n].links[i].rate++ })
		}
		if len(u.keys) > 0 {
			changed("a key", func(s *State) { s.dir.users[n].keys = s.dir.users[n].keys[1:] })
		}
		for i := range u.levelChanges {
			changed("a change of level", func(s *State) { s.dir.users[n].levelChanges[i].AtNs++ })
		}
		typ := reflect.TypeFor[Profile]()
		for i := range typ.NumField() {
			changed("Profile."+typ.Field(i).Name, func(s *State) {
				v := reflect.ValueOf(&s.dir.users[n].profile).Elem().Field(i)
				switch v.Kind() {
				case reflect.String:
					v.SetString(v.String() + "x")
				case reflect.Bool:
					v.SetBool(!v.Bool())
				case reflect.Pointer:
					v.Set(reflect.ValueOf(new("another name")))
				default:
					v.SetUint(v.Uint() ^ 1)
				}
			})
		}
		changed("an accrual", func(s *State) {
			s.dir.users[n].received.Add(accrual.Accrual{Amount: one, Level: 1, Type: accrual.DealCommission})
		})
	}
	for n := range read().balances.sums {
		changed("fees", func(s *State) { x := &s.balances.sums[n]; x.fees = x.fees.AddWrap(one) })
		changed("deposits", func(s *State) { x := &s.balances.sums[n]; x.deposited = x.deposited.AddWrap(one) })
		changed("withdrawals", func(s *State) { x := &s.balances.sums[n]; x.withdrawn = x.withdrawn.AddWrap(one) })
		changed("digits", func(s *State) { s.balances.currencies[n].Digits++ })
	}
}

// Accruals that move to the archive leave the digest as it is.
func TestTheArchiveIsNoChangeOfTheDigest(t *testing.T) {
	s, err := DecodeSnapshot(richSnapshot(t))
	if err != nil {
		t.Fatal(err)
	}
	was, moved := s.digestOf(), 0
	for _, u := range s.dir.users {
		for u.received.Deals.Len() > 0 {
			u.received.ArchiveOldest()
			moved++
		}
	}
	if now := s.digestOf(); now != was || moved == 0 {
		t.Errorf("%+v, before %+v; %d accruals", now, was, moved)
	}
}
