package exchangetest

import (
	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/account"
	"github.com/tickhive/tickhive/server/admin"
)

// Faults is between the handlers and the loop, also for changes of the accounts. While Fail is set, calls return Fail
// and reach neither. It calls Before ahead of each Submit.
type Faults struct {
	admin.Exchange
	Fail   error
	Before func()
}

// Submit implements entry.Exchange.
func (g *Faults) Submit(b *sequencer.Batch) error {
	if g.Before != nil {
		g.Before()
	}
	if g.Fail != nil {
		return g.Fail
	}
	return g.Exchange.Submit(b)
}

// AdvanceTo implements admin.Exchange.
func (g *Faults) AdvanceTo(ns int64) error {
	if g.Fail != nil {
		return g.Fail
	}
	return g.Exchange.AdvanceTo(ns)
}

// hook puts r.Faults between the handlers and the engine. The caller's hooks run afterwards and may add further
// layers.
func (r *Rig) hook(h *exchange.Hooks) {
	then := *h
	h.Account = func(o *account.Options) {
		r.Clock, _ = o.Clock.(*clock.Manual)
		o.Exchange = &r.Faults
		call(then.Account, o)
	}
	h.Admin = func(o *admin.Options) {
		r.Faults.Exchange, o.Exchange = o.Exchange, &r.Faults
		call(then.Admin, o)
	}
	h.Store = func(s *account.Store) {
		do := s.Do
		s.Do = func(cmd accounts.Command) (accounts.Result, error) {
			if r.Faults.Fail != nil {
				return accounts.Result{}, r.Faults.Fail
			}
			return do(cmd)
		}
		call(then.Store, s)
	}
}

func call[T any](fn func(*T), o *T) {
	if fn != nil {
		fn(o)
	}
}
