package format

import (
	"errors"
	"fmt"
)

// LineError reports a place in a recorded file that cannot be replayed: where it is, what was found and what to
// do.
type LineError struct {
	File   string
	Line   int // from 1; 0: the error concerns no line
	Column int // byte in the line, from 1
	Reason string
	Remedy string
}

// Error returns "FILE:LINE:COLUMN: REASON; REMEDY".
func (e *LineError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s; %s", e.File, e.Line, e.Column, e.Reason, e.Remedy)
}

// remedyValue is the remedy for a value that is invalid on its own.
const remedyValue = "correct the line or remove it"

// Position is a place in a file. A record stores it for errors that are found after its line was read.
type Position struct {
	File         string
	Line, Column int
}

// refuse returns a LineError at this position.
func (p Position) refuse(remedy, format string, args ...any) error {
	return &LineError{p.File, p.Line, p.Column, fmt.Sprintf(format, args...), remedy}
}

// flaw is an error that a parser found in a text.
type flaw struct {
	at     int // offset in the text, from 0
	reason string
	remedy string
}

func (f *flaw) Error() string { return f.reason }

// flawAt returns a flaw with a remedy.
func flawAt(at int, remedy, format string, args ...any) error {
	return &flaw{at, fmt.Sprintf(format, args...), remedy}
}

// locate adds to err its place in a longer text: at, plus the offset that err itself has. It returns a
// LineError unchanged.
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
