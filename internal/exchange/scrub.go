package exchange

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

const (
	// scrubBytes is the number of bytes that a scrub reads in a second: 1 % of a core.
	scrubBytes = 16 << 20
	// scrubTries is the number of times that a scrub reads the log if it drops segments meanwhile.
	scrubTries = 3
)

// errScrubEnds ends a scrub when the exchange stops.
var errScrubEnds = errors.New("the exchange stops")

// scrub reads every segment and every snapshot of a running exchange's log again, slowly, and reports damage
// that a start would find too late. It has a goroutine or a driver; the latter reads the whole log in a step.
type scrub struct {
	step.Background
	x       *Running
	log     *wal.Log
	dueNs   int64           // time of the next scrub
	found   map[string]bool // files whose damage was reported
	damaged int             // files found damaged in the scrub under way
	slow    bool            // limit the rate
}

// scrubStats holds what metrics read of scrubs.
type scrubStats struct {
	ended   atomic.Uint64 // scrubs that read every file
	damaged atomic.Int64  // files that the last one found damaged
}

// keepScrub starts the scrubs of the running exchange.
func (x *Running) keepScrub() {
	every := int64(x.o.Journal.ScrubEvery)
	if x.journal == nil || every == 0 {
		return
	}
	s := &scrub{
		Background: x.o.Machine.background(), x: x, log: x.journal.log,
		dueNs: x.o.Machine.Clock.NowNs() + every, found: map[string]bool{}, slow: x.o.Machine.Driver == nil,
	}
	x.scrub = s
	s.Run("scrub", s)
}

// Step reads the log when a scrub is due. It stops after End was called.
func (s *scrub) Step() step.Progress {
	if s.Ended() {
		return step.Progress{Stopped: true}
	}
	now := s.x.o.Machine.Clock.NowNs()
	every := int64(s.x.o.Journal.ScrubEvery)
	s.dueNs = min(s.dueNs, now+every) // the clock may go back
	if now < s.dueNs {
		return step.Progress{NextNs: s.dueNs}
	}
	s.read()
	stats := &s.x.front.scrubs
	stats.damaged.Store(int64(s.damaged))
	stats.ended.Add(1)
	s.damaged, s.dueNs = 0, now+every
	return step.Worked()
}

// read checks the files of the log and reports those that are damaged.
func (s *scrub) read() {
	files, err := wal.CheckOpen(s.log, s.files(), discardBody)
	for i := 1; i < scrubTries && errors.Is(err, fs.ErrNotExist); i++ {
		files, err = wal.CheckOpen(s.log, s.files(), discardBody)
	}
	switch {
	case errors.Is(err, errScrubEnds), errors.Is(err, wal.ErrClosed):
		return
	case err != nil:
		s.report(fmt.Sprint(err), err)
	}
	for i := range files {
		if err := files[i].Err; err != nil {
			s.report(files[i].File, err)
		}
	}
}

// report counts damage and reports it once.
func (s *scrub) report(file string, err error) {
	s.damaged++
	if s.found[file] {
		return
	}
	s.found[file] = true
	s.x.incident("damage", "a file on disk is damaged; the running exchange does not need it, a start may. "+
		"Copy the data directory and move to another disk (docs/operating.md)", err.Error())
}

// files returns the file system that the scrub reads through.
func (s *scrub) files() vfs.FS {
	if s.slow {
		return slowFS{s.x.o.Journal.FS, s.Ending()}
	}
	return s.x.o.Journal.FS
}

// discardBody takes a snapshot whose bytes alone are verified.
func discardBody(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

// slowFS is a file system whose files are read at scrubBytes a second until stop is closed.
type slowFS struct {
	vfs.FS
	stop <-chan struct{}
}

// Open implements vfs.FS.
func (s slowFS) Open(name string) (vfs.File, error) {
	f, err := s.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return slowFile{f, s.stop}, nil
}

type slowFile struct {
	vfs.File
	stop <-chan struct{}
}

// ReadAt implements io.ReaderAt. It returns errScrubEnds when the exchange stops.
func (f slowFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	select {
	case <-f.stop:
		return 0, errScrubEnds
	case <-time.After(time.Duration(n) * time.Second / scrubBytes):
	}
	return n, err
}
