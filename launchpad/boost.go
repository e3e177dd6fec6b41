package launchpad

import "tickhive/internal/refuse"

// Tier selects the duration of a boost.
type Tier uint8

// The boost tiers of docs/contract/launchpad.md#boosts.
const (
	NoTier Tier = iota
	Short
	Standard
	Extended
	Premium
	tiers
)

var tierNames = [tiers]string{"", "short", "standard", "extended", "premium"}

func (t Tier) String() string { return tierNames[t] }

// Seconds returns the duration of one purchased boost.
func (t Tier) Seconds() int64 {
	return [tiers]int64{0, 3600, 86400, 7 * 86400, 30 * 86400}[t]
}

// ParseTier returns the tier with this wire name.
func ParseTier(name string) (Tier, bool) {
	for t := Short; t < tiers; t++ {
		if tierNames[t] == name {
			return t, true
		}
	}
	return NoTier, false
}

func (s *State) planBoost(nowNs int64, cmd BuyBoost) (Record, *refuse.Refusal) {
	if cmd.Tier == NoTier || cmd.Tier >= tiers {
		return Record{}, refuse.Param("tier", "tier is one of short, standard, extended, premium.")
	}
	t, ok := s.tokens.Get(cmd.Token)
	if !ok {
		return Record{}, unknownToken()
	}
	if until := boostEnd(t, floorSec(nowNs), cmd.Tier); until > floorSec(nowNs)+MaxBoostAheadSec {
		return Record{}, refuse.New(refuse.Conflict, "tier", "Boosts reach at most %d days ahead.",
			MaxBoostAheadSec/86400)
	}
	return Record{Kind: RecBoost, Token: cmd.Token, Tier: cmd.Tier}, nil
}

// boostEnd returns the second at which a boost ends after a purchase: the purchase extends a
// running boost, otherwise it begins now.
func boostEnd(t *Token, nowSec int64, tier Tier) int64 {
	return max(t.BoostUntilSec, nowSec) + tier.Seconds()
}

func (s *State) applyBoost(rec *Record, res *Result) {
	t := s.edit(rec.Token)
	if t.Boosted {
		s.boostEnds.Delete(boostKey(t))
	}
	t.BoostUntilSec = boostEnd(t, floorSec(rec.TimeNs), rec.Tier)
	t.BoostTier, t.Boosted = rec.Tier, true
	s.boostEnds.Set(boostKey(t), struct{}{})
	s.put(t)
	res.Token = t
	res.Fact = t.fact(s.seq)
}

// boostKey returns the key that sorts running boosts by their end. MaxTokens is 2^20 and seconds stay below
// 2^43, so both fit.
func boostKey(t *Token) uint64 { return uint64(t.BoostUntilSec)<<20 | uint64(t.No-1) }

// endOneBoost ends the boost with the earliest end (expiresAt).
func (s *State) endOneBoost() {
	key, _, _ := s.boostEnds.PopMin()
	t := s.edit(uint32(key&(1<<20-1)) + 1)
	t.Boosted = false
	s.put(t)
}
