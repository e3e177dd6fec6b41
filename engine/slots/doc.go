// Package slots holds the data structures of an order book that map numbers to slots.
//
//	Slab       slot number -> value; slots are reused
//	Stack      values, the newest first, such as free slots
//	Index      dense number, such as an order's -> slot
//	Keys       sorted key, such as a price -> slot
//	Sorted     sorted key, the highest ones at hand -> slot
//	Table      hash -> slots
//	Queue      slots by the order in which they are to be taken
//	CacheLine  address of a value, which Fetch makes the CPU fetch before it is needed
//
// Slot 0 is never used, so 0 means none. In steady state nothing allocates.
//
// Owner: one goroutine at a time.
package slots
