package launchpad

import "tickhive/internal/refuse"

func invalid(field, format string, args ...any) *refuse.Refusal {
	return refuse.Param(field, format, args...)
}

func unknownToken() *refuse.Refusal { return refuse.Missing("id", "No token has this id.") }

func tooLittle(field, currency string) *refuse.Refusal {
	return refuse.New(refuse.InsufficientFunds, field, "The balance of %s does not cover the amount.", currency)
}

// full returns the refusal of a launchpad that has reached one of its limits: only time or an
// operator helps.
func full(format string, args ...any) *refuse.Refusal {
	return refuse.New(refuse.Unavailable, "", format, args...).After(60)
}
