package wal

import (
	"errors"
	"fmt"
)

// The operating errors of a log and of the stores on it. They are wrapped: use errors.Is.
var (
	// ErrStopped: a sync failed. The content of the disk is unknown, so the log accepts no
	// more writes until the process starts again and reads it (design: a failed fsync is
	// never retried). The error also wraps the cause.
	ErrStopped = errors.New("wal: stopped for good after a failed sync")
	// ErrOutcomeUnknown: the record was written and could not be made durable, or a write
	// that failed could not be cut off again. The next start may find the record or not. It
	// wraps the ErrStopped that ended the log too; later refusals wrap ErrStopped alone.
	ErrOutcomeUnknown = errors.New("wal: written, not known to be durable")
	// ErrUnavailable: the record could not be written (full disk) and the log holds nothing
	// of it. The same call works again when there is space.
	ErrUnavailable = errors.New("wal: not written")
	// ErrBusy: a bounded queue is full. Nothing happened.
	ErrBusy = errors.New("wal: queue full")
	// ErrClosed: the log or store was closed. Nothing happened.
	ErrClosed = errors.New("wal: closed")
	// ErrTooLarge: a record is empty or larger than Options.MaxRecord. Nothing happened.
	ErrTooLarge = errors.New("wal: record is empty or too large")
	// ErrEndUnknown: Close could not note where the log ends. It may end behind the place that was noted before.
	ErrEndUnknown = errors.New("wal: not closed in order")
	// ErrTruncated: the log no longer holds the wanted sequence; it begins later.
	ErrTruncated = errors.New("wal: sequence is older than the oldest kept")
)

// CorruptError reports damage that no power cut explains: bytes differ from the bytes written, or
// are missing. It stops the start.
type CorruptError struct {
	File    string // path
	Offset  int64  // bytes from the start of the file
	Seq     uint64 // sequence expected there, 0 when unknown
	To      uint64 // the log is known to have reached at least this record, 0 when unknown
	Foreign bool   // the file belongs to another log
	Reason  string // what was found
	Cause   error  // ErrTruncated, or nil
}

// Error returns a text with file, offset, sequence and reason.
func (e *CorruptError) Error() string {
	text := fmt.Sprintf("wal: %s: damaged at offset %d (sequence %d): %s", e.File, e.Offset, e.Seq, e.Reason)
	if e.To != 0 && e.To >= e.Seq {
		text += fmt.Sprintf("; the log reached record %d", e.To)
	}
	return text
}

// Unwrap returns Cause.
func (e *CorruptError) Unwrap() error { return e.Cause }

// VersionError refuses a file of another format; no reader guesses at its content.
type VersionError struct {
	File   string // path
	What   string // "log format", "record format", "snapshot format"
	Got    uint32 // version in the file
	Want   uint32 // version that this program reads
	Writer string // program that wrote the file
}

// Error returns a sentence with both versions and the program that wrote the file.
func (e *VersionError) Error() string {
	age := "a newer"
	if e.Got < e.Want {
		age = "an older"
	}
	return fmt.Sprintf("wal: %s has %s version %d, written by %s, %s program than this one, which reads version %d: "+
		"use that program, or another data directory", e.File, e.What, e.Got, e.Writer, age, e.Want)
}

// OutcomeUnknown wraps the error that ended the log after the record was written.
func OutcomeUnknown(stopped error) error {
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, stopped)
}

// Unavailable wraps the cause of a write that was undone.
func Unavailable(what string, cause error) error {
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, what, cause)
}
