package hive

import "sort"

// Worker returns a token's worker; ok is false for an unknown id.
func (v *View) Worker(nowNs int64, tokenID uint64) (d WorkerInfo, ok bool) {
	w, ok := v.worker(tokenID)
	if !ok {
		return d, false
	}
	return v.info(w, v.atSec(nowNs)), true
}

// closedSince counts the times later than sec; they are ascending.
func closedSince(times []int64, sec int64) int64 {
	return int64(len(times) - sort.Search(len(times), func(i int) bool { return times[i] > sec }))
}

// Recent returns the newest entries whose target is a token, newest first.
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
