package refuse

// Row is what the exchange says about one code, to each of its audiences.
type Row struct {
	Code   Code
	Status int // of HTTP
	// When says when requests of any kind are refused so, in the Markdown of docs/contract/errors.md; empty: only
	// orders are.
	When string
	// Order says why an order is refused: the message where no limit is known. The reason of the engine is the code in
	// small letters. Empty: no reason of the engine.
	Order string
	// Instead is the code with which the refusal of an order is answered; empty: its own.
	Instead Code
	// Binance is the answer of the Binance-compatible interface.
	Binance Binance
}

// Binance is an error in the form of the Binance-compatible interface.
type Binance struct {
	Number  int
	Message string // empty: the message of the refusal
}

var timedOut = Binance{
	-1007, "Timeout waiting for response from backend server. Send status unknown; execution status unknown.",
}

// Table is the only table of errors: docs/contract/errors.md, the constants of the Go client and the answers of both
// interfaces come from it. The rows of orders have the order in which the engine finds faults. Immutable.
var Table = []Row{
	{
		Code: InvalidParam, Status: 400, Binance: Binance{Number: -1000},
		When: "a parameter, header or member is missing, malformed or out of range",
	},
	{
		Code: Unauthorized, Status: 401, Binance: Binance{Number: -1002},
		When: "[credentials](signing.md#checks) are missing or do not verify",
	},
	{
		Code: Forbidden, Status: 403, Binance: Binance{Number: -1002},
		When: "the key or the user may not do this",
	},
	{
		Code: NotFound, Status: 404, Binance: Binance{-1020, "This operation is not supported."},
		When: "unknown path, pair, order, user, token",
	},
	{
		Code: MethodNotAllowed, Status: 405, Binance: Binance{-1020, "This operation is not supported."},
		When: "with `Allow`",
	},
	{
		Code: RequestTimeout, Status: 408, Binance: Binance{Number: -1001},
		When: "the request did not arrive in time",
	},
	{
		Code: Conflict, Status: 409, Binance: Binance{Number: -1000},
		When: "the state does not permit it",
	},
	{
		Code: PayloadTooLarge, Status: 413, Binance: Binance{Number: -1000},
		When: "body over the [limit](limits.md#http)",
	},
	{
		Code: URITooLong, Status: 414, Binance: Binance{Number: -1000},
		When: "target over 8 KiB",
	},
	{
		Code: UnsupportedMedia, Status: 415, Binance: Binance{Number: -1000},
		When: "media type or compressed body",
	},
	{
		Code: RateLimit, Status: 429, Binance: Binance{Number: -1003},
		When: "with `Retry-After`",
	},
	{
		Code: HeadersTooLarge, Status: 431, Binance: Binance{Number: -1000},
		When: "request line and headers over 16 KiB, also when the target alone is that long",
	},
	{
		Code: Internal, Status: 500, Binance: Binance{Number: -1001},
		When: "a defect; the request id finds it in the log",
	},
	{
		Code: Unavailable, Status: 503, Binance: Binance{Number: -1001},
		When: "recovering, full queue, a full disk, one that failed a sync, a [stream](cluster.md#replicas) " +
			"that confirms nothing; with `Retry-After`, unless only a restart ends it; nothing was changed",
	},
	{
		Code: OutcomeUnknown, Status: 504, Binance: timedOut,
		When: "the change was written and the disk did not [confirm](storage.md#unknown-outcomes) it: the next " +
			"start finds it or not; or the [stream](cluster.md#replicas) did not confirm it within 10 s; or " +
			"the writer did not answer a [replica](cluster.md#forwarding)",
	},
	{
		Code: NotWriter, Status: 421, Binance: Binance{Number: -1000},
		When: "a [replica](cluster.md#forwarding) executes no changes and verifies no signatures, and did not " +
			"forward this; send it to the writer, which the message names",
	},
	{
		Code: Stale, Status: 503, Binance: Binance{Number: -1000},
		When: "a replica is too far behind its writer (its readiness probes answer this too), or a pair has " +
			"not reached [`X-Min-Seq`](market-data.md#versions-and-x-seq); with `Retry-After`",
	},
	{
		Code: InvalidSymbol, Status: 400, Binance: Binance{Number: -1000},
		When: "[spawn](launchpad.md#spawn)",
	},
	{
		Code: SymbolTaken, Status: 400, Binance: Binance{Number: -1000},
		When: "[spawn](launchpad.md#spawn)",
	},
	{
		Code: CooldownActive, Status: 400, Binance: Binance{Number: -1000},
		When: "[spawn](launchpad.md#spawn)",
	},
	{
		Code: InsufficientFee, Status: 402, Binance: Binance{Number: -1000},
		When: "spawn",
	},
	{
		Code: SpawnerFailed, Status: 500, Binance: Binance{Number: -1000},
		When: "spawn; try again",
	},
	{
		Code: LevelTooLow, Status: 403, Binance: Binance{Number: -1000},
		When: "[vote](hive.md#votes)",
	},
	{
		Code: NoHoldings, Status: 403, Binance: Binance{Number: -1000},
		When: "[vote](hive.md#votes)",
	},
	{
		Code: ProposalNotFound, Status: 404, Binance: Binance{Number: -1000},
		When: "vote, proposal",
	},
	{
		Code: AlreadyVoted, Status: 409, Binance: Binance{Number: -1000},
		When: "vote",
	},
	{
		Code: ProposalClosed, Status: 409, Binance: Binance{Number: -1000},
		When: "vote",
	},

	{
		Code: "PRICE_NOT_POSITIVE", Status: 400, Binance: Binance{-1013, "Filter failure: PRICE_FILTER"},
		Order: "The price must be above zero.",
	},
	{
		Code: "PRICE_OFF_TICK", Status: 400, Binance: Binance{-1013, "Filter failure: PRICE_FILTER"},
		Order: "The price has more decimals than the pair takes.",
	},
	{
		Code: "PRICE_OUT_OF_RANGE", Status: 400, Binance: Binance{-1013, "Filter failure: PRICE_FILTER"},
		Order: "The price is beyond the largest that the pair takes.",
	},
	{
		Code: "AMOUNT_NOT_POSITIVE", Status: 400, Binance: Binance{-1013, "Filter failure: LOT_SIZE"},
		Order: "The amount must be above zero.",
	},
	{
		Code: "AMOUNT_OFF_LOT", Status: 400, Binance: Binance{-1013, "Filter failure: LOT_SIZE"},
		Order: "The amount has more decimals than the pair takes.",
	},
	{
		Code: "AMOUNT_OUT_OF_RANGE", Status: 400, Binance: Binance{-1013, "Filter failure: LOT_SIZE"},
		Order: "The amount is beyond the largest that the pair takes.",
	},
	{
		Code: "TOTAL_OUT_OF_RANGE", Status: 400, Binance: Binance{-1013, "Filter failure: NOTIONAL"},
		Order: "Price times amount is beyond the largest that the exchange takes.",
	},
	{
		Code: "BELOW_MIN_QUOTE_AMOUNT", Status: 400, Binance: Binance{-1013, "Filter failure: NOTIONAL"},
		Order: "Price times amount is below the smallest that the pair takes.",
	},
	{
		Code: "ABOVE_MAX_QUOTE_AMOUNT", Status: 400, Binance: Binance{-1013, "Filter failure: NOTIONAL"},
		Order: "Price times amount is above the largest that the pair takes.",
	},
	{
		Code: "TRAIL_OUT_OF_RANGE", Status: 400, Binance: Binance{-1013, "Filter failure: TRAILING_DELTA"},
		Order: "The trailingDelta must be 10 to 2000 basis points.",
	},
	{
		Code: "PRICE_OUT_OF_BAND", Status: 400, Binance: Binance{-1013, "Filter failure: PERCENT_PRICE_BY_SIDE"},
		Order: "The price is too far from the pair's last trade.",
	},
	{
		Code: "ACCOUNT_HALTED", Status: 403, Binance: Binance{Number: -1000},
		Order: "The account is halted: it takes cancels alone until an operator lifts the halt.",
	},
	{
		Code: InsufficientFunds, Status: 400,
		Binance: Binance{-2010, "Account has insufficient balance for requested action."},
		When:    "the balance does not cover an order, a withdrawal, a swap, a transfer",
		Order:   "The free balance does not cover the order.",
	},
	{
		Code: "UNKNOWN_PAIR", Status: 404, Instead: NotFound, Binance: Binance{Number: -1000},
		Order: "There is no such pair.",
	},
	{
		Code: "UNKNOWN_ORDER", Status: 404, Instead: NotFound, Binance: Binance{-2011, "Unknown order sent."},
		Order: "There is no such order, or it is another account's.",
	},
	{
		Code: "WOULD_CROSS", Status: 409, Binance: Binance{-2010, "Order would immediately match and take."},
		Order: "A post-only order must not cross the book.",
	},
	{
		Code: "WOULD_TRIGGER", Status: 409, Binance: Binance{-2010, "Order would trigger immediately."},
		Order: "The market has already reached the stop price, and strictTrigger refuses such an order.",
	},
	{
		Code: "LIST_PRICES", Status: 409,
		Binance: Binance{-2010, "The relationship of the prices for the orders is not correct."},
		Order:   "The last trade must be between the two prices of the orders of which one cancels the other.",
	},
	{
		Code: "NO_LIQUIDITY", Status: 409,
		Binance: Binance{-2010, "Order book liquidity is less than symbol minimum quantity."},
		Order:   "The other side of the book is empty.",
	},
	{
		Code: "FOK_UNFILLED", Status: 409, Binance: Binance{-2010, "The book cannot fill the whole order at once."},
		Order: "The book cannot fill the whole order at once.",
	},
	{
		Code: "PAIR_POST_ONLY", Status: 409,
		Binance: Binance{-2010, "This symbol takes LIMIT_MAKER orders alone at the moment."},
		Order:   "The pair takes post-only orders alone at the moment.",
	},
	{
		Code: "PAIR_CANCEL_ONLY", Status: 409, Binance: Binance{-2010, "Market is closed."},
		Order: "The pair takes cancels alone at the moment.",
	},
	{
		Code: "PAIR_HALTED", Status: 409, Binance: Binance{-2010, "Market is closed."},
		Order: "The pair is halted: it takes nothing at the moment.",
	},
	{
		Code: "ORDER_CLOSED", Status: 409, Binance: Binance{-2011, "Unknown order sent."},
		Order: "The order is closed.",
	},
	{
		Code: "ORDER_PENDING", Status: 409,
		Binance: Binance{-2038, "Order amend (pending OPO order) is not supported."},
		Order:   "The order's list has not released it yet, and sets its amount.",
	},
	{
		Code: "AMEND_NOT_SMALLER", Status: 409,
		Binance: Binance{-2038, "Order amend (quantity increase) is not supported."},
		Order:   "An amendment must lower the amount, and leave it above what is filled.",
	},
	{
		Code: "CANCEL_RESTRICTED", Status: 409,
		Binance: Binance{-2011, "Order was not canceled due to cancel restrictions."},
		Order:   "The order is not in the state to which the cancel is restricted.",
	},
	{
		Code: "CANCEL_FAILED", Status: 409, Binance: Binance{-2022, "Order cancel-replace failed."},
		Order: "The order before it was not canceled, so this one was not placed.",
	},
	{
		Code: "DUPLICATE_CLIENT_ORDER_ID", Status: 409, Binance: Binance{-2010, "Duplicate order sent."},
		Order: "The clientOrderId was used for another order.",
	},
	{
		Code: "TOO_MANY_ORDERS", Status: 409, Binance: Binance{-1013, "Filter failure: MAX_NUM_ORDERS"},
		Order: "There are as many open orders as the exchange takes.",
	},
	{
		Code: "TOO_MANY_STOPS", Status: 409, Binance: Binance{-1013, "Filter failure: MAX_NUM_ALGO_ORDERS"},
		Order: "There are as many waiting orders as the exchange takes.",
	},
	{
		Code: "TOO_MANY_LISTS", Status: 409, Binance: Binance{-1013, "Filter failure: MAX_NUM_ORDER_LISTS"},
		Order: "There are as many open order lists as the exchange takes.",
	},
	{
		Code: "TOO_MANY_SLICES", Status: 409, Binance: Binance{-1013, "Filter failure: ICEBERG_PARTS"},
		Order: "The icebergs of the pair have as many slices as the exchange takes.",
	},
	{
		Code: "TOO_MANY_AMENDS", Status: 409, Binance: Binance{-1013, "Filter failure: MAX_NUM_ORDER_AMENDS"},
		Order: "The order has been amended 10 times, which is the most.",
	},
}

var rows = func() map[Code]*Row {
	m := make(map[Code]*Row, len(Table))
	for i := range Table {
		m[Table[i].Code] = &Table[i]
	}
	return m
}()

// RowOf returns the row of a code. A code without a row is a bug of the program: its row is Internal's.
func RowOf(code Code) *Row {
	if row := rows[code]; row != nil {
		return row
	}
	return rows[Internal]
}

// Status returns the HTTP status of the refusal.
func (r *Refusal) Status() int { return RowOf(r.Code).Status }

// BinanceRow says when the Binance-compatible interface answers with a number.
type BinanceRow struct {
	Number int
	Status string
	When   string // in the Markdown of docs/contract/binance.md
}

// BinanceTable has the numbers of the Binance-compatible interface: those of Table, and those of requests that its own
// rules refuse. Immutable.
var BinanceTable = []BinanceRow{
	{-1000, "4xx", "a request that is no well-formed HTTP, is too large or too slow; an order of a halted account"},
	{-1001, "503, 500", "the exchange recovers, stops or fails"},
	{-1002, "401, 403", "the listener refuses credentials or a client's address before it knows the route"},
	{-1003, "429, 418", "too much weight, too many connections; 418: the ban of a [fault rule](faults.md#rules)"},
	{-1007, "504", "the outcome of a change is unknown ([OUTCOME_UNKNOWN](errors.md#codes)): look at the order " +
		"before repeating it"},
	{-1013, "400", "an order against a filter, which the message names"},
	{-1015, "429", "too many [unfilled orders](#limits) of the account"},
	{-1020, "404, 405", "a route or method that does not exist here; 400: a value that the exchange does not take"},
	{-1021, "400", "`timestamp`"},
	{-1022, "400", "the signature is wrong"},
	{-1100, "400", "illegal characters in a [parameter](#parameters)"},
	{-1101, "400", "a parameter is sent twice, or there are too many"},
	{-1102, "400", "a parameter that is needed is missing or malformed"},
	{-1104, "400", "parameters that the route does not have"},
	{-1106, "400", "a parameter that does not go with the type of the order"},
	{-1111, "400", "a number with too many decimals"},
	{-1115, "400", "unknown time in force"},
	{-1116, "400", "unknown type of order"},
	{-1117, "400", "unknown side"},
	{-1120, "400", "unknown interval"},
	{-1121, "400", "unknown symbol"},
	{-1125, "400", "no such listen key"},
	{-1127, "400", "more than 24 hours between `startTime` and `endTime`"},
	{-1128, "400", "parameters that do not go together"},
	{-1130, "400", "the value of a parameter is not valid"},
	{-1131, "400", "`recvWindow`"},
	{-1134, "400", "a strategy type below 1000000"},
	{-1135, "400", "a message of the [WebSocket API](#websocket-api) that is no request"},
	{-1145, "400", "unknown `cancelRestrictions`"},
	{-1158, "400", "a type that no order of an OCO has"},
	{-1160, "400", "an iceberg in a list whose time in force is not `GTC`"},
	{-1165, "400", "the limit order of a purchase by OCO is above"},
	{-1166, "400", "the limit order of a sale by OCO is below"},
	{-1168, "400", "both orders of an OCO are limit orders"},
	{-1194, "400", "a time unit that is neither MILLISECOND nor MICROSECOND"},
	{-1196, "400", "the stop loss of a purchase by OCO is below"},
	{-1197, "400", "the stop loss of a sale by OCO is above"},
	{-1198, "400", "the take profit of a purchase by OCO is above"},
	{-1199, "400", "the take profit of a sale by OCO is below"},
	{-1220, "400", "a symbol whose status is not the `symbolStatus`"},
	{-1222, "400", "the working order of an OPO sells"},
	{-1223, "400", "a pending order of an OPO buys"},
	{-1224, "400", "the working order of an OPO has no quantity"},
	{-1225, "400", "a pending order of an OPO has a quantity"},
	{-2010, "400", "the order is refused"},
	{-2011, "400", "a cancel of an order that is not open"},
	{-2013, "400", "no such order"},
	{-2014, "401", "no key"},
	{-2015, "401", "a key that is unknown, expired, not for this address, or without `canTrade`"},
	{-2021, "409, 429", "half of a cancelReplace is refused"},
	{-2022, "400, 429", "all of a cancelReplace is refused"},
	{-2038, "400", "an amend is refused"},
	{-2043, "400", "a reference price: no symbol has one"},
	{-4056, "400", "a logon with an HMAC or RSA key"},
}
