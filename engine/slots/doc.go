// Package slots holds the data structures of an order book that map numbers to slots.
//
//	Slab   slot number -> value; slots are reused
//	Index  dense number, such as an order's -> slot
//	Keys   sorted key, such as a price -> slot
//
// Slot 0 is never used, so 0 means none. In steady state nothing allocates.
//
// Owner: one goroutine at a time.
//
// Reading order: slab, index, keys.
package slots
