package refuse

// Code is the machine-readable reason of a refusal, in capitals. It is the member `code` of
// the error object.
type Code string

// The codes that every part of the exchange may use.
const (
	InvalidParam      Code = "INVALID_PARAM"
	Unauthorized      Code = "UNAUTHORIZED"
	Forbidden         Code = "FORBIDDEN"
	NotFound          Code = "NOT_FOUND"
	Conflict          Code = "CONFLICT"
	RateLimit         Code = "RATE_LIMIT"
	Unavailable       Code = "UNAVAILABLE"
	Internal          Code = "INTERNAL"
	OutcomeUnknown    Code = "OUTCOME_UNKNOWN"
	NotWriter         Code = "NOT_WRITER"
	Stale             Code = "STALE"
	MethodNotAllowed  Code = "METHOD_NOT_ALLOWED"
	RequestTimeout    Code = "REQUEST_TIMEOUT"
	PayloadTooLarge   Code = "PAYLOAD_TOO_LARGE"
	URITooLong        Code = "URI_TOO_LONG"
	UnsupportedMedia  Code = "UNSUPPORTED_MEDIA_TYPE"
	HeadersTooLarge   Code = "HEADERS_TOO_LARGE"
	InsufficientFunds Code = "INSUFFICIENT_FUNDS"
	InvalidSymbol     Code = "INVALID_SYMBOL"
	SymbolTaken       Code = "SYMBOL_TAKEN"
	CooldownActive    Code = "COOLDOWN_ACTIVE"
	InsufficientFee   Code = "INSUFFICIENT_FEE"
	SpawnerFailed     Code = "SPAWNER_FAILED"
	ProposalNotFound  Code = "PROPOSAL_NOT_FOUND"
	LevelTooLow       Code = "LEVEL_TOO_LOW"
	NoHoldings        Code = "NO_HOLDINGS"
	ProposalClosed    Code = "PROPOSAL_CLOSED"
	AlreadyVoted      Code = "ALREADY_VOTED"
)
