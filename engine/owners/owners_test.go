package owners

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// traded returns a set and a table in which account 7 has an open order with an id in the window, one with an id that
// has left it, and the id of a closed order; the window of an account holds two.
func traded(t *testing.T) (*Set, *Clients) {
	t.Helper()
	set, table := NewSet(), NewClients(4, 2)
	for n := range uint64(3) {
		s := set.AddOrder(7)
		id := table.Remember(&set, [2]uint64{n, n}, [2]uint64{n}, n+1, s)
		if n == 1 {
			table.Close(id)
			set.DropOrder(s)
		}
	}
	if err := table.Check(&set, 2); err != nil {
		t.Fatal(err)
	}
	if err := set.Check(); err != nil {
		t.Fatal(err)
	}
	return &set, &table
}

// An id outside the window stays as long as its order is open, one inside as long as the window has room.
func TestIDsAreForgotten(t *testing.T) {
	set, table := traded(t)
	first := table.Find([2]uint64{0, 0})
	if out := table.Outside(); len(out) != 1 || out[0] != first || table.At(first).Order() != 1 {
		t.Fatalf("outside are %v, not %d", out, first)
	}
	table.Close(first)
	set.DropOrder(set.Find(7))
	if table.Find([2]uint64{0, 0}) != 0 || table.Find([2]uint64{1, 1}) == 0 {
		t.Fatal("the first id is remembered, or the second is not")
	}
	if err := table.Check(set, 1); err != nil {
		t.Fatal(err)
	}
}

// The engine's tests rely on Check, so Check must find each of these changes.
func TestCheckNotices(t *testing.T) {
	oldest := func(c *Clients) *Client { return c.entries.At(c.oldest) }
	for name, x := range map[string]struct {
		breaks func(s *Set, c *Clients)
		says   string
	}{
		"open":    {func(_ *Set, c *Clients) { c.open++ }, "counted"},
		"hash":    {func(_ *Set, c *Clients) { oldest(c).Hash[0]++ }, "not found"},
		"order":   {func(_ *Set, c *Clients) { oldest(c).order += 100 << 2 }, "out of order"},
		"window":  {func(_ *Set, c *Clients) { c.entries.At(c.newest).order &^= clientWindow }, "out of order"},
		"lost":    {func(_ *Set, c *Clients) { c.perPair = 1 }, "in tables"},
		"account": {func(s *Set, _ *Clients) { s.At(s.Find(7)).Account = 8 }, "nothing is left"},
		"nothing": {func(s *Set, _ *Clients) { o := s.At(s.Find(7)); o.Open, o.window = 0, 0 }, "nothing is left"},
		"unknown": {func(s *Set, _ *Clients) { s.slots.Alloc() }, "owners"},
	} {
		s, c := traded(t)
		x.breaks(s, c)
		err := s.Check()
		if err == nil {
			err = c.Check(s, 2)
		}
		if err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
}

// The secret says where an id is in the table, and nothing else: with any secret the same ids are
// remembered, in the same order. Ids that are at one place by one secret are not by another, and are all
// found even by the one they were chosen for.
func TestNothingDependsOnTheSecret(t *testing.T) {
	const n, perPair, perOwner = 6000, 900, 300
	r := rand.New(rand.NewPCG(1, 2))
	weak := NewClients(perPair, perOwner)
	weak.secret = [2]uint64{} // then the first half of a hash being 0 sends it to place 0
	other := NewClients(perPair, perOwner)
	other.secret = [2]uint64{r.Uint64(), r.Uint64()}
	if NewClients(1, 1).secret != secret || secret == weak.secret {
		t.Fatal("the tables of a process have no secret")
	}
	sets := [2]Set{NewSet(), NewSet()}
	tables := [2]*Clients{&weak, &other}
	type order struct {
		slots [2]int32
		owner [2]int32
	}
	var open []order
	places := map[uint32]bool{}
	for i := range uint64(n) {
		hash := [2]uint64{0, 1 + r.Uint64N(n/2)}
		if places[other.place(&hash)] = true; weak.place(&hash) != 0 {
			t.Fatal("the chosen ids are at several places")
		}
		account, o, taken := uint32(1+r.IntN(4)), order{}, false
		for k, c := range tables {
			if s := c.Find(hash); s != 0 && c.At(s).Open() {
				taken = true
				continue
			}
			if taken || !c.HasRoom(0) {
				taken = true
				continue
			}
			o.owner[k] = sets[k].AddOrder(account)
			c.Forget(&sets[k], hash)
			o.slots[k] = c.Remember(&sets[k], hash, [2]uint64{i}, i+1, o.owner[k])
		}
		if !taken {
			open = append(open, o)
		}
		for len(open) > 200 || len(open) > 0 && r.IntN(3) == 0 {
			at := r.IntN(len(open))
			for k, c := range tables {
				c.Close(open[at].slots[k])
				sets[k].DropOrder(open[at].owner[k])
			}
			open = append(open[:at], open[at+1:]...)
		}
		if i%50 != 0 {
			continue
		}
		var seen [2][]string
		for k, c := range tables {
			if err := c.Check(&sets[k], len(open)); err != nil {
				t.Fatal(err)
			}
			for e := range c.Window() {
				seen[k] = append(seen[k], fmt.Sprint(e.Order(), e.Open(), e.Hash, e.Content, sets[k].Account(e.Owner)))
			}
			for _, s := range c.Outside() {
				seen[k] = append(seen[k], fmt.Sprint("outside ", c.At(s).Order()))
			}
		}
		if !slices.Equal(seen[0], seen[1]) {
			t.Fatalf("after %d ids the tables differ", i+1)
		}
	}
	if len(places) < n/3 {
		t.Errorf("%d places by another secret", len(places))
	}
}
