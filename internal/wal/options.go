package wal

import (
	"fmt"
	"path"

	"tickhive/internal/clock"
)

// The log's limits and defaults.
const (
	// DefaultSegmentBytes is the default size of a segment, which is verified in about 0.1 s and deleted as a
	// whole.
	DefaultSegmentBytes = 64 << 20
	// DefaultPreallocBytes is the default number of zeros written ahead, so that most syncs change no metadata.
	// Writing them takes about 0.5 ms.
	DefaultPreallocBytes = 1 << 20
	// maxKeptBuffer is the largest batch buffer that is reused for the next batch.
	maxKeptBuffer = 4 << 20
	// minSegmentBytes is the smallest segment size; tests with many segments use it.
	minSegmentBytes = 256
)

// Options of a log. The zero value is good.
type Options struct {
	// SegmentBytes of records after which a new segment begins (a batch is never split, so a
	// segment may be larger by one batch). 0: DefaultSegmentBytes.
	SegmentBytes int64
	// PreallocBytes is the number of zeros written ahead at a time; negative: none; 0: DefaultPreallocBytes.
	PreallocBytes int64
	// RecordVersion is the version of the payloads' encoding; opening a segment of another version fails. 0
	// means 1.
	RecordVersion uint32
	// MaxRecord is the largest payload that the log takes. 0: the constant MaxRecord.
	MaxRecord int
	// Writer is the name and version of the program (at most 20 bytes). A VersionError of a later program shows
	// it. "" means "TickHive".
	Writer string
	// NoLock does not lock the log's directory, because the caller holds a lock for the whole data directory.
	NoLock bool
	// Name of the log, at most 16 bytes; "": the last element of its directory's path.
	Name string
	// Identity is the one of the log's files. The zero value adopts the files' identity.
	Identity Identity
	// Boot identifies the time since the machine was switched on; zero: unknown. A process that dies
	// loses nothing that it has written; only the end of a boot does.
	Boot ID
	// Known is the knowledge of the log's end outside the log; nil: none, the log may be new.
	Known *Known
	// AcceptLoss lets Open go on without records that it would refuse to lose.
	AcceptLoss bool
	// Lost receives a loss before Open cuts it off. It makes the loss known durably: afterwards the
	// log has no trace of it. An error refuses the start. nil: no receiver.
	Lost func(Loss) error
	// MissingSnapshot receives the record of the newest snapshot that was written, if its file is gone. The
	// log may still reach back far enough. nil: no receiver.
	MissingSnapshot func(seq uint64)
	// BeforeWrite is called before each batch is written. Its error refuses the batch like a full disk
	// (ErrUnavailable). nil: nothing comes first.
	BeforeWrite func() error
	// Ended receives the place up to which the log is durable, at the end of Open and of a Close
	// without an error. nil: no receiver.
	Ended func(Position)
	// Failed is called when the log stops for good after a failed sync, in Open too, before the caller gets the error.
	// nil: no receiver.
	Failed func()
	// Clock tells when a segment was made; it decides nothing. nil: real.
	Clock clock.Clock
}

// Validate fills in defaults and checks ranges.
func (o *Options) Validate() error {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	if o.PreallocBytes == 0 {
		o.PreallocBytes = DefaultPreallocBytes
	}
	o.PreallocBytes = max(o.PreallocBytes, 0)
	if o.MaxRecord <= 0 || o.MaxRecord > MaxRecord {
		o.MaxRecord = MaxRecord
	}
	if o.RecordVersion == 0 {
		o.RecordVersion = 1
	}
	if o.Writer == "" {
		o.Writer = "TickHive"
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.Ended == nil {
		o.Ended = func(Position) {}
	}
	if o.BeforeWrite == nil {
		o.BeforeWrite = func() error { return nil }
	}
	switch {
	case o.SegmentBytes < minSegmentBytes:
		return fmt.Errorf("wal: segment size %d is below %d bytes", o.SegmentBytes, minSegmentBytes)
	case len(o.Writer) > writerBytes:
		return fmt.Errorf("wal: writer %q is longer than %d bytes", o.Writer, writerBytes)
	}
	return nil
}

// validateFor sets the default name and validates the options for the log in dir.
func (o *Options) validateFor(dir string) error {
	if o.Name == "" {
		o.Name = path.Base(dir)
	}
	o.Name = o.Name[:min(len(o.Name), nameBytes)]
	return o.Validate()
}
