package accounts

import "fmt"

// Reject is a refused request: a business value that the edge writes as it stands
// (Decisions section 2.1). It is an error so that it can travel as one.
type Reject struct {
	Status  int    // HTTP status
	Code    string // INVALID_PARAM, UNAUTHORIZED, ...
	Message string // a sentence that names the rule; never a secret
	Field   string // parameter, header or member name; empty: null
	// Reason is the engine's word of a refused order (Decisions section 4.8), empty
	// where the refusal is none of an order.
	Reason string
}

// Error is the code and the message.
func (r *Reject) Error() string { return r.Code + ": " + r.Message }

func invalid(field, format string, args ...any) *Reject {
	return &Reject{Status: 400, Code: "INVALID_PARAM", Field: field, Message: fmt.Sprintf(format, args...)}
}

func unauthorized(field, format string, args ...any) *Reject {
	return &Reject{Status: 401, Code: "UNAUTHORIZED", Field: field, Message: fmt.Sprintf(format, args...)}
}

func forbidden(field, format string, args ...any) *Reject {
	return &Reject{Status: 403, Code: "FORBIDDEN", Field: field, Message: fmt.Sprintf(format, args...)}
}

func notFound(field, format string, args ...any) *Reject {
	return &Reject{Status: 404, Code: "NOT_FOUND", Field: field, Message: fmt.Sprintf(format, args...)}
}

func conflict(field, format string, args ...any) *Reject {
	return &Reject{Status: 409, Code: "CONFLICT", Field: field, Message: fmt.Sprintf(format, args...)}
}

func insufficient(currency string) *Reject {
	return &Reject{
		Status: 400, Code: "INSUFFICIENT_FUNDS", Reason: "insufficient_funds",
		Message: "The free balance of " + currency + " does not cover it.",
	}
}

func totalOutOfRange() *Reject {
	return &Reject{
		Status: 400, Code: "TOTAL_OUT_OF_RANGE", Reason: "total_out_of_range",
		Message: "No balance, hold or order may pass 10^20.",
	}
}

// asError keeps a nil *Reject from becoming a non-nil error.
func asError(r *Reject) error {
	if r == nil {
		return nil
	}
	return r
}
