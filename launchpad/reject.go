package launchpad

import "fmt"

// The codes of a Reject: api.md, "Errors", and Decisions section 2.1.
const (
	CodeInvalidParam      = "INVALID_PARAM"
	CodeInvalidSymbol     = "INVALID_SYMBOL"
	CodeSymbolTaken       = "SYMBOL_TAKEN"
	CodeCooldownActive    = "COOLDOWN_ACTIVE"
	CodeInsufficientFee   = "INSUFFICIENT_FEE"
	CodeSpawnerFailed     = "SPAWNER_FAILED"
	CodeInsufficientFunds = "INSUFFICIENT_FUNDS"
	CodeNotFound          = "NOT_FOUND"
	CodeConflict          = "CONFLICT"
	CodeUnavailable       = "UNAVAILABLE"
)

// Reject is a refused command or query: a business outcome. Nothing changed (a consumed
// injected fault aside).
type Reject struct {
	Status  int    // HTTP
	Code    string // one of the codes above
	Message string // a sentence with the rule and its limit
	Field   string // the parameter or member, "" when none
}

// Error is code and message.
func (r *Reject) Error() string { return r.Code + ": " + r.Message }

func reject(status int, code, field, format string, args ...any) *Reject {
	return &Reject{Status: status, Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) *Reject {
	return reject(400, CodeInvalidParam, field, format, args...)
}

func unknownToken() *Reject { return reject(404, CodeNotFound, "id", "No token has this id.") }

func tooLittle(field, currency string) *Reject {
	return reject(400, CodeInsufficientFunds, field, "The balance of %s does not cover the amount.", currency)
}
