package engine

// PairID is the number of a pair in the order of its creation, from 0.
type PairID uint32

// ControlPair is the Pair of commands and events that belong to no pair. They form the control stream, which
// has its own seq.
const ControlPair PairID = 1<<32 - 1

// OrderID is pair number x 2^36 + n, where n counts the orders of the pair from 1
// (docs/contract/matching.md#sequence-numbers). It stays below 2^53, so a JSON number holds it exactly.
type OrderID uint64

const orderIDBits = 36

// MaxPairs is the number of pairs up to which every OrderID is below 2^53.
const MaxPairs = 1 << (53 - orderIDBits)

// MakeOrderID returns the id of the n-th order of a pair.
func MakeOrderID(p PairID, n uint64) OrderID { return OrderID(uint64(p)<<orderIDBits | n) }

// Pair returns the pair that the order belongs to.
func (id OrderID) Pair() PairID { return PairID(id >> orderIDBits) }

// N returns the order's dense number within its pair, from 1.
func (id OrderID) N() uint64 { return uint64(id) & (1<<orderIDBits - 1) }

// TradeID counts the trades of a pair from 1, without gaps.
type TradeID uint64

// Seq counts the events of one pair, from 1, without gaps.
type Seq uint64

// AccountID is the dense number of an account; 0 is the built-in unlimited account,
// which pays no fee.
type AccountID uint32

// Side is the side of an order or of a book.
type Side uint8

// The two sides.
const (
	Buy Side = iota
	Sell
)

// Opposite returns the other side.
func (s Side) Opposite() Side { return s ^ 1 }

// String returns the word of the contract.
func (s Side) String() string { return [...]string{"buy", "sell"}[s] }

// OrderType selects how an order trades: at a limit or at the market's price, at once or when the market has reached a
// price.
type OrderType uint8

// The order types of docs/contract/matching.md#order-types. An odd type trades at the market's price.
const (
	Limit OrderType = iota
	Market
	StopLimit
	StopMarket
	TakeLimit
	TakeMarket
)

// lastType is the highest number of an order type.
const lastType = TakeMarket

// String returns the word of the contract.
func (t OrderType) String() string {
	return [...]string{"limit", "market", "stop_limit", "stop_market", "take_profit_limit", "take_profit_market"}[t]
}

// AtMarket reports whether an order of the type trades at the market's price.
func (t OrderType) AtMarket() bool { return t&1 != 0 }

// Waits reports whether an order of the type waits until the market reaches a price.
func (t OrderType) Waits() bool { return t >= StopLimit }

// direction is the way that the price goes to reach a waiting order.
type direction uint8

const (
	rise direction = iota // reached at the stop price or above
	fall                  // reached at the stop price or below
)

// String returns the word that Check reports.
func (d direction) String() string { return [...]string{"rising", "falling"}[d] }

// direction returns the way to a waiting order: a stop buys in a rise and sells in a fall, a take profit the other way
// around.
func (t OrderType) direction(s Side) direction { return direction(uint8(s) ^ uint8(t)>>2) }

// ListKind selects how the orders of an order list depend on each other.
type ListKind uint8

// The kinds of docs/contract/matching.md#order-lists. The zero value is no list.
const (
	NoList ListKind = iota
	OCO
	OTO
	OTOCO
	OPO
	OPOCO
)

// lastList is the highest number of a kind of list.
const lastList = OPOCO

// MaxListOrders is the largest number of orders in a list.
const MaxListOrders = 3

// String returns the word of the contract.
func (k ListKind) String() string { return [...]string{"", "oco", "oto", "otoco", "opo", "opoco"}[k] }

// TimeInForce selects how long an order stays open.
type TimeInForce uint8

// The times in force; Market and StopMarket orders are IOC.
const (
	GTC TimeInForce = iota
	IOC
	FOK
)

// String returns the word of the contract.
func (t TimeInForce) String() string { return [...]string{"gtc", "ioc", "fok"}[t] }

// SelfTrade is the self-trade prevention mode; the taker's mode decides.
type SelfTrade uint8

// The five modes of docs/contract/matching.md#self-trade-prevention. The zero value is None;
// defaults are applied at the edge (cancel_taker, or none for the built-in account).
const (
	SelfTradeNone SelfTrade = iota
	CancelTaker
	CancelMaker
	CancelBoth
	Decrement
)

// String returns the word of the contract.
func (m SelfTrade) String() string {
	return [...]string{"none", "cancel_taker", "cancel_maker", "cancel_both", "decrement"}[m]
}

// PairState says which commands a pair takes (docs/contract/matching.md#states-of-a-pair).
type PairState uint8

// The pair states.
const (
	Online PairState = iota
	PostOnlyState
	CancelOnly
	Halted
	Delisted // for good, without open orders: the pair takes no command, and no other pair gets its code
)

// lastState is the highest number of a state.
const lastState = Delisted

// String returns the word of the contract.
func (s PairState) String() string {
	return [...]string{"online", "post_only", "cancel_only", "halted", "delisted"}[s]
}

// Status is the state of an order (docs/contract/matching.md#states-of-an-order).
type Status uint8

// The order states.
const (
	Created Status = iota
	PartiallyCompleted
	Completed
	Canceled
	PartiallyExecutedAndCanceled
	Rejected
	Pending // an order of a list that has not begun: it is in no book
)

// String returns the word of the contract.
func (s Status) String() string {
	return [...]string{
		"Created", "PartiallyCompleted", "Completed", "Canceled",
		"PartiallyExecutedAndCanceled", "Rejected", "Pending",
	}[s]
}

// Open reports whether an order in this state can still trade or be canceled.
func (s Status) Open() bool { return s <= PartiallyCompleted || s == Pending }
