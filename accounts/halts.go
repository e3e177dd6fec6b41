package accounts

import (
	"cmp"
	"time"

	"github.com/tidwall/btree"

	"github.com/tickhive/tickhive/internal/refuse"
)

// A user's orders are canceled without their request when an operator halts the account, or when the user's
// dead man's switch fires. The state keeps both over a restart; internal/entry cancels the orders.

// Bounds of the time after which a dead man's switch fires (docs/contract/trading.md#dead-mans-switch).
const (
	MinSwitch = time.Second
	MaxSwitch = 24 * time.Hour
)

// Deadline is the time at which the dead man's switch of a user fires.
type Deadline struct {
	AtNs int64
	User uint32
}

// deadlines holds the armed switches by time.
type deadlines struct{ *btree.BTreeG[Deadline] }

func newDeadlines() deadlines {
	earlier := func(a, b Deadline) bool { return cmp.Or(cmp.Compare(a.AtNs, b.AtNs), cmp.Compare(a.User, b.User)) < 0 }
	return deadlines{btree.NewBTreeGOptions(earlier, btree.Options{NoLocks: true})}
}

// arm sets the switch of a person, 0: off.
func (d deadlines) arm(p *person, atNs int64) {
	d.Delete(Deadline{p.deadlineNs, p.n})
	if p.deadlineNs = atNs; atNs != 0 {
		d.Set(Deadline{atNs, p.n})
	}
}

// setHalt sets or lifts a halt. Cover refuses every order of a halted account from now on.
func (s *State) setHalt(_ int64, cmd *Command, res *Result) *refuse.Refusal {
	p := s.dir.edit(s.dir.mustFind(cmd.User))
	p.halted = cmd.Halted
	res.User = p.view()
	return nil
}

func (cmd *Command) checkSwitch() *refuse.Refusal {
	if t := cmd.Timeout; t != 0 && (t < MinSwitch || t > MaxSwitch) {
		return invalid("timeoutMs", "timeoutMs must be 0, or %d to %d.", MinSwitch.Milliseconds(),
			MaxSwitch.Milliseconds())
	}
	return nil
}

func (s *State) setSwitch(nowNs int64, cmd *Command, res *Result) *refuse.Refusal {
	u := s.dir.mustFind(cmd.User)
	if cmd.FiredNs != 0 && u.deadlineNs != cmd.FiredNs {
		return conflict("", "The switch was set again.")
	}
	if cmd.Timeout != 0 {
		res.DeadlineNs = nowNs + int64(cmd.Timeout)
	}
	s.deadlines.arm(s.dir.edit(u), res.DeadlineNs)
	return nil
}

// Fired calls yield with every switch that fires until nowNs and is still armed, until yield returns false.
func (s *State) Fired(nowNs int64, yield func(Deadline) bool) {
	s.deadlines.Scan(func(d Deadline) bool { return d.AtNs <= nowNs && yield(d) })
}

// NextSwitch returns the time of the first switch that fires after nowNs, 0 without one.
func (s *State) NextSwitch(nowNs int64) (atNs int64) {
	s.deadlines.Ascend(Deadline{AtNs: nowNs + 1}, func(d Deadline) bool {
		atNs = d.AtNs
		return false
	})
	return atNs
}

// SwitchOf returns the time at which the switch of user n fires, 0 when it is off.
func (v *Shown) SwitchOf(n uint32) int64 {
	if a := v.account(n); a != nil {
		return a.deadlineNs
	}
	return 0
}

// HaltedUsers returns the users that are halted and have open orders.
func (s *State) HaltedUsers() (users []uint32) {
	for _, u := range s.dir.users {
		if u.halted && u.orders > 0 {
			users = append(users, u.n)
		}
	}
	return users
}

// HaltedOrders returns how many orders of user n are open, if the user is halted.
func (s *State) HaltedOrders(n uint32) (open int, halted bool) {
	u := s.dir.user(n)
	if u == nil || !u.halted {
		return 0, false
	}
	return u.orders, true
}
