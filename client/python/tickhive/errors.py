"""The errors of an exchange and their codes."""

from typing import Optional


class Code:
    """The codes of APIError (docs/contract/errors.md#codes)."""

    # go test ./internal/refuse -run TestTables -update writes them.
    # the codes: internal/refuse/table.go
    INVALID_PARAM = 'INVALID_PARAM'
    UNAUTHORIZED = 'UNAUTHORIZED'
    FORBIDDEN = 'FORBIDDEN'
    NOT_FOUND = 'NOT_FOUND'
    METHOD_NOT_ALLOWED = 'METHOD_NOT_ALLOWED'
    REQUEST_TIMEOUT = 'REQUEST_TIMEOUT'
    CONFLICT = 'CONFLICT'
    PAYLOAD_TOO_LARGE = 'PAYLOAD_TOO_LARGE'
    URI_TOO_LONG = 'URI_TOO_LONG'
    UNSUPPORTED_MEDIA_TYPE = 'UNSUPPORTED_MEDIA_TYPE'
    RATE_LIMIT = 'RATE_LIMIT'
    HEADERS_TOO_LARGE = 'HEADERS_TOO_LARGE'
    INTERNAL = 'INTERNAL'
    UNAVAILABLE = 'UNAVAILABLE'
    OUTCOME_UNKNOWN = 'OUTCOME_UNKNOWN'
    NOT_WRITER = 'NOT_WRITER'
    STALE = 'STALE'
    INVALID_SYMBOL = 'INVALID_SYMBOL'
    SYMBOL_TAKEN = 'SYMBOL_TAKEN'
    COOLDOWN_ACTIVE = 'COOLDOWN_ACTIVE'
    INSUFFICIENT_FEE = 'INSUFFICIENT_FEE'
    SPAWNER_FAILED = 'SPAWNER_FAILED'
    LEVEL_TOO_LOW = 'LEVEL_TOO_LOW'
    NO_HOLDINGS = 'NO_HOLDINGS'
    PROPOSAL_NOT_FOUND = 'PROPOSAL_NOT_FOUND'
    ALREADY_VOTED = 'ALREADY_VOTED'
    PROPOSAL_CLOSED = 'PROPOSAL_CLOSED'
    PRICE_NOT_POSITIVE = 'PRICE_NOT_POSITIVE'
    PRICE_OFF_TICK = 'PRICE_OFF_TICK'
    PRICE_OUT_OF_RANGE = 'PRICE_OUT_OF_RANGE'
    AMOUNT_NOT_POSITIVE = 'AMOUNT_NOT_POSITIVE'
    AMOUNT_OFF_LOT = 'AMOUNT_OFF_LOT'
    AMOUNT_OUT_OF_RANGE = 'AMOUNT_OUT_OF_RANGE'
    TOTAL_OUT_OF_RANGE = 'TOTAL_OUT_OF_RANGE'
    BELOW_MIN_QUOTE_AMOUNT = 'BELOW_MIN_QUOTE_AMOUNT'
    ABOVE_MAX_QUOTE_AMOUNT = 'ABOVE_MAX_QUOTE_AMOUNT'
    TRAIL_OUT_OF_RANGE = 'TRAIL_OUT_OF_RANGE'
    PRICE_OUT_OF_BAND = 'PRICE_OUT_OF_BAND'
    ACCOUNT_HALTED = 'ACCOUNT_HALTED'
    INSUFFICIENT_FUNDS = 'INSUFFICIENT_FUNDS'
    WOULD_CROSS = 'WOULD_CROSS'
    WOULD_TRIGGER = 'WOULD_TRIGGER'
    LIST_PRICES = 'LIST_PRICES'
    NO_LIQUIDITY = 'NO_LIQUIDITY'
    FOK_UNFILLED = 'FOK_UNFILLED'
    PAIR_POST_ONLY = 'PAIR_POST_ONLY'
    PAIR_CANCEL_ONLY = 'PAIR_CANCEL_ONLY'
    PAIR_HALTED = 'PAIR_HALTED'
    ORDER_CLOSED = 'ORDER_CLOSED'
    ORDER_PENDING = 'ORDER_PENDING'
    AMEND_NOT_SMALLER = 'AMEND_NOT_SMALLER'
    CANCEL_RESTRICTED = 'CANCEL_RESTRICTED'
    CANCEL_FAILED = 'CANCEL_FAILED'
    DUPLICATE_CLIENT_ORDER_ID = 'DUPLICATE_CLIENT_ORDER_ID'
    TOO_MANY_ORDERS = 'TOO_MANY_ORDERS'
    TOO_MANY_STOPS = 'TOO_MANY_STOPS'
    TOO_MANY_LISTS = 'TOO_MANY_LISTS'
    TOO_MANY_SLICES = 'TOO_MANY_SLICES'
    TOO_MANY_AMENDS = 'TOO_MANY_AMENDS'
    # end


class APIError(Exception):
    """The error object of an answer with a status other than 2xx, or of an error message of a stream (status 0).

    status: the HTTP status. code: one of Code, None for an answer that is not of the exchange. message: a sentence for
    people. field: the member or parameter that is wrong. request_id: the request in the log of the exchange. retry_after:
    seconds after which a repetition makes sense (429, 503), None when the exchange does not say.
    """

    def __init__(self, status: int, code: Optional[str], message: str, field: Optional[str] = None,
                 request_id: Optional[str] = None, retry_after: Optional[int] = None) -> None:
        super().__init__(': '.join(part for part in (' '.join(str(p) for p in (status, code) if p), message) if part))
        self.status, self.code, self.message, self.field, self.request_id = status, code, message, field, request_id
        self.retry_after = retry_after
