package wire

import "runtime"

// Turns lets others run while a large state is written, read or linked on another
// goroutine than theirs. Go lets a goroutine that computes keep its processor for 10 ms,
// and with two processors, the other one taken by the collector, that is how long the
// loop of a market would wait for the follower that makes its snapshot.
type Turns int

// turnEvery is how many numbers or links are made in a row: 50 to 200 us.
const turnEvery = 1 << 12

// Turn counts one number or link.
func (t *Turns) Turn() {
	if *t++; *t%turnEvery == 0 {
		runtime.Gosched()
	}
}
