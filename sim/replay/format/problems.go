package format

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

// topOf returns the first place of a file, for problems of the file as a whole.
func topOf(file string) Position { return Position{file, 1, 1} }

// Refuse returns a LineError at this position.
func (p Position) Refuse(remedy, format string, args ...any) error {
	return &LineError{p.File, p.Line, p.Column, fmt.Sprintf(format, args...), remedy}
}

// flaw is an error that a parser found in a text.
type flaw struct {
	at     int // offset in the text, from 0
	reason string
	remedy string
}

func (f *flaw) Error() string { return f.reason }

// Remedy returns what to do about the flaw.
func (f *flaw) Remedy() string { return f.remedy }

// remedyOf returns the remedy of err, and the given one for an error without a remedy. The errors of the readers of
// binary files have one too.
func remedyOf(err error, otherwise string) string {
	var f interface{ Remedy() string }
	if errors.As(err, &f) {
		return f.Remedy()
	}
	return otherwise
}

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
	remedyValue, remedyRow, remedyShort, remedyLong, remedySide, remedyMaker, remedyTime, remedyJSON,
	remedyBinance, remedyBitstamp, remedyPrice, remedyMoves, remedyTwice, remedyBar, remedyID,
}

// orSkip ends the remedy of such a problem of a table.
const orSkip = "; --skip-bad PERCENT goes on without such rows"

// isOwn reports whether a remedy is one of a problem that concerns its line alone.
func isOwn(remedy string) bool { return slices.Contains(ownLine, strings.TrimSuffix(remedy, orSkip)) }

// skippable adds to the remedy of a row that is wrong by itself that a replay can leave it out.
func skippable(err error) error {
	var e *LineError
	if errors.As(err, &e) && slices.Contains(ownLine, e.Remedy) {
		e.Remedy += orSkip
	}
	return err
}

// maxProblems bounds the kinds of problems that are listed for a recording. maxForeign bounds them for a file that
// looks like another format.
const (
	maxProblems = 20
	maxForeign  = 3
)

// problems collects what a survey finds wrong in a recording.
type problems struct {
	kinds []problem
	n     int
	last  Position
}

// problem is the first error of a kind and how often it occurred.
type problem struct {
	err  error
	kind string
	n    int
	last int // line of the last one
}

// ownValue matches what differs between errors of one kind: the values that they quote, and numbers.
var ownValue = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[0-9]+`)

// take takes an error. It returns false when the survey must end.
func (p *problems) take(err error) (more bool) {
	var e *LineError
	if !errors.As(err, &e) || p.n > 0 && e.Remedy == remedyRows {
		if e == nil {
			p.kinds, p.n = []problem{{err: err, n: 1}}, 0 // the file could not be read
		}
		return false
	}
	at := Position{File: e.File, Line: e.Line, Column: e.Column}
	if at == p.last { // the reader stays there
		return false
	}
	p.n, p.last = p.n+1, at
	kind := e.File + ownValue.ReplaceAllString(e.Reason+e.Remedy, "")
	switch i := slices.IndexFunc(p.kinds, func(q problem) bool { return q.kind == kind }); {
	case i >= 0:
		p.kinds[i].n++
		p.kinds[i].last = e.Line
	case len(p.kinds) < maxProblems:
		p.kinds = append(p.kinds, problem{err, kind, 1, e.Line})
	}
	return isOwn(e.Remedy) || strings.HasPrefix(e.Remedy, remedyUnit)
}

// err returns the problems, with their number when there are several; nil when there are none.
func (p *problems) err() error {
	switch {
	case p.n > 1:
		return &several{p.kinds, p.n}
	case len(p.kinds) == 1:
		return p.kinds[0].err
	}
	return nil
}

// several reports the n problems of a recording, one line for each kind. It lists only the first kinds.
type several struct {
	kinds []problem
	n     int
}

// Unwrap returns the first problem of each listed kind.
func (s *several) Unwrap() (list []error) {
	for i := range s.kinds {
		list = append(list, s.kinds[i].err)
	}
	return list
}

// Error returns a line for each listed kind with the number of its problems, and the number of all.
func (s *several) Error() string {
	var b strings.Builder
	listed := 0
	for _, k := range s.kinds {
		b.WriteString(k.err.Error())
		if k.n > 1 {
			fmt.Fprintf(&b, " (%d more of this kind, the last in line %d)", k.n-1, k.last)
		}
		b.WriteByte('\n')
		listed += k.n
	}
	if listed < s.n {
		return fmt.Sprintf("%s%d problems, of which %d are of the kinds listed", &b, s.n, listed)
	}
	return fmt.Sprintf("%s%d problems", &b, s.n)
}

// foreignFile returns err, the problems of a recording in the format of this name, with what its files look like when
// that is another format, none that is known, or columns that are not: then it has what Detect has seen. With another
// format it has fewer of the problems. It returns err unchanged when Detect could read nothing and finds the same
// problem: err says already what the file is.
func foreignFile(name string, files []string, pair string, given Layout, err error) error {
	if !errors.As(err, new(*LineError)) {
		return err // no line was read
	}
	for _, file := range files {
		d := Detect(file, pair, given)
		said := d.Problem != nil && strings.Contains(err.Error(), d.Problem.Error())
		var looks error
		switch {
		case d.unread && said && (d.Format == name || d.Format == ""):
			return errors.Join(err, d.seen())
		case d.Format == name || d.Also == name || d.Format == "" && said:
			continue
		case d.Format == "":
			looks = fmt.Errorf("%s is not %s, and has none of the other formats that replay reads\n%w",
				filepath.Base(file), name, d.seen())
		default:
			looks = fmt.Errorf("%s looks like %s, not %s: run tickhive replay --detect %s to see what it is",
				filepath.Base(file), d.Format, name, file)
		}
		var s *several
		if errors.As(err, &s) {
			err = &several{s.kinds[:min(len(s.kinds), maxForeign)], s.n}
		}
		return errors.Join(err, looks)
	}
	return err
}
