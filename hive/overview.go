package hive

// Overview returns the counts of the hive's overview at nowNs. docs/contract/market-data.md#ticker defines its
// windows of time.
func (v *View) Overview(nowNs int64) Overview {
	nowSec := v.atSec(nowNs)
	override := Override
	return Overview{
		Tokens: int64(v.byToken.Len()), Queens: int64(v.opt.Queens), Scouts: int64(v.opt.Scouts),
		ActiveWorkers:  int64(lowerBound(v.byStatus, pair(uint32(Active)+1, 0))),
		LastActivityAt: max(v.maxActiveSec, min(nowSec, v.maxBoostSec)),
		Spawned24h:     v.spawnedSince(nowSec - daySec),
		Spawned7d:      v.spawnedSince(nowSec - 7*daySec),
		Actions24h:     v.entriesOf(v.all.list(nil, nil)).since(nowSec - daySec),
		Overrides24h:   v.entriesOf(v.all.list(&override, nil)).since(nowSec - daySec),
	}
}

// spawnedSince returns the number of tokens spawned later than sec. It is a binary search: workers are numbered
// in the order of spawns.
func (v *View) spawnedSince(sec int64) int64 {
	lo, hi := 0, v.workers.Len()
	for lo < hi {
		mid := (lo + hi) / 2
		if _, w, _ := v.workers.GetAt(mid); w.DeployedSec <= sec {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return int64(v.workers.Len() - lo)
}
