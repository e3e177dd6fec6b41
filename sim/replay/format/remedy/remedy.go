package remedy

import (
	"errors"
	"fmt"
)

// flaw is an error with its remedy.
type flaw struct{ reason, remedy string }

// Error returns the reason alone.
func (f *flaw) Error() string { return f.reason }

// Errorf returns an error with a remedy.
func Errorf(remedy, format string, args ...any) error {
	return &flaw{fmt.Sprintf(format, args...), remedy}
}

// Of returns the remedy of err, and the given one for an error without a remedy.
func Of(err error, otherwise string) string {
	var f *flaw
	if errors.As(err, &f) {
		return f.remedy
	}
	return otherwise
}
