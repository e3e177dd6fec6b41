package wire

import "runtime"

// Turns yields the processor to other goroutines while one goroutine encodes, decodes or links a large state.
// The Go scheduler lets a goroutine compute for 10 ms. With two processors, one of them used by the garbage
// collector, the loop of a market would wait as long for the follower that writes its snapshot.
type Turns int

// turnEvery is the number of numbers or links between two yields, 50 to 200 us.
const turnEvery = 1 << 12

// Turn counts one number or link and yields when enough were counted.
func (t *Turns) Turn() {
	if *t++; *t%turnEvery == 0 {
		runtime.Gosched()
	}
}
