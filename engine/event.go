package engine

import "github.com/tickhive/tickhive/internal/fixed"

// EventKind names the fact that an Event reports.
type EventKind uint8

// The events of docs/contract/matching.md#sequence-numbers. Each comment names the members that
// are set. Seq, TimeNs, Pair and Kind are always set. Every other member is zero.
//
// An order's events alone describe its life. It begins with EventAccepted and ends with the
// EventTrade in which its open amount (OpenAmount of the taker, MakerOpen of
// the maker) is 0, or with an EventCanceled. A market buy by quote amount always ends with
// an EventCanceled, also when everything was spent. An order that trades nothing and is
// not canceled rests, or waits as a stop. Its lots add up: the amount accepted = traded +
// reduced + canceled + open; after an EventReplaced traded + open = its Amount.
const (
	// Accepted: Order, Account, Side, Type, TIF, STP, Flags, Price, Amount, MakerOpen = stop
	// price, Trail, Display, Quote, TakerFee, MakerFee, TakerDiscount, Client, Maker = the id of its list, Status =
	// Created, or Pending in a list that keeps it back.
	// The order exists; later events of the same command report its effects. OpenAmount =
	// Amount. Quote, of a buy at market: what it holds, in product units. By quote that is its quote amount; by amount
	// what it will cost, or while it waits stop price x amount, of a trailing one without stop price the price that
	// triggers it now x amount (the built-in account holds nothing: 0). Of a sell at market by quote, Quote is its
	// quote amount, Amount is 0 and OpenAmount the lots that it holds: what it will sell, while it waits nothing.
	EventAccepted EventKind = iota + 1
	// Refused: Reason, Account, Side, Order (cancel, replace), Client (place). No id was taken.
	// A repeated client order id with equal content: Reason NotRejected, Order = the first
	// order. Status = Rejected except for this repeat.
	EventRejected
	// Trade: Side = the taker's, Order = taker, Maker, Trade, Price, Amount, OpenAmount = the
	// taker's open amount after it, MakerOpen = the maker's (hidden part included),
	// Account = taker's, MakerAccount, STP = none, rates and discounts of both, Status = the
	// taker's after it. For a market buy by quote (FlagQuote in Flags) OpenAmount is 0,
	// Status PartiallyCompleted and the rest is in Quote (left to spend). Display = the taker's own
	// limit in ticks, 0 for a market order. A market buy by amount holds exactly what it pays: when a
	// trade ends it, nothing of its hold is left.
	EventTrade
	// LevelChanged: Side, Price, Amount = the new shown amount of the level, 0 = gone. It
	// always differs from the previous amount.
	EventLevel
	// Canceled: Order, Account, Side, Price (0 for market), Amount = the canceled open
	// amount, Status, Cause; for a market buy by quote Amount is 0 and Quote = the unspent
	// quote amount; for a market buy by amount Quote = what is left of its hold. Status is
	// Canceled or PartiallyExecutedAndCanceled; a market buy by quote that has less left than one
	// lot costs is Completed. Client is the own id of the request that canceled the order, not the
	// order's. OpenAmount, with CauseReplace: the total that the request has sent. Quote, of a market sell by quote
	// amount: what it has not brought about; it has sold all that it held.
	EventCanceled
	// Replaced: Order, Account, Side, Price, Amount = new total (filled lots included),
	// OpenAmount = the open amount before it trades on. Flags = FlagSmallerOnly of an amendment, and Client = the new
	// client id that it gives the order, nil: it keeps its id. MakerOpen and Display = price and open
	// amount before the replace. Of a waiting order also Type, Trail, and in Quote its stop price in ticks (StopPrice);
	// a market buy by amount has in Price and MakerOpen the prices at which it holds money, and any other order at
	// market 0.
	EventReplaced
	// Triggered: Order, Account, Side, Type, MakerOpen = stop price, of a trailing order the price that it was
	// triggered at, Price, OpenAmount: a waiting order enters the book. Quote, of a market buy by amount: its hold from
	// now on, which was Display x OpenAmount. Amount, of a market sell by quote amount: the lots that it holds from now
	// on.
	EventTriggered
	// Refilled: Order, Account, Side, Price, Amount = the new slice, OpenAmount: an iceberg
	// went to the back.
	EventRefilled
	// Reduced: Order, Account, Side, Price, Amount = lots taken off without a trade
	// (self-trade mode decrement), OpenAmount = the lots left (0: an EventCanceled follows).
	// Display = the order's own limit in ticks, 0 for a market order, of a waiting buy at market the price at which it
	// holds money. For a market buy by quote
	// OpenAmount is 0, and Quote = what is left to spend.
	EventReduced
	// PairChanged: Instrument. The first event of a pair adds it; an EventPast may follow.
	EventPair
	// Nothing: a command that changed nothing and was not refused (CancelAll without
	// orders). Account.
	EventNothing
	// Asset: control stream; Control.Asset.
	EventAsset
	// List: the first event of a list. Order = its id, the id of its first order; Account, List = its kind, Amount =
	// number of its orders, Client = its own client id. The EventAccepted of its orders follow, each with the list's id
	// in Maker.
	EventList
	// ListEnded: Order = the id of the list, Account, Cause: its last order has ended.
	EventListEnded
	// Released: Order, Account, Side, Type, Maker = the id of the list: an order that a list kept back begins, with the
	// Status Created. Amount = its amount, which an opo list sets; MakerOpen = its stop price, Price = its limit, Quote
	// = what it holds as in EventAccepted. What follows in the same command says whether it waits, rests or trades.
	EventReleased
	// Activated: Order, Account, Side, Price = the first price that a trailing order tracks.
	EventActivated
	// Prevented: self-trade prevention has kept two orders apart. Order = taker, Maker, Trade = the number of the
	// prevented match, from 1 in each pair, Side = the taker's, Account, Price, STP = the mode, Amount = the lots by
	// which it lowered the taker, OpenAmount = those of the maker, 0: it lowered none. The cancels follow.
	EventPrevented
	// Past: Control.Past: the candles that the pair begins with.
	EventPast
)

// CancelCause names the reason why an order ended without being filled.
type CancelCause uint8

// The causes of an EventCanceled.
const (
	CauseRequest     CancelCause = iota // the owner's request, or a mass cancel
	CauseRemainder                      // the remainder of an ioc or market order
	CauseSelfTrade                      // self-trade prevention
	CauseReplace                        // the order was replaced with a total that is already filled
	CauseUnfillable                     // a triggered stop that the book would refuse (fok, post-only, no liquidity)
	CauseFunds                          // the money of a triggered market buy ended before its amount
	CauseFOK                            // a fill-or-kill order that could not fill (FlagExpire)
	CauseNoLiquidity                    // a market order against an empty book (FlagExpire)
	CauseList                           // the other order of its list works, or its list has ended
	CauseWorking                        // the working order of its list has ended without being filled
	CauseOperator                       // the exchange ended it: an operator, a halt, a switch, a lost connection
)

// String returns the word of the contract.
func (c CancelCause) String() string { return causeNames[c] }

var causeNames = [...]string{
	"request", "remainder", "self_trade", "replace", "unfillable", "funds", "fok", "no_liquidity", "list", "working",
	"operator",
}

// Event is one entry of a pair's stream: fixed size, no pointers but the client id and
// the instrument, which are immutable. It is valid until the next Apply into the same
// slice; copy it to retain it.
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
	List    ListKind // EventList
	Trail   uint16   // EventAccepted, EventReplaced: basis points
	Account AccountID

	Order      OrderID
	Maker      OrderID
	Trade      TradeID
	Price      int64
	Amount     int64
	OpenAmount int64
	MakerOpen  int64 // EventAccepted, EventTriggered: the stop price; EventReplaced: the price before
	Display    int64 // EventAccepted: lots shown; EventTrade, EventReduced: the limit; EventReplaced: open before

	MakerAccount            AccountID
	TakerFee, TakerDiscount uint32
	MakerFee, MakerDiscount uint32
	Quote                   fixed.U128
	Client                  *ClientID
	Instrument              *Instrument
	Control                 *ControlRecord // EventAsset, EventPast
}

// StopPrice returns the stop price of a waiting order after its EventReplaced, 0: it trails and has none.
func (e *Event) StopPrice() int64 { return int64(e.Quote.Lo) }
