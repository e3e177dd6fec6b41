package exchange

import (
	"errors"
	"sync"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/internal/refuse"
)

// Carry keeps what clients told the accounts of an exchange, for the next one of the same process: a replay whose
// recording begins again has lost orders and trades, but not users, keys and deposits.
//
// Any goroutine may use it. It holds one command at a time, because ids of users are numbers: the commands are carried
// out again in the order in which they were.
type Carry struct {
	mu       sync.Mutex
	commands []accounts.Command
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

// CarryOver carries out again what clients told the accounts of the exchange before, and returns how many commands were
// refused: withdrawals of money that came from trades. The caller calls it before Admit.
func (x *Running) CarryOver(c *Carry) (refused int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
