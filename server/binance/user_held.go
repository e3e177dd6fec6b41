package binance

import (
	"maps"
	"slices"

	"tickhive/engine"
)

// heldReports are the reports of commands that are not finished, by pair and account. They come in chunks, one for
// each part of a command: holding back and releasing them costs the sequencer the parts, not the reports.
//
// Owner: the sequencer's goroutine.
type heldReports struct {
	pairs map[engine.PairID]map[engine.AccountID]*heldChunks
	n     int
}

// heldChunks holds the reports of an account.
type heldChunks struct {
	chunks [][]*userMessage
	n      int
}

// add holds the reports of one part for an account. It returns false, and forgets those before, when the account's
// subscribers could not take so many.
func (h *heldReports) add(pair engine.PairID, account engine.AccountID, chunk []*userMessage) bool {
	if h.pairs == nil {
		h.pairs = map[engine.PairID]map[engine.AccountID]*heldChunks{}
	}
	of := h.pairs[pair]
	if of == nil {
		of = map[engine.AccountID]*heldChunks{}
		h.pairs[pair] = of
	}
	if of[account] == nil {
		of[account] = &heldChunks{}
	}
	l := of[account]
	if l.n+len(chunk) > maxBacklog {
		h.n -= l.n
		delete(of, account)
		return false
	}
	l.chunks, l.n = append(l.chunks, chunk), l.n+len(chunk)
	h.n += len(chunk)
	return true
}

// release passes what is held for the pairs that are not withheld, account by account.
func (h *heldReports) release(withheld []engine.PairID, pass func(account engine.AccountID, l *heldChunks)) {
	for _, pair := range slices.Sorted(maps.Keys(h.pairs)) {
		if slices.Contains(withheld, pair) {
			continue
		}
		of := h.pairs[pair]
		for _, account := range slices.Sorted(maps.Keys(of)) {
			h.n -= of[account].n
			pass(account, of[account])
		}
		delete(h.pairs, pair)
	}
}

// newestFirst yields the reports of an account about a pair, newest first.
func (h *heldReports) newestFirst(pair engine.PairID, account engine.AccountID, yield func(*userMessage) bool) {
	l := h.pairs[pair][account]
	if l == nil {
		return
	}
	for _, chunk := range slices.Backward(l.chunks) {
		for _, m := range slices.Backward(chunk) {
			if !yield(m) {
				return
			}
		}
	}
}
