package body

import (
	"strings"

	"tickhive/engine"
)

// Word pairs one value of an enumeration with its text on the wire.
type Word[T any] struct {
	Text  string
	Value T
}

// WordsOf returns the words of values whose String is their text on the wire.
func WordsOf[T interface{ String() string }](values ...T) []Word[T] {
	out := make([]Word[T], len(values))
	for i, v := range values {
		out[i] = Word[T]{v.String(), v}
	}
	return out
}

// The enumerations of order entry, with the engine's values.
var (
	sides        = WordsOf(engine.Buy, engine.Sell)
	orderTypes   = WordsOf(engine.Limit, engine.Market, engine.StopLimit, engine.StopMarket)
	timesInForce = WordsOf(engine.GTC, engine.IOC, engine.FOK)
	PairStates   = WordsOf(engine.Online, engine.PostOnlyState, engine.CancelOnly, engine.Halted)
	selfTrades   = WordsOf(engine.SelfTradeNone, engine.CancelTaker, engine.CancelMaker,
		engine.CancelBoth, engine.Decrement)
)

// ReadWord reads a member that is one of words; null and "" count as missing.
func ReadWord[T any](r *Reader, words []Word[T]) (value T, given bool) {
	if r.Peek() != '"' {
		if !r.Null() {
			r.mistyped("must be a string: " + listWords(words) + ".")
		}
		return value, false
	}
	s, ok := r.quoted()
	if !ok || len(s) == 0 {
		return value, false
	}
	for i := range words {
		if words[i].Text == string(s) {
			return words[i].Value, true
		}
	}
	r.Bad("must be one of " + listWords(words) + ".")
	return value, false
}

func textsOf[T any](words []Word[T]) []string {
	texts := make([]string, len(words))
	for i := range words {
		texts[i] = words[i].Text
	}
	return texts
}

func listWords[T any](words []Word[T]) string { return strings.Join(textsOf(words), ", ") }

// uuid reads a member that is a UUID in its text form; null and "" count as missing.
func (r *Reader) uuid() (id [16]byte, given bool) {
	s := r.Text(36)
	if s == nil {
		return id, false
	}
	id, ok := ParseUUID(s)
	if !ok {
		r.Bad("must be a UUID of the form 00000000-0000-0000-0000-000000000000.")
	}
	return id, ok
}

// ParseUUID reads 8-4-4-4-12 hexadecimal digits of either case.
func ParseUUID[T []byte | string](s T) (id [16]byte, ok bool) {
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

// PairCode reads a member that must be a pair code
// (docs/contract/market-data.md#pair-codes-and-order-of-lists).
func (r *Reader) PairCode() []byte {
	s := r.Text(engine.MaxPairCode)
	if s != nil && !engine.ValidPairCode(s) {
		r.Bad("must be a pair code of the form BASE_QUOTE, " + engine.CurrencyForm + " each.")
		return nil
	}
	return s
}

// clientOrderID reads a member of the form [A-Za-z0-9_.:-]{1,64}.
func (r *Reader) clientOrderID() []byte {
	s := r.Text(1 << 10)
	if s == nil {
		return nil
	}
	if !clientOrderChars(s) {
		r.Bad("must be 1 to 64 characters of A-Z, a-z, 0-9, _, ., : and -.")
		return nil
	}
	return s
}

func clientOrderChars[T string | []byte](s T) bool {
	ok := len(s) <= 64
	for i := range len(s) {
		c := s[i]
		ok = ok && (c|0x20 >= 'a' && c|0x20 <= 'z' || c-'0' <= 9 || c == '_' || c == '.' || c == ':' || c == '-')
	}
	return ok
}

// IsClientOrderID reports whether a text has the form of a client order id.
func IsClientOrderID(s string) bool { return s != "" && clientOrderChars(s) }
