package machine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/mix"
	"github.com/tickhive/tickhive/marketdata"
)

// StateHash is the SHA-256 of the state of the exchange, with the hash of each part
// (docs/contract/internal.md#clock-and-state). Hashes are 64 hex digits.
type StateHash struct {
	Hash     string // of the parts' hashes
	Market   MarketHash
	Others   [Parts]string // of the other parts, by Part
	Settings string
}

// MarketHash is the SHA-256 of a market's state, with the hash of each pair.
type MarketHash struct {
	Seq   uint64 // sum of the pairs' seqs
	Hash  string
	Pairs []PairHash
}

// PairHash is the state hash of one pair.
type PairHash struct {
	Code string
	Seq  uint64
	Hash string
}

// HashPair returns the hash of a pair's whole state: its book with all resting and stop orders, and the market
// data folded from its events. It calls pause, unless it is nil, after every 64 KiB.
func HashPair(core *engine.Core, feed *marketdata.Feed, p engine.PairID, pause func()) [32]byte {
	book, market := core.HashPair(p, pause), feed.HashPair(p, pause)
	return sha256.Sum256(append(book[:], market[:]...))
}

// HashMarket returns the hash of core and feed: the control stream, then the pairs by code. Only the goroutine
// that owns core and feed may call it.
func HashMarket(core *engine.Core, feed *marketdata.Feed) MarketHash {
	h, _ := HashMarketOf(owner{}, core, feed)
	return h
}

// Queries runs reads of core and feed; *sequencer.Loop implements it.
type Queries interface {
	Query(fn func()) error
	// QueryParts lets other pairs change at each pause.
	QueryParts(p engine.PairID, read func(pause func())) error
}

// owner runs reads on the goroutine that owns core and feed.
type owner struct{}

func (owner) Query(fn func()) error { fn(); return nil }

func (owner) QueryParts(_ engine.PairID, read func(pause func())) error { read(nil); return nil }

// HashMarketOf returns the hash of a running market. It reads one pair after the other, so that pairs may have moved on
// before it has read the last one; each pair is read in one state.
func HashMarketOf(q Queries, core *engine.Core, feed *marketdata.Feed) (out MarketHash, err error) {
	all := sha256.New()
	var pairs []engine.PairID
	err = q.Query(func() {
		control := core.HashControl()
		all.Write(control[:])
		pairs = core.PairsByCode()
	})
	for _, id := range pairs {
		var sum [32]byte
		var code string
		var seq uint64
		if err == nil {
			err = q.QueryParts(id, func(pause func()) {
				in, _ := core.Pair(id)
				code, seq = in.Code, uint64(core.LastSeq(id))
				sum = HashPair(core, feed, id, pause)
			})
		}
		out.Seq += seq
		out.Pairs = append(out.Pairs, PairHash{code, seq, hex.EncodeToString(sum[:])})
		all.Write(append([]byte(code), 0))
		all.Write(sum[:])
	}
	out.Hash = hex.EncodeToString(all.Sum(nil))
	return out, err
}

// PartHash is the hash of one part.
type PartHash struct{ Name, Hash string }

// Parts returns the hashes of the parts, and of the settings.
func (h *StateHash) Parts() (all []PartHash) {
	for p := range Parts {
		text := h.Others[p]
		if p == Market {
			text = h.Market.Hash
		}
		all = append(all, PartHash{p.String(), text})
	}
	return append(all, PartHash{"settings", h.Settings})
}

// hashOf returns the hash of the bytes of a part's snapshot, which are equal for equal states.
func hashOf(snapshot []byte) string {
	sum := sha256.Sum256(snapshot)
	return hex.EncodeToString(sum[:])
}

// Hash returns the hash of the state.
func (s *State) Hash() StateHash { return s.HashWith(HashMarket(s.Core, s.Feed)) }

// HashWith returns the hash of the state whose market has a hash.
func (s *State) HashWith(market MarketHash) StateHash {
	h := StateHash{Market: market, Settings: hashOf(s.Settings.Append(nil))}
	h.Others[Accounts] = hashOf(s.Money.AppendSnapshot(nil))
	h.Others[Launchpad] = hashOf(s.Ledger.AppendSnapshot(nil))
	h.Others[Hive] = hashOf(s.Hive.AppendSnapshot(nil))
	all := sha256.New()
	for _, part := range h.Parts() {
		all.Write([]byte(part.Name + " " + part.Hash + "\n"))
	}
	h.Hash = hex.EncodeToString(all.Sum(nil))
	return h
}

// Digest holds a value of the state of each part, kept up to date by Apply: of the market a chain over its events, with
// the settings in force; of the others a sum over what they hold. Equal states have equal digests, whether they were
// read from a snapshot or come from records.
type Digest [Parts]uint64

// Digest returns the digest of the state. Its cost does not grow with the state. The owner calls it.
func (s *State) Digest() Digest {
	return Digest{
		Market: mix.Of(s.Core.Digest(), s.settingsMix), Accounts: s.Money.Digest(), Launchpad: s.Ledger.Digest(),
		Hive: s.Hive.Digest(),
	}
}

// Diff names the parts that differ, "" if none does.
func (d Digest) Diff(o Digest) string {
	var names []string
	for p := range Parts {
		if d[p] != o[p] {
			names = append(names, p.String())
		}
	}
	return strings.Join(names, ", ")
}

// appendDigest appends the digest as a snapshot has it: the market's without the settings, then the others.
func (s *State) appendDigest(dst []byte) []byte {
	d := s.Digest()
	dst = binary.LittleEndian.AppendUint64(dst, s.Core.Digest())
	for _, v := range d[Accounts:] {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

// readDigest takes the market's value and compares the others with the parts, whose sums were computed from what a
// snapshot has of them.
func (s *State) readDigest(data []byte) error {
	if len(data) != 8*int(Parts) {
		return errPart
	}
	s.Core.SetDigest(binary.LittleEndian.Uint64(data))
	d := s.Digest()
	then := Digest{Market: d[Market]}
	for p := Accounts; p < Parts; p++ {
		then[p] = binary.LittleEndian.Uint64(data[8*p:])
	}
	if parts := d.Diff(then); parts != "" {
		return fmt.Errorf("machine: the snapshot at record %d holds another state than the one it was taken of: the "+
			"sums of %s differ", s.Pos, parts)
	}
	s.summed = true
	return nil
}
