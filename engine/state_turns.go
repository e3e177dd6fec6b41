package engine

import "runtime"

// turns lets others run while a large pair is written or read beside the loop. Go lets a
// goroutine that computes keep its processor for 10 ms, and with two processors, the other
// one taken by the collector, that is how long the loop would wait.
type turns int

// turnOrders is how many orders are written or read in a row: about 200 us.
const turnOrders = 1024

func (t *turns) turn() {
	if *t++; *t%turnOrders == 0 {
		runtime.Gosched()
	}
}
