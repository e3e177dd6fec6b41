"""The shapes of answers and events, for type checkers and readers.

They have the members of the exchange's JSON under its names (docs/contract/trading.md). Decimals are decimal.Decimal, or
int where the exchange prints no fraction; dates are text in UTC with 7 fractional digits and a Z.
"""

from decimal import Decimal
from typing import Any, Dict, List, Optional, TypedDict, Union

Number = Union[Decimal, int]
#: What a call takes as a decimal: text, Decimal or int, never a float.
Amount = Union[str, Decimal, int]
#: An order of a list or of a batch, made by tickhive.order().
OrderBody = Dict[str, Any]


class Order(TypedDict, total=False):
    """An order as the exchange shows it to its owner (docs/contract/trading.md#order-view). status is Created
    (also of one that waits for its trigger), PartiallyCompleted or Pending (its list keeps it back until another of its orders
    is filled) while it is open, and Completed, Canceled or PartiallyExecutedAndCanceled at its end; endReason says why it
    ended."""

    id: str
    clientOrderId: Optional[str]
    currencyPairCode: str
    isBid: bool
    isMarket: bool
    type: str
    status: str
    isCanceled: bool
    endReason: Optional[str]
    price: Optional[Number]
    initialAmount: Optional[Number]  # in all
    amount: Optional[Number]  # still open
    decrementedAmount: Optional[Number]
    quoteAmount: Optional[Number]
    initialQuoteAmount: Optional[Number]
    filledAmount: Number
    filledQuoteAmount: Number
    averagePrice: Optional[Number]
    fee: Optional[Number]
    feeCurrencyCode: str
    timeInForce: str
    postOnly: bool
    selfTradePrevention: str
    stopPrice: Optional[Number]
    isTriggered: Optional[bool]
    trailingDelta: Optional[int]  # basis points
    trailingTime: Optional[str]
    displayAmount: Optional[Number]
    strictTrigger: bool
    expireUnfilled: bool
    preventedMatchId: Optional[int]
    strategyId: Optional[int]
    strategyType: Optional[int]
    listId: Optional[str]
    userId: str
    date: str
    dateChanged: str
    deals: 'List[Fill]'  # of Client.order() alone, newest first, at most 1,000


class OrderList(TypedDict, total=False):
    """An order list. Messages of a stream have orderIds instead of orders."""

    id: str  # of its first order
    kind: str
    clientOrderId: Optional[str]
    currencyPairCode: str
    status: str  # executing, done
    date: str
    dateChanged: str
    orders: List[Order]
    orderIds: List[str]


class Fill(TypedDict):
    """A deal of one of the caller's orders; a trade of an account with itself is two."""

    id: str
    tradeId: int  # rises by one per pair and trade
    orderId: str
    dealDateUtc: str
    currencyPairCode: str
    volume: Number  # in the base currency
    price: Number
    isBuy: bool  # the taker's side
    isUserBuyer: bool
    isMaker: bool
    fee: Number
    feeCurrencyCode: str


class Balance(TypedDict):
    """The caller's balance of one currency."""

    currencyCode: str
    free: Number
    held: Number
    total: Number


class Position(TypedDict):
    """The newest fill of a pair."""

    date: str
    tradeId: int
    orderIds: List[str]


class Cursor(TypedDict, total=False):
    """The position of a PrivateStream behind its last fill. json.dumps writes it. An empty one is before every fill."""

    date: str
    pairs: Dict[str, Position]


class Event(TypedDict, total=False):
    """What a PrivateStream returns.

    type      channel   members
    snapshot  fills     complete
    snapshot  orders    orders, lists: all that are open; an order of before that is not there has ended
    snapshot  balances  balances: all that are not zero
    update    fills     fill, missed
    update    orders    order, or list
    update    balances  balances: those that have changed
    lost      -         reason: the line is lost; the stream opens it again by itself

    missed: the fill happened while the stream had no line. complete: False when the exchange no longer has the fill of the
    cursor, so that fills behind it may be missing.
    """

    type: str
    channel: str
    orders: List[Order]
    lists: List[OrderList]
    order: Order
    list: OrderList
    fill: Fill
    missed: bool
    complete: bool
    balances: List[Balance]
    reason: str
