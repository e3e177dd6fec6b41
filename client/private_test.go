package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func fill(pair string, second int, trade uint64, order string) *Fill {
	return &Fill{
		Deal:    Deal{Pair: pair, TradeID: trade, Date: fmt.Sprintf("2026-01-01T00:00:%02d.0000000Z", second)},
		OrderID: order,
	}
}

// A cursor has passed what is at or before the newest fill of the pair, and only the side of a trade with oneself that
// was returned. Its JSON is the cursor.
func TestACursorPassesEachFillOnce(t *testing.T) {
	var c Cursor
	if f := fill("A_B", 1, 1, "7"); c.passed(f) {
		t.Error("the zero cursor has passed a fill")
	}
	c.advance(fill("A_B", 5, 17, "7"))
	c.advance(fill("C_D", 3, 900, "9"))
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"date":"2026-01-01T00:00:05.0000000Z","pairs":{` +
		`"A_B":{"date":"2026-01-01T00:00:05.0000000Z","tradeId":17,"orderIds":["7"]},` +
		`"C_D":{"date":"2026-01-01T00:00:03.0000000Z","tradeId":900,"orderIds":["9"]}}}`
	if string(raw) != want {
		t.Errorf("%s", raw)
	}
	var again Cursor
	if err := json.Unmarshal(raw, &again); err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		f      *Fill
		passed bool
	}{
		{fill("A_B", 5, 17, "7"), true},
		{fill("A_B", 5, 17, "8"), false}, // the other side
		{fill("A_B", 5, 16, "8"), true},
		{fill("A_B", 5, 18, "7"), false},
		{fill("A_B", 4, 18, "7"), true}, // of a history that the exchange has lost
		{fill("A_B", 6, 12, "7"), false},
		{fill("C_D", 4, 901, "9"), false}, // older than the newest fill of another pair
		{fill("E_F", 1, 1, "9"), false},
	} {
		if again.passed(v.f) != v.passed {
			t.Errorf("%+v: passed %t", *v.f, !v.passed)
		}
	}
	copied := again.clone()
	again.advance(fill("A_B", 5, 17, "8"))
	if !again.passed(fill("A_B", 5, 17, "8")) || !again.passed(fill("A_B", 5, 17, "7")) {
		t.Error("a side of the trade is forgotten")
	}
	if copied.passed(fill("A_B", 5, 17, "8")) {
		t.Error("the copy has moved")
	}
}

// The ends of orders are forgotten only when no list of orders placed lately has them any more.
func TestOldEndsAreForgotten(t *testing.T) {
	var k openOrders
	date := func(i int) string { return fmt.Sprintf("2026-01-01T00:%02d:%02d.0000000Z", i/60, i%60) }
	for i := range 3000 {
		o := &Order{ID: fmt.Sprint(i), Status: "Canceled", Date: date(i)}
		if !k.note(o) || k.note(o) {
			t.Fatalf("order %d is not noted once", i)
		}
	}
	if len(k.ended) > 1100 || k.ended["2999"] == "" || k.ended["2990"] == "" {
		t.Errorf("%d ends are kept", len(k.ended))
	}
}

// A snapshot tells which orders and lists have ended without a message.
func TestASnapshotNamesWhatHasEnded(t *testing.T) {
	var k openOrders
	for _, id := range []string{"1", "2", "3"} {
		k.note(&Order{ID: id, Status: "Created"})
		k.noteList(&List{ID: id, Status: "executing"})
	}
	k.note(&Order{ID: "3", Status: "Completed", Date: "2026-01-01T00:00:00.0000000Z"})
	k.noteList(&List{ID: "3", Status: "done"})
	orders, lists := k.restart(&Message{
		Orders: []Order{{ID: "2", Status: "PartiallyCompleted"}, {ID: "4", Status: "Created"}},
		Lists:  []List{{ID: "2", Status: "executing"}},
	})
	if got := strings.Join(append(orders, lists...), " "); got != "1 1" {
		t.Errorf("%s have ended", got)
	}
	k.remember(orders, lists)
	orders, lists = k.restart(&Message{})
	if got := strings.Join(append(orders, lists...), " "); got != "1 2 4 1 2" {
		t.Errorf("%s have ended", got)
	}
}

// Many rows are read from their list, as far as it is needed, and few by their ids; those that are no longer kept are
// left out.
func TestManyRowsAreReadFromTheirList(t *testing.T) {
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprint(i))
	}
	listed, asked := 0, 0
	all := func(yield func(Order, error) bool) {
		for i := 200; i > 0; i-- { // 100 others are newer, and 0 is no longer kept
			listed++
			if !yield(Order{ID: fmt.Sprint(i)}, nil) {
				return
			}
		}
	}
	one := func(id string) (Order, error) {
		asked++
		if id == "0" {
			return Order{}, &APIError{Status: 404, Code: CodeNotFound}
		}
		return Order{ID: id}, nil
	}
	idOf := func(o *Order) string { return o.ID }
	got := func(ids []string) (found []string) {
		t.Helper()
		rows, err := readRows(ids, all, idOf, one)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			found = append(found, rows[i].ID)
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	if found := got(ids); len(found) != 99 || listed != 191 || asked != fewRows {
		t.Errorf("%d rows, %d from the list, %d by their ids", len(found), listed, asked)
	}
	listed, asked = 0, 0
	if found := got(ids[:3]); len(found) != 2 || listed != 0 || asked != 3 {
		t.Errorf("%d rows, %d from the list, %d by their ids", len(found), listed, asked)
	}
	broken := func(yield func(Order, error) bool) { yield(Order{}, errors.New("broken")) }
	if rows, err := readRows(ids, broken, idOf, one); err == nil {
		t.Errorf("%d rows", len(rows))
	}
}

// An update that came twice is taken once; one behind a missing one is not taken.
func TestAnUpdateThatComesTwiceIsTakenOnce(t *testing.T) {
	p := &PrivateStream{seqs: map[string]uint64{"fills": 1}}
	update := func(prev, seq uint64) error {
		f := fill("A_B", 1, seq, "7")
		return p.handle(t.Context(), &Message{Type: "update", Channel: "fills", PrevSeq: prev, Seq: seq, Fill: f})
	}
	if err := errors.Join(update(1, 2), update(1, 2), update(2, 3), update(1, 2)); err != nil || len(p.queue) != 2 {
		t.Errorf("%d fills: %v", len(p.queue), err)
	}
	if err := update(4, 5); err == nil || !strings.Contains(err.Error(), "missing behind seq 3") || len(p.queue) != 2 {
		t.Errorf("%d fills: %v", len(p.queue), err)
	}
}
