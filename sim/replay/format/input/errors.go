package input

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

// RemedyValue is the remedy for a value that is invalid on its own.
const RemedyValue = "correct the line or remove it"

// Position is a place in a file. A record stores it for errors that are found after its line was read.
type Position struct {
	File         string
	Line, Column int
}

// Top returns the first place of a file, for problems of the file as a whole.
func Top(file string) Position { return Position{file, 1, 1} }

// Refuse returns a LineError at this position.
func (p Position) Refuse(remedy, format string, args ...any) error {
	return &LineError{p.File, p.Line, p.Column, fmt.Sprintf(format, args...), remedy}
}

// Flaw is an error that a parser found in a text.
type Flaw struct {
	at     int // offset in the text, from 0
	reason string
	Remedy string
}

func (f *Flaw) Error() string { return f.reason }

// FlawAt returns a flaw with a remedy.
func FlawAt(at int, remedy, format string, args ...any) error {
	return &Flaw{at, fmt.Sprintf(format, args...), remedy}
}

// Locate adds to err its place in a longer text: at, plus the offset that err itself has. It returns a
// LineError unchanged.
func Locate(at int, err error) error {
	if err == nil {
		return nil
	}
	var placed *LineError
	var f *Flaw
	switch {
	case errors.As(err, &placed):
		return err
	case !errors.As(err, &f):
		return &Flaw{at, err.Error(), RemedyValue}
	}
	return &Flaw{at + f.at, err.Error(), f.Remedy}
}
