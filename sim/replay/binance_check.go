package replay

import (
	"fmt"

	"tickhive/marketdata"
)

// touch keeps a best bid and ask until the book has its update id.
func (b *binance) touch() error {
	var t [2]intLevel
	for side, levels := range [2][]priceLevel{b.r.bids, b.r.asks} {
		l, err := toLevels(nil, levels, b.digitsPrice, b.digitsAmount)
		if err != nil {
			return b.in.fail(remedyValue, "%v", err)
		}
		if len(l) > 0 {
			t[side] = l[0]
		}
	}
	if state, ok := b.states[b.r.last]; ok {
		b.compare(state, t)
		return nil
	}
	b.touches[b.r.last] = t
	b.touchIDs = keepNewest(b.touches, b.touchIDs, b.r.last)
	return nil
}

func (b *binance) compare(ours, recorded [2]intLevel) {
	b.counts.touch.All++
	if ours == recorded {
		b.counts.touch.Good++
	}
}

// keepNewest bounds a table: ids lists its keys, oldest first.
func keepNewest(table map[uint64][2]intLevel, ids []uint64, id uint64) []uint64 {
	ids = append(ids, id)
	if len(ids) > binanceTouches {
		delete(table, ids[0])
		ids = ids[1:]
	}
	return ids
}

// check looks up the public best bid and ask of each new book state.
func (b *binance) check(_ *desk, pub Public) (err error) {
	if len(b.want) >= tradesPerQuery {
		if err := b.compareTrades(pub); err != nil {
			return err
		}
	}
	if (b.r.kind != binanceDepth && b.r.kind != binanceSnapshot) || len(b.applied) == 0 {
		return nil
	}
	if b.bids, b.asks, err = pub.Book(1, b.bids[:0], b.asks[:0]); err != nil {
		return fmt.Errorf("replay: check: %w", err)
	}
	var state [2]intLevel
	for side, levels := range [2][]marketdata.Level{b.bids, b.asks} {
		if len(levels) > 0 {
			state[side] = intLevel{levels[0].Price, levels[0].Amount}
		}
	}
	// Of several diffs entered at once only the last one's state was ever public.
	id := b.applied[len(b.applied)-1]
	if t, ok := b.touches[id]; ok {
		b.compare(state, t)
		return nil
	}
	b.states[id] = state
	b.stateIDs = keepNewest(b.states, b.stateIDs, id)
	return nil
}

func (b *binance) compareTrades(pub Public) error {
	if len(b.want) == 0 {
		return nil
	}
	got, err := pub.Trades(len(b.want) + tradesPerQuery)
	if err != nil {
		return fmt.Errorf("replay: check: %w", err)
	}
	b.counts.trades.All += len(b.want)
	b.counts.trades.Good += common(b.want, got)
	b.want = b.want[:0]
	return nil
}

func (b *binance) finish(_ *desk, pub Public) error { return b.compareTrades(pub) }

func (b *binance) results() []Check {
	return []Check{b.counts.touch, b.counts.trades}
}

func (b *binance) notes() []string {
	notes := b.order.notes()
	notes = noted(notes, b.lost, "%d gaps in the update ids: the book is unsure from there to the next snapshot")
	return noted(notes, b.ignored, "%d messages of streams that are not used")
}
