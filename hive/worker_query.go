package hive

import "sort"

// Worker returns the worker of a token; ok is false for an unknown token.
func (v *View) Worker(nowNs int64, tokenID uint64) (d WorkerInfo, ok bool) {
	w, ok := v.worker(tokenID)
	if !ok {
		return d, false
	}
	return v.info(w, v.atSec(nowNs)), true
}

// closedSince returns the number of times later than sec. The times are ascending.
func closedSince(times []int64, sec int64) int64 {
	return int64(len(times) - sort.Search(len(times), func(i int) bool { return times[i] > sec }))
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
