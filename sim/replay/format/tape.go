package format

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// tape is the answer of historical_trades that listing sites poll, of this exchange and of others: the trades of each
// taker's side, newest first (docs/contract/listing.md).
type tape struct {
	Buy  []tapeTrade `json:"buy"`
	Sell []tapeTrade `json:"sell"`
}

type tapeTrade struct {
	ID     text `json:"trade_id"`
	Time   text `json:"trade_timestamp"`
	Price  text `json:"price"`
	Amount text `json:"base_volume"`

	id uint64
}

// isTape reports whether a text begins as such an answer.
func isTape(head []byte) bool {
	return bytes.HasPrefix(head, []byte(`{"buy"`)) || bytes.HasPrefix(head, []byte(`{"sell`))
}

// tapeRows returns the trades of both sides as CSV, in order of their ids.
func tapeRows(in io.Reader) (*bufio.Reader, error) {
	const remedy = "give the whole answer of historical_trades"
	doc, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("historical_trades: %w", err)
	}
	if len(doc) > maxDocument {
		return nil, flawAt(0, "ask for less with start_time and end_time, and give the answers one by one",
			"historical_trades: longer than %d bytes", maxDocument)
	}
	var t tape
	if err := json.Unmarshal(doc, &t); err != nil {
		return nil, locateJSON(err, remedy)
	}
	var rows []tapeTrade
	out := []byte("trade_id,trade_timestamp,price,base_volume,side\n")
	for side, trades := range map[string][]tapeTrade{"buy": t.Buy, "sell": t.Sell} {
		for i := range trades {
			r := &trades[i]
			if r.id, err = strconv.ParseUint(string(r.ID), 10, 64); err != nil {
				return nil, flawAt(0, remedy, "historical_trades: a trade of %s with the id %q, want a number", side,
					clip(r.ID))
			}
			r.ID = text(side)
			rows = append(rows, *r)
		}
	}
	slices.SortFunc(rows, func(a, b tapeTrade) int { return cmp.Compare(a.id, b.id) })
	for i := range rows {
		r := &rows[i]
		out = fmt.Appendf(out, "%d,%s,%s,%s,%s\n", r.id, r.Time, r.Price, r.Amount, r.ID)
	}
	return bufio.NewReader(bytes.NewReader(out)), nil
}
