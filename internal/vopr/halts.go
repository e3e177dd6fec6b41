package vopr

import (
	"fmt"
	"time"
)

// halt is what is known about the halt of a user.
type halt uint8

const (
	trading halt = iota
	halted
	unsureHalt // a change is under way, or has an unknown outcome
)

// haltOrLift halts a user or lifts its halt.
func (w clients) haltOrLift(u *user) {
	method, next := "POST", halted
	if u.halt != trading {
		method, next = "DELETE", trading
	}
	was := u.halt
	u.halt = unsureHalt
	u.halts++
	w.ask("user "+u.ID, nil, method, internal+"/users/"+u.ID+"/halt", "", func(a answer) {
		switch {
		case a.ok():
			u.halt, u.halts = next, u.halts+1
		case a.refused():
			u.halt = was
		}
	})
}

// checkHalt verifies that a user is halted, or is not, as the last answer said.
func (w checker) checkHalt(u *user, a answer) {
	var got struct{ Halted bool }
	if err := a.into(&got); err != nil {
		w.fail("user %s: %v", u.ID, err)
		return
	}
	is := trading
	if got.Halted {
		is = halted
	}
	if u.halt != unsureHalt && u.halt != is {
		w.lost(w.verified, "user %s is halted: %t, the last answer said the opposite", u.ID, got.Halted)
	}
	u.halt = is
}

// setSwitch sets the dead man's switch of a user, or turns it off.
func (w clients) setSwitch(u *user) {
	after := int64(0)
	if w.rnd.IntN(4) > 0 {
		after = 1000 << w.rnd.IntN(14)
	}
	u.switched = true
	w.ask("user "+u.ID, &u.keys[0], "POST", "/api/orders/cancel-all-after", fmt.Sprintf(`{"timeoutMs":%d}`, after),
		func(a answer) {
			var got struct{ FiresAt *time.Time }
			if !a.ok() {
				return
			}
			if err := a.into(&got); err != nil || (got.FiresAt == nil) != (after == 0) {
				w.fail("the answer to a switch of %d ms: %s: %v", after, a.body, err)
				return
			}
			u.switched, u.firesMs = false, 0
			if got.FiresAt != nil {
				u.firesMs = got.FiresAt.UnixMilli()
			}
		})
}

// checkSwitch verifies that no order outlives the dead man's switch of its user that fell due while no process ran: it
// fires before the start admits clients.
func (w checker) checkSwitch(u *user, createdMs int64, id uint64) {
	if u.switched || u.firesMs == 0 || u.firesMs > w.startedNs/int64(time.Millisecond) {
		return
	}
	if w.mix.Fired++; createdMs < u.firesMs {
		w.fail("order %d of user %s, made at %d, is open: the switch fired at %d", id, u.ID, createdMs, u.firesMs)
	}
}
