package engine

// Reason names the rule that refused a command. A refusal is a business outcome: a value, not an error
// (docs/contract/errors.md#order-refusals).
type Reason uint8

// The reasons. Up to TooManyOrders they have the order of docs/contract/errors.md#order-refusals.
// NotRejected is the zero value.
const (
	NotRejected Reason = iota
	PriceNotPositive
	PriceOffTick
	PriceOutOfRange
	AmountNotPositive
	AmountOffLot
	AmountOutOfRange
	TotalOutOfRange
	BelowMinQuoteAmount
	InsufficientFunds
	UnknownPair
	UnknownOrder
	WouldCross
	NoLiquidity
	FOKUnfilled
	PairPostOnly
	PairCancelOnly
	PairHalted
	OrderClosed
	DuplicateClientOrderID
	TooManyOrders
	// PairExists and InvalidPair refuse an AddPair on the control stream, never an order.
	PairExists
	InvalidPair
	// The numbers of the reasons are part of the journal's records: later ones come last.
	PriceOutOfBand
	AboveMaxQuoteAmount
	AccountHalted // Funds.Cover
	// AssetInUse refuses a SetAsset on the control stream that would change digits.
	AssetInUse
	WouldTrigger     // FlagStrict: the market is already through the stop price
	ListPrices       // the prices of an order list do not embrace the last trade
	TrailOutOfRange  // trailingDelta
	TooManyStops     // of the account, or of the pair
	TooManyLists     // of the account, or of the pair
	TooManySlices    // in the reserves of the icebergs of the pair
	TooManyAmends    // of one order
	AmendNotSmaller  // FlagSmallerOnly: the new total is not below the total
	CancelRestricted // FlagOnlyNew, FlagOnlyPartial
	OrderPending     // the amount of an order that a list has not released yet cannot change
	CancelFailed     // FlagFollows: the cancel right before the order was refused
	// PairInUse refuses a SetPair on the control stream that would delist a pair with open orders.
	PairInUse
)

// lastReason is the highest number of a reason.
const lastReason = PairInUse

var reasonNames = [...]string{
	"", "price_not_positive", "price_off_tick", "price_out_of_range", "amount_not_positive",
	"amount_off_lot", "amount_out_of_range", "total_out_of_range", "below_min_quote_amount",
	"insufficient_funds", "unknown_pair", "unknown_order", "would_cross", "no_liquidity",
	"fok_unfilled", "pair_post_only", "pair_cancel_only", "pair_halted", "order_closed",
	"duplicate_client_order_id", "too_many_orders", "pair_exists", "invalid_pair", "price_out_of_band",
	"above_max_quote_amount", "account_halted", "asset_in_use",
	"would_trigger", "list_prices", "trail_out_of_range", "too_many_stops", "too_many_lists", "too_many_slices",
	"too_many_amends", "amend_not_smaller", "cancel_restricted", "order_pending",
	"cancel_failed", "pair_in_use",
}

// String returns the wire word.
func (r Reason) String() string { return reasonNames[r] }
