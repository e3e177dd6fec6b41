package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tickhive/sim/replay/format/input"
)

// Remedies that several readers give.
const (
	remedyRow   = "correct the row or fetch the file again"
	remedyRows  = "give a file with rows, or leave it out"
	remedyShort = "complete the row or remove it"
	remedyLong  = "remove what is too much, or quote nothing and write decimals with a point"
	remedySide  = "write the taker's side, buy or sell, or nothing"
	remedyMaker = "write true or false, or nothing"
)

// ownLine lists the remedies of problems that concern their line alone: a survey goes on behind it.
var ownLine = []string{
	input.RemedyValue, remedyRow, remedyShort, remedyLong, remedySide, remedyMaker, input.RemedyTime, remedyJSON,
	remedyBinance, remedyBitstamp, remedyPrice,
}

// maxProblems bounds the listed problems of a recording.
const maxProblems = 20

// problems collects what a survey finds wrong in a recording.
type problems struct {
	list []error
	n    int
	last input.Position
}

// take takes an error. It returns false when the survey must end.
func (p *problems) take(err error) (more bool) {
	var e *input.LineError
	if !errors.As(err, &e) || p.n > 0 && e.Remedy == remedyRows {
		if e == nil {
			p.list, p.n = []error{err}, 0 // the file could not be read
		}
		return false
	}
	at := input.Position{File: e.File, Line: e.Line, Column: e.Column}
	if at == p.last { // the reader stays there
		return false
	}
	p.n, p.last = p.n+1, at
	if p.n <= maxProblems {
		p.list = append(p.list, err)
	}
	return slices.Contains(ownLine, e.Remedy) || strings.HasPrefix(e.Remedy, input.RemedyUnit)
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
