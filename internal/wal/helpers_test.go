package wal

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
)

const testDir = "d/log"

// small makes many segments of few records.
func small() Options {
	return Options{SegmentBytes: 1 << 10, PreallocBytes: 1 << 9, Writer: "TickHive test"}
}

// payloadOf is the content of record seq, of a length that depends on it; try tells
// attempts at one sequence apart.
func payloadOf(seq uint64, try int) []byte {
	b := fmt.Appendf(nil, "record %d try %d ", seq, try)
	rnd := rand.New(rand.NewPCG(seq, uint64(try)))
	for n := rnd.IntN(200); n > 0; n-- {
		b = append(b, byte(rnd.Uint32()))
	}
	return b
}

func mustOpen(t testing.TB, fsys vfs.FS, opts Options) *Log {
	t.Helper()
	l, err := Open(fsys, testDir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// appendN appends records in one batch, with the content that payloadOf gives them.
func appendN(t testing.TB, l *Log, n int) {
	t.Helper()
	var batch [][]byte
	for i := range n {
		batch = append(batch, payloadOf(l.LastSeq()+1+uint64(i), 0))
	}
	_, err := l.Append(batch)
	must(t, err)
}

// readAll reads the log without opening it: sequences and payloads until the end or an
// error.
func readAll(fsys vfs.FS, opts Options) (seqs []uint64, payloads [][]byte, torn int64, err error) {
	r, err := OpenReader(fsys, testDir, opts, 0)
	if err != nil {
		return nil, nil, 0, err
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return seqs, payloads, r.TornTail(), nil
		}
		if err != nil {
			return seqs, payloads, 0, err
		}
		seqs = append(seqs, rec.Seq)
		payloads = append(payloads, append([]byte(nil), rec.Payload...))
	}
}

// checkContent fails unless the log holds records first..last, each as payloadOf says.
func checkContent(t testing.TB, fsys vfs.FS, opts Options, first, last uint64) {
	t.Helper()
	seqs, payloads, _, err := readAll(fsys, opts)
	must(t, err)
	if uint64(len(seqs)) != last+1-first {
		t.Fatalf("%d records, want %d to %d", len(seqs), first, last)
	}
	for i, seq := range seqs {
		if want := first + uint64(i); seq != want || string(payloads[i]) != string(payloadOf(want, 0)) {
			t.Fatalf("record %d is %d %q", want, seq, payloads[i])
		}
	}
}

// openFiles is a file system that knows which segments are open for writing.
type openFiles struct {
	vfs.FS
	mu    sync.Mutex
	files map[string]int
	wrong string // the first file that was removed while it was open
}

func newOpenFiles(fsys vfs.FS) *openFiles {
	return &openFiles{FS: fsys, files: map[string]int{}}
}

func (o *openFiles) Create(name string) (vfs.File, error) {
	f, err := o.FS.Create(name)
	return o.opened(f, name, err)
}

func (o *openFiles) OpenRW(name string) (vfs.File, error) {
	f, err := o.FS.OpenRW(name)
	return o.opened(f, name, err)
}

func (o *openFiles) opened(f vfs.File, name string, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.files[name]++
	return &openFile{File: f, o: o, name: name}, nil
}

func (o *openFiles) Remove(name string) error {
	o.mu.Lock()
	if o.files[name] > 0 && o.wrong == "" {
		o.wrong = name
	}
	o.mu.Unlock()
	return o.FS.Remove(name)
}

// count returns the number of open files.
func (o *openFiles) count() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, opened := range o.files {
		n += opened
	}
	return n
}

type openFile struct {
	vfs.File
	o    *openFiles
	name string
}

func (f *openFile) Close() error {
	f.o.mu.Lock()
	f.o.files[f.name]--
	f.o.mu.Unlock()
	return f.File.Close()
}

// scale multiplies counts in a soak run.
func scale(n int) int {
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		return n * 20
	}
	return n
}
