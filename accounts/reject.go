package accounts

import "tickhive/internal/refuse"

func invalid(field, format string, args ...any) *refuse.Refusal {
	return refuse.Param(field, format, args...)
}

func forbidden(field, format string, args ...any) *refuse.Refusal {
	return refuse.New(refuse.Forbidden, field, format, args...)
}

func notFound(field, format string, args ...any) *refuse.Refusal {
	return refuse.Missing(field, format, args...)
}

func conflict(field, format string, args ...any) *refuse.Refusal {
	return refuse.New(refuse.Conflict, field, format, args...)
}

func insufficient(currency string) *refuse.Refusal {
	return refuse.New(refuse.InsufficientFunds, "", "The free balance of %s does not cover it.", currency)
}
