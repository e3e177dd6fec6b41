package exchange

import (
	"errors"
	"fmt"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/objects"
	"github.com/tickhive/tickhive/server/public"
)

// status returns the fields of /api/status that only the exchange knows.
func (f *front) status() public.StatusInfo {
	info := public.StatusInfo{
		Recovering: !f.ready.Load(), Seeking: f.seeks(), Epoch: f.data.Epoch(), Incidents: f.incidents(),
		ProgressPPM: f.progress.Load(),
		Degraded:    f.changesFailed() != nil || f.tooEarly() || f.clockHeld(),
	}
	for _, a := range f.faults.List(f.now()) {
		info.Faults = append(info.Faults, public.FaultInfo{ID: a.ID, Rule: a.Public()})
	}
	if x := f.phase.Load().running; x != nil {
		info.OldestUnpublishedNs = x.loop.Stats().OldestNs.Load()
		info.Replication = x.stream.Load().status()
	}
	if y := f.phase.Load().follows; y != nil {
		info.Replication = y.status()
	}
	return info
}

// seeks reports whether a player is on its way to a time.
func (f *front) seeks() bool { return f.player != nil && f.player.State().TargetNs != 0 }

// incidents returns first the incidents that still last, and then the ended ones, newest first.
func (f *front) incidents() (all []edge.Incident) {
	for _, a := range f.accepts() {
		if a.Reason != "" {
			at := fixed.FloorDiv(a.SinceNs, 1_000_000)
			all = append([]edge.Incident{{
				AtMs: at, FirstMs: at, Count: 1, Kind: "listener", Detail: a.Reason,
				Message: fmt.Sprintf("the %s listener cannot accept connections; it tries again until it can",
					a.Listener),
			}}, all...)
		}
	}
	for _, in := range f.data.Incidents() {
		all = append(all, edge.Incident{
			AtMs: in.AtMs, FirstMs: in.FirstMs, Count: in.Count, Kind: in.Kind, Message: in.Message, Detail: in.Detail,
		})
	}
	return all
}

// tooEarly reports whether every signed request is refused, because the clock has not reached the time that an earlier
// process had reached.
func (f *front) tooEarly() bool { return f.now() < f.knownNs.Load() }

// storesFailed returns the reason why the exchange accepts no changes at present, or why a step of
// the start waits; nil while neither is so.
func (f *front) storesFailed() error {
	s, waits := f.phase.Load(), error(nil)
	if owes := f.owes.Load(); owes != nil {
		waits = *owes
	}
	return errors.Join(f.data.Unsaved(), waits, s.journal.failed())
}

// changesFailed returns the reason why a store, or the stream of a writer, takes no changes at present; nil: they do.
func (f *front) changesFailed() error {
	err := f.storesFailed()
	if x := f.phase.Load().running; x != nil {
		err = errors.Join(err, x.stream.Load().failure())
	}
	return err
}

// commissions returns the commissions of payments for the public list.
func (f *front) commissions() (out []public.AssetCommission) {
	a := f.phase.Load().accounts
	if a == nil {
		return nil
	}
	for _, c := range a.view.Settings().Commissions {
		kind := objects.CommissionRefill
		if c.Withdrawal {
			kind = objects.CommissionWithdrawal
		}
		out = append(out, public.AssetCommission{
			Type: kind, Currency: c.Currency, Adapter: c.Adapter, Percent: c.Percent, Minimum: c.Minimum,
		})
	}
	return out
}

// commissionsVersion returns a number that rises when the commissions may have changed.
func (f *front) commissionsVersion() uint64 {
	if a := f.phase.Load().accounts; a != nil {
		return a.view.SettingsVersion()
	}
	return 0
}
