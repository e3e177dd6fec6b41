package account

import (
	"strconv"
	"time"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
)

// Guard returns what cancels the orders of a user without a request of theirs.
func (s *Service) Guard() *entry.Guard { return s.guard }

// switchForm is the body of POST /api/orders/cancel-all-after.
var switchForm = body.Of(
	body.Integer("timeoutMs", 0, accounts.MaxSwitch.Milliseconds(), func(t *time.Duration, v int64) {
		*t = time.Duration(v) * time.Millisecond
	}).Need(),
)

// setSwitch serves POST /api/orders/cancel-all-after. It sets the caller's dead man's switch and sends when it
// fires.
func (s *Service) setSwitch(c *edge.Ctx) *refuse.Refusal {
	var timeout time.Duration
	if err := switchForm.Decode(c.PostBody(), &timeout); err != nil {
		return err
	}
	user := uint32(accountOf(c))
	var firesNs int64
	if timeout != 0 || s.view.SwitchOf(user) != 0 { // one that is off need not be turned off
		res, err := s.do(accounts.Command{Kind: accounts.SetSwitch, User: user, Timeout: timeout})
		if err != nil {
			return err
		}
		firesNs = res.DeadlineNs
	}
	b := strconv.AppendInt([]byte(`{"timeoutMs":`), timeout.Milliseconds(), 10)
	c.Private(append(appendStampOrNull(append(b, `,"firesAt":`...), firesNs), '}'))
	return nil
}

// haltForm is the body of POST /users/{id}/halt: none, or an object without members.
var haltForm = body.Of[struct{}]()

// halt serves POST /users/{id}/halt: the account places nothing any more, and its open orders are canceled.
func (us users) halt(c *edge.Ctx) *refuse.Refusal {
	if text := c.PostBody(); body.Sent(text) {
		if err := haltForm.Decode(text, &struct{}{}); err != nil {
			return err
		}
	}
	user, err := us.setHalted(c, true)
	if err != nil {
		return err
	}
	canceled := us.guard.Halt(user)
	open, coming, _ := us.view.HaltedOrders(uint32(user))
	sendHalt(c, true, canceled, open+coming)
	return nil
}

// resume serves DELETE /users/{id}/halt.
func (us users) resume(c *edge.Ctx) *refuse.Refusal {
	_, err := us.setHalted(c, false)
	if err == nil {
		sendHalt(c, false, 0, 0)
	}
	return err
}

// setHalted sets or lifts the halt of the user that the path names. A repeat changes nothing.
func (us users) setHalted(c *edge.Ctx, halted bool) (engine.AccountID, *refuse.Refusal) {
	user, err := us.userOf(c)
	if err != nil || user.Halted == halted {
		return engine.AccountID(user.Number), err
	}
	if _, err := us.do(accounts.Command{Kind: accounts.SetHalt, User: user.Number, Halted: halted}); err != nil {
		return 0, err
	}
	event := "account resumed"
	if halted {
		event = "account halted"
	}
	c.Audit(event, "user", user.ID)
	return engine.AccountID(user.Number), nil
}

func sendHalt(c *edge.Ctx, halted bool, canceled, open int) {
	b := strconv.AppendBool([]byte(`{"halted":`), halted)
	b = strconv.AppendInt(append(b, `,"canceled":`...), int64(canceled), 10)
	c.Private(append(strconv.AppendInt(append(b, `,"open":`...), int64(open), 10), '}'))
}
