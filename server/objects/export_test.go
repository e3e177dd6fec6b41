package objects

// Bodies of the tests, for those that a package imports which imports this one.
const (
	GoodOrder   = goodOrder
	SignedOrder = signedOrder
)

// BatchOf returns the body of a batch of n orders.
func BatchOf(n int) []byte { return batchBody(n) }
