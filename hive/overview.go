package hive

// Overview counts the hive; docs/contract/market-data.md#ticker defines its windows.
func (v *View) Overview(nowNs int64) (o Overview) {
	nowSec := v.atSec(nowNs)
	tokens := int64(v.byToken.Len())
	o.Hive = HiveCounts{TotalTokens: tokens, TotalWorkers: tokens, TotalQueens: int64(v.opt.Queens), TotalScouts: int64(v.opt.Scouts)}
	o.Swarm = SwarmCounts{
		ActiveWorkers:  int64(lowerBound(v.byStatus, pair(uint32(Active)+1, 0))),
		LastActivityAt: max(v.maxActiveSec, min(nowSec, v.maxBoostSec)),
	}
	override := Override
	o.Ecosystem = EcosystemCounts{
		TotalAgentTokensSpawned: tokens,
		TokensSpawnedLast24h:    v.spawnedSince(nowSec - daySec),
		TokensSpawnedLast7d:     v.spawnedSince(nowSec - 7*daySec),
		TotalActions24h:         v.entriesOf(v.all.list(nil, nil)).since(nowSec - daySec),
		TotalOverrides24h:       v.entriesOf(v.all.list(&override, nil)).since(nowSec - daySec),
	}
	return o
}

// spawnedSince counts tokens spawned later than sec; workers are in that order.
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
