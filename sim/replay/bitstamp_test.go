package replay

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
)

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
