package format

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// column is the meaning of a column of a table or of a member of JSON.
type column int

// The columns. A layout may name those before colAction.
const (
	colTime column = iota
	colClock
	colPrice
	colAmount
	colSide
	colMaker
	colOpen
	colHigh
	colLow
	colClose
	colSymbol
	colQuote
	colID
	colAction
	colBook
	colBase
	colBid
	colAsk
	colTicks
	colExchange
	colReceived
	colVenue
	columnKinds
	noColumn column = -1
)

// columnNames lists the names that a header may use for each column, in order of preference. The first name is
// the documented one.
var columnNames = [columnKinds][]string{
	colTime: {
		"time", "timestamp", "ts", "t", "datetime", "trade_timestamp", "ts_event", "transact_time", "open_time",
		"dealdateutc", "start", "unix", "date", "trade_time", "time_of_day", "time_utc", "hour", "timestamp_utc",
		"date time", "gmt time", "local time", "created_time", "createtime", "create_time", "window_start",
		"time_exchange", "time_period_start", "sip_timestamp", "participant_timestamp", "opentime", "open time",
	},
	colClock:  {"clock"},
	colPrice:  {"price", "p", "px"},
	colAmount: {"amount", "size", "qty", "quantity", "q", "volume", "base_volume", "volumebase", "vol", "v", "sz"},
	colQuote: { // the amount in the quote currency, or what the vendor calls so
		"quote", "quote_qty", "quoteqty", "quote_volume", "quotevolume", "quote_asset_volume", "cost",
		"foreignnotional", "volumeto", "quote_amount", "quote asset volume",
	},
	colID: {"id", "trade_id", "tradeid", "trade id", "trdmatchid", "agg_trade_id"}, // of the trade
	colSide: {
		"side", "type", "taker_side", "isbuy", "direction", "takerside", "aggressor_side", "maker_side", "makerside",
	},
	colMaker: {"is_buyer_maker", "isbuyermaker", "m", "taker_side_sell", "sell"}, // true: the taker sold
	colOpen:  {"open", "o"},
	colHigh:  {"high", "max", "h"},
	colLow:   {"low", "min", "l"},
	colClose: {"close", "c", "last", "close/last"},
	colSymbol: {
		"symbol", "instrument", "instrument_id", "instrument_name", "instid", "pair", "currency_pair",
		"currencypaircode", "ticker", "ticker_id", "product_id", "market", "coin",
	},
	colAction: {"action", "update_action"},
	colBook:   {"is_snapshot", "issnapshot", "update_type", "first_update_id", "last_update_id", "bids", "asks"},
	colBase:   {"base_qty", "homenotional", "base_amount", "volumefrom"}, // names that decide between amounts
	colBid:    {"bid", "bidprice", "bid_price"},
	colAsk:    {"ask", "askprice", "ask_price"},
	colTicks:  {"tick_volume", "tickvol", "tick volume"},
	// Only to know who counts contracts.
	colExchange: {"exchange"},
	colReceived: {"ts_recv", "local_timestamp"}, // the time of receipt, which orders trades
	colVenue:    {"publisher_id"},
}

// isMakers reports whether the name of a column of sides says that they are the makers'.
func (v *field) isMakers() bool {
	return v.set && strings.HasPrefix(columnNames[colSide][v.rank], "maker")
}

// maxRanks bounds the number of names of one column.
const maxRanks = 48

const (
	remedyBook    = "give a file of trades: these rows belong to an order book"
	remedySymbols = "replay one symbol at a time: name it with --pair, or split the file by its symbols"
	remedyVolume  = `add a column "volume" with the base amount that each bar traded, or give --bar-volume N`
	remedyLayout  = "the columns, or members, are time,price,amount[,side] or time,open,high,low,close,volume; " +
		"name them with --columns"
)

// columnNamed returns the column with this name, and the rank of the name among the column's names. Programs of
// charts put names into angle brackets.
func columnNamed(name string) (c column, rank int) {
	name = strings.ToLower(strings.Trim(name, "<>"))
	for c, names := range columnNames {
		for rank, n := range names {
			if n == name {
				return column(c), rank
			}
		}
	}
	return noColumn, 0
}

// volumeOf matches a volume in a currency: Volume BTC, Volume_(BTC), VolumeBTC.
var volumeOf = regexp.MustCompile(`^(?i:volume )([^ ]+)$|^(?i:volume)_\(([A-Za-z0-9]+)\)$|^Volume([A-Z0-9]{2,10})$`)

// currencyOf returns the currency in the name of a volume, "" for another name.
func currencyOf(name string) string {
	m := volumeOf.FindStringSubmatch(name)
	if m == nil {
		return ""
	}
	return strings.ToUpper(m[1] + m[2] + m[3])
}

// field is one named value of a row.
type field struct {
	set    bool
	name   string // name in the file; "" without a header
	rank   int
	index  int // index of the CSV column
	nameAt int // offset of the name in its line, in bytes
	text   []byte
	at     int // offset of the text in its line, in bytes
}

// label names the column for a message: "price", or 3 without a header.
func (v *field) label() string {
	if v.name != "" {
		return `"` + v.name + `"`
	}
	return strconv.Itoa(v.index + 1)
}

// fields holds the values of a row by column. second holds a further value of the same column. clock holds a
// time of day under an unknown name.
type fields struct {
	first, second [columnKinds]field
	ranks         [columnKinds]uint64 // one bit for each rank that occurred, by column
	clock         field
}

// add adds a value. Of several values of a column, the one with the lowest rank becomes the first. It refuses
// two values with the same name (ignoring case), because the file does not show which one is meant.
func (f *fields) add(c column, v field) error {
	bit := uint64(1) << v.rank
	if f.ranks[c]&bit != 0 {
		return flawAt(v.nameAt, "keep one of the two, or name one with --columns", "a second member %q", v.name)
	}
	f.ranks[c] |= bit
	v.set = true
	switch have := &f.first[c]; {
	case !have.set:
		*have = v
	case v.rank < have.rank:
		f.second[c], *have = *have, v
	default:
		f.second[c] = v
	}
	return nil
}

// used returns the fields that have a value.
func (f *fields) used() (out []*field) {
	for c := range f.first {
		for _, v := range []*field{&f.first[c], &f.second[c]} {
			if v.set {
				out = append(out, v)
			}
		}
	}
	return out
}

// bars reports whether a row has the four prices of a bar.
func (f *fields) bars() bool {
	return f.first[colOpen].set && f.first[colHigh].set && f.first[colLow].set && f.first[colClose].set
}

// prefer makes the base amount the amount where a name decides between two.
func (f *fields) prefer() {
	if base := &f.first[colBase]; base.set {
		f.first[colAmount], f.second[colAmount] = *base, field{}
		f.first[colBase] = field{}
	}
}

// check returns an error for names that would be misread.
func (f *fields) check(p *plan) error {
	if book := &f.first[colBook]; book.set {
		return flawAt(book.nameAt, remedyBook, "%q is part of the updates of an order book", book.name)
	}
	if a, b := f.first[colAmount], f.second[colAmount]; b.set {
		if b.nameAt < a.nameAt {
			a, b = b, a
		}
		return flawAt(b.nameAt, "keep the one with the base amount, or name it: --columns amount="+a.name,
			"%q and %q: cannot decide which column is the base amount", a.name, b.name)
	}
	price := &f.first[colPrice]
	switch {
	case price.set && f.bars():
		return flawAt(price.nameAt, "keep either the price of trades or bars",
			"%q beside open, high, low and close", price.name)
	case f.bars() && f.first[colTicks].set && !f.first[colAmount].set && !p.hasVolume:
		v := f.first[colTicks]
		return flawAt(v.nameAt, "take it with --columns amount="+v.name+", or give --bar-volume N",
			"bars without a volume: %q counts the changes of the price", v.name)
	case f.bars() && !f.first[colAmount].set && !p.hasVolume:
		return flawAt(0, remedyVolume, "bars without a volume")
	case !price.set && !f.bars() && f.first[colBid].set && f.first[colAsk].set:
		return flawAt(f.first[colBid].nameAt, remedyQuotes, "%q and %q are quotes, no trades", f.first[colBid].name,
			f.first[colAsk].name)
	case !price.set && !f.bars():
		return flawAt(0, remedyLayout,
			"no price, and not all of open, high, low and close: neither a row nor a header")
	case !f.first[colAmount].set && !f.bars():
		return flawAt(0, remedyLayout, "no amount: neither a row nor a header")
	case !f.first[colTime].set:
		return flawAt(0, remedyLayout, "no time: neither a row nor a header")
	}
	return nil
}

// remedyQuotes is the remedy for best bids and asks.
const remedyQuotes = "give a file of trades or of bars; a file of quotes says what was offered, not what was traded"

// splitTime returns the date and the time of day of a row whose time stands in two columns; day.set is false when one
// column has the time. It is an error when they cannot be joined. kind is the kind of the first value, timeNone when
// it could not be read.
func (f *fields) splitTime(kind timeKind) (day, clock *field) {
	first, other := &f.first[colTime], &f.second[colTime]
	if f.first[colClock].set {
		return first, &f.first[colClock]
	}
	if !other.set {
		other = &f.clock
	}
	whole := kind != timeNone && kind != timeDayMs && kind != timeWrittenDay
	if whole || !other.set || bytes.Equal(first.text, other.text) {
		return nil, nil
	}
	if kind == timeWrittenDay {
		return first, other
	}
	return other, first
}
