package hive

import "fmt"

// The codes of a Reject: api.md, "Errors", and Decisions section 2.1.
const (
	CodeInvalidParam     = "INVALID_PARAM"
	CodeNotFound         = "NOT_FOUND"
	CodeForbidden        = "FORBIDDEN"
	CodeConflict         = "CONFLICT"
	CodeProposalNotFound = "PROPOSAL_NOT_FOUND"
	CodeLevelTooLow      = "LEVEL_TOO_LOW"
	CodeNoHoldings       = "NO_HOLDINGS"
	CodeProposalClosed   = "PROPOSAL_CLOSED"
	CodeAlreadyVoted     = "ALREADY_VOTED"
	CodeUnavailable      = "UNAVAILABLE"
)

// Reject is a refused command or query: a business outcome. Nothing changed.
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

func unknownWorker(field string) *Reject {
	return reject(404, CodeNotFound, field, "No worker has this token id.")
}
