package server

import (
	"strings"

	"tickhive/engine"
)

// word is one value of an enumeration on the wire.
type word[T any] struct {
	text  string
	value T
}

func wordsOf[T interface{ String() string }](values ...T) []word[T] {
	out := make([]word[T], len(values))
	for i, v := range values {
		out[i] = word[T]{v.String(), v}
	}
	return out
}

// The enumerations of order entry and the engine's values.
var (
	sides        = wordsOf(engine.Buy, engine.Sell)
	orderTypes   = wordsOf(engine.Limit, engine.Market, engine.StopLimit, engine.StopMarket)
	timesInForce = wordsOf(engine.GTC, engine.IOC, engine.FOK)
	pairStates   = wordsOf(engine.Online, engine.PostOnlyState, engine.CancelOnly, engine.Halted)
	selfTrades   = wordsOf(engine.SelfTradeNone, engine.CancelTaker, engine.CancelMaker,
		engine.CancelBoth, engine.Decrement)
)

// readWord reads a member that is one of words; null and "" count as missing.
func readWord[T any](r *bodyReader, words []word[T]) (value T, given bool) {
	if r.peek() != '"' {
		if !r.null() {
			r.mistyped("must be a string: " + listWords(words) + ".")
		}
		return value, false
	}
	s, ok := r.text()
	if !ok || len(s) == 0 {
		return value, false
	}
	for i := range words {
		if words[i].text == string(s) {
			return words[i].value, true
		}
	}
	r.bad("must be one of " + listWords(words) + ".")
	return value, false
}

func listWords[T any](words []word[T]) string {
	texts := make([]string, len(words))
	for i := range words {
		texts[i] = words[i].text
	}
	return strings.Join(texts, ", ")
}

// uuid reads a member that is a UUID in its text form; null and "" count as missing.
func (r *bodyReader) uuid() (id [16]byte, given bool) {
	s := r.string(36)
	if s == nil {
		return id, false
	}
	id, ok := parseUUID(s)
	if !ok {
		r.bad("must be a UUID of the form 00000000-0000-0000-0000-000000000000.")
	}
	return id, ok
}

// parseUUID reads 8-4-4-4-12 hexadecimal digits of either case.
func parseUUID[T []byte | string](s T) (id [16]byte, ok bool) {
	if len(s) != 36 {
		return id, false
	}
	n := 0
	for i := 0; i < len(s); i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return id, false
			}
			continue
		}
		c := s[i]
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return id, false
		}
		id[n/2] = id[n/2]<<4 | c
		n++
	}
	return id, true
}

// pairCode reads a member that is a pair code of the form of
// docs/contract/market-data.md#pair-codes-and-order-of-lists.
func (r *bodyReader) pairCode() []byte {
	s := r.string(25)
	if s != nil && !isPairCode(s) {
		r.bad("must be a pair code of the form BASE_QUOTE, 2 to 12 of A-Z and 0-9 each.")
		return nil
	}
	return s
}

// isPairCode does the check of engine.ValidPairCode without its regular expression, because
// every order passes it.
func isPairCode[T []byte | string](s T) bool {
	run, runs := 0, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'A' && c <= 'Z', c-'0' <= 9:
			run++
		case c == '_' && runs == 0 && run >= 2 && run <= 12:
			run, runs = 0, 1
		default:
			return false
		}
	}
	return runs == 1 && run >= 2 && run <= 12
}

// clientOrderID reads a member of the form [A-Za-z0-9_.:-]{1,64}.
func (r *bodyReader) clientOrderID() []byte {
	s := r.string(1 << 10)
	if s == nil {
		return nil
	}
	ok := len(s) <= 64
	for _, c := range s {
		ok = ok && (c|0x20 >= 'a' && c|0x20 <= 'z' || c-'0' <= 9 || c == '_' || c == '.' || c == ':' || c == '-')
	}
	if !ok {
		r.bad("must be 1 to 64 characters of A-Z, a-z, 0-9, _, ., : and -.")
		return nil
	}
	return s
}
