package stream

import (
	"runtime"
	"testing"

	"tickhive/engine"
)

// The goroutine that matches orders queues messages. However many wait, it copies few of them at a time.
func TestAMessageIsQueuedWithoutACopyOfThoseThatWait(t *testing.T) {
	const group, most = 100, 256 << 10 // messages, and bytes that a group may allocate
	var q PrivateQueue
	q.Withhold([]engine.PairID{1})
	put := map[string]func(){
		"withheld": func() { q.PutOf(1, PrivateMessage{Account: 1}) },
		"waiting":  func() { q.Put(PrivateMessage{Account: 1}) },
	}
	for name, one := range put {
		var before, after runtime.MemStats
		for n := 0; n < maxPrivateWaiting/2; n += group {
			runtime.ReadMemStats(&before)
			for range group {
				one()
			}
			runtime.ReadMemStats(&after)
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > most {
				t.Errorf("%s: %d messages behind %d others allocated %d bytes, at most %d is right", name, group, n,
					bytes, most)
				break
			}
		}
	}
	q.Withhold(nil)
	q.Release()
	if list, dropped := q.Take(); len(list) != maxPrivateWaiting || dropped {
		t.Errorf("%d messages, dropped %v", len(list), dropped)
	}
}

// Messages leave the queue in the order in which they were queued, those of a withheld pair when it is released.
func TestTheQueueKeepsTheOrder(t *testing.T) {
	var q PrivateQueue
	q.Withhold([]engine.PairID{1})
	for seq := range uint64(1000) {
		q.PutOf(1, PrivateMessage{Seq: 1000 + seq})
		q.PutOf(2, PrivateMessage{Seq: seq})
	}
	q.Withhold(nil)
	q.Release()
	q.Put(PrivateMessage{Seq: 2000})
	list, dropped := q.Take()
	if len(list) != 2001 || dropped {
		t.Fatalf("%d messages, dropped %v", len(list), dropped)
	}
	for i, m := range list {
		if m.Seq != uint64(i) {
			t.Fatalf("message %d has seq %d", i, m.Seq)
		}
	}
	if list, _ := q.Take(); len(list) != 0 {
		t.Errorf("%d messages twice", len(list))
	}
	for range maxPrivateWaiting + 1 {
		q.Put(PrivateMessage{})
	}
	if list, dropped := q.Take(); len(list) != 0 || !dropped {
		t.Errorf("beyond the bound: %d messages, dropped %v", len(list), dropped)
	}
}
