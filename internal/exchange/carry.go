package exchange

import (
	"errors"
	"sync"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/refuse"
)

// Carry keeps what clients told the accounts of an exchange, and the fees of its pairs, for the next one of the same
// process: a replay whose recording begins again has lost orders and trades, but not users, keys, deposits and fees.
//
// Any goroutine may use it. It holds one command at a time, because ids of users are numbers: the commands are carried
// out again in the order in which they were.
type Carry struct {
	mu       sync.Mutex
	commands []accounts.Command
	fees     map[string][2]uint32 // of maker and taker, by the code of the pair
}

// carried reports whether a command outlives its exchange. Switches are about orders; a reseal is about this process.
func carried(k accounts.Kind) bool { return k != accounts.SetSwitch && k != accounts.Reseal }

// do carries out a command of a client and keeps it.
func (c *Carry) do(cmd accounts.Command, do func(accounts.Command) (accounts.Result, error)) (accounts.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	res, err := do(cmd)
	if err == nil && carried(cmd.Kind) {
		c.commands = append(c.commands, cmd)
	}
	return res, err
}

// KeepFees notes the fees of the pairs of an exchange that has stopped.
func (c *Carry) KeepFees(x *Running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fees = map[string][2]uint32{}
	root := x.feed.Board().Load()
	for _, id := range root.Sorted() {
		ins := root.View(id).Instrument
		c.fees[ins.Code] = [2]uint32{ins.MakerFee, ins.TakerFee}
	}
}

// setFees gives the pairs of the exchange the fees that they had in the one before.
func (c *Carry) setFees(x *Running) error {
	var b sequencer.Batch
	root := x.feed.Board().Load()
	for _, id := range root.Sorted() {
		ins := *root.View(id).Instrument
		fees, had := c.fees[ins.Code]
		if had && fees != [2]uint32{ins.MakerFee, ins.TakerFee} {
			ins.MakerFee, ins.TakerFee = fees[0], fees[1]
			b.Commands = append(b.Commands, engine.Command{Kind: engine.SetPair, Pair: id, Instrument: &ins})
		}
	}
	if len(b.Commands) == 0 {
		return nil
	}
	return x.Submit(&b)
}

// CarryOver carries out again what clients told the accounts of the exchange before, gives the pairs the fees that they
// had there, and returns how many commands were refused: withdrawals of money that came from trades. The caller adds
// the pairs first and calls it before Admit.
func (x *Running) CarryOver(c *Carry) (refused int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.setFees(x); err != nil {
		return 0, err
	}
	for _, cmd := range c.commands {
		_, err := x.accounts.carryOut(cmd)
		if err != nil && !errors.As(err, new(*refuse.Refusal)) {
			return refused, err
		}
		if err != nil {
			refused++
		}
	}
	x.accounts.carry = c
	return refused, nil
}
