package datadir

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// format is the version of the directory's layout (doc.go).
const format = 6

// Meta is the content of meta.json: the facts that a start needs before it reads the log.
type Meta struct {
	Format int    `json:"format"`
	Writer string `json:"writer"` // program and version that created the directory
	// History identifies the exchange: a copy and a replica have it too. Directory identifies this
	// directory: its log verifies nowhere else.
	History   wal.ID `json:"history,omitzero"`
	Directory wal.ID `json:"directory,omitzero"`
	origin
	Epoch string `json:"epoch"` // 16 hex digits; identifies the history of seqs that streams have shown
	// Clean is false while a process runs. After a power cut the end of the journal may be
	// missing, and with it seqs that clients have seen.
	Clean bool `json:"clean"`
	// Boot is the boot ID at the last write. A different one means that the power was off.
	Boot string `json:"boot"`
	// Acked reports that the process since the last start shows only what the stream of the epoch has.
	Acked bool `json:"acked,omitempty"`
	// LostSyncs is the number of failed syncs of the log. After one the system may show old content, as after a
	// power cut.
	LostSyncs int `json:"lostSyncs,omitempty"`
	// Filling means that the backfill and the demo data are not complete. A start that
	// finds it set begins the directory over.
	Filling bool `json:"filling"`
	// End is the place that the log has reached: the last one if Clean is set, otherwise the one at the start. A log
	// that does not reach its place has lost records.
	End LogEnd `json:"end,omitzero"`
	// SealedWith is the id of the key that sealed secrets since the last start; empty: they are plain.
	SealedWith string `json:"sealedWith,omitempty"`
	// Resealed is the position from which on SealedWith alone has sealed what the log and the state have; 0: not noted.
	Resealed uint64 `json:"resealed,omitempty"`
	// Terms holds two numbers of the exchange as the writer of its stream: in the newest term that it found there, and
	// in the term that it tried to take then.
	Terms [2]uint64 `json:"terms,omitzero"`
	// Tried holds the numbers of earlier tries, the newest last: the term record of a process that was killed may
	// arrive later, and is this exchange's.
	Tried     []uint64   `json:"tried,omitempty"`
	Incidents []Incident `json:"incidents"` // newest first
}

// KeepTerm stores the number of the term that the stream's end has, and of the term that this exchange tries to take.
func KeepTerm(d *Dir, found, tried uint64) error {
	return d.change(func(m *Meta) {
		if before := m.Terms[1]; before != 0 && before != found {
			m.Tried = append(slices.Clone(m.Tried[max(0, len(m.Tried)-TermTries+1):]), before)
		}
		m.Terms = [2]uint64{found, tried}
	})
}

// TermTries is the number of earlier tries that a directory knows.
const TermTries = 8

// HadTerm reports whether a term of the stream was this exchange's. It is true when the directory knows no term,
// because the stream is new.
func HadTerm(d *Dir, number uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.meta.Had(number)
}

// Had is HadTerm of a directory that is not open.
func (m *Meta) Had(number uint64) bool {
	return m.Terms == [2]uint64{} || m.Terms[0] == number || m.Terms[1] == number || slices.Contains(m.Tried, number)
}

// Incident is one row of the status page's incidents. Incidents with equal kind and message are one row. The times are
// the process clock's, Unix ms.
type Incident struct {
	AtMs    int64 // of the newest one
	FirstMs int64 // of the oldest one
	Count   int64
	Kind    string
	Message string // for everybody: it names no file, no address and no user
	Detail  string // of the newest one, for the operator
}

// maxIncidents is the number of incidents on the status page
// (docs/contract/market-data.md#time-summary-status).
const maxIncidents = 50

// ReadMeta reads meta.json of a directory that another process may have locked.
func ReadMeta(path string) (Meta, error) {
	d := Dir{path: path, fsys: vfs.OS{}}
	err := d.load()
	if err == nil && d.fresh {
		err = fmt.Errorf("data directory: %s: %w", d.Sub("meta.json"), fs.ErrNotExist)
	}
	return d.meta, err
}

func (d *Dir) load() error {
	name := d.Sub("meta.json")
	raw, found, err := readFile(d.fsys, name)
	if err != nil {
		return err
	}
	if !found {
		d.fresh = true
		d.meta = Meta{Format: format, Writer: "TickHive " + cmdline.Version}
		return nil
	}
	if d.meta, err = parseMeta(name, raw); err != nil {
		return err
	}
	d.clean = d.meta.Clean
	return nil
}

// parseMeta verifies the content of meta.json.
func parseMeta(name string, raw []byte) (m Meta, err error) {
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, &DamagedError{name, err.Error()}
	}
	sealed, err := checkMeta(raw)
	if err != nil && (sealed || m.Format == format) {
		return m, &DamagedError{name, err.Error()}
	} else if m.Format != format {
		return m, fmt.Errorf("data directory: %s has format %d, written by %s; this program reads format %d: "+
			"use that program, or another --data-dir", name, m.Format, m.Writer, format)
	}
	return m, nil
}

// The last member of meta.json is the checksum of the bytes in front of it.
const (
	metaSum = ",\n  \"crc32c\": \""
	metaEnd = "\"\n}\n"
)

// sealMeta returns the content of meta.json for a Meta in indented JSON: it adds the checksum.
func sealMeta(raw []byte) []byte {
	body := bytes.TrimSuffix(raw, []byte("\n}"))
	return fmt.Appendf(bytes.Clone(body), "%s%s%s", metaSum, checksum(body), metaEnd)
}

// checkMeta verifies the checksum. A file without one is not sealed: another format may have none.
func checkMeta(raw []byte) (sealed bool, err error) {
	at := len(raw) - len(metaSum) - len("01234567") - len(metaEnd)
	if at >= 0 && string(raw[at:at+len(metaSum)]) == metaSum {
		if !bytes.Equal(sealMeta(raw[:at]), raw) {
			return true, errors.New("its checksum (crc32c) differs")
		}
		return true, nil
	}
	return false, errors.New("it has no checksum (crc32c)")
}

// save durably replaces meta.json. The caller must hold mu or have exclusive access.
func (d *Dir) save() error {
	if !d.Stored() {
		return nil
	}
	raw, err := d.meta.text()
	if err == nil {
		err = replaceFile(d.fsys, d.path, d.Sub("meta.json"), raw)
	}
	if err == nil {
		d.unsaved.Store(nil)
	}
	return err
}

// text returns the content of meta.json.
func (m *Meta) text() ([]byte, error) {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return sealMeta(raw), nil
}

// change changes the Meta and saves it.
func (d *Dir) change(f func(m *Meta)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.meta)
	return d.save()
}

// atStart changes the Meta for a start, as change does. Where the directory cannot be written, a start goes on, so that
// a full disk does not end the reads: the change stays in memory, and the log takes no record until Settle has stored
// it. An empty directory has nothing to read, so there the error ends the start.
func (d *Dir) atStart(f func(m *Meta)) error {
	err := d.change(f)
	if err == nil {
		return nil
	}
	if d.empty {
		return remedied(err)
	}
	d.unsaved.Store(&err)
	return nil
}

// Unsaved returns why the directory does not have what the start has noted, so that the log takes no records; nil: it
// has all. Any goroutine may call it.
func (d *Dir) Unsaved() error {
	if err := d.unsaved.Load(); err != nil {
		return *err
	}
	return nil
}

// Settle stores what the start could not store. Any goroutine may call it.
func (d *Dir) Settle() error {
	if d.unsaved.Load() == nil {
		return nil
	}
	return d.change(func(*Meta) {})
}

// bootID returns the machine's boot ID, or "" if the system provides none.
func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// newEpoch returns 16 random hexadecimal digits that identify this history of events.
func newEpoch(random io.Reader) (string, error) {
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("random epoch: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
