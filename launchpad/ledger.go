package launchpad

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"

	"github.com/tickhive/tickhive/internal/fifo"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

// BlockNs is the length of a block, 2 s (docs/contract/launchpad.md#ledger).
const BlockNs = 2_000_000_000

const secondNs = 1_000_000_000

// Address is the address of an account, a token or a pool on the ledger.
type Address [20]byte

// String returns 0x and 40 lower-case hex digits.
func (a Address) String() string { return "0x" + hex.EncodeToString(a[:]) }

// ParseAddress reads 0x and 40 hex digits of either case.
func ParseAddress(s string) (a Address, ok bool) {
	if len(s) != 42 || s[0] != '0' || s[1]|0x20 != 'x' {
		return a, false
	}
	_, err := hex.Decode(a[:], []byte(strings.ToLower(s[2:])))
	return a, err == nil
}

// Hash is a transaction hash: 32 bytes.
type Hash [32]byte

// String returns 0x and 64 lower-case hex digits.
func (h Hash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// derive returns the bytes of an address or a hash. They depend only on purpose, seed and position, so a replay
// derives the same bytes.
func derive(purpose string, seed, position uint64) [32]byte {
	b := make([]byte, 0, 64)
	b = append(b, "tickhive/launchpad/"...)
	b = append(b, purpose...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint64(b, seed)
	b = binary.BigEndian.AppendUint64(b, position)
	return sha256.Sum256(b)
}

func deriveAddress(purpose string, seed, position uint64) (a Address) {
	sum := derive(purpose, seed, position)
	copy(a[:], sum[:])
	return a
}

// blockAt returns the number of the block at nowNs. The first block has number 1.
func blockAt(genesisNs, nowNs int64) int64 {
	return max(nowNs-genesisNs, 0)/BlockNs + 1
}

// floorSec converts a Unix time in ns to whole seconds, rounded down, as answers print it.
func floorSec(ns int64) int64 { return fixed.FloorDiv(ns, secondNs) }

// asset identifies what an account can hold: NATIVE, USBI, or a token, whose number is its workerId + 1.
type asset uint32

const (
	nativeAsset = asset(NATIVE)
	usbiAsset   = asset(USBICoin)
)

func (c Currency) asset() asset { return asset(c) }

// key returns an address as the key of a tree.
func key(a Address) string { return string(a[:]) }

// balanceKey returns the key that sorts balances by account, then by asset.
func balanceKey(a Address, as asset) string {
	var b [24]byte
	copy(b[:], a[:])
	binary.BigEndian.PutUint32(b[20:], uint32(as))
	return string(b[:])
}

// Total holds the sums of one currency since the data directory began. Held + Pooled + Fees = Deposited -
// Withdrawn, always.
type Total struct {
	Currency                                 Currency
	Held, Pooled, Fees, Deposited, Withdrawn Amount
}

func (s *State) balance(a Address, as asset) Amount {
	v, _ := s.balances.Get(balanceKey(a, as))
	return v
}

// credit adds to a balance, debit subtracts from one; no other function changes balances. They remove a balance
// of zero, so that an account exists exactly while it holds something, they keep the tokens' counts of holders, and
// they remember a holding that a checkpoint needs.
func (s *State) credit(a Address, as asset, amount Amount) {
	if amount.IsZero() {
		return
	}
	k := balanceKey(a, as)
	had, ok := s.balances.Get(k)
	s.setBalance(k, had, had.Add(amount))
	if as <= usbiAsset {
		s.totals[as].Held = s.totals[as].Held.Add(amount)
		return
	}
	s.remember(as, a, had)
	if !ok {
		s.countHolder(as, 1)
	}
}

func (s *State) debit(a Address, as asset, amount Amount) {
	if amount.IsZero() {
		return
	}
	k := balanceKey(a, as)
	had, _ := s.balances.Get(k)
	left := had.Sub(amount)
	s.setBalance(k, had, left)
	if as <= usbiAsset {
		s.totals[as].Held = s.totals[as].Held.Sub(amount)
		return
	}
	s.remember(as, a, had)
	if left.IsZero() {
		s.countHolder(as, -1)
	}
}

// setBalance changes a balance from one amount to another.
func (s *State) setBalance(k string, had, now Amount) {
	if !had.IsZero() {
		s.digest -= mixAmount(mixBalance, k, had)
	}
	if now.IsZero() {
		s.balances.Delete(k)
		return
	}
	s.balances.Set(k, now)
	s.digest += mixAmount(mixBalance, k, now)
}

func (s *State) countHolder(as asset, by int64) {
	t := s.edit(as.token())
	t.Holders += by
	s.put(t)
}

func amountWrong(field string) *refuse.Refusal {
	return refuse.Param(field, "%s must be above 0.", field)
}

func insufficient(field, currency string) *refuse.Refusal {
	return refuse.New(refuse.InsufficientFunds, field, "The balance of %s does not cover the amount.", currency)
}

func (s *State) deposit(cmd *Deposit, res *Result) *refuse.Refusal {
	if cmd.Currency >= currencies {
		return refuse.Param("currencyCode", "The ledger holds NATIVE and USBI.")
	}
	if cmd.Amount.IsZero() {
		return amountWrong("amount")
	}
	as := cmd.Currency.asset()
	if maxBalance.Less(cmd.Amount) || maxBalance.Less(s.balance(cmd.To, as).Add(cmd.Amount)) {
		return refuse.Param("amount", "No balance may pass 10^20.")
	}
	s.nextTxHash()
	t := &s.totals[cmd.Currency]
	t.Deposited = t.Deposited.Add(cmd.Amount)
	s.credit(cmd.To, as, cmd.Amount)
	res.Balance = s.balance(cmd.To, as)
	return nil
}

func (s *State) withdraw(cmd *Withdraw, res *Result) *refuse.Refusal {
	if cmd.Currency >= currencies {
		return refuse.Param("currencyCode", "The ledger holds NATIVE and USBI.")
	}
	if cmd.Amount.IsZero() {
		return amountWrong("amount")
	}
	as := cmd.Currency.asset()
	if s.balance(cmd.From, as).Less(cmd.Amount) {
		return insufficient("amount", cmd.Currency.String())
	}
	s.nextTxHash()
	t := &s.totals[cmd.Currency]
	t.Withdrawn = t.Withdrawn.Add(cmd.Amount)
	s.debit(cmd.From, as, cmd.Amount)
	res.Balance = s.balance(cmd.From, as)
	return nil
}

func (s *State) transfer(cmd *Transfer, res *Result) *refuse.Refusal {
	if cmd.Amount.IsZero() {
		return amountWrong("amount")
	}
	t, ok := s.tokens.Get(cmd.Token)
	if !ok {
		return unknownToken()
	}
	if s.balance(cmd.From, t.asset()).Less(cmd.Amount) {
		return insufficient("amount", t.Symbol)
	}
	if rej := s.mayMove(t.No); rej != nil {
		return rej
	}
	// Credit first, so that an account that sends everything to itself remains a holder throughout.
	s.credit(cmd.To, t.asset(), cmd.Amount)
	s.debit(cmd.From, t.asset(), cmd.Amount)
	res.TxHash = s.nextTxHash()
	return nil
}

// checkpoint lets the ledger tell, while it lasts, what an account held of a token when it was made (View.HeldAt). It
// copies no holdings. Instead, the first change of a holding after the newest checkpoint of a token keeps what the
// holding was (State.past):
//
//	seq       3            5          8            9      answers
//	account A 10 --------------------------------- 4      10 at 3, 10 at 8: its first value kept from there on
//	account B 7 ---------- 2 ---------------------        7 at 3, 2 at 8: nothing is kept behind 8, so what it has now
//	          checkpoint   keeps B 7  checkpoint   keeps A 10, for 8
//
// So a checkpoint costs as much for a million holders as for one, a change of a holding keeps at most one value, and
// the values of all checkpoints together are in a snapshot once.
type checkpoint struct {
	seq     uint64 // State.seq when it was made: its name
	token   uint32
	endSec  int64
	changed fifo.Queue[Address] // accounts whose holdings past keeps for it
}

// pastKey returns the key that sorts kept holdings by account, then by asset, then by checkpoint.
func pastKey(as asset, a Address, seq uint64) string {
	var b [32]byte
	copy(b[:], balanceKey(a, as))
	binary.BigEndian.PutUint64(b[24:], seq)
	return string(b[:])
}

// Checkpoint carries out what is due by nowNs, then makes the ledger remember what every account holds of a token, for
// CheckpointSec. It returns the checkpoint's name (View.HeldAt). The hive calls it for a proposal (hive.Propose), so
// that both are in one record.
func (s *State) Checkpoint(nowNs int64, token uint32) (uint64, *refuse.Refusal) {
	s.carryOut(nowNs, math.MaxInt)
	if _, ok := s.tokens.Get(token); !ok {
		return 0, unknownToken()
	}
	if s.checkpoints.Len() >= MaxCheckpoints {
		return 0, refuse.Later(fullSec, "The ledger has %d checkpoints, its limit.", MaxCheckpoints)
	}
	s.nowNs = max(s.nowNs, nowNs)
	s.seq++
	s.addCheckpoint(&checkpoint{seq: s.seq, token: token, endSec: floorSec(s.nowNs) + CheckpointSec})
	return s.seq, nil
}

func (s *State) addCheckpoint(c *checkpoint) {
	s.checkpoints.Push(c)
	s.digest += c.mix()
	s.newest[c.token] = c
}

// mayMove refuses a change of a token's holdings that a checkpoint would have to remember when there is no room.
func (s *State) mayMove(token uint32) *refuse.Refusal {
	if s.newest[token] == nil || s.past.Len()+2 <= s.maxPast {
		return nil
	}
	return refuse.Later(fullSec, "The ledger remembers %d holdings for open votes, its limit; "+
		"other tokens can be moved.", s.maxPast)
}

// remember keeps what an account held of a token, unless the token's newest checkpoint has it already.
func (s *State) remember(as asset, a Address, held Amount) {
	c := s.newest[as.token()]
	if c == nil {
		return
	}
	k := pastKey(as, a, c.seq)
	if _, kept := s.past.Get(k); !kept {
		s.past.Set(k, held)
		s.digest += mixAmount(mixPast, k, held)
		c.changed.Push(a)
	}
}

// forgetOne removes one holding that the oldest checkpoint keeps, or the checkpoint that keeps none.
func (s *State) forgetOne() {
	c := *s.checkpoints.At(0)
	if c.changed.Len() > 0 {
		k := pastKey(tokenAsset(c.token), c.changed.Pop(), c.seq)
		held, _ := s.past.Delete(k)
		s.digest -= mixAmount(mixPast, k, held)
		return
	}
	s.checkpoints.Pop()
	s.digest -= c.mix()
	if s.newest[c.token] == c {
		delete(s.newest, c.token)
	}
}

// HeldAt returns what an account held of a token at a checkpoint that lasts.
func (v *View) HeldAt(a Address, t *Token, checkpoint uint64) Amount {
	held, from := v.Holding(a, t), pastKey(t.asset(), a, checkpoint)
	v.past.Ascend(from, func(k string, kept Amount) bool {
		if k[:24] == from[:24] {
			held = kept
		}
		return false
	})
	return held
}
