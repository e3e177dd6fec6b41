package marketdata

import "tickhive/engine"

const ringChunk = 1024

// ring retains the newest values up to a limit and overwrites the oldest. Values are numbered from 0 without a
// gap. Owner: the goroutine that owns the containing struct.
type ring[T any] struct {
	chunks []*[ringChunk]T
	limit  uint64
	end    uint64 // number of the next value
	next   uint32 // place of the next value: end modulo limit, stored because a division is slower
}

// first returns the number of the oldest retained value.
func (r *ring[T]) first() uint64 {
	if r.end > r.limit {
		return r.end - r.limit
	}
	return 0
}

func (r *ring[T]) has(n uint64) bool { return n < r.end && n >= r.first() }

func (r *ring[T]) at(n uint64) *T { return r.atPlace(uint32(n % r.limit)) }

func (r *ring[T]) atPlace(i uint32) *T { return &r.chunks[i/ringChunk][i%ringChunk] }

// full reports whether the next push overwrites the oldest value, which is then at next.
func (r *ring[T]) full() bool { return r.end >= r.limit }

// push returns the place for the next value; the caller sets every member.
func (r *ring[T]) push() *T {
	i := r.next
	if int(i/ringChunk) == len(r.chunks) {
		r.chunks = append(r.chunks, new([ringChunk]T))
	}
	r.end++
	if r.next++; uint64(r.next) == r.limit {
		r.next = 0
	}
	return r.atPlace(i)
}

// location says which store holds an order (open, closed or remembered) and at which place of a ring or slot of the
// slab; 0: not retained.
type location uint32

const (
	inOpen       location = 1 << 30
	inClosed     location = 2 << 30
	inRemembered location = 3 << 30
	placeMask    location = 1<<30 - 1
)

const idPageOrders = 512

// idPage holds the locations of 512 consecutive order numbers of a pair. The location of an evicted order stays
// in the page, because clearing it would load a cache line for each eviction. A lookup detects it: the record
// there has another id.
type idPage [idPageOrders]location

// orderIndex finds the orders of one pair by number. It retains a page while an order in it is retained, and
// drops empty pages at the front of the list. Owner: the feed's goroutine.
//
// slots.Index is another thing: it removes a number at once. Here evicted orders stay in place, and a snapshot has the
// number of the first page.
type orderIndex struct {
	base  uint64 // number of the first page
	pages []*idPage
	// number of retained orders in each page; a separate slice, so that an eviction need not load the page
	counts []uint16
	spare  *idPage // an emptied page for reuse, so that steady turnover allocates nothing
}

// get returns the location of an order, 0 when it is not retained.
func (x *orderIndex) get(id engine.OrderID) location {
	k := id.N()/idPageOrders - x.base
	if k >= uint64(len(x.pages)) || x.pages[k] == nil {
		return 0
	}
	return x.pages[k][id.N()%idPageOrders]
}

// add sets the location of a new order.
func (x *orderIndex) add(id engine.OrderID, w location) {
	k := id.N() / idPageOrders
	if len(x.pages) == 0 {
		x.base = k
	}
	if k < x.base {
		panic("BUG: marketdata: an order number below the kept ones")
	}
	for k-x.base >= uint64(len(x.pages)) {
		x.pages, x.counts = append(x.pages, nil), append(x.counts, 0)
	}
	p := x.pages[k-x.base]
	if p == nil {
		if p = x.spare; p == nil {
			p = new(idPage)
		}
		x.spare = nil
		x.pages[k-x.base] = p
	}
	x.counts[k-x.base]++
	p[id.N()%idPageOrders] = w
}

// move changes the location of a retained order.
func (x *orderIndex) move(id engine.OrderID, w location) {
	x.pages[id.N()/idPageOrders-x.base][id.N()%idPageOrders] = w
}

// forget subtracts an evicted order from its page's count and drops the page when the count is 0.
func (x *orderIndex) forget(id engine.OrderID) {
	k := id.N()/idPageOrders - x.base
	if x.counts[k]--; x.counts[k] > 0 {
		return
	}
	x.spare = x.pages[k]
	x.pages[k] = nil
	n := 0
	for n < len(x.pages) && x.pages[n] == nil {
		n++
	}
	if n > 0 && n >= len(x.pages)/2 {
		copy(x.pages, x.pages[n:])
		clear(x.pages[len(x.pages)-n:])
		x.pages = x.pages[:len(x.pages)-n]
		copy(x.counts, x.counts[n:])
		x.counts = x.counts[:len(x.counts)-n]
		x.base += uint64(n)
	}
}
