package engine

import "github.com/tickhive/tickhive/internal/fixed"

// CommandKind selects the action of a Command.
type CommandKind uint8

// The commands. AddPair and SetPair carry an Instrument, SetAsset an Asset. Commands of the
// control stream have no pair (ControlPair).
const (
	Place CommandKind = iota
	Cancel
	Replace
	CancelAll // cancels the orders of one account, or of all, in one pair
	PlaceList // places the orders of a list, or none of them
	AddPair
	SetPair
	SetAsset // control stream: adds or changes an asset
	// Skip is not a command but a journal record: it marks the record at Order as never
	// carried out. A replay learns of it before that record (internal/machine).
	Skip
	// Continue goes on with the unfinished command of a pair (continuation.go).
	Continue
	// SetSettings is not a command but a journal record: it holds the settings of the whole exchange, of which
	// internal/machine gives the core its limits.
	SetSettings
	// Other is the record of another part of the exchange, in the order of the market's. The core passes over it.
	Other
)

// RulesVersion is the version of the rules by which the exchange applies commands, those of the other parts too. Each
// record of the journal has it: other rules would make another state of the same records, so DecodeCommand refuses a
// record of any other version. A change of a command's effect takes the next number.
const RulesVersion = 27

// Flags of a Place.
const (
	FlagPostOnly uint8 = 1 << iota // refuse rather than take
	FlagQuote                      // at the market's price, by quote amount: Quote instead of Amount
	FlagStrict                     // refuse a waiting order whose stop price the market has already reached
	FlagExpire                     // accept and cancel what the book would refuse: fok, or market without liquidity
	FlagFollows                    // refuse it if the pair has refused the command right before it: they are one slice
)

// Flags of a Cancel, a CancelAll and a Replace. FlagAllAccount and FlagOperator have room beside those of each.
const (
	FlagAllAccount uint8 = 1 << (iota + 2) // the orders may belong to any account; CancelAll: those of every account
	FlagHasPrice                           // Replace: Price is given
	FlagHasAmount                          // Replace: Amount is given
	FlagHasStop                            // Replace: Stop is given
	FlagHasTrail                           // Replace: Trail is given
	// FlagSmallerOnly: a Replace may only lower the total, and keeps the place: an amendment. It may give the order
	// another client id.
	FlagSmallerOnly
	FlagOperator    = FlagHasPrice  // Cancel, CancelAll: the exchange ends the orders, not their owner (CauseOperator)
	FlagList        = FlagHasAmount // Cancel: Order is the id of a list, all of which ends
	FlagOnlyNew     = FlagHasStop   // Cancel: refuse an order that has fills
	FlagOnlyPartial = FlagHasTrail  // Cancel: refuse an order without fills
)

// Refusal reasons that only the edge can detect (the decimal text is off tick or beyond
// int64) reach the core in Command.Refuse, so that a refusal is sequenced like any other
// outcome.

// ClientID is a client order id: its text and the hashes that the core stores instead of
// the text. Immutable.
type ClientID struct {
	Text    string
	Hash    [2]uint64 // of account, pair and text
	Content [2]uint64 // of every member of the order after defaults
	// Reusable says which rule of docs/contract/matching.md#client-order-ids applies to the order: the id is unique
	// among the open orders of its account alone, and no order is a repeat of another.
	Reusable bool
	// Strategy and StrategyType are labels of the order that nothing but its events has; nil: not given. An order that
	// has labels and no id has the Text "" (Named).
	Strategy, StrategyType *int64
}

// Named reports whether there is a client id.
func (id *ClientID) Named() bool { return id != nil && id.Text != "" }

// MaxPart is the largest number of a part.
const MaxPart = 1<<3 - 1

// Command is one request to the core, fully decoded: integers of the pair's ticks and
// lots. TimeNs is stamped when the command is sequenced; the core never reads a clock.
//
// The core reads these members, besides Kind and TimeNs:
//
//	Place       Pair, Account, Side, Type, TIF, STP, Flags, Price, Amount or Quote, Stop, Trail,
//	            Display, Client, Refuse
//	PlaceList   Pair, Account, List, Client = the id of the list
//	Cancel      Pair, Account (or FlagAllAccount), Order, Flags, Client = the text of the cancel's own id,
//	            which nothing but its event has
//	Replace     Pair, Account (or FlagAllAccount), Order, Flags, Price, Amount, Stop, Trail, Refuse, Client = the
//	            order's new id (FlagSmallerOnly)
//	CancelAll   Pair, Account (or FlagAllAccount), Order = highest id it may cancel (0: no
//	            bound)
//	Continue    Pair
//	AddPair     Instrument (the core sets ID, CreatedNs and the digits of the assets); Pair = the requested number,
//	            used when it is free, else the next one (ControlPair: next); Control.Past, nil: none
//	SetPair     Pair, Instrument: State, limits and fees count; the rest never changes
//	SetAsset    Control.Asset
//	SetSettings none
//	Other       none
//
// The order of a Cancel or Replace decides the pair's stream when the two disagree: an id
// of another pair is an unknown order. An unknown Pair is refused on the control stream.
type Command struct {
	TimeNs  int64
	Kind    CommandKind
	Side    Side
	Type    OrderType
	TIF     TimeInForce
	STP     SelfTrade
	Flags   uint8
	Refuse  Reason // Place, Replace: a reason found before the core; unless NotRejected, the core refuses with it
	First   bool   // the first record of a write to the journal: a slice begins (continuation.go)
	Pair    PairID
	Account AccountID

	Order   OrderID // Cancel, Replace: the order; CancelAll: the highest id to cancel
	Price   int64   // ticks; 0 for market
	Amount  int64   // lots; Replace: the new total
	Stop    int64   // ticks; stop orders
	Display int64   // lots shown of an iceberg, 0: everything

	Quote      fixed.U128     // product units: a buy spends at most this, a sell brings about this (FlagQuote)
	Client     *ClientID      // nil: none
	Instrument *Instrument    // AddPair, SetPair
	List       *List          // PlaceList
	Control    *ControlRecord // SetAsset, SetSettings, Other, AddPair
	Trail      uint16         // basis points behind the best price since it tracks; 0: the stop price is fixed
}

// List is an order list: its orders in the order of their ids. Immutable.
type List struct {
	Kind   ListKind
	Orders []Command // Place, each of the pair and the account of the list's command
}

// ControlRecord holds what only few commands and their events carry. Immutable.
type ControlRecord struct {
	Asset    *Asset
	Past     []PastCandle // AddPair: what the candles of the pair begin with
	Settings []byte       // the settings of the whole exchange, as internal/machine encodes them
	Part     uint8        // Other: the number of another part of the exchange (internal/machine), from 1 to MaxPart
	Record   []byte       // Other: its record
}
