package engine

import "tickhive/internal/fixed"

// EventKind says what happened.
type EventKind uint8

// The events of Decisions section 4.7. The comment names the members that are set, besides
// Seq, TimeNs, Pair and Kind, which always are.
const (
	// Accepted: Order, Account, Side, Type, TIF, STP, Flags, Price, Amount, Stop, Display,
	// Quote, rates, Client. The order exists; what it does follows in the same command.
	EventAccepted EventKind = iota + 1
	// Refused: Reason, Account, Order (cancel, replace), Client. No id was taken.
	// A repeated client order id: Reason NotRejected, Order = the first order.
	EventRejected
	// Trade: Side = the taker's, Order = taker, Maker, Trade, Price, Amount, OpenAmount = the
	// taker's open amount after it, MakerOpen, Account = taker's, MakerAccount, rates of both.
	// For a market buy by quote OpenAmount is 0 and the rest is in Quote (left to spend).
	EventTrade
	// LevelChanged: Side, Price, Amount = the shown amount of the level now, 0 = gone.
	EventLevel
	// Canceled: Order, Account, Side, Price, Amount = the open amount that was taken out,
	// Status (Canceled or PartiallyExecutedAndCanceled), Cause.
	EventCanceled
	// Replaced: Order, Account, Side, Price, Amount = new total, OpenAmount.
	EventReplaced
	// Triggered: Order, Account, Side, Stop: a waiting stop enters the book.
	EventTriggered
	// Refilled: Order, Side, Price, Amount = the new slice: an iceberg went to the back.
	EventRefilled
	// Reduced: Order, Account, Amount = lots taken off without a trade (self-trade mode
	// decrement), OpenAmount = what is left.
	EventReduced
	// PairChanged: Instrument. The first event of a pair adds it.
	EventPair
	// Nothing: a command that changed nothing and was not refused (CancelAll without orders).
	EventNothing
	// Asset: control stream; Asset. AccountOpened: control stream; Account, UUID.
	EventAsset
	EventAccountOpened
)

// CancelCause is why an order ended without being filled.
type CancelCause uint8

// The causes.
const (
	CauseRequest    CancelCause = iota // canceled by its owner or a mass cancel
	CauseRemainder                     // ioc or market remainder
	CauseSelfTrade                     // self-trade prevention
	CauseReplace                       // replaced to a total at or below what is filled
	CauseUnfillable                    // a triggered stop that the book refuses (fok, post-only, no liquidity)
)

// Event is one entry of a pair's stream: fixed size, no pointers but the client id and
// the instrument, which are immutable. It is valid until the next Apply into the same
// slice; who keeps one copies it.
type Event struct {
	Seq     Seq
	TimeNs  int64
	Pair    PairID
	Kind    EventKind
	Side    Side
	Reason  Reason
	Flags   uint8
	Type    OrderType
	TIF     TimeInForce
	STP     SelfTrade
	Status  Status
	Cause   CancelCause
	Account AccountID

	Order      OrderID
	Maker      OrderID
	Trade      TradeID
	Price      int64
	Amount     int64
	OpenAmount int64
	MakerOpen  int64 // Accepted: Stop
	Display    int64

	MakerAccount            AccountID
	TakerFee, TakerDiscount uint32
	MakerFee, MakerDiscount uint32
	Quote                   fixed.U128
	Client                  *ClientID
	Instrument              *Instrument
	Asset                   *Asset    // EventAsset
	UUID                    *[16]byte // EventAccountOpened
}
