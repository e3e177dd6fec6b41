package format

import (
	"cmp"
	"strconv"

	"github.com/tickhive/tickhive/internal/mix"
)

// maxIDs bounds the ids of trades that a table remembers, a power of two. Rows that a download repeats are near each
// other: it repeats the end of a page.
const maxIDs = 1 << 14

// tradeIDs remembers trades by their ids. An id has one place, that of its last bits: of ids that are numbers and
// ascend, the newest maxIDs are remembered; another id is one of letters, whose hash takes any place. The same rows
// always give the same answers.
type tradeIDs [maxIDs]tradeID

// tradeID is the id of a trade, a number or a hash, and the hash of the texts of its row.
type tradeID struct {
	set        bool
	id, values uint64
}

// join adds the trades of a file to those of the files before it, which may be nil. The later trade takes the place.
func (t *tradeIDs) join(earlier *tradeIDs) *tradeIDs {
	if t == nil || earlier == nil {
		return cmp.Or(t, earlier)
	}
	for i := range t {
		if !t[i].set {
			t[i] = earlier[i]
		}
	}
	return t
}

// at returns what has the place of an id. t may be nil.
func (t *tradeIDs) at(is tradeID) (has tradeID) {
	if t != nil {
		has = t[is.id%maxIDs]
	}
	return has
}

// idOf returns an id. Each exchange counts its trades by itself.
func idOf(exchange, id []byte) tradeID {
	if n, err := strconv.ParseUint(string(id), 10, 64); err == nil && len(exchange) == 0 {
		return tradeID{set: true, id: n}
	}
	return tradeID{set: true, id: hashTexts(exchange, id)}
}

// hashTexts returns a hash of texts. It is the same on every machine.
func hashTexts(texts ...[]byte) (h uint64) {
	for _, text := range texts {
		h = mix.Bytes(h, text)
	}
	return h
}
