package format

import (
	"errors"
	"fmt"
)

// LineError reports a place of a recorded file that cannot be replayed: where it is, what
// was found there and what to do about it.
type LineError struct {
	File   string
	Line   int // from 1; 0 where the file has no line
	Column int // byte of the line, from 1
	Reason string
	Remedy string
}

// Error returns "FILE:LINE:COLUMN: REASON; REMEDY".
func (e *LineError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s; %s", e.File, e.Line, e.Column, e.Reason, e.Remedy)
}

// remedyValue is the remedy of a value that is wrong by itself.
const remedyValue = "correct the line or remove it"

// Position is a place in a file, for a finding that is reported after the line was read.
type Position struct {
	File         string
	Line, Column int
}

// refuse returns the LineError of a finding.
func (p Position) refuse(remedy, format string, args ...any) error {
	return &LineError{p.File, p.Line, p.Column, fmt.Sprintf(format, args...), remedy}
}

// flaw is an error that a parser found in its text.
type flaw struct {
	at     int // byte of the text, from 0
	reason string
	remedy string
}

func (f *flaw) Error() string { return f.reason }

// flawAt returns a flaw with a remedy.
func flawAt(at int, remedy, format string, args ...any) error {
	return &flaw{at, fmt.Sprintf(format, args...), remedy}
}

// locate reports where in a longer text err was found: at, and the place that err itself names. A
// LineError has its place already.
func locate(at int, err error) error {
	if err == nil {
		return nil
	}
	var placed *LineError
	var f *flaw
	switch {
	case errors.As(err, &placed):
		return err
	case !errors.As(err, &f):
		return &flaw{at, err.Error(), remedyValue}
	}
	return &flaw{at + f.at, err.Error(), f.remedy}
}
