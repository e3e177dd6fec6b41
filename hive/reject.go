package hive

import "tickhive/internal/refuse"

func invalid(field, format string, args ...any) *refuse.Refusal {
	return refuse.Param(field, format, args...)
}

func unknownWorker(field string) *refuse.Refusal {
	return refuse.Missing(field, "No worker has this token id.")
}

// full returns the refusal of a hive that has reached one of its limits: only time or an
// operator helps.
func full(format string, args ...any) *refuse.Refusal {
	return refuse.New(refuse.Unavailable, "", format, args...).After(60)
}
