package marketdata

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// A ring of trades keeps a day of them, at least some and at most some, and drops whole chunks with their texts.
func TestATradeRingEqualsItsModel(t *testing.T) {
	rnd := newRand(t)
	for _, c := range []struct{ min, max int }{{1, 1}, {1, 3}, {2, 5}, {5, 5}, {10, 3000}, {10, 5*chunkTrades + 10}} {
		var cache textCache
		r := tradeRing{view: Trades{cache: &cache}}
		var times []int64
		first, dropped, young, forgotten := engine.TradeID(1), int64(0), uint64(0), 0
		now := int64(0)
		for n := range 7 * chunkTrades {
			switch jump := rnd.IntN(400); {
			case c.max > 4*chunkTrades: // many trades of one day
				now += rnd.Int64N(10 * nanosecond)
			case jump == 0:
				now += secondsOfDay * nanosecond
			case jump == 1:
				now += secondsOfDay*nanosecond + 1
			default:
				now += rnd.Int64N(60 * nanosecond)
			}
			times = append(times, now)
			id := engine.TradeID(n + 1)
			r.add(id, now, c.min, c.max).Amount = int64(id)
			for {
				kept, age := int(id-first)+1, now-times[first-1]
				if kept <= c.min || age <= secondsOfDay*nanosecond && kept <= c.max {
					break
				}
				if age <= secondsOfDay*nanosecond {
					young++
				}
				dropped = times[first-1]
				first++
			}
			base := (first-1)/chunkTrades*chunkTrades + 1
			v := &r.view
			if v.first != first || v.last != id || v.droppedNs != dropped || r.young != young || v.base != base {
				t.Fatalf("%+v, trade %d: from %d (chunk of %d), dropped up to %d, %d young; want %d (%d), %d, %d",
					c, id, v.first, v.base, v.droppedNs, r.young, first, base, dropped, young)
			}
			if want := int(id-base)/chunkTrades + 1; len(v.chunks) != want {
				t.Fatalf("%+v, trade %d: %d chunks, want %d", c, id, len(v.chunks), want)
			}
			if got := v.At(first); got.TimeNs != times[first-1] || got.Amount != int64(first) {
				t.Fatalf("%+v: trade %d is %+v", c, first, got)
			}
			if chunk := v.chunks[len(v.chunks)-1]; chunk.text[0].Load() == nil { // each chunk has a text of ten bytes
				text := make([]byte, 10)
				chunk.text[0].Store(&text)
				cache.bytes.Add(10)
			}
			if gone := int(base-1) / chunkTrades; gone > forgotten {
				forgotten = gone
			}
			if want := int64(10 * (int(id-1)/chunkTrades + 1 - forgotten)); cache.bytes.Load() != want {
				t.Fatalf("%+v, trade %d: %d bytes of text, want %d", c, id, cache.bytes.Load(), want)
			}
		}
	}
}

// A chunk of candles is dropped with its last candle.
func TestCandlesAreDroppedByChunks(t *testing.T) {
	var s candleSeries
	for n := range 10 * chunkCandles {
		s.close(Candle{Start: int64(n), Trades: 1}, 5)
		gone := max(0, n+1-5)
		if s.view.first != gone%chunkCandles || s.view.closed != min(n+1, 5) ||
			len(s.view.chunks) != n/chunkCandles-gone/chunkCandles+1 {
			t.Fatalf("%d candles: %d from %d in %d chunks", n+1, s.view.closed, s.view.first, len(s.view.chunks))
		}
		same(t, int64(gone), s.view.at(0).Start)
	}
}

// lists runs a walk and a change after its first turn, and returns the number of turns.
func orders(t *testing.T, f *Feed, q Query, meanwhile func()) (rows []OrderRecord, u *turns) {
	t.Helper()
	u = &turns{tb: t, history: f.History()}
	u.meanwhile = func() {
		if u.n == 1 && meanwhile != nil {
			meanwhile()
		}
	}
	rows, err := f.History().Orders(q, u.turn)
	if err != nil {
		t.Fatal(err)
	}
	return rows, u
}

// A page that was sorted leaves out what no longer belongs to the list when its rows are read.
func TestRowsThatLeaveTheListBeforeTheyAreRead(t *testing.T) {
	for status, want := range map[StatusFilter][]uint64{
		AnyStatus: {5, 4, 2}, // 1 is forgotten, 3 is remembered for its client id
		OnlyOpen:  {5},
	} {
		s := newScript(Options{Retention: Retention{ClosedOrders: 2, ClientIDs: 1}})
		for n := uint64(1); n <= 5; n++ {
			s.place(0, n, 3, func(e *engine.Event) {
				if n == 3 {
					e.Client = clientID("c")
				}
			})
		}
		q := everything(3, walkRecords) // so deep that the rows are read in a turn of their own
		q.Status = status
		rows, u := orders(t, s.f, q, func() {
			for _, n := range []uint64{1, 3, 2, 4} {
				s.cancel(0, n, 10)
			}
		})
		var got []uint64
		for _, o := range rows {
			got = append(got, o.ID.N())
		}
		same(t, want, got)
		same(t, 2, u.n)
	}
}

// The turns of deep pages: a long page is sorted between two turns, a short one in the turn that has nothing to add.
func TestTheTurnsOfDeepPages(t *testing.T) {
	for _, c := range []struct {
		match, other int // open orders of the pair, and older closed ones of the other pair
		limit, turns int
	}{
		{1500, 1000, 1500, 5},
		{walkRecords, 10, walkRecords*6/10 + 1, 2},
		{walkRecords + 1, 10, walkRecords * 6 / 10, 3},
		{100, 10, walkRecords, 2},
	} {
		s := newScript(Options{})
		for n := range uint64(c.other) {
			s.place(0, n+1, 3, nil)
			s.cancel(0, n+1, 10)
		}
		for n := range uint64(c.match) {
			s.place(2, n+1, 3, nil)
		}
		q := everything(3, c.limit)
		q.Pair = 2
		rows, u := orders(t, s.f, q, nil)
		same(t, page(simpleOrders(s.f.History(), q), q), rows)
		if u.n != c.turns || c.match >= walkRecords && u.worst != walkRecords {
			t.Errorf("%+v: %d turns of at most %d records", c, u.n, u.worst)
		}
	}
	// An offset behind the last row of a pair, below the number of all orders.
	r, _, _ := mixed(10, 2*walkRecords)
	far := everything(1, 1)
	far.Pair, far.Offset = 1, walkRecords+500
	if rows, u := orders(t, r.feed, far, nil); len(rows) != 0 || u.n != 4 {
		t.Errorf("%d rows in %d turns", len(rows), u.n)
	}
	// An order that has ended and one that is found in the same turn are both added.
	s := newScript(Options{})
	for n := range uint64(walkRecords + 2) {
		s.place(2, n+1, 3, nil)
	}
	q := everything(3, 2*walkRecords)
	rows, _ := orders(t, s.f, q, func() { s.cancel(2, 1, 10) })
	same(t, simpleOrders(s.f.History(), q), rows)
}

// A walk starts over when the history becomes another one.
func TestAWalkStartsOverInAnotherHistory(t *testing.T) {
	make := func(n uint64, account engine.AccountID) *script {
		s := newScript(Options{})
		for k := range n {
			s.place(2, 2*k+1, account, nil)
			s.place(0, 2*k+1, 5, nil)
			s.command(0, engine.Event{
				Kind: engine.EventAccepted, Order: engine.MakeOrderID(0,
					2*k+2), Account: account, Amount: 9, Price: 100,
			}, engine.Event{
				Kind: engine.EventTrade, Order: engine.MakeOrderID(0, 2*k+2), Maker: engine.MakeOrderID(0,
					2*k+1), Price: 100,
				Amount: 1, Trade: engine.TradeID(k + 1), Account: account, MakerAccount: 5, OpenAmount: 8, MakerOpen: 9,
			})
		}
		return s
	}
	s, other := make(3*walkRecords, 3), make(walkRecords+70, 3)
	other.place(2, 9999, 3, nil)
	h, state := s.f.History(), other.f.AppendHistoryState(nil)
	before := s.f.AppendHistoryState(nil)
	restore := func(state []byte) {
		if err := s.f.DecodeHistoryState(state); err != nil {
			t.Fatal(err)
		}
	}
	q := everything(3, 1<<30)
	rows, _ := orders(t, s.f, q, func() { restore(state) })
	same(t, simpleOrders(h, q), rows)
	restore(before)
	u := &turns{tb: t, history: h}
	u.meanwhile = func() {
		if u.n == 1 {
			restore(state)
		}
	}
	fills, err := h.Fills(q, u.turn)
	if err != nil {
		t.Fatal(err)
	}
	same(t, simpleFills(h, q), fills)
	same(t, walkRecords+70, len(fills))
}

// The list of open orders is restored in the order of their creation: a short page finds the newest ones of all pairs.
func TestAShortPageOfARestoredHistory(t *testing.T) {
	s := newScript(Options{})
	for n, pair := range []engine.PairID{2, 0, 2, 2, 0, 0} {
		s.place(pair, uint64(n+1), 3, nil)
	}
	g := reload2(t, s.f)
	for limit := 1; limit <= 6; limit++ {
		same(t, ordersOf(t, s.f, everything(3, limit)), ordersOf(t, g, everything(3, limit)))
		same(t, limit, len(ordersOf(t, g, everything(3, limit))))
	}
}

// A page of fills ends at its time, continues behind its cursor, and has the fills of the account or of one order.
func TestPagesOfFills(t *testing.T) {
	s := newScript(Options{})
	h := s.f.History()
	orders := []engine.OrderID{0}
	accepted := func(n uint64, account engine.AccountID) engine.Event {
		orders = append(orders, engine.OrderID(n))
		return engine.Event{
			Kind: engine.EventAccepted, Order: engine.OrderID(n), Account: account, Amount: 100, Price: 100,
		}
	}
	trade := func(n engine.TradeID, taker, maker engine.OrderID) engine.Event {
		return engine.Event{
			Kind: engine.EventTrade, Order: taker, Maker: maker, Trade: n, Price: 100, Amount: 1, OpenAmount: 50,
			MakerOpen: 50,
		}
	}
	s.command(0, accepted(1, 3))
	s.command(0, accepted(2, 4))
	s.command(0, accepted(3, 3)) // trades with its own account too
	s.command(0, accepted(4, 5), trade(1, 4, 3), trade(2, 4, 1), trade(3, 4, 2), trade(4, 4, 1))
	s.command(0, accepted(5, 4), trade(5, 5, 3), trade(6, 5, 1), trade(7, 5, 3))
	s.command(0, accepted(6, 3), trade(8, 6, 3), trade(9, 6, 2), trade(10, 6, 1))
	s.command(0, accepted(7, 5), trade(11, 7, 2))
	s.command(0, accepted(8, 3), trade(12, 8, 2), trade(13, 8, 3))
	pairTwo := trade(1, engine.MakeOrderID(2, 2), engine.MakeOrderID(2, 1)) // a trade of the same number and time
	two := accepted(1, 4)
	two.Order = engine.MakeOrderID(2, 1)
	three := accepted(2, 3)
	three.Order = engine.MakeOrderID(2, 2)
	s.command(2, two)
	s.now -= nanosecond
	s.command(2, three, pairTwo)
	var cursors []Cursor
	var times []int64
	for account := engine.AccountID(3); account <= 5; account++ {
		for _, f := range simpleFills(h, everything(account, 1)) {
			c := f.Cursor()
			late, other := c, c
			late.TimeNs++
			other.Trade++
			foreign := c
			foreign.Order = 77
			cursors = append(cursors, c, late, other, foreign,
				Cursor{TimeNs: c.TimeNs - 1, Order: c.Order, Trade: c.Trade})
			times = append(times, f.TimeNs, f.TimeNs+1)
		}
	}
	for account := engine.AccountID(3); account <= 6; account++ {
		for _, of := range append(orders, 900, engine.MakeOrderID(5, 1), engine.MakeOrderID(2, 2)) {
			for limit := 1; limit <= 12; limit += 4 {
				q := everything(account, limit)
				q.Order = of
				for _, since := range append(times, q.SinceNs) {
					q.SinceNs = since
					all := simpleFills(h, q)
					same(t, append([]Fill(nil), all[:min(limit, len(all))]...),
						append([]Fill(nil), fillsOf(t, s.f, q)...))
				}
				q = everything(account, limit)
				q.Order = of
				all := simpleFills(h, q)
				for offset := range len(all) + 1 {
					q.Offset = offset
					same(t, append([]Fill(nil), all[offset:min(offset+limit, len(all))]...),
						append([]Fill(nil), fillsOf(t, s.f, q)...))
				}
				q.Offset = 0
				own, _ := h.Order(of)
				for i, c := range cursors {
					q.After = c
					before := h.visited
					rows := fillsOf(t, s.f, q)
					read := int(h.visited - before)
					same(t, append([]Fill(nil), behind(all, q)...), append([]Fill(nil), rows...))
					foreign := of != 0 && own.Account != account
					ahead := i%5 == 0 && of != 0 && of == c.Order // the row of the cursor is one of them
					if foreign && read != 0 || !foreign && ahead && read > len(rows)+1 {
						t.Errorf("account %d, order %d, behind %+v: %d records for %d rows", account, of, c, read,
							len(rows))
					}
				}
			}
		}
	}
}
