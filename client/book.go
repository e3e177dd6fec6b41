package client

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// checksumLevels is the number of levels of each side that the checksum covers.
const checksumLevels = 10

// Errors of a Book. After each of them the book needs a new snapshot.
var (
	ErrGap      = errors.New("client: an update does not follow the one before it")
	ErrChecksum = errors.New("client: the checksum of the book does not match")
)

// BookLevel is one price with its amount, both as the server printed them.
type BookLevel struct{ Price, Amount string }

// Book rebuilds one order book from a snapshot and updates. It verifies every update.
type Book struct {
	Bids, Asks []BookLevel // best first
	Seq        uint64
	Epoch      string
	ready      bool
}

// Ready reports whether the book has a snapshot and no check has failed since.
func (b *Book) Ready() bool { return b.ready }

// Clone returns a copy that shares no memory with b.
func (b *Book) Clone() *Book {
	c := *b
	c.Bids, c.Asks = slices.Clone(b.Bids), slices.Clone(b.Asks)
	return &c
}

// Apply applies a snapshot or an update. It ignores a repeated update, which is at or before Seq. After ErrGap
// or ErrChecksum the book is not ready until the next snapshot.
func (b *Book) Apply(m *Message) error {
	switch m.Type {
	case "snapshot":
		b.Bids, b.Asks = levels(m.Bids), levels(m.Asks)
		b.Seq, b.Epoch, b.ready = m.Seq, m.Epoch, true
	case "update":
		if !b.ready || m.Seq <= b.Seq {
			return nil
		}
		if m.PrevSeq != b.Seq {
			b.ready = false
			return fmt.Errorf("%w: have %d, update goes from %d to %d", ErrGap, b.Seq, m.PrevSeq, m.Seq)
		}
		for _, l := range m.Bids {
			b.Bids = put(b.Bids, l, true)
		}
		for _, l := range m.Asks {
			b.Asks = put(b.Asks, l, false)
		}
		b.Seq = m.Seq
	default:
		return nil
	}
	if sum := b.Checksum(); sum != m.Checksum {
		b.ready = false
		return fmt.Errorf("%w at seq %d: have %d, server says %d", ErrChecksum, b.Seq, sum, m.Checksum)
	}
	return nil
}

// Heartbeat returns ErrGap when the server's seq differs from the book's: then an update was lost.
func (b *Book) Heartbeat(m *Message) error {
	if b.ready && m.Seq != b.Seq {
		b.ready = false
		return fmt.Errorf("%w: have %d, heartbeat says %d", ErrGap, b.Seq, m.Seq)
	}
	return nil
}

// Checksum returns the CRC-32 (IEEE) of a text: the best 10 bids, `|`, the best 10 asks, each as price:amount
// in the server's digits, joined by commas.
func (b *Book) Checksum() uint32 {
	var s strings.Builder
	side := func(ls []BookLevel) {
		for i, l := range ls[:min(len(ls), checksumLevels)] {
			if i > 0 {
				s.WriteByte(',')
			}
			s.WriteString(l.Price + ":" + l.Amount)
		}
	}
	side(b.Bids)
	s.WriteByte('|')
	side(b.Asks)
	return crc32.ChecksumIEEE([]byte(s.String()))
}

func levels(in [][2]Decimal) []BookLevel {
	out := make([]BookLevel, len(in))
	for i, l := range in {
		out[i] = BookLevel{string(l[0]), string(l[1])}
	}
	return out
}

// put sets the amount of one level, or removes the level when the amount is zero.
func put(side []BookLevel, l [2]Decimal, bids bool) []BookLevel {
	price, amount := string(l[0]), string(l[1])
	i, found := slices.BinarySearchFunc(side, price, func(have BookLevel, want string) int {
		c := comparePrices(have.Price, want)
		if bids {
			return -c
		}
		return c
	})
	gone := strings.Trim(amount, "0.") == ""
	switch {
	case found && gone:
		return slices.Delete(side, i, i+1)
	case found:
		side[i].Amount = amount
		return side
	case gone:
		return side
	}
	return slices.Insert(side, i, BookLevel{price, amount})
}

// comparePrices compares two decimals with the same number of decimals, which is the case for all prices of a
// pair.
func comparePrices(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
