package entry

import (
	"errors"
	"fmt"
	"strings"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/refuse"
	"tickhive/internal/wal"
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
	case errors.Is(err, sequencer.ErrTimeBack):
		return refuse.Param("at", "The member at must not go back in time.")
	}
	return refuse.Later(5, "The journal takes no changes; nothing was applied.")
}

// Unconfirmed returns the refusal for a change that the engine did not confirm; for what and
// then see refuse.Unknown.
func Unconfirmed(err error, what, then string) *refuse.Refusal {
	if errors.Is(err, sequencer.ErrOutcomeUnknown) || errors.Is(err, wal.ErrOutcomeUnknown) {
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
func refusalOf(r engine.Reason, cmd *engine.Command, caller engine.AccountID) *refuse.Refusal {
	switch {
	case r == engine.UnknownOrder:
		return noOrder(caller, fmt.Sprint(uint64(cmd.Order)))
	case r == engine.UnknownPair:
		return refuse.Missing("currencyPairCode", "There is no such pair.")
	case caller != 0:
		field := reasonFields[r]
		if field == "amount" && cmd.Flags&engine.FlagQuote != 0 {
			field = "quoteAmount"
		}
		return &refuse.Refusal{Code: Code(r), Field: field, Message: reasonTexts[r]}
	case cmd.Kind == engine.CancelAll:
		return refuse.New(refuse.Conflict, "", "The pair is halted: nothing can be canceled.")
	case r == engine.OrderClosed:
		return refuse.New(Code(r), "", "The order %d is closed, or a stop that waits.", cmd.Order)
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
	engine.DuplicateClientOrderID: "clientOrderId",
}

// reasonTexts maps each reason to its message.
var reasonTexts = map[engine.Reason]string{
	engine.PriceNotPositive:       "The price must be above zero.",
	engine.PriceOffTick:           "The price has more digits than the pair's digitsPrice.",
	engine.PriceOutOfRange:        "The price is beyond the largest that the pair takes.",
	engine.AmountNotPositive:      "The amount must be above zero.",
	engine.AmountOffLot:           "The amount has more digits than the pair's digitsAmount.",
	engine.AmountOutOfRange:       "The amount is beyond the largest that the pair takes.",
	engine.TotalOutOfRange:        "Price times amount is beyond the largest that the exchange takes.",
	engine.BelowMinQuoteAmount:    "Price times amount is below the pair's minQuoteAmount.",
	engine.AboveMaxQuoteAmount:    "Price times amount is above the pair's maxQuoteAmount.",
	engine.PriceOutOfBand:         "The price is too far from the pair's last trade.",
	engine.AccountHalted:          "The account is halted: it takes cancels alone until an operator lifts the halt.",
	engine.InsufficientFunds:      "The free balance does not cover the order and its fee.",
	engine.WouldCross:             "A post-only order must not cross the book.",
	engine.NoLiquidity:            "The other side of the book is empty.",
	engine.FOKUnfilled:            "The book cannot fill the whole order at once.",
	engine.PairPostOnly:           "The pair takes post-only orders alone at the moment.",
	engine.PairCancelOnly:         "The pair takes cancels alone at the moment.",
	engine.PairHalted:             "The pair is halted: it takes nothing at the moment.",
	engine.OrderClosed:            "The order is closed.",
	engine.DuplicateClientOrderID: "The clientOrderId was used for another order.",
	engine.TooManyOrders:          "There are as many open orders as the exchange takes.",
}
