package owners

import (
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
	if err := table.Check(2); err != nil {
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
	if err := table.Check(1); err != nil {
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
			err = c.Check(2)
		}
		if err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
}
