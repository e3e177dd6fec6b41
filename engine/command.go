package engine

import "tickhive/internal/fixed"

// CommandKind says what a Command asks for.
type CommandKind uint8

// The commands. AddPair and SetPair carry an Instrument, SetAsset an Asset. Those of the
// control stream have no pair (ControlPair).
const (
	Place CommandKind = iota
	Cancel
	Replace
	CancelAll // one part of a mass cancel: at most CancelAllPart orders of one pair
	AddPair
	SetPair
	SetAsset    // control stream: adds or changes an asset
	OpenAccount // control stream: gives the next AccountID to a UUID
	// Skip is no command but a record of the journal alone: the record at Order is never
	// carried out. Who replays the journal knows it before (marketdata/replica).
	Skip
)

// CancelAllPart is how many orders one CancelAll command cancels at most, so that a mass
// cancel lets others in between its parts (docs/internals/performance.md#e4). The events of a part
// this large stay in the first cache: at 256 a mass cancel cost a tenth more than single ones.
const CancelAllPart = 64

// RulesVersion is the version of the rules that the loop stamps into what it sequences. A
// journal is replayed for ever by the rules of its time, so a change of what a command does
// is a new version, and every version stays:
//
//	0  the program before rules had versions
//	1  EarnLimit of a Replace counts; Options.AccountStops and PairStops are kept
const RulesVersion = 1

// Flags of a Command.
const (
	FlagPostOnly   uint8 = 1 << iota // Place: refuse rather than take
	FlagQuote                        // Place: market buy by quote amount: Quote instead of Amount
	FlagFunded                       // Place, Replace: the account may not take more than SpendLimit
	FlagAllAccount                   // Cancel, Replace: whoever owns the order; CancelAll: every account
	FlagHasPrice                     // Replace: Price is given
	FlagHasAmount                    // Replace: Amount is given
	FlagUnheld                       // Replace: no account holds anything for the order: refuse an account's
)

// Refusal reasons that only the edge can see (the decimal text is off tick or beyond
// int64) reach the core in Command.Refuse, so that a refusal is sequenced like any other
// outcome.

// ClientID is a client order id: its text and the hashes that the core keeps instead
// of it. Immutable.
type ClientID struct {
	Text    string
	Hash    [2]uint64 // of account, pair and text
	Content [2]uint64 // of every member of the order after defaults
}

// Command is one request to the core, fully decoded: integers of the pair's ticks and
// lots. TimeNs is stamped when the command is sequenced; the core never reads a clock.
//
// Which members count, besides Kind and TimeNs:
//
//	Place       Pair, Account, Side, Type, TIF, STP, Flags, Price, Amount or Quote, Stop,
//	            Display, SpendLimit, EarnLimit, rates, Client, Refuse
//	Cancel      Pair, Account (or FlagAllAccount), Order
//	Replace     Pair, Account (or FlagAllAccount), Order, Flags, Price, Amount, SpendLimit,
//	            EarnLimit, Refuse
//	CancelAll   Pair, Account (or FlagAllAccount), Order = highest id it may cancel (0: no
//	            bound). It cancels the oldest CancelAllPart at most: send it again with the
//	            same bound until a part makes fewer EventCanceled than that.
//	AddPair     Instrument (ID and CreatedNs are given by the core); Pair = the number
//	            wished for, taken when it is free, else the next one (ControlPair: next)
//	SetPair     Pair, Instrument: State, MinQuote, fees count, the rest never changes
//	SetAsset    Asset
//	OpenAccount UUID; one that is known gives the same AccountID again
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
	Refuse  Reason // Place, Replace: not NotRejected: refuse with this reason
	Rules   uint8  // version of the rules that it is carried out by, stamped like TimeNs
	Pair    PairID
	Account AccountID

	Order   OrderID // Cancel, Replace: which; CancelAll: cancel open orders with ids up to this one
	Price   int64   // ticks; 0 for market
	Amount  int64   // lots; Replace: the new total
	Stop    int64   // ticks; stop orders
	Display int64   // lots shown of an iceberg, 0: everything

	Quote fixed.U128 // product units: spend at most this (FlagQuote)
	// SpendLimit counts with FlagFunded. Place: product units, fee left out: cap of a funded
	// market buy by amount. Replace: what is kept for the order beyond its open part, in
	// product units for a bid, in lots for an ask; a replace that needs more is refused.
	SpendLimit fixed.U128
	// EarnLimit is the most that the order may bring its account, fee left out: product units
	// of a sell, lots of a buy by quote, of other orders their amount says it. What would
	// bring more is canceled (CauseLimit). Place: 0 is no limit. Replace with FlagFunded, of a
	// sell: what is kept beyond the worth of its open part at its old price.
	EarnLimit fixed.U128

	// Rates in force when the order was placed, 10^-8 (docs/contract/storage.md#recovery).
	MakerFee, TakerFee, Discount uint32

	Client     *ClientID   // nil: none
	Instrument *Instrument // AddPair, SetPair
	Asset      *Asset      // SetAsset
	UUID       *[16]byte   // OpenAccount
}
