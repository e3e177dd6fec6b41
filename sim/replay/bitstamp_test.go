package replay

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tickhive/engine"
	"tickhive/engine/sequencer"
)

// log lines of Bitstamp: milliseconds after 1430438400000, id, side, price and amount.
const bitstampDuplicates = `
-- btcusd.log --
1430438400000 order_book {"bids": [["99", "5"]], "asks": [["101", "5"]]}
1430438400100 order_created {"price": "99", "amount": "2", "id": 11, "order_type": 0}
1430438400200 order_deleted {"price": "99", "amount": "2", "id": 11, "order_type": 0}
1430438400300 order_deleted {"price": "99", "amount": "2", "id": 11, "order_type": 0}
1430438400400 order_deleted {"price": "98", "amount": "3", "id": 12, "order_type": 0}
1430438400500 order_created {"price": "98", "amount": "3", "id": 12, "order_type": 0}
1430438400600 order_deleted {"price": "101", "amount": "1", "id": 13, "order_type": 1}
1430438400700 order_created {"price": "101", "amount": "1", "id": 13, "order_type": 1}
1430438400800 order_deleted {"price": "101", "amount": "0", "id": 14, "order_type": 0}
1430438400900 order_created {"price": "101", "amount": "1", "id": 14, "order_type": 0}
1430438401000 order_created {"price": "97", "amount": "1", "id": 15, "order_type": 0}
1430438401100 order_created {"price": "97", "amount": "1", "id": 15, "order_type": 0}
1430438401200 order_deleted {"price": "97", "amount": "1", "id": 15, "order_type": 0}
1430438405000 order_book {"bids": [["99", "5"]], "asks": [["101", "4"]]}
`

func TestADuplicateOfALogLineDoesNotChangeTheBook(t *testing.T) {
	t.Parallel()
	checkGolden(t, []golden{{name: "duplicates", format: "bitstamp", text: bitstampDuplicates + `
-- then --
pair BTC_USD 0,0 from 2015-05-01T00:00:00.000Z
00:00:00.000 maker buy 5 @ 99 gtc post = #1
00:00:00.000 maker sell 5 @ 101 gtc post = #2
00:00:00.100 maker buy 2 @ 99 gtc = #3
00:00:00.200 cancel #3
00:00:00.900 maker buy 1 @ 101 gtc = #4, trade 1 @ 101 with #2
00:00:01.000 maker buy 1 @ 97 gtc = #5
00:00:01.200 cancel #5
book 5 @ 99 | 4 @ 101
check book rows 1 of 1
check trades 0 of 0
check sizes given by the file 0 of 2
trades: 1 made
1 deletions of ids that were deleted before: left out
3 creations of ids that were deleted before: they do not stay in the book
1 creations of ids that are open: left out
`}})
}

func TestDeletedIDsAreBounded(t *testing.T) {
	t.Parallel()
	g := newGoneIDs(3)
	for id := range uint64(5) {
		if !g.add(id, id%2 == 0) || g.add(id, true) {
			t.Errorf("id %d: added once must be new, twice not", id)
		}
	}
	for id, want := range []bool{false, false, true, true, true} {
		if got := g.has(uint64(id)); got != want {
			t.Errorf("id %d is remembered: %v, want %v", id, got, want)
		}
	}
	if len(g.filled) != 3 || len(g.ring) != 3 || g.forgotten != 2 || !g.filled[2] || g.filled[3] {
		t.Errorf("bound: %+v", g)
	}
}

// At the bound the oldest id is forgotten: its second deletion is of an order that the log never
// knows, which takes its amount off the level's order without a name.
func TestAForgottenDeletionIsCounted(t *testing.T) {
	t.Parallel()
	log := "1430438400000 order_book {\"bids\": [[\"99\", \"9\"]], \"asks\": []}\n"
	for i, id := range []int{11, 12, 13, 11, 13} {
		if i < 3 {
			log += fmt.Sprintf("1430438400001 order_created {\"price\": \"98\", \"amount\": \"1\", \"id\": %d, "+
				"\"order_type\": 0}\n", id)
		}
		log += fmt.Sprintf("1430438400001 order_deleted {\"price\": \"99\", \"amount\": \"1\", \"id\": %d, "+
			"\"order_type\": 0}\n", id)
	}
	o := Options{Format: "bitstamp", Files: []string{file(t, "x.log", log)}}
	for most, want := range map[int][]string{
		2:       {"book 8 @ 99 |", "1 deletions of ids that were deleted before", "2 deleted ids forgotten"},
		maxGone: {"book 9 @ 99 |", "2 deletions of ids that were deleted before"},
	} {
		got := playWith(t, o, func(r *Replay) { r.goneIDs = most })
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("with %d ids: no %q in\n%s", most, part, got)
			}
		}
		if most == maxGone && strings.Contains(got, "forgotten") {
			t.Errorf("ids were forgotten below the bound:\n%s", got)
		}
	}
}

// A pass of a looped log feeds what the first pass fed: what the log reported late is enforced a
// second after it in each of them.
func TestALoopedLogRepeatsItself(t *testing.T) {
	t.Parallel()
	path := file(t, "btcusd.log", `1430438400000 order_book {"bids": [["99", "5"]], "asks": [["101", "5"]]}
1430438400100 order_created {"price": "98", "amount": "2", "id": 11, "order_type": 0}
1430438400200 order_deleted {"price": "98", "amount": "0", "id": 11, "order_type": 0}
1430438400300 order_created {"price": "97", "amount": "2", "id": 12, "order_type": 0}
1430438401200 order_created {"price": "97", "amount": "3", "id": 13, "order_type": 0}
`)
	ctx, cancel := context.WithCancel(context.Background())
	r, err := New(Options{Format: "bitstamp", Files: []string{path}, Loop: true, Progress: func(p Progress) {
		if p.Pass == 2 && p.Done == p.Total {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	m := newTestMarket(t, r)
	s := &transcript{
		Entry: m.loop, taker: r.opts.Taker, orders: map[engine.OrderID]int{}, seen: map[*sequencer.Batch]bool{},
	}
	if _, err := r.Run(ctx, s, m.pair, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(regexp.MustCompile(`#\d+`).ReplaceAllString(s.text.String(), "#")), "\n")
	n := len(lines) / 2
	for i := range n {
		if first, second := lines[i][8:], lines[n+i][8:]; first != second {
			t.Errorf("line %d: %s, in the second pass %s", i, first, second)
		}
	}
	if n != 10 || len(lines) != 2*n || lines[4] != "00:00:01.200 cancel #" {
		t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}
