package vopr

import (
	"fmt"
	"strconv"
	"time"
)

// catchUpTries bounds the times at which readers are compared with the answers, 50 ms apart.
const catchUpTries = 60

// catchUp waits until no request is under way and each reader shows what the answers do: nothing is missing at the
// end of a stream.
func (w *world) catchUp() {
	if !w.quiet() {
		return // a fault holds a request up
	}
	differs := ""
	for range catchUpTries {
		w.machine.pass(int64(50 * time.Millisecond))
		turns := 0
		if !w.run(func() bool { turns++; return turns > 60 }) {
			return
		}
		for _, r := range w.streams.all {
			if r.conn == nil {
				return
			}
			if w.streams.take(r) == closedSlow {
				w.streams.open(r, w.x.Hub())
			}
			if w.failure != nil {
				return
			}
		}
		w.await("compare the streams", func() { differs = w.compareStreams() })
		if w.failure != nil || w.p.dead {
			return
		}
		if differs == "" {
			w.mix.CaughtUp++
			return
		}
	}
	w.fail("after %d times 50 ms without a request: %s", catchUpTries, differs)
}

// quiet waits until no request is under way. It reports whether that is so.
func (w *world) quiet() bool {
	n := 0
	return w.run(func() bool { n++; return len(w.inflight) == 0 || n > 20_000 }) && len(w.inflight) == 0
}

// compareStreams returns how a reader differs from the answers; empty: not at all.
func (w *world) compareStreams() string {
	for _, r := range w.streams.all {
		book := w.call(nil, "GET", "/api/orderbook?currencyPairCode="+r.pair+"&aliases=false", "")
		top, err := topOfAnswer(book.body)
		if !book.ok() || err != nil {
			return fmt.Sprintf("GET /api/orderbook of %s: %d", r.pair, book.status)
		}
		if has := topOf(sortedSide(r.bids, true), 40) + "|" + topOf(sortedSide(r.asks, false), 40); r.depth != 25 &&
			(has != top || r.depth == 0 && r.every == 0 && strconv.FormatUint(r.seq, 10) != book.seq) {
			return fmt.Sprintf("the book of %s is %s at %s, reader %s has %s at %d", r.pair, top, book.seq, r.name,
				has, r.seq)
		}
		tape := uint64(len(w.model.tapes[r.pair]))
		w.tapes().read(r.pair)
		if n := uint64(len(w.model.tapes[r.pair])); r.trade != n {
			return fmt.Sprintf("%s has %d trades, reader %s has %d, before were %d", r.pair, n, r.name, r.trade, tape)
		}
		ticker := w.call(nil, "GET", "/api/tickers?currencyPairCode="+r.pair, "")
		if string(ticker.body) != r.ticker {
			return fmt.Sprintf("the ticker of %s is %s, reader %s has %s", r.pair, ticker.body, r.name, r.ticker)
		}
	}
	return ""
}
