package entry

import (
	"math/bits"

	"tickhive/engine"
)

// stripeCount is the number of locks of Entry.lock. Two keys with the same lock only wait for each other.
const stripeCount = 256

// stripeSet is a set of locks.
type stripeSet [stripeCount / 64]uint64

// lock serializes commands that must not be in flight at the same time: commands with the same
// client order id of an account (the second one uses the hold of the first), and replaces of the
// same order (each holds the difference to the hold that it found). It returns the locks, which
// the caller passes to unlock.
func (e *Entry) lock(cmds []engine.Command) (set stripeSet) {
	for i := range cmds {
		if key, ok := e.lockKey(&cmds[i]); ok {
			set[key/64%uint64(len(set))] |= 1 << (key % 64)
		}
	}
	for w, word := range set { // in ascending order, so that callers cannot deadlock
		for ; word != 0; word &= word - 1 {
			e.stripes[w*64+bits.TrailingZeros64(word)].Lock()
		}
	}
	return set
}

func (e *Entry) unlock(set stripeSet) {
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			e.stripes[w*64+bits.TrailingZeros64(word)].Unlock()
		}
	}
}

func (e *Entry) lockKey(cmd *engine.Command) (uint64, bool) {
	switch {
	case cmd.Kind == engine.Place && cmd.Account != 0 && cmd.Client != nil:
		return cmd.Client.Hash[0], true
	case cmd.Kind == engine.Replace:
		holds, _ := e.holding(cmd.Order)
		return uint64(cmd.Order), holds
	}
	return 0, false
}
