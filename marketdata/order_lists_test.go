package marketdata

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// naiveLists keeps order lists as a slice.
type naiveLists struct {
	all   []ListRecord // dropped ones too, by their beginning
	ended []engine.OrderID
	limit int
}

func (n *naiveLists) find(id engine.OrderID) *ListRecord {
	i := slices.IndexFunc(n.all, func(l ListRecord) bool { return l.ID == id })
	return &n.all[i]
}

// kept returns the retained lists, newest first.
func (n *naiveLists) kept() (out []ListRecord) {
	gone := n.ended[:max(0, len(n.ended)-n.limit)]
	for _, l := range n.all {
		if !slices.Contains(gone, l.ID) {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b ListRecord) int {
		return cmp.Or(cmp.Compare(b.CreatedNs, a.CreatedNs), cmp.Compare(b.ID, a.ID))
	})
	return out
}

func listsOf(t *testing.T, f *Feed, q Query) []ListRecord {
	t.Helper()
	rows, err := f.History().Lists(q, func(read func()) error {
		read()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Lists begin and end at random, are restored in between, and their limit falls. The history finds those that the
// model has, by both of their ids and page by page.
func TestListsEqualASliceOverTheirEvents(t *testing.T) {
	rnd := newRand(t)
	const limit = 20
	s := newScript(Options{Retention: Retention{Lists: limit}})
	naive := naiveLists{limit: limit}
	var open []engine.OrderID
	next := map[engine.PairID]uint64{0: 1, 2: 1}
	for step := range soak(400, 10) {
		if len(open) > 0 && (rnd.IntN(2) == 0 || len(open) > 15) {
			i := rnd.IntN(len(open))
			id := open[i]
			open = slices.Delete(open, i, i+1)
			cause := engine.CancelCause(rnd.IntN(3))
			s.command(id.Pair(), engine.Event{Kind: engine.EventListEnded, Order: id, Cause: cause},
				engine.Event{Kind: engine.EventRefilled})
			l := naive.find(id)
			l.Done, l.Cause, l.ChangedNs, l.Seq = true, cause, s.now, s.f.pairs[id.Pair()].seq
			naive.ended = append(naive.ended, id)
		} else {
			naive.begin(s, rnd, next, &open)
		}
		if rnd.IntN(20) == 0 {
			s.f = reload2(t, s.f)
		}
		if step == 200 {
			naive.limit = 7
			s.f.SetRetention(Retention{Lists: 7})
		}
		naive.compare(t, rnd, s.f)
	}
	if len(naive.ended) < 100 {
		t.Fatalf("only %d lists have ended", len(naive.ended))
	}
	if n := s.f.Stats().Lists; n != len(naive.kept()) {
		t.Errorf("%d lists are counted, want %d", n, len(naive.kept()))
	}
}

// begin places a list of two or three orders, each in the same command.
func (n *naiveLists) begin(s *script, rnd *rand.Rand, next map[engine.PairID]uint64, open *[]engine.OrderID) {
	pair := engine.PairID(2 * rnd.IntN(2))
	id := engine.MakeOrderID(pair, next[pair])
	kind := engine.ListKind(1 + rnd.IntN(5))
	orders := 2 + int(kind)%2
	account := engine.AccountID(rnd.IntN(3))
	e := engine.Event{Kind: engine.EventList, Order: id, Account: account, List: kind, Amount: int64(orders)}
	l := ListRecord{ID: id, Account: account, Kind: kind}
	if rnd.IntN(2) == 0 {
		l.Client = string(rune('a' + rnd.IntN(3)))
		e.Client = clientID(l.Client)
	}
	events := []engine.Event{e}
	for i := range orders {
		l.Orders = append(l.Orders, id+engine.OrderID(i))
		events = append(events, engine.Event{
			Kind: engine.EventAccepted, Order: id + engine.OrderID(i), Maker: id, Account: account, Price: 1, Amount: 1,
			OpenAmount: 1, Status: engine.Pending,
		})
	}
	s.command(pair, events...)
	next[pair] += uint64(orders)
	l.CreatedNs, l.ChangedNs, l.Seq = s.now, s.now, s.f.pairs[pair].seq
	n.all, *open = append(n.all, l), append(*open, id)
}

func (n *naiveLists) compare(t *testing.T, rnd *rand.Rand, f *Feed) {
	t.Helper()
	h, kept := f.History(), n.kept()
	for _, l := range n.all[max(0, len(n.all)-60):] {
		got, ok := h.List(l.ID)
		if want := slices.ContainsFunc(kept, func(k ListRecord) bool { return k.ID == l.ID }); ok != want {
			t.Fatalf("list %d: found %v", l.ID, ok)
		} else if ok {
			same(t, l, got)
		}
		if o, found := h.Summary(l.Orders[1]); !found || o.List != l.ID || o.Seq > f.pairs[l.ID.Pair()].seq ||
			o.Status != engine.Pending {
			t.Fatalf("order %d: %+v", l.Orders[1], o)
		}
	}
	account, pair, client := engine.AccountID(rnd.IntN(3)), engine.PairID(2*rnd.IntN(2)), string(rune('a'+rnd.IntN(3)))
	newest := slices.IndexFunc(n.reversed(), func(l ListRecord) bool {
		return l.Account == account && l.ID.Pair() == pair && l.Client == client
	})
	got, ok := h.ListByClient(account, pair, client)
	if newest >= 0 && slices.ContainsFunc(kept, func(k ListRecord) bool { return k.ID == n.reversed()[newest].ID }) {
		same(t, n.reversed()[newest], got)
	} else if ok && got.Client != client {
		t.Fatalf("%+v has another client id", got)
	}
	q := Query{
		Account: account, Pair: engine.ControlPair, Status: StatusFilter(rnd.IntN(3)), SinceNs: math.MinInt64,
		UntilNs: math.MaxInt64, Limit: 1 + rnd.IntN(4),
	}
	if rnd.IntN(2) == 0 {
		q.Pair = pair
	}
	var want []ListRecord
	for _, l := range kept {
		if l.Account == account && (q.Pair == engine.ControlPair || q.Pair == l.ID.Pair()) &&
			(q.Status == AnyStatus || l.Done == (q.Status == OnlyCanceled)) {
			want = append(want, l)
		}
	}
	var all []ListRecord
	for {
		rows := listsOf(t, f, q)
		all = append(all, rows...)
		if len(rows) < q.Limit {
			break
		}
		q.After = rows[len(rows)-1].Cursor()
	}
	same(t, want, all)
	q.After, q.Offset = Cursor{}, rnd.IntN(4)
	same(t, page(want, q), listsOf(t, f, q))
}

func (n *naiveLists) reversed() []ListRecord {
	out := slices.Clone(n.all)
	slices.Reverse(out)
	return out
}

// A cursor of another account's list shows nothing of that account, and one of a list that is gone continues behind it.
func TestACursorOfAListThatIsNotThere(t *testing.T) {
	s := newScript(Options{})
	for n, account := range []engine.AccountID{3, 4, 3, 4} {
		s.command(0, engine.Event{
			Kind: engine.EventList, Order: engine.MakeOrderID(0, uint64(1+2*n)), Account: account,
			List: engine.OCO, Amount: 2,
		})
	}
	q := Query{Account: 3, Pair: engine.ControlPair, UntilNs: math.MaxInt64, Limit: 10}
	foreign, _ := s.f.History().List(7)
	q.After = foreign.Cursor()
	ids := func(rows []ListRecord) (out []engine.OrderID) {
		for _, l := range rows {
			out = append(out, l.ID)
		}
		return out
	}
	same(t, []engine.OrderID{5, 1}, ids(listsOf(t, s.f, q)))
	q.After = Cursor{TimeNs: s.now - nanosecond, Order: 6}
	same(t, []engine.OrderID{5, 1}, ids(listsOf(t, s.f, q)))
	q.After.Order = 4
	same(t, []engine.OrderID{1}, ids(listsOf(t, s.f, q)))
}

// Amendments are numbered by their events, in a chain of each order, and survive a restore with what they say.
func TestAmendmentsAndPreventedMatchesAreRestored(t *testing.T) {
	s := newScript(Options{})
	strategy := int64(9)
	s.place(0, 1, 3, func(e *engine.Event) {
		e.Client = &engine.ClientID{Text: "a", Strategy: &strategy}
	})
	s.place(0, 2, 3, nil)
	amend := func(n uint64, amount int64, client string) {
		e := engine.Event{
			Kind: engine.EventReplaced, Order: engine.MakeOrderID(0, n), Price: 100, Amount: amount, OpenAmount: amount,
			Flags: engine.FlagSmallerOnly,
		}
		if client != "" {
			e.Client = clientID(client)
		}
		s.command(0, e)
	}
	amend(1, 9, "")
	amend(2, 8, "late")
	amend(1, 7, "b")
	prevent := func(pair engine.PairID, number uint64, taker, maker uint64) {
		s.command(pair, engine.Event{
			Kind: engine.EventPrevented, Order: engine.MakeOrderID(pair, taker), Maker: engine.MakeOrderID(pair, maker),
			Trade: engine.TradeID(number), Account: 3, Side: engine.Sell, Price: 5, Amount: 2, OpenAmount: 1,
			STP: engine.Decrement,
		})
	}
	s.place(2, 1, 3, nil)
	s.place(2, 2, 3, nil)
	prevent(0, 1, 2, 1)
	prevent(2, 1, 2, 1)
	prevent(0, 2, 1, 2)
	matches := func(f *Feed, q PreventedQuery) (out []uint64) {
		q.Account, q.Limit = cmp.Or(q.Account, 3), cmp.Or(q.Limit, 10)
		rows, err := f.History().PreventedMatches(q, func(read func()) error {
			read()
			return nil
		})
		same(t, error(nil), err)
		for _, m := range rows {
			same(t, q.Pair, m.Pair)
			out = append(out, m.Number)
		}
		return out
	}
	for _, f := range []*Feed{s.f, reload2(t, s.f)} {
		h := f.History()
		all := h.Amendments(1, 0, 10)
		same(t, 2, len(all))
		first := Amendment{Order: 1, Number: 4, TimeNs: all[0].TimeNs, Old: 10, New: 9, OldClient: "a", NewClient: "a"}
		second := Amendment{Order: 1, Number: 6, TimeNs: all[1].TimeNs, Old: 9, New: 7, OldClient: "a", NewClient: "b"}
		same(t, []Amendment{first, second}, all)
		same(t, all[1:], h.Amendments(1, 5, 10))
		same(t, all[:1], h.Amendments(1, 0, 1))
		same(t, 0, len(h.Amendments(1, 0, 0))+len(h.Amendments(9, 0, 5)))
		same(t, "late", h.Amendments(2, 0, 5)[0].NewClient)
		if o, _ := h.Order(1); o.Client != "b" || *o.Strategy != 9 || o.Amount != 7 || o.Prevented != 2 {
			t.Errorf("%+v", o)
		}
		if first, ok := h.FirstAnswer(2); ok {
			t.Errorf("an order that was named later has the first answer %+v", first)
		}
		same(t, []uint64{1, 2}, matches(f, PreventedQuery{}))
		same(t, []uint64{1}, matches(f, PreventedQuery{Pair: 2}))
		same(t, []uint64{2}, matches(f, PreventedQuery{From: 2}))
		same(t, []uint64{1}, matches(f, PreventedQuery{Limit: 1}))
		same(t, []uint64{1, 2}, matches(f, PreventedQuery{Order: 1}))
		same(t, []uint64(nil), matches(f, PreventedQuery{Order: 3}))
		same(t, []uint64(nil), matches(f, PreventedQuery{Account: 4}))
		same(t, []uint64(nil), matches(f, PreventedQuery{From: 3}))
		same(t, []uint64(nil), matches(f, PreventedQuery{Pair: 1}))
		if st := f.Stats(); st.Amendments != 3 || st.Prevented != 3 {
			t.Errorf("%+v", st)
		}
	}
	if !strings.Contains(string(s.f.AppendHistoryState(nil)), "late") {
		t.Error("the state lacks an id")
	}
}
