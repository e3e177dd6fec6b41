package wire

import "runtime"

// Turns yields the processor to other goroutines while one goroutine writes, reads or links
// a large state. Go lets a computing goroutine hold its processor for 10 ms. With two
// processors, the other one taken by the collector, the loop of a market would wait that
// long for the follower that makes its snapshot.
type Turns int

// turnEvery is the number of numbers or links between two yields: 50 to 200 us.
const turnEvery = 1 << 12

// Turn counts one number or link.
func (t *Turns) Turn() {
	if *t++; *t%turnEvery == 0 {
		runtime.Gosched()
	}
}
