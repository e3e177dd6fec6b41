package format

import (
	"errors"
	"fmt"
	"path/filepath"
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

// maxProblems bounds the listed problems of a recording, maxForeign those of a file that looks like another format: its
// lines all say the same.
const (
	maxProblems = 20
	maxForeign  = 3
)

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
	if p.n > 1 {
		return &several{p.list, p.n}
	}
	return errors.Join(p.list...)
}

// several are the problems of a recording, of which the first ones are listed.
type several struct {
	list []error
	n    int
}

// Unwrap returns the listed problems.
func (s *several) Unwrap() []error { return s.list }

// Error returns a line for each listed problem, and their number.
func (s *several) Error() string {
	text := errors.Join(s.list...).Error()
	if s.n > len(s.list) {
		return fmt.Sprintf("%s\n%d problems, of which the first %d are listed", text, s.n, len(s.list))
	}
	return fmt.Sprintf("%s\n%d problems", text, s.n)
}

// foreignFile returns err, the problems of a recording in the format of this name, with what its files look like when
// that is another format or none that is known, and then with fewer of the problems. It returns err unchanged when
// Detect knows no format and finds the same problem: err says already what the file is.
func foreignFile(name string, files []string, pair string, err error) error {
	if !errors.As(err, new(*input.LineError)) {
		return err // no line was read
	}
	for _, file := range files {
		d := Detect(file, pair)
		if d.Format == name || d.Also == name {
			continue
		}
		looks := fmt.Sprintf("looks like %s, not %s", d.Format, name)
		if d.Format == "" {
			if d.Problem != nil && strings.Contains(err.Error(), d.Problem.Error()) {
				continue
			}
			looks = fmt.Sprintf("is not %s, and has none of the other formats that replay reads", name)
		}
		var s *several
		if errors.As(err, &s) {
			err = &several{s.list[:min(len(s.list), maxForeign)], s.n}
		}
		return errors.Join(err, fmt.Errorf("%s %s: run tickhive replay --detect %s to see what it is",
			filepath.Base(file), looks, file))
	}
	return err
}
