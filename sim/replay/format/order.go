package format

import "time"

// maxBack limits how far the time of a line may precede the time of the previous line. Several
// receivers write one log, so that its times cross by some milliseconds.
const maxBack = int64(time.Second)

// lineOrder makes the times of a log ascend.
type lineOrder struct {
	last int64 // Unix ns
	back int   // lines whose time went back
}

// take returns the time that a line counts for.
func (o *lineOrder) take(ns int64) (int64, error) {
	if ns >= o.last {
		o.last = ns
		return ns, nil
	}
	if o.last-ns > maxBack {
		return 0, flawAt(0, "sort the lines by time", "time goes back by %d ms, at most %d may be", (o.last-ns)/1e6, maxBack/1e6)
	}
	o.back++
	return o.last, nil
}

func (o *lineOrder) notes() []string {
	return noted(nil, o.back, "%d lines whose time goes back by less than a second: taken at the time before")
}
