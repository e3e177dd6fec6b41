package format

import (
	"errors"
	"fmt"
	"slices"
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

// Remedies that several readers give.
const (
	remedyValue = "correct the line or remove it" // of a value that is invalid on its own
	remedyRow   = "correct the row or fetch the file again"
	remedyRows  = "give a file with rows, or leave it out"
	remedyShort = "complete the row or remove it"
	remedyLong  = "remove what is too much, or quote nothing and write decimals with a point"
	remedySide  = "write the taker's side, buy or sell, or nothing"
	remedyMaker = "write true or false, or nothing"
)

// ownLine lists the remedies of problems that concern their line alone: a survey goes on behind it.
var ownLine = []string{
	remedyValue, remedyRow, remedyShort, remedyLong, remedySide, remedyMaker, remedyTime, remedyJSON, remedyBinance,
	remedyBitstamp,
}

// maxProblems bounds the listed problems of a recording.
const maxProblems = 20

// problems collects what a survey finds wrong in a recording.
type problems struct {
	list []error
	n    int
	last Position
}

// take takes an error. It returns false when the survey must end.
func (p *problems) take(err error) (more bool) {
	var e *LineError
	if !errors.As(err, &e) || p.n > 0 && e.Remedy == remedyRows {
		if e == nil {
			p.list, p.n = []error{err}, 0 // the file could not be read
		}
		return false
	}
	at := Position{e.File, e.Line, e.Column}
	if at == p.last { // the reader stays there
		return false
	}
	p.n, p.last = p.n+1, at
	if p.n <= maxProblems {
		p.list = append(p.list, err)
	}
	return slices.Contains(ownLine, e.Remedy)
}

// err returns the problems, with their number when there are several; nil when there are none.
func (p *problems) err() error {
	switch {
	case p.n > len(p.list):
		total := fmt.Errorf("%d problems, of which the first %d are listed", p.n, len(p.list))
		return errors.Join(append(p.list, total)...)
	case p.n > 1:
		return errors.Join(append(p.list, fmt.Errorf("%d problems", p.n))...)
	}
	return errors.Join(p.list...)
}

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
