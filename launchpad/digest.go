package launchpad

import (
	"fmt"

	"github.com/tickhive/tickhive/internal/mix"
	"github.com/tickhive/tickhive/internal/wire"
)

// Kinds of what is mixed.
const (
	mixIdent = iota + 1
	mixToken
	mixBalance
	mixSpawner
	mixMark
	mixCheckpoint
	mixPast
	mixHead
	mixCandle
)

// Digest returns a sum over the whole state: what each thing in it adds is taken off when the thing changes and added
// again afterwards. So it is the same for equal states, however they came about, and can be computed from a state. What
// is derived is not in it: indexes, counts of holders, windows, USD figures, running boosts.
func (s *State) Digest() uint64 { return s.digest + s.mixHead() }

// mixHead mixes the members of the head, which change with every command.
func (s *State) mixHead() uint64 {
	begun := uint64(0)
	if s.begun {
		begun = 1
	}
	h := mix.Of4(begun<<8|mixHead, s.seed, uint64(s.genesisNs), uint64(s.nowNs))
	h = mix.Of(mix.Of4(s.seq, s.position, uint64(s.lastListBlock), s.faults), h)
	for i := range s.totals {
		t := &s.totals[i]
		for _, a := range [...]Amount{t.Fees, t.Deposited, t.Withdrawn} {
			h = mix.Of(h, a.mix())
		}
	}
	return h
}

func (a Amount) mix() uint64 { return mix.Of4(a.w[0], a.w[1], a.w[2], a.w[3]) }

func (id *Ident) mix() uint64 {
	c := *id
	return mix.Of(mix.Bytes(mixIdent, wire.Append(nil, c.code)), uint64(id.No))
}

// mix mixes what a snapshot has of a token but its candles.
func (t *Token) mix() uint64 {
	boosted := uint64(t.BoostTier)
	if t.Boosted {
		boosted |= 1 << 8
	}
	h := mix.Of(t.ReserveToken.mix(), t.ReserveQuote.mix())
	return mix.Of(mix.Of4(h, uint64(t.LastTradeSec), uint64(t.BoostUntilSec), boosted), uint64(t.No)<<8|mixToken)
}

func (m *mark) mix() uint64 { return mix.Of4(uint64(m.sec), uint64(m.token), m.quote.mix(), mixMark) }

func (c *checkpoint) mix() uint64 {
	return mix.Of4(c.seq, uint64(c.token), uint64(c.endSec), mixCheckpoint)
}

// mixAmount mixes an amount of a tree with its key.
func mixAmount(kind uint64, key string, v Amount) uint64 {
	return mix.Of(mix.Bytes(kind, []byte(key)), v.mix())
}

func (v spawner) mix(key string) uint64 {
	return mix.Of4(mix.Bytes(mixSpawner, []byte(key)), uint64(v.LastSec), uint64(v.Count), 0)
}

// digestOf computes the sum of the state again, but for the head.
func (s *State) digestOf() (sum uint64) {
	for i := range s.idents.n {
		id := s.idents.at(i)
		t, _ := s.tokens.Get(id.No)
		sum += id.mix() + t.mix()
		for k := range t.Candles {
			sum += k.mix(id.No)
		}
	}
	s.balances.Scan(func(k string, v Amount) bool {
		sum += mixAmount(mixBalance, k, v)
		return true
	})
	s.spawners.Scan(func(k string, v spawner) bool {
		sum += v.mix(k)
		return true
	})
	for i := range s.window.Len() {
		sum += s.window.At(i).mix()
	}
	for i := range s.checkpoints.Len() {
		sum += (*s.checkpoints.At(i)).mix()
	}
	s.past.Scan(func(k string, v Amount) bool {
		sum += mixAmount(mixPast, k, v)
		return true
	})
	return sum
}

// CheckDigest compares the running digest with the one of the state.
func (s *State) CheckDigest() error {
	if now := s.digestOf(); now != s.digest {
		return fmt.Errorf("the running sum of the launchpad is %016x, the state has %016x", s.digest, now)
	}
	return nil
}
