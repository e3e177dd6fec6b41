package hive

import (
	"encoding/json"
	"sort"
)

// Worker is the detail of a token's worker; ok is false for an unknown id.
func (v *View) Worker(nowNs int64, tokenID uint64) (d WorkerDetail, ok bool) {
	w, ok := v.worker(tokenID)
	if !ok {
		return d, false
	}
	nowSec := v.atSec(nowNs)
	d.Worker = WorkerInfo{
		ID: int64(w.ID), AgentNftID: w.TokenID(), TokenAddress: addressText(w.Token), DeployedAt: w.DeployedSec,
		Status: w.Status().String(), LastActiveAt: w.lastActive(nowSec),
	}
	d.Config = ConfigDetail{w.Config.SlippageCapBps, w.Config.MEV.String(), w.Config.Signals}
	d.RecentActions = v.recent(w)
	d.Stats.TotalActions = int64(v.entriesOf(&w.trail.own).len())
	if w.LastOverrideSec != 0 {
		at, tier := w.LastOverrideSec, w.OverridingTier.String()
		d.Stats.LastOverrideAt, d.Stats.OverridingTier = &at, &tier
	}
	d.Votes = VoteCounts{ActiveProposals: w.ActiveProposals, RecentlyClosed: closedSince(w.closedSec, nowSec-recentlyClosedSec)}
	return d, true
}

// closedSince counts the times later than sec; they are ascending.
func closedSince(times []int64, sec int64) int64 {
	return int64(len(times) - sort.Search(len(times), func(i int) bool { return times[i] > sec }))
}

// Recent is the newest entries whose target is the worker's token, newest first.
func (v *View) Recent(workerID uint32) []Action {
	if w, ok := v.workers.Get(workerID); ok {
		return v.recent(w)
	}
	return []Action{}
}

func (v *View) recent(w *Worker) []Action {
	list := v.entriesOf(w.trail.aimed.list(nil, nil))
	out := []Action{}
	for i := list.len() - 1; i >= 0 && len(out) < RecentActions; i-- {
		e := v.log.entry(list.at(i))
		out = append(out, Action{
			TxHash: txHash(v.seed, e.ID).String(), ActionType: e.Type.String(), Params: json.RawMessage(e.Payload),
			ReasonCode: e.Reason, BlockNumber: blockAt(v.genesisNs, e.TimeNs), BlockTimestamp: e.Sec(),
		})
	}
	return out
}

// WorkerState holds the state of a worker that the launchpad's answers need. It has the same
// members as the launchpad's WorkerState, so that one converts into the other.
type WorkerState struct {
	Status       string
	LastActionAt int64 // last entry of its own, 0: none
	LastActiveAt int64
	TotalActions int64 // its own entries
}

// WorkerState looks a worker up by its workerId.
func (v *View) WorkerState(nowNs int64, workerID uint32) (st WorkerState, ok bool) {
	w, ok := v.workers.Get(workerID)
	if !ok || !w.Known {
		return st, false
	}
	return WorkerState{
		Status: w.Status().String(), LastActionAt: w.LastActionSec, LastActiveAt: w.lastActive(v.atSec(nowNs)),
		TotalActions: int64(v.entriesOf(&w.trail.own).len()),
	}, true
}
