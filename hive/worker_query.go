package hive

import "github.com/tidwall/btree"

// Worker returns the worker of a token; ok is false for an unknown token.
func (v *View) Worker(nowNs int64, tokenID uint64) (d WorkerInfo, ok bool) {
	w, ok := v.worker(tokenID)
	if !ok {
		return d, false
	}
	return v.info(w, v.atSec(nowNs)), true
}

// closedSince returns the number of proposals of a worker that closed later than sec.
func (v *View) closedSince(worker uint32, sec int64) int64 {
	return int64(closedBy(v.closed, worker, 1<<42-1) - closedBy(v.closed, worker, sec))
}

// closedKey returns the key that sorts the closes of proposals by worker and time. MaxWorkers is 2^20 and seconds stay
// below 2^42, so both fit.
func closedKey(worker uint32, sec int64) uint64 { return uint64(worker)<<42 | uint64(sec) }

// closedBy returns the number of proposals of a worker that have closed by sec.
func closedBy(closed *btree.Map[uint64, uint32], worker uint32, sec int64) (n uint32) {
	closed.Descend(closedKey(worker, sec), func(key uint64, count uint32) bool {
		if key>>42 == uint64(worker) {
			n = count
		}
		return false
	})
	return n
}

// Recent returns the newest log entries whose target is the token, newest first.
func (v *View) Recent(tokenID uint64) []EntryInfo {
	w, ok := v.worker(tokenID)
	if !ok {
		return nil
	}
	list := v.entriesOf(w.postings.aimed.list(nil, nil))
	var out []EntryInfo
	for i := list.len() - 1; i >= 0 && len(out) < RecentActions; i-- {
		out = append(out, v.log.entry(list.at(i)).info(v.seed, v.genesisNs))
	}
	return out
}
