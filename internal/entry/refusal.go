package entry

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/marketdata"
)

// Code returns the code of an engine reason: the same word in capitals.
func Code(r engine.Reason) refuse.Code { return refuse.Code(strings.ToUpper(r.String())) }

// NotApplied returns the refusal for an error of Exchange after which nothing was applied.
func NotApplied(err error) *refuse.Refusal {
	switch {
	case errors.Is(err, sequencer.ErrBusy):
		return refuse.Later(1, "The order queue is full; nothing was applied.")
	case errors.Is(err, sequencer.ErrStopping):
		return refuse.Later(5, "The server is shutting down; nothing was applied.")
	case errors.Is(err, sequencer.ErrNoLoop):
		return refuse.Later(5, "This node takes no changes, and reads no orders and no books of orders: it is a "+
			"replica, or is about to become the writer. /api/status has the writer; nothing was applied.")
	case errors.Is(err, sequencer.ErrTimeBack):
		return refuse.Param("at", "The member at must not go back in time.")
	case errors.Is(err, sequencer.ErrNoStream):
		return refuse.Later(5, "The stream of the cluster confirms nothing more, so this node takes no changes until "+
			"it follows another writer or is started again; nothing was applied.")
	}
	return refuse.Unwritten("The journal", errors.Is(err, wal.ErrStopped))
}

// Unconfirmed returns the refusal for a change that the engine did not confirm; for what and
// then see refuse.Unknown.
func Unconfirmed(err error, what, then string) *refuse.Refusal {
	switch {
	case errors.Is(err, sequencer.ErrUnconfirmed),
		errors.Is(err, sequencer.ErrOutcomeUnknown) && errors.Is(err, sequencer.ErrNoStream):
		return refuse.Unsettled(what, then)
	case errors.Is(err, sequencer.ErrOutcomeUnknown) || errors.Is(err, wal.ErrOutcomeUnknown):
		return refuse.Unknown(what, then)
	}
	return NotApplied(err)
}

// orderParam returns the parameter that names an order: the listeners have different words.
func orderParam(caller engine.AccountID) string {
	if caller != 0 {
		return "orderId"
	}
	return "id"
}

// noOrder returns the refusal of an order that does not exist, or is not the caller's.
func noOrder(caller engine.AccountID, id string) *refuse.Refusal {
	if caller != 0 {
		return refuse.Missing(orderParam(caller), "You have no order %s.", id)
	}
	return refuse.Missing(orderParam(caller), "There is no order %s.", id)
}

// refusalOf returns the refusal for a reason of docs/contract/errors.md#order-refusals: the
// same word in capitals. Of a change by an operator the message says that the order stays.
func (e *Entry) refusalOf(r engine.Reason, cmd *engine.Command, caller engine.AccountID) *refuse.Refusal {
	switch {
	case r == engine.UnknownOrder && cmd.Kind == engine.Cancel && cmd.Flags&engine.FlagList != 0:
		return noList(caller, "listId", fmt.Sprint(uint64(cmd.Order)))
	case r == engine.UnknownOrder:
		return noOrder(caller, fmt.Sprint(uint64(cmd.Order)))
	case r == engine.UnknownPair:
		return refuse.Missing("currencyPairCode", "There is no such pair.")
	case caller != 0 || cmd.Kind == engine.PlaceList || cmd.Kind == engine.Place: // an operator's orders have reasons
		field := reasonFields[r]
		switch {
		case field == "amount" && cmd.Flags&engine.FlagQuote != 0:
			field = "quoteAmount"
		case showsTooMuch(r, cmd):
			field = "displayAmount"
		}
		text := cmp.Or(tooMany(r, cmd.Account, &e.opt.Limits), refuse.RowOf(Code(r)).Order)
		if v := e.opt.Board.Load().View(cmd.Pair); v != nil {
			if limit := limitText(r, cmd, v); limit != "" {
				text = limit
			}
		}
		return &refuse.Refusal{Code: Code(r), Field: field, Message: text}
	case cmd.Kind == engine.CancelAll:
		return refuse.New(refuse.Conflict, "", "The pair is halted: nothing can be canceled.")
	case r == engine.OrderClosed:
		return refuse.New(Code(r), "", "The order %d is closed, or does not wait.", cmd.Order)
	}
	field := reasonFields[r]
	if r == engine.TotalOutOfRange || r == engine.InsufficientFunds {
		field = "amount"
	}
	why := strings.ReplaceAll(r.String(), "_", " ")
	return refuse.New(Code(r), field, "The order %d is unchanged: %s.", cmd.Order, why)
}

// reasonFields maps a reason to the request member that caused it, if one did.
var reasonFields = map[engine.Reason]string{
	engine.PriceNotPositive: "price", engine.PriceOffTick: "price", engine.PriceOutOfRange: "price",
	engine.AmountNotPositive: "amount", engine.AmountOffLot: "amount", engine.AmountOutOfRange: "amount",
	engine.BelowMinQuoteAmount: "amount", engine.AboveMaxQuoteAmount: "amount", engine.PriceOutOfBand: "price",
	engine.TrailOutOfRange: "trailingDelta", engine.WouldTrigger: "stopPrice", engine.AmendNotSmaller: "amount",
	engine.DuplicateClientOrderID: "clientOrderId",
}

// limitText returns the message of a reason that has a limit of the pair, with the limit as a number or the currency
// that is short, and nothing for another reason. The last trade in the message is the newest one now. The engine may have compared the order with an
// earlier one.
func limitText(r engine.Reason, cmd *engine.Command, v *marketdata.View) string {
	in := v.Instrument
	worth := func(limit fixed.U128) string { return shortest(limit, in.DigitsTotal()) + " " + in.Quote }
	switch {
	case r == engine.PriceOffTick:
		return fmt.Sprintf("A price in %s has %s.", in.Code, decimals(in.DigitsPrice))
	case r == engine.AmountOffLot && cmd.Flags&engine.FlagQuote != 0:
		return fmt.Sprintf("A total in %s has %s.", in.Code, decimals(in.DigitsTotal()))
	case r == engine.AmountOffLot:
		return fmt.Sprintf("An amount in %s has %s.", in.Code, decimals(in.DigitsAmount))
	case showsTooMuch(r, cmd):
		return "The amount that an iceberg order shows must not be larger than its amount."
	case r == engine.PriceOutOfRange:
		return fmt.Sprintf("The price must be at most %s %s.", largest(in.LargestPrice(), in.DigitsPrice), in.Quote)
	case r == engine.AmountOutOfRange && (cmd.Refuse == r || cmd.Amount > in.LargestAmount()):
		return fmt.Sprintf("The amount must be at most %s %s.", largest(in.LargestAmount(), in.DigitsAmount), in.Base)
	case r == engine.BelowMinQuoteAmount && in.HasMinQuote:
		return fmt.Sprintf("Price times amount must be at least %s.", worth(in.MinQuote))
	case r == engine.AboveMaxQuoteAmount && !in.MaxQuote.IsZero():
		return fmt.Sprintf("Price times amount must be at most %s.", worth(in.MaxQuote))
	case r == engine.PriceOutOfBand && v.Ticker.Last != 0:
		return bandText(in, v.Ticker.Last)
	case r == engine.InsufficientFunds && cmd.Kind == engine.Place && cmd.Side == engine.Sell:
		return fmt.Sprintf("The free balance in %s does not cover the order.", in.Base)
	case r == engine.InsufficientFunds && cmd.Kind == engine.Place:
		return fmt.Sprintf("The free balance in %s does not cover the order.", in.Quote)
	}
	return ""
}

// tooMany returns the message of a reason that has a limit of the exchange, with the limit as a number, and nothing for
// another reason. Which limit of several was reached, the engine does not say. The built-in account has none of its
// own.
func tooMany(r engine.Reason, account engine.AccountID, l *engine.Limits) string {
	pair := func(most int, what string, own int) string {
		if account == 0 {
			return fmt.Sprintf("A pair may have at most %d %s.", most, what)
		}
		return fmt.Sprintf("An account may have at most %d %s in a pair, and all accounts together %d.", own, what,
			most)
	}
	switch r {
	case engine.TooManyOrders:
		return pair(l.OpenOrders, "open orders", l.AccountOrders) +
			fmt.Sprintf(" At most %d of them may have a client order id.", engine.DefaultClientIDs)
	case engine.TooManyStops:
		return pair(engine.DefaultPairStops, "waiting and pending orders", l.AccountStops)
	case engine.TooManyLists:
		return pair(engine.PairLists, "open order lists", l.AccountLists)
	case engine.TooManySlices:
		return fmt.Sprintf("The icebergs of a pair may have at most %d slices in reserve.", engine.DefaultPairSlices)
	case engine.TooManyAmends:
		return fmt.Sprintf("An order may be amended at most %d times.", engine.MaxAmends)
	default:
		return ""
	}
}

// shortest returns the shortest text of a limit, which has no fraction where it is whole.
func shortest(limit fixed.U128, digits int) string {
	return strings.TrimSuffix(string(fixed.AppendShortest(nil, limit.ToI128(), digits)), ".0")
}

func largest(limit int64, digits int) string { return shortest(fixed.FromU64(uint64(limit)), digits) }

// showsTooMuch reports whether an order is refused because it would show more than its amount.
func showsTooMuch(r engine.Reason, cmd *engine.Command) bool {
	return r == engine.AmountOutOfRange && cmd.Kind == engine.Place && cmd.Display > cmd.Amount
}

// decimals says how many decimals a number may have.
func decimals(n int) string {
	switch n {
	case 0:
		return "no decimals"
	case 1:
		return "at most 1 decimal"
	}
	return fmt.Sprintf("at most %d decimals", n)
}

// bandText says between which prices an order must be, in whole ticks.
func bandText(in *engine.Instrument, last int64) string {
	low, rest := fixed.Mul64(uint64(last), in.BandDown).DivMod64(engine.RateOne)
	if rest != 0 {
		low = low.Add(fixed.FromU64(1))
	}
	high, _ := fixed.Mul64(uint64(last), in.BandUp).DivMod64(engine.RateOne)
	price := func(ticks fixed.U128) string { return string(fixed.AppendU128(nil, ticks, in.DigitsPrice)) }
	limit := "between " + price(low) + " and " + price(high)
	switch {
	case in.BandUp == 0:
		limit = "at least " + price(low)
	case in.BandDown == 0:
		limit = "at most " + price(high)
	}
	return fmt.Sprintf("The price must be %s %s, by the last trade at %s.", limit, in.Quote,
		price(fixed.FromU64(uint64(last))))
}
