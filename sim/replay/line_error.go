package replay

import (
	"bytes"
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

// place is a position in a file, for a finding that is reported after the line was read.
type place struct {
	file         string
	line, column int
}

// refuse returns the LineError of a finding.
func (p place) refuse(remedy, format string, args ...any) error {
	return &LineError{p.file, p.line, p.column, fmt.Sprintf(format, args...), remedy}
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

// locate tells where in a longer text err was found: at, and what err itself tells of it.
func locate(at int, err error) error {
	if err == nil {
		return nil
	}
	var f *flaw
	if !errors.As(err, &f) {
		return &flaw{at, err.Error(), remedyValue}
	}
	return &flaw{at + f.at, err.Error(), f.remedy}
}

// memberAt returns where a member of a JSON object begins, 0 when it is not there.
func memberAt(doc []byte, name string) int {
	return max(bytes.Index(doc, []byte(`"`+name+`"`)), 0)
}

// locateMember is locate for a member of a JSON object.
func locateMember(doc []byte, name string, err error) error {
	if err == nil {
		return nil
	}
	return locate(memberAt(doc, name), err)
}
