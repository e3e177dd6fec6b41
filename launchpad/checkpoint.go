package launchpad

import (
	"encoding/binary"

	"tickhive/internal/fifo"
	"tickhive/internal/refuse"
)

// checkpoint lets the ledger tell, while it lasts, what an account held of a token when it was made (View.HeldAt). It
// copies no holdings. Instead, the first change of a holding after the newest checkpoint of a token keeps what the
// holding was (State.past):
//
//	record    3            5          8            9       answers
//	account A 10 --------------------------------- 4       10 at 3, 10 at 8: its first value kept from there on
//	account B 7 ---------- 2 ---------------------         7 at 3, 2 at 8: nothing is kept behind 8, so what it has now
//	          checkpoint   keeps B 7  checkpoint   keeps A 10, for 8
//
// So a checkpoint costs as much for a million holders as for one, a change of a holding keeps at most one value, and
// the values of all checkpoints together are in a snapshot once.
type checkpoint struct {
	seq     uint64 // number of its record, by which the caller names it
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

func (s *State) planCheckpoint(cmd Checkpoint) (Record, *refuse.Refusal) {
	if _, ok := s.tokens.Get(cmd.Token); !ok {
		return Record{}, unknownToken()
	}
	if s.checkpoints.Len() >= MaxCheckpoints {
		return Record{}, refuse.Later(fullSec, "The ledger has %d checkpoints, its limit.", MaxCheckpoints)
	}
	return Record{Kind: RecCheckpoint, Token: cmd.Token}, nil
}

func (s *State) applyCheckpoint(rec *Record, res *Result) {
	c := &checkpoint{seq: s.seq, token: rec.Token, endSec: floorSec(rec.TimeNs) + CheckpointSec}
	s.addCheckpoint(c)
	res.Checkpoint, res.EndSec = c.seq, c.endSec
}

func (s *State) addCheckpoint(c *checkpoint) {
	s.checkpoints.Push(c)
	s.newest[c.token] = c
}

// mayMove refuses a change of a token's holdings that a checkpoint would have to remember when there is no room.
func (s *State) mayMove(token uint32) *refuse.Refusal {
	if s.newest[token] == nil || s.past.Len()+2 <= s.maxPast {
		return nil
	}
	return refuse.Later(fullSec, "The ledger remembers %d holdings for open votes, its limit; other tokens can be moved.",
		s.maxPast)
}

// remember keeps what an account held of a token, unless the token's newest checkpoint has it already.
func (s *State) remember(as asset, a Address, held Amount) {
	c := s.newest[as.token()]
	if c == nil || c.endSec <= floorSec(s.nowNs) {
		return
	}
	k := pastKey(as, a, c.seq)
	if _, kept := s.past.Get(k); !kept {
		s.past.Set(k, held)
		c.changed.Push(a)
	}
}

// forgetOne removes one holding that the oldest checkpoint keeps, or the checkpoint that keeps none.
func (s *State) forgetOne() {
	c := *s.checkpoints.At(0)
	if c.changed.Len() > 0 {
		s.past.Delete(pastKey(tokenAsset(c.token), c.changed.Pop(), c.seq))
		return
	}
	s.checkpoints.Pop()
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
